//! HyperBall (Boldi and Vigna, ICDM Workshops 2013): the nodes within each distance of each node, by HyperLogLog
//! counters (Flajolet et al., 2007).

use super::sums::DistanceSums;
use crate::adjacency::CHUNK;
use crate::progress::RankProgress;
use crate::{GraphError, Successors};
use crivello_common::random::SplitMix;
use rayon::prelude::*;

/// Parameters of HyperBall.
#[derive(Clone, Copy, Debug)]
pub struct HyperBall {
    /// Binary logarithm of the number of registers of a counter, 4 to 16. Memory: two bytes a node and register, and
    /// 40 bytes a node.
    pub log2_registers: u32,
    /// Seed of the hash function.
    pub seed: u64,
    /// Maximum number of iterations: greatest distance that is counted.
    pub distance_max: usize,
    /// Maximum memory in bytes.
    pub memory_max: u64,
}

impl Default for HyperBall {
    fn default() -> Self {
        Self { log2_registers: 8, seed: 0, distance_max: usize::MAX, memory_max: 4 << 30 }
    }
}

/// Result of HyperBall.
#[derive(Clone, Debug)]
pub struct HyperBallSums {
    /// Estimates for each node.
    pub sums: Vec<DistanceSums>,
    /// Number of iterations: the greatest distance, if [`Self::is_complete`].
    pub iterations: usize,
    /// True if no counter changed in the last iteration.
    pub is_complete: bool,
    /// Relative standard deviation of a counter, 1.04 / √registers.
    pub relative_error: f64,
}

/// Estimates the sums of the distances from each node: on the transpose of a graph, those to it.
///
/// # Errors
/// [`GraphError::Parameter`], [`GraphError::TooLarge`] and [`GraphError::Stopped`].
pub fn hyperball(
    graph: &impl Successors,
    parameters: &HyperBall,
    progress: &RankProgress,
) -> Result<HyperBallSums, GraphError> {
    let HyperBall { log2_registers, seed, distance_max, memory_max } = *parameters;
    if !(4..=16).contains(&log2_registers) {
        let text = format!("{log2_registers} is no binary logarithm of registers: 4 to 16");
        return Err(GraphError::Parameter(text));
    }
    let (n, registers) = (graph.nodes(), 1_usize << log2_registers);
    let needed = n as u64 * (2 * registers as u64 + 40);
    if needed > memory_max {
        let (what, remedy) = ("HyperBall", "take fewer registers");
        return Err(GraphError::TooLarge { what, needed, allowed: memory_max, remedy });
    }
    let mut counters = vec![0_u8; n * registers];
    counters.par_chunks_mut(registers).enumerate().for_each(|(node, counter)| {
        add(counter, SplitMix(seed ^ (node as u64).wrapping_mul(0xd134_2543_de82_ef95)).next_u64());
    });
    let mut next = counters.clone();
    let mut sizes = vec![1.0; n];
    let mut sums = vec![DistanceSums::default(); n];
    let mut changed = vec![true; n];
    let mut result = HyperBallSums {
        sums: Vec::new(),
        iterations: 0,
        is_complete: n == 0,
        relative_error: 1.04 / (registers as f64).sqrt(),
    };
    progress.begin(0);
    while !result.is_complete && result.iterations < distance_max {
        let distance = result.iterations as f64 + 1.0;
        let mut changed_next = vec![false; n];
        let chunks = next.par_chunks_mut(CHUNK * registers).zip(changed_next.par_chunks_mut(CHUNK));
        let chunks = chunks.zip(sizes.par_chunks_mut(CHUNK).zip(sums.par_chunks_mut(CHUNK)));
        chunks.enumerate().for_each(|(chunk, ((next, changed_next), (sizes, sums)))| {
            let start = chunk * CHUNK;
            graph.scan(start..start + sizes.len(), |node, successors| {
                let at = node - start;
                let counter = &mut next[at * registers..][..registers];
                counter.copy_from_slice(&counters[node * registers..][..registers]);
                for to in successors.iter().filter(|to| changed[**to as usize]) {
                    changed_next[at] |=
                        union(counter, &counters[*to as usize * registers..][..registers]);
                }
                if changed_next[at] {
                    let size = estimate(counter);
                    let new = (size - sizes[at]).max(0.0);
                    sizes[at] = sizes[at].max(size);
                    sums[at].reached += new;
                    sums[at].sum += new * distance;
                    sums[at].harmonic += new / distance;
                }
            });
        });
        std::mem::swap(&mut counters, &mut next);
        result.is_complete = !changed_next.iter().any(|changed| *changed);
        changed = changed_next;
        if !result.is_complete {
            result.iterations += 1;
        }
        progress.advance()?;
    }
    result.sums = sums;
    Ok(result)
}

/// Adds a hash to a counter.
fn add(counter: &mut [u8], hash: u64) {
    let register = hash as usize % counter.len();
    let rest = hash >> counter.len().trailing_zeros();
    let rank = (rest.trailing_zeros().min(60) + 1) as u8;
    counter[register] = counter[register].max(rank);
}

/// Adds another counter to one. Returns true if that changed it.
fn union(counter: &mut [u8], other: &[u8]) -> bool {
    let mut is_changed = false;
    for (register, other) in counter.iter_mut().zip(other) {
        is_changed |= other > register;
        *register = (*register).max(*other);
    }
    is_changed
}

/// Returns the number of hashes in a counter, with linear counting for small ones.
fn estimate(counter: &[u8]) -> f64 {
    let m = counter.len() as f64;
    let alpha = match counter.len() {
        16 => 0.673,
        32 => 0.697,
        64 => 0.709,
        _ => 0.7213 / (1.0 + 1.079 / m),
    };
    let sum: f64 = counter.iter().map(|rank| 2_f64.powi(-i32::from(*rank))).sum();
    let raw = alpha * m * m / sum;
    let zeros = counter.iter().filter(|rank| **rank == 0).count();
    if raw <= 2.5 * m && zeros > 0 { m * (m / zeros as f64).ln() } else { raw }
}
