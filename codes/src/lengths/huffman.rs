//! Huffman's lengths, the baseline of all codes for known distributions.

use crate::CodeError;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The longest word, in bits, as in [`PrefixCode`](super::PrefixCode).
const LENGTH_MAX: u32 = 57;

/// Returns the lengths of words with which values of these weights take the fewest bits (Huffman 1952). Each
/// value has a word, also one of weight 0. Weights are halved if a word would exceed 57 bits.
///
/// # Errors
/// [`CodeError::Model`] without weights, or for 2³² and more.
pub fn huffman_lengths(weights: &[u64]) -> Result<Vec<u32>, CodeError> {
    if weights.is_empty() || u32::try_from(weights.len()).is_err() {
        return Err(CodeError::Model);
    }
    let mut weights: Vec<u128> = weights.iter().map(|&weight| u128::from(weight)).collect();
    loop {
        let lengths = lengths_of(&weights);
        if lengths.iter().all(|&length| length <= LENGTH_MAX) {
            return Ok(lengths);
        }
        // Equal weights make the lengths log₂ n in the end, so that this ends.
        weights.iter_mut().for_each(|weight| *weight = *weight / 2 + 1);
    }
}

fn lengths_of(weights: &[u128]) -> Vec<u32> {
    let n = weights.len();
    if n == 1 {
        return vec![1];
    }
    // Nodes below n are values; the others are joined from two, and have larger numbers.
    let mut parents = vec![0; 2 * n - 1];
    let mut heap: BinaryHeap<_> =
        weights.iter().enumerate().map(|(node, &weight)| Reverse((weight, node))).collect();
    for joined in n..2 * n - 1 {
        let (Some(Reverse(a)), Some(Reverse(b))) = (heap.pop(), heap.pop()) else { break };
        parents[a.1] = joined;
        parents[b.1] = joined;
        heap.push(Reverse((a.0 + b.0, joined)));
    }
    let mut depths = vec![0; 2 * n - 1];
    for node in (0..2 * n - 2).rev() {
        depths[node] = depths[parents[node]] + 1;
    }
    depths.truncate(n);
    depths
}
