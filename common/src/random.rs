//! Deterministic pseudo-random numbers.

/// Applies the finalizer of SplitMix64 (Steele, Lea and Flood 2014, with Stafford's constants): a
/// bijection in which every bit of the result depends on every bit of `z`.
#[must_use]
pub const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// The SplitMix64 generator.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// Returns the next number.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        mix(self.0)
    }

    /// Returns a number below `n`, by the high half of a product (Lemire 2019, without the
    /// rejection: for n of 1,024 the bias is below 2⁻⁵⁴).
    pub const fn below(&mut self, n: usize) -> usize {
        ((self.next_u64() as u128 * n as u128) >> 64) as usize
    }

    /// Returns a number from 0 to below 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The reference vector of SplitMix64 for the seed 1234567.
    #[test]
    fn the_published_sequence() {
        let mut random = SplitMix(1_234_567);
        let numbers: Vec<u64> = (0..3).map(|_| random.next_u64()).collect();
        assert_eq!(
            numbers,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }
}
