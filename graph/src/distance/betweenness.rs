//! Betweenness by shortest paths (Notes 3.1.3), by the algorithm of Brandes (2001), exact or from sampled sources.

use super::sample::{Estimate, SampleSum, SourceNodes, each_part};
use crate::progress::RankProgress;
use crate::{Adjacency, GraphError};

/// Returns Σ σ_yz(x) / σ_yz over all y ≠ x ≠ z, for each node x: the share of shortest paths from y to z that pass
/// through x. Ends of paths do not count. From a sample of sources y it is an estimate.
///
/// Time: a visit for each source. Memory: 40 bytes a node and thread.
///
/// # Errors
/// [`GraphError::Stopped`].
pub fn betweenness(
    graph: &Adjacency,
    sources: SourceNodes,
    progress: &RankProgress,
) -> Result<Estimate, GraphError> {
    let n = graph.len();
    let sources = sources.choose(n);
    progress.begin(sources.len() as u64);
    let parts = each_part(&sources, |sources| {
        let mut sums = vec![SampleSum::default(); n];
        let mut paths = ShortestPaths::new(n);
        for source in sources {
            progress.advance()?;
            paths.run(graph, *source as usize, |node, value| sums[node].add(value));
        }
        Ok(sums)
    })?;
    let mut estimate = Estimate::default();
    for node in 0..n {
        let mut sum = SampleSum::default();
        parts.iter().for_each(|part| sum.join(&part[node]));
        let (value, error) = sum.estimate(sources.len(), n);
        estimate.values.push(value);
        estimate.errors.push(error);
    }
    Ok(estimate)
}

/// Power of two by which numbers of paths are scaled.
const SCALE_BITS: i32 = 512;

/// A number of paths, `value` · 2^(512 · `scale`). A graph of n nodes may have 2^(n / 3) paths between two of them.
#[derive(Clone, Copy, Default)]
struct PathCount {
    value: f64,
    scale: i32,
}

impl PathCount {
    const ONE: Self = Self { value: 1.0, scale: 0 };

    fn add(&mut self, other: Self) {
        match self.scale.cmp(&other.scale) {
            std::cmp::Ordering::Equal => self.value += other.value,
            std::cmp::Ordering::Less => {
                let small = *self;
                *self = other;
                self.value += small.ratio_scale(other.scale);
            }
            std::cmp::Ordering::Greater => self.value += other.ratio_scale(self.scale),
        }
        let limit = 2_f64.powi(SCALE_BITS);
        if self.value >= limit {
            self.value /= limit;
            self.scale += 1;
        }
    }

    /// Returns the value at a greater or equal scale.
    fn ratio_scale(self, scale: i32) -> f64 {
        match scale - self.scale {
            0 => self.value,
            1 => self.value * 2_f64.powi(-SCALE_BITS),
            _ => 0.0,
        }
    }

    /// Returns the quotient of this number and one that is not less.
    fn share_of(self, other: Self) -> f64 {
        self.ratio_scale(other.scale) / other.value
    }
}

/// The shortest paths from one node, and their memory for the next one.
struct ShortestPaths {
    /// 0 for nodes that were not met.
    paths: Vec<PathCount>,
    distance: Vec<u32>,
    /// Sum over all z of the shares of paths to z that pass through the node.
    dependency: Vec<f64>,
    queue: Vec<u32>,
}

impl ShortestPaths {
    fn new(nodes: usize) -> Self {
        Self {
            paths: vec![PathCount::default(); nodes],
            distance: vec![0; nodes],
            dependency: vec![0.0; nodes],
            queue: Vec::with_capacity(nodes),
        }
    }

    /// Passes the dependency of `source` on each other node that it leads to.
    fn run(&mut self, graph: &Adjacency, source: usize, mut visit: impl FnMut(usize, f64)) {
        let Self { paths, distance, dependency, queue } = self;
        queue.push(source as u32);
        (paths[source], distance[source]) = (PathCount::ONE, 0);
        let mut next = 0;
        while next < queue.len() {
            let node = queue[next] as usize;
            next += 1;
            for to in graph.successors(node) {
                let to = *to as usize;
                if paths[to].value == 0.0 {
                    distance[to] = distance[node] + 1;
                    queue.push(to as u32);
                }
                if distance[to] == distance[node] + 1 {
                    let count = paths[node];
                    paths[to].add(count);
                }
            }
        }
        // Backwards: each node after all to which it leads.
        for node in queue.iter().rev().map(|node| *node as usize) {
            let on_paths = |to: &&u32| distance[**to as usize] == distance[node] + 1;
            let shares = graph.successors(node).iter().filter(on_paths).map(|to| {
                let to = *to as usize;
                paths[node].share_of(paths[to]) * (1.0 + dependency[to])
            });
            dependency[node] = shares.sum();
        }
        for node in queue.drain(..).map(|node| node as usize) {
            if node != source {
                visit(node, dependency[node]);
            }
            (paths[node], dependency[node]) = (PathCount::default(), 0.0);
        }
    }
}
