//! Selection of bits in a word.

/// Returns the position of the one with `n` ones before it; 64 if the word has no more than `n`.
#[inline]
pub(super) fn select(word: u64, n: u32) -> u32 {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("bmi2") {
        #[expect(
            unsafe_code,
            reason = "the function needs instructions that not all processors have"
        )]
        // SAFETY: `select_bmi2` is safe but for the instructions of BMI2, which the processor has: the
        // condition above has just asked it.
        return unsafe { select_bmi2(word, n) };
    }
    select_portable(word, n)
}

/// PDEP puts the only one of 2ⁿ at the place of the n-th one of the word, and TZCNT finds it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "bmi2")]
fn select_bmi2(word: u64, n: u32) -> u32 {
    let bit = if n < 64 { 1 << n } else { 0 };
    std::arch::x86_64::_pdep_u64(bit, word).trailing_zeros()
}

/// Halves the part of the word that has the bit, by its number of ones.
fn select_portable(word: u64, mut n: u32) -> u32 {
    if n >= word.count_ones() {
        return 64;
    }
    let (mut at, mut width) = (0, 32);
    while width > 0 {
        let lower = word >> at & ((1 << width) - 1);
        let ones = lower.count_ones();
        if n >= ones {
            n -= ones;
            at += width;
        }
        width /= 2;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_bit_is_found(word: u64, mask: u64, n in 0_u32..70) {
            for word in [word, word & mask, word | mask, 0, u64::MAX] {
                let expected = (0..64).filter(|&i| word >> i & 1 == 1).nth(n as usize).unwrap_or(64);
                prop_assert_eq!(select(word, n), expected);
                prop_assert_eq!(select_portable(word, n), expected);
            }
        }
    }
}
