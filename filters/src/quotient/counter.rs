//! Counts among remainders (seed 001, section 4).
//!
//! A run has its remainders in ascending order. What follows a remainder x and is smaller is the beginning of its count:
//!
//! ```text
//! count      x > 0                              x = 0
//! 1          x                                  0
//! 2          x x                                0 0
//! 3          x ⟨1⟩ x                            0 0 0
//! c          x ⟨c − 2⟩ x                        0 ⟨c − 3⟩ 0 0
//! digits     base 2ʳ − 2, neither 0 nor x;      base 2ʳ − 1, not 0
//!            0 before them if the first exceeds x
//! ```

/// The smallest r: with two bits, base 2ʳ − 2 is 2.
pub(super) const REMAINDER_BITS_MIN: u32 = 2;

/// A remainder and how often it occurs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) remainder: u64,
    pub(super) count: u64,
}

/// Returns the digits of a number, the most significant one first.
fn digits(mut number: u64, base: u64) -> Vec<u64> {
    let mut digits = Vec::new();
    while number > 0 {
        digits.push(number % base);
        number /= base;
    }
    digits.reverse();
    digits
}

/// Returns the number with these digits, or the largest one if it is too large.
fn number(digits: impl Iterator<Item = u64>, base: u64) -> u64 {
    digits.fold(0_u64, |number, digit| number.saturating_mul(base).saturating_add(digit))
}

/// Returns the base of digits that avoid 0, and x if it is another one. r may be 64.
const fn base(x: u64, r: u32) -> u64 {
    let largest = u64::MAX >> (64 - r);
    if x == 0 { largest } else { largest - 1 }
}

/// Appends a remainder with its count, which is at least 1.
fn encode_one(Counted { remainder: x, count }: Counted, r: u32, run: &mut Vec<u64>) {
    let base = base(x, r);
    run.push(x);
    match (x, count) {
        (_, 0 | 1) => {}
        (_, 2) => run.push(x),
        (0, 3) => run.extend([0, 0]),
        (0, count) => {
            run.extend(digits(count - 3, base).iter().map(|digit| digit + 1));
            run.extend([0, 0]);
        }
        (x, count) => {
            let symbol = |digit: &u64| if digit + 1 < x { digit + 1 } else { digit + 2 };
            let symbols: Vec<u64> = digits(count - 2, base).iter().map(symbol).collect();
            if symbols.first().is_some_and(|&first| first > x) {
                run.push(0);
            }
            run.extend(symbols);
            run.push(x);
        }
    }
}

/// Returns the slots of a run.
pub(super) fn encode(counted: &[Counted], r: u32) -> Vec<u64> {
    let mut run = Vec::with_capacity(counted.len());
    counted.iter().for_each(|&counted| encode_one(counted, r, &mut run));
    run
}

/// Returns the count at the beginning of a run, and the number of its slots. Slots that no count has count once.
fn decode_one(run: &[u64], r: u32) -> (u64, usize) {
    let x = run[0];
    let base = base(x, r);
    let rest = &run[1..];
    if x == 0 {
        // Only the end of this count has two zeros that follow each other.
        let Some(end) = rest.iter().position(|&slot| slot == 0) else { return (1, 1) };
        return match (end, rest.get(end + 1)) {
            (0, Some(0)) => (3, 3),
            (0, _) => (2, 2),
            (_, Some(0)) => {
                let digits = rest[..end].iter().map(|symbol| symbol - 1);
                (number(digits, base).saturating_add(3), end + 3)
            }
            _ => (1, 1),
        };
    }
    match rest.first() {
        Some(&next) if next == x => (2, 2),
        Some(&next) if next < x => {
            let Some(end) = rest.iter().position(|&slot| slot == x) else { return (1, 1) };
            // A 0 before the digits has no value of its own.
            let symbols = rest[usize::from(next == 0)..end].iter();
            let digits =
                symbols.map(|&symbol| symbol.saturating_sub(if symbol < x { 1 } else { 2 }));
            (number(digits, base).saturating_add(2), end + 2)
        }
        _ => (1, 1),
    }
}

/// Returns the remainders of a run with their counts.
pub(super) fn decode(mut run: &[u64], r: u32) -> Vec<Counted> {
    let mut counted = Vec::with_capacity(run.len());
    while let Some(&remainder) = run.first() {
        let (count, n) = decode_one(run, r);
        counted.push(Counted { remainder, count });
        run = &run[n..];
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn slots(remainder: u64, count: u64, r: u32) -> Vec<u64> {
        encode(&[Counted { remainder, count }], r)
    }

    /// The cases of the seed, with r = 4: base 14 for x > 0, 15 for x = 0.
    #[test]
    fn counts_are_those_of_the_seed() {
        assert_eq!(slots(5, 1, 4), [5]);
        assert_eq!(slots(5, 2, 4), [5, 5]);
        assert_eq!(slots(5, 3, 4), [5, 2, 5]);
        // The digit 4 is the symbol 6, since 0 and 5 are none; it exceeds 5.
        assert_eq!(slots(5, 6, 4), [5, 0, 6, 5]);
        assert_eq!(slots(5, 2 + 14, 4), [5, 2, 1, 5]);
        assert_eq!(slots(1, 3, 4), [1, 0, 3, 1]);
        assert_eq!(slots(0, 1, 4), [0]);
        assert_eq!(slots(0, 2, 4), [0, 0]);
        assert_eq!(slots(0, 3, 4), [0, 0, 0]);
        assert_eq!(slots(0, 4, 4), [0, 2, 0, 0]);
        assert_eq!(slots(0, 3 + 15, 4), [0, 2, 1, 0, 0]);
    }

    /// A count takes as many slots as it has digits, and three more.
    #[test]
    fn large_counts_are_short() {
        assert!(slots(7, u64::MAX, 8).len() <= 8 + 1 + 3);
        assert!(slots(0, u64::MAX, 64).len() <= 1 + 3);
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(
            r in REMAINDER_BITS_MIN..=64,
            items in prop::collection::btree_map(
                prop_oneof![Just(0_u64), Just(1), any::<u64>()],
                prop_oneof![1_u64..6, 1_u64..1_000, any::<u64>().prop_map(|n| n.max(1))],
                0..6,
            ),
        ) {
            let mask = u64::MAX >> (64 - r);
            let items: std::collections::BTreeMap<u64, u64> =
                items.into_iter().map(|(x, count)| (x & mask, count)).collect();
            let counted: Vec<Counted> =
                items.into_iter().map(|(remainder, count)| Counted { remainder, count }).collect();
            let run = encode(&counted, r);
            prop_assert!(run.iter().all(|slot| slot & !mask == 0));
            prop_assert_eq!(decode(&run, r), counted);
        }

        #[test]
        fn any_slots_are_decoded(run in prop::collection::vec(0_u64..4, 0..20)) {
            let _ = decode(&run, 2);
        }
    }
}
