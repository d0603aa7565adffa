use super::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, best_hashes, best_shape, bloom_rate,
};
use crate::{FilterError, KeyHash};
use proptest::prelude::*;

const N: u64 = 20_000;
/// Other keys that are asked for.
const OTHERS: u64 = 200_000;

fn hash(i: u64) -> KeyHash {
    KeyHash::of(&i.to_le_bytes(), 5)
}

/// Returns the share of other keys that are accepted.
fn measured(contains: impl Fn(KeyHash) -> bool) -> f64 {
    (N..N + OTHERS).filter(|&i| contains(hash(i))).count() as f64 / OTHERS as f64
}

/// Four standard deviations of a measured rate.
fn error(rate: f64) -> f64 {
    4.0 * (rate / OTHERS as f64).sqrt()
}

/// Seed 001: 4.8 bits and k = 3 for 10 %, 9.6 and k = 7 for 1 %; m/n = 1.44 log₂ 1/δ.
#[test]
fn shapes_are_those_of_the_notes() {
    for (rate, bits, k) in [(0.1, 4.8, 3), (0.01, 9.6, 7), (1.0 / 1_024.0, 14.43, 10)] {
        let (m, hashes) = best_shape(1_000_000, rate).unwrap();
        assert!((m as f64 / 1e6 - bits).abs() < 0.05, "{rate}: {m}");
        assert_eq!(hashes, k);
        assert_eq!(best_hashes(m, 1_000_000), k);
        let expected = bloom_rate(m, 1_000_000, k);
        assert!((expected / rate - 1.0).abs() < 1e-4, "{rate}: {expected}");
        for other in [k - 1, k + 1] {
            assert!(bloom_rate(m, 1_000_000, other) > expected, "{rate}: {other}");
        }
    }
    for rate in [0.0, 1.0, -1.0, f64::NAN, 1e-300] {
        let made = BloomFilter::for_rate(u64::MAX, rate);
        assert_eq!(made, Err(FilterError::Parameters), "{rate}");
    }
}

#[test]
fn rates_are_those_of_the_formulas() {
    for rate in [0.1, 0.01, 0.001] {
        let mut bloom = BloomFilter::for_rate(N, rate).unwrap();
        let mut blocked = BlockedBloomFilter::for_rate(N, rate).unwrap();
        let mut counting = CountingBloomFilter::for_rate(N, rate).unwrap();
        for i in 0..N {
            bloom.insert(hash(i));
            blocked.insert(hash(i));
            counting.insert(hash(i));
        }
        for i in 0..N {
            assert!(
                bloom.contains(hash(i)) && blocked.contains(hash(i)) && counting.contains(hash(i))
            );
        }
        let plain = measured(|hash| bloom.contains(hash));
        assert!((plain - rate).abs() < error(rate) + 0.05 * rate, "{rate}: {plain}");
        assert!((bloom.rate() - rate).abs() < 0.1 * rate, "{rate}: {}", bloom.rate());
        let counted = measured(|hash| counting.contains(hash));
        assert!((counted - rate).abs() < error(rate) + 0.05 * rate, "{rate}: {counted}");
        // Blocks fill unevenly: up to three times the rate.
        let in_lines = measured(|hash| blocked.contains(hash));
        assert!(in_lines > 0.9 * rate && in_lines < 3.5 * rate, "{rate}: {in_lines}");
        let predicted = blocked.rate();
        assert!((in_lines / predicted - 1.0).abs() < 0.35, "{rate}: {in_lines} {predicted}");
        for estimate in [bloom.cardinality(), blocked.cardinality()] {
            assert!((estimate / N as f64 - 1.0).abs() < 0.02, "{rate}: {estimate}");
        }
    }
}

#[test]
fn counts_go_up_and_down_and_stay_when_they_are_full() {
    let mut filter = CountingBloomFilter::for_rate(1_000, 1e-6).unwrap();
    assert!(!filter.remove(hash(1)));
    for n in 1..=3 {
        filter.insert(hash(1));
        assert_eq!(filter.count(hash(1)), n);
    }
    assert!(filter.remove(hash(1)));
    assert_eq!(filter.count(hash(1)), 2);
    for _ in 0..20 {
        filter.insert(hash(2));
    }
    assert_eq!(filter.count(hash(2)), 15);
    for _ in 0..20 {
        assert!(filter.remove(hash(2)));
    }
    assert_eq!(filter.count(hash(2)), 15);
}

