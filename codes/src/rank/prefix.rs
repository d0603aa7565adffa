//! Keys as sequences of bits without prefixes of each other: 1 and its eight bits for each byte, 0 for the end. They have
//! the order of the keys.

use crate::hash::KeyHash;

/// Bits of a byte.
const BYTE: usize = 9;

/// Returns the number of bits that two different keys have in common.
pub(super) fn common_bits(a: &[u8], b: &[u8]) -> usize {
    let n = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    match (a.get(n), b.get(n)) {
        (Some(a), Some(b)) => n * BYTE + 1 + (a ^ b).leading_zeros() as usize,
        _ => n * BYTE,
    }
}

/// Returns the number of bits of a key.
pub(super) const fn all_bits(key: &[u8]) -> usize {
    key.len() * BYTE + 1
}

/// Returns the hash of the first `n` bits of a key, or `None` if it has fewer.
pub(super) fn prefix_hash(key: &[u8], n: usize, seed: u64) -> Option<KeyHash> {
    let (whole, rest) = (n / BYTE, n % BYTE);
    let head = key.get(..whole)?;
    let tail = match (rest, key.get(whole)) {
        (0, _) => 0,
        (rest, Some(byte)) => 0x100 | u64::from(*byte) >> (BYTE - rest),
        (1, None) => 0x200,
        (_, None) => return None,
    };
    Some(KeyHash::of(head, seed).derive(tail << 4 | rest as u64))
}
