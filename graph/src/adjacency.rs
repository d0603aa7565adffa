//! Graphs whose successor lists are read, and one that is in memory.

use std::ops::Range;

/// A graph of nodes 0, 1, …, whose successor lists are read.
pub trait Successors: Sync {
    /// Returns the number of nodes.
    fn nodes(&self) -> usize;

    /// Returns the number of arcs.
    fn arcs(&self) -> u64;

    /// Passes each of `nodes`, in order, with its successors in order, to `visit`.
    fn scan(&self, nodes: Range<usize>, visit: impl FnMut(usize, &[u32]));
}

/// A graph in memory: 8 bytes a node and 4 bytes an arc.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Adjacency {
    /// Index in `targets` of the first successor of each node, and the number of arcs.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Adjacency {
    /// Creates a graph from arcs in any order. Equal arcs are kept once, and arcs with a node beyond `nodes` are
    /// left out.
    #[must_use]
    pub fn from_arcs(nodes: usize, arcs: impl IntoIterator<Item = (u32, u32)>) -> Self {
        let is_inside =
            |arc: &(u32, u32)| arc.0.max(arc.1) < u32::try_from(nodes).unwrap_or(u32::MAX);
        let mut arcs: Vec<(u32, u32)> = arcs.into_iter().filter(is_inside).collect();
        arcs.sort_unstable();
        arcs.dedup();
        let mut starts = vec![0; nodes + 1];
        for (from, _) in &arcs {
            starts[*from as usize + 1] += 1;
        }
        for node in 0..nodes {
            starts[node + 1] += starts[node];
        }
        Self { starts, targets: arcs.into_iter().map(|(_, to)| to).collect() }
    }

    /// Reads another graph into memory.
    #[must_use]
    pub fn of(graph: &impl Successors) -> Self {
        let mut starts = Vec::with_capacity(graph.nodes() + 1);
        let mut targets = Vec::with_capacity(graph.arcs() as usize);
        starts.push(0);
        graph.scan(0..graph.nodes(), |_, successors| {
            targets.extend_from_slice(successors);
            starts.push(targets.len());
        });
        Self { starts, targets }
    }

    /// Returns the bytes that a graph with these numbers needs.
    #[must_use]
    pub const fn bytes(nodes: usize, arcs: u64) -> u64 {
        8 * (nodes as u64 + 1) + 4 * arcs
    }

    /// Returns the number of nodes.
    #[must_use]
    pub fn len(&self) -> usize {
        self.starts.len().saturating_sub(1)
    }

    /// Returns true if there are no nodes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the successors of a node, in order.
    #[must_use]
    pub fn successors(&self, node: usize) -> &[u32] {
        &self.targets[self.starts[node]..self.starts[node + 1]]
    }

    /// Returns all arcs in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let arcs = |node| self.successors(node).iter().map(move |to| (node as u32, *to));
        (0..self.len()).flat_map(arcs)
    }

    /// Returns the graph with all arcs reversed.
    #[must_use]
    pub fn transposed(&self) -> Self {
        let mut starts = vec![0; self.len() + 1];
        for to in &self.targets {
            starts[*to as usize + 1] += 1;
        }
        for node in 0..self.len() {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut targets = vec![0; self.targets.len()];
        for (from, to) in self.iter() {
            let at = &mut next[to as usize];
            targets[*at] = from;
            *at += 1;
        }
        Self { starts, targets }
    }

    /// Returns the graph with each arc in both directions.
    #[must_use]
    pub fn symmetric(&self) -> Self {
        Self::from_arcs(self.len(), self.iter().flat_map(|(from, to)| [(from, to), (to, from)]))
    }
}

impl Successors for Adjacency {
    fn nodes(&self) -> usize {
        self.len()
    }

    fn arcs(&self) -> u64 {
        self.targets.len() as u64
    }

    fn scan(&self, nodes: Range<usize>, mut visit: impl FnMut(usize, &[u32])) {
        for node in nodes {
            visit(node, self.successors(node));
        }
    }
}

/// Number of nodes that one thread scans at a time.
pub(crate) const CHUNK: usize = 1 << 14;

/// Returns the chunks of nodes `0..nodes`.
pub(crate) fn chunks(nodes: usize) -> impl Iterator<Item = Range<usize>> {
    (0..nodes).step_by(CHUNK).map(move |start| start..nodes.min(start + CHUNK))
}

/// Returns the number of successors of each node.
#[must_use]
pub fn degrees(graph: &impl Successors) -> Vec<u32> {
    use rayon::prelude::*;
    let mut degrees = vec![0; graph.nodes()];
    degrees.par_chunks_mut(CHUNK).enumerate().for_each(|(chunk, degrees)| {
        let start = chunk * CHUNK;
        graph.scan(start..start + degrees.len(), |node, successors| {
            degrees[node - start] = successors.len() as u32;
        });
    });
    degrees
}

/// Returns the number of predecessors of each node.
#[must_use]
pub fn in_degrees(graph: &impl Successors) -> Vec<u32> {
    let mut degrees = vec![0; graph.nodes()];
    graph.scan(0..graph.nodes(), |_, successors| {
        for to in successors {
            degrees[*to as usize] += 1;
        }
    });
    degrees
}
