//! Samples of nodes, and estimates from them.

use crivello_common::random::SplitMix;

/// The nodes from which a computation visits the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceNodes {
    /// All of them: the result is exact.
    All,
    /// A random sample without repetitions.
    Sample {
        /// Number of nodes. If the graph has no more, all of them.
        count: usize,
        /// Seed of the choice.
        seed: u64,
    },
}

impl SourceNodes {
    /// Returns the sources among `nodes`, in order.
    pub(super) fn choose(self, nodes: usize) -> Vec<u32> {
        match self {
            Self::Sample { count, seed } if count < nodes => sample(nodes, count, seed),
            _ => (0..nodes as u32).collect(),
        }
    }
}

/// Chooses by selection sampling (Knuth, TAOCP 2, 3.4.2, algorithm S).
fn sample(nodes: usize, count: usize, seed: u64) -> Vec<u32> {
    let mut random = SplitMix(seed);
    let mut chosen = Vec::with_capacity(count);
    for node in 0..nodes {
        let left = (nodes - node) as f64;
        if random.unit() * left < (count - chosen.len()) as f64 {
            chosen.push(node as u32);
        }
    }
    chosen
}

/// A value for each node, and its standard error, which is 0 for an exact result.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Estimate {
    /// Values.
    pub values: Vec<f64>,
    /// Standard errors.
    pub errors: Vec<f64>,
}

/// A sum of values over all nodes, estimated from those of a sample.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampleSum {
    sum: f64,
    squares: f64,
}

impl SampleSum {
    pub(super) fn add(&mut self, value: f64) {
        self.sum += value;
        self.squares += value * value;
    }

    pub(super) fn join(&mut self, other: &Self) {
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// Returns the sum over all `nodes`, and its standard error, from `sampled` of them: those that added nothing
    /// have the value 0.
    pub(super) fn estimate(&self, sampled: usize, nodes: usize) -> (f64, f64) {
        let (k, n) = (sampled as f64, nodes as f64);
        if sampled == nodes {
            return (self.sum, 0.0);
        }
        if sampled < 2 {
            return (self.sum * n / k.max(1.0), f64::INFINITY);
        }
        let mean = self.sum / k;
        let variance = ((self.squares - k * mean * mean) / (k - 1.0)).max(0.0);
        // The finite population leaves less to be known.
        (n * mean, n * (variance / k * (1.0 - k / n)).sqrt())
    }
}

/// Computes a value in each thread over its part of the sources, and returns the values in the order of the parts.
pub(super) fn each_part<T: Send>(
    sources: &[u32],
    compute: impl Fn(&[u32]) -> Result<T, crate::GraphError> + Send + Sync,
) -> Result<Vec<T>, crate::GraphError> {
    use rayon::prelude::*;
    let length = sources.len().div_ceil(rayon::current_num_threads()).max(1);
    sources.par_chunks(length).map(compute).collect()
}