proptest! {
    #[test]
    fn combined_filters_have_the_keys_of_their_sets(
        a in prop::collection::btree_set(0_u64..1_000, 0..100),
        b in prop::collection::btree_set(0_u64..1_000, 0..100),
        bytes in 64_usize..2_000,
    ) {
        let fill = |keys: &std::collections::BTreeSet<u64>| {
            let (mut plain, mut blocked) = (BloomFilter::for_bytes(100, bytes), BlockedBloomFilter::for_bytes(100, bytes));
            for &key in keys {
                plain.insert(hash(key));
                blocked.insert(hash(key));
            }
            (plain, blocked)
        };
        let both = fill(&a.union(&b).copied().collect());
        let (mut union, other) = (fill(&a), fill(&b));
        union.0.union(&other.0).unwrap();
        union.1.union(&other.1).unwrap();
        prop_assert_eq!(union, both);
        let mut common = fill(&a);
        common.0.intersect(&other.0).unwrap();
        common.1.intersect(&other.1).unwrap();
        let own = fill(&a);
        for key in 0..1_500 {
            // A key is in the common filter if all of its bits are in both.
            let is_common = own.0.contains(hash(key)) && other.0.contains(hash(key));
            prop_assert_eq!(common.0.contains(hash(key)), is_common, "{}", key);
            let is_common = own.1.contains(hash(key)) && other.1.contains(hash(key));
            prop_assert_eq!(common.1.contains(hash(key)), is_common, "{}", key);
        }
        prop_assert!(a.intersection(&b).all(|&key| common.0.contains(hash(key)) && common.1.contains(hash(key))));
        let larger = BloomFilter::for_bytes(100, bytes + 8);
        prop_assert_eq!(common.0.union(&larger), Err(FilterError::Mismatch));
    }

    #[test]
    fn removed_keys_do_not_take_others_along(
        kept in prop::collection::btree_set(0_u64..1_000, 0..50),
        removed in prop::collection::vec(1_000_u64..2_000, 0..50),
    ) {
        let mut filter = CountingBloomFilter::for_bytes(100, 200);
        kept.iter().chain(&removed).for_each(|&key| filter.insert(hash(key)));
        removed.iter().for_each(|&key| { filter.remove(hash(key)); });
        prop_assert!(kept.iter().all(|&key| filter.contains(hash(key))));
    }

    #[test]
    fn filters_survive_the_disk_and_damage_is_found(keys: Vec<u64>, at: prop::sample::Index, bit in 0_u32..8) {
        let (mut plain, mut blocked) = (BloomFilter::for_bytes(10, 64), BlockedBloomFilter::for_bytes(10, 64));
        let mut counting = CountingBloomFilter::for_bytes(10, 64);
        for key in keys {
            plain.insert(hash(key));
            blocked.insert(hash(key));
            counting.insert(hash(key));
        }
        let bytes = [plain.to_bytes(), blocked.to_bytes(), counting.to_bytes()];
        prop_assert_eq!(BloomFilter::from_bytes(&bytes[0]), Ok(plain));
        prop_assert_eq!(BlockedBloomFilter::from_bytes(&bytes[1]), Ok(blocked));
        prop_assert_eq!(CountingBloomFilter::from_bytes(&bytes[2]), Ok(counting));
        for whole in bytes {
            let at = at.index(whole.len());
            let mut changed = whole.clone();
            changed[at] ^= 1_u8 << bit;
            for bytes in [&whole[..at], &changed] {
                prop_assert!(BloomFilter::from_bytes(bytes).is_err());
                prop_assert!(BlockedBloomFilter::from_bytes(bytes).is_err());
                prop_assert!(CountingBloomFilter::from_bytes(bytes).is_err());
            }
        }
    }
}
