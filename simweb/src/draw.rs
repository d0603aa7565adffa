//! Randomness without a generator: every draw is a hash of the seed and of the purpose. Any page
//! can be made on its own, in any order and in any process, with the same result.

use crivello_common::random::SplitMix;

/// Returns a hash of `parts` under `seed` (the finalizer of SplitMix64, applied part by part).
#[must_use]
pub fn hash(seed: u64, parts: &[u64]) -> u64 {
    parts.iter().fold(mix(seed), |h, &part| mix(h ^ part.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
}

const fn mix(x: u64) -> u64 {
    SplitMix(x).next_u64()
}

/// Returns a hash as a number in `[0, 1)`.
#[must_use]
pub fn unit(h: u64) -> f64 {
    (h >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns a number below `n` (zero if `n` is zero). The larger `skew`, the more frequent small
/// numbers: with `skew` 1 all are equally likely, with 2.5 one draw in six falls into the first
/// hundredth.
#[must_use]
pub fn skewed(h: u64, n: u32, skew: f64) -> u32 {
    let at = unit(h).powf(skew) * f64::from(n);
    (at as u32).min(n.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_fixed_and_spread() {
        assert_eq!(hash(7, &[1, 2]), hash(7, &[1, 2]));
        assert_ne!(hash(7, &[1, 2]), hash(7, &[2, 1]));
        assert_ne!(hash(7, &[1]), hash(8, &[1]));
        let n = 10_000;
        let low = (0..n).filter(|&i| unit(hash(3, &[i])) < 0.5).count();
        assert!((4_800..5_200).contains(&low), "{low}");
        let first = (0..n).filter(|&i| skewed(hash(3, &[i]), 100, 2.5) == 0).count();
        assert!(first > 1_000, "{first}");
        assert_eq!(skewed(u64::MAX, 0, 2.5), 0);
    }
}
