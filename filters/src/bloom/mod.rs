//! Bloom filters (Bloom 1970; Notes 1.3.1): some bits a key, at places that hashes select.

mod blocked;
mod counting;
mod plain;

pub use blocked::BlockedBloomFilter;
pub use counting::CountingBloomFilter;
pub use plain::BloomFilter;

use crate::FilterError;
use std::f64::consts::LN_2;

/// The largest k, with which fewer than one key in 2⁵⁰ is accepted.
const HASHES_MAX: u32 = 50;
/// The largest number of bits: 2⁴⁶, 8 TiB.
const BITS_MAX: f64 = 7e13;

/// Returns the rate of false positives of a filter of `bits` bits with `n` keys of `k` bits each: (1 − e^(−kn/m))ᵏ.
#[must_use]
pub fn bloom_rate(bits: u64, n: u64, k: u32) -> f64 {
    let filled = -(-(f64::from(k) * n as f64) / bits.max(1) as f64).exp_m1();
    filled.powf(f64::from(k))
}

/// Returns the k for the lowest rate of `bits` bits with `n` keys: ln 2 · m/n.
fn best_hashes(bits: u64, n: u64) -> u32 {
    let exact = LN_2 * bits as f64 / n.max(1) as f64;
    (exact.round() as u32).clamp(1, HASHES_MAX)
}

/// Returns the bits for `n` keys with this rate of false positives, and k: n · k / ln 2 and log₂ 1/δ.
fn best_shape(n: u64, rate: f64) -> Result<(u64, u32), FilterError> {
    if !(rate > 0.0 && rate < 1.0) {
        return Err(FilterError::Parameters);
    }
    let hashes = (-rate.log2()).round().clamp(1.0, f64::from(HASHES_MAX));
    // With a rounded k, so many bits have exactly this rate: m = −kn / ln(1 − δ^(1/k)).
    let bits = (-hashes * n.max(1) as f64 / (-rate.powf(1.0 / hashes)).ln_1p()).ceil();
    if bits > BITS_MAX {
        return Err(FilterError::Parameters);
    }
    Ok((bits as u64, hashes as u32))
}

/// Returns the estimated number of keys of a filter: m/k · ln(m/zeros).
fn cardinality(bits: u64, zeros: u64, k: u32) -> f64 {
    bits as f64 / f64::from(k) * (bits as f64 / zeros as f64).ln()
}

#[cfg(test)]
mod tests;
