use super::{
    CountingQuotientFilter, OffsetSampling, QuotientFilter, QuotientShape, ThreeBitFilter,
};
use crate::{FilterError, KeyHash};
use crivello_common::codec::RowWriter;
use crivello_common::sealed::seal;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const SAMPLINGS: [OffsetSampling; 3] =
    [OffsetSampling::None, OffsetSampling::Blocks, OffsetSampling::Slots];

fn shape(fingerprint_bits: u32, sampling: OffsetSampling) -> QuotientShape {
    QuotientShape { fingerprint_bits, bytes_max: 1 << 20, sampling }
}

fn hash(i: u64) -> KeyHash {
    KeyHash::of(&i.to_le_bytes(), 9)
}

/// Fingerprints of which many share a quotient.
fn fingerprints(n: std::ops::Range<usize>) -> impl Strategy<Value = Vec<u64>> {
    let clustered = (0_u64..8, 0_u64..64).prop_map(|(high, low)| high << 13 | low);
    prop::collection::vec(prop_oneof![clustered, 0_u64..1 << 16, Just(0), Just(0xffff)], n)
}

#[test]
fn rates_are_those_of_the_formula() {
    let n = 20_000;
    for rate in [0.1, 0.01, 0.001] {
        let shape = QuotientShape::for_rate(n, rate, 1 << 20).unwrap();
        let mut filter = QuotientFilter::new(shape).unwrap();
        let mut counting = CountingQuotientFilter::new(shape).unwrap();
        for i in 0..n {
            filter.insert(hash(i)).unwrap();
            counting.insert(hash(i), 1).unwrap();
        }
        assert!((0..n).all(|i| filter.contains(hash(i)) && counting.count(hash(i)) > 0));
        let others = 200_000;
        let accepted = (n..n + others).filter(|&i| filter.contains(hash(i))).count();
        let counted = (n..n + others).filter(|&i| counting.count(hash(i)) > 0).count();
        assert_eq!(accepted, counted);
        let measured = accepted as f64 / others as f64;
        // p is rounded up, so the rate is at most the one wanted, and half of it at least.
        let expected = filter.rate();
        assert!(expected <= rate && expected > 0.4 * rate, "{rate}: {expected}");
        let error = 4.0 * (expected / others as f64).sqrt();
        assert!((measured - expected).abs() < error, "{rate}: {measured} {expected}");
    }
}

/// From one slot, a bit at a time, until the memory is used up.
#[test]
fn a_filter_grows_until_it_is_full() {
    let shape = QuotientShape { bytes_max: 4_000, ..shape(30, OffsetSampling::Blocks) };
    let mut filter = QuotientFilter::new(shape).unwrap();
    let mut inserted = BTreeSet::new();
    let mut bits = BTreeSet::new();
    let error = loop {
        let fingerprint = filter.fingerprint(hash(inserted.len() as u64));
        bits.insert(filter.quotient_bits());
        match filter.insert_fingerprint(fingerprint) {
            Ok(is_new) => assert!(is_new == inserted.insert(fingerprint)),
            Err(error) => break error,
        }
    };
    assert_eq!(error, FilterError::Full);
    assert_eq!(bits, (0..=*bits.last().unwrap()).collect());
    let slots = 1 << filter.quotient_bits();
    assert!(filter.bytes() <= 4_000 && inserted.len() == slots - slots / 20);
    assert!(filter.fingerprints().eq(inserted.iter().copied()));
    let too_small = QuotientShape { bytes_max: 100, ..shape };
    assert_eq!(QuotientFilter::new(too_small).err(), Some(FilterError::Parameters));
}

/// The rank/select form takes r + 2 and r + 2.125 bits a slot, and r + 10 with an offset for each.
#[test]
fn slots_have_the_sizes_of_the_notes() {
    // 2 bits a slot, and 8 for each offset: one, one a block, one a slot.
    for (sampling, step) in SAMPLINGS.into_iter().zip([usize::MAX, 64, 1]) {
        let mut filter = QuotientFilter::new(shape(32, sampling)).unwrap();
        for i in 0..if sampling == OffsetSampling::None { 4_000 } else { 60_000 } {
            filter.insert(hash(i)).unwrap();
        }
        let q = filter.quotient_bits();
        let slots = ((1_usize << q) + 10 * (1_usize << q).isqrt()).next_multiple_of(64);
        let expected = slots * (32 - q as usize + 2) + 8 * slots.div_ceil(step);
        assert_eq!(filter.bytes() * 8, expected, "{sampling:?}");
    }
}

/// A rate so high that fingerprints have hardly more bits than quotients.
#[test]
fn shapes_have_room_for_their_keys_at_any_rate() {
    for n in [1, 2, 3, 20, 950, 1_000, 1_024] {
        for rate in [1.0, 0.5, 0.3] {
            let shape = QuotientShape::for_rate(n, rate, 1 << 20).unwrap();
            let mut filter = QuotientFilter::new(shape).unwrap();
            let mut counting = CountingQuotientFilter::new(shape).unwrap();
            // Each key has a fingerprint of its own.
            for i in 0..n {
                let fingerprint = i * ((1 << shape.fingerprint_bits) / n);
                assert_eq!(filter.insert_fingerprint(fingerprint), Ok(true), "{n} {rate}: {i}");
                assert_eq!(counting.insert_fingerprint(fingerprint, 1), Ok(1), "{n} {rate}: {i}");
            }
        }
    }
}

/// Equality is that of contents: removed keys, the order of insertion and memory make no difference.
#[test]
fn filters_with_the_same_fingerprints_are_equal() {
    let shape = shape(24, OffsetSampling::Blocks);
    let (mut a, mut b) =
        (QuotientFilter::new(shape).unwrap(), CountingQuotientFilter::new(shape).unwrap());
    let mut c = QuotientFilter::new(QuotientShape { bytes_max: 1 << 18, ..shape }).unwrap();
    let mut d = CountingQuotientFilter::new(shape).unwrap();
    for i in 0..300 {
        a.insert(hash(i)).unwrap();
        c.insert(hash(299 - i)).unwrap();
        b.insert(hash(i), 2).unwrap();
    }
    for i in 100..300 {
        b.remove(hash(i), 2).unwrap();
    }
    (0..100).for_each(|i| assert_eq!(d.insert(hash(i), 2), Ok(2)));
    assert!(b.bytes() > d.bytes());
    assert_eq!((&a, &b), (&c, &d));
    a.insert(hash(300)).unwrap();
    d.insert(hash(1), 1).unwrap();
    assert!(a != c && b != d);
}

/// Only the lower bits of a fingerprint count, and bytes have no others.
#[test]
fn fingerprints_have_p_bits() {
    let mut filter = QuotientFilter::new(shape(16, OffsetSampling::Blocks)).unwrap();
    for high in [0, 1 << 16, 1 << 63] {
        assert_eq!(filter.insert_fingerprint(high | 7), Ok(high == 0));
        assert!(filter.contains_fingerprint(high | 7) && !filter.contains_fingerprint(high | 8));
    }
    let read = |p: u64, gaps: &[u64]| {
        let set = sealed(SET, 1, p, gaps.len() as u64, gaps);
        let counts: Vec<u64> = gaps.iter().flat_map(|&gap| [gap, 1]).collect();
        let counting = sealed(COUNTING, 1, p, gaps.len() as u64, &counts);
        let set = QuotientFilter::from_bytes(&set, 1 << 20).map(|read| read.len());
        let counting = CountingQuotientFilter::from_bytes(&counting, 1 << 20);
        assert_eq!(set, counting.map(|read| read.len()));
        set
    };
    assert_eq!(read(16, &[0, 1, (1 << 16) - 2]), Ok(3));
    for gaps in [&[1 << 16][..], &[1, (1 << 16) - 1], &[5, 0], &[1, u64::MAX]] {
        let malformed = FilterError::Damaged("malformed".to_owned());
        assert_eq!(read(16, gaps), Err(malformed), "{gaps:?}");
    }
    assert_eq!(read(64, &[1, u64::MAX - 1]), Ok(2));
}

const SET: &[u8] = b"crivello quotient filter 1\n";
const COUNTING: &[u8] = b"crivello counting quotient filter 1\n";

/// Returns the bytes of a filter with these fields.
fn sealed(magic: &[u8], sampling: u8, p: u64, n: u64, numbers: &[u64]) -> Vec<u8> {
    let mut out = RowWriter::default();
    out.byte(sampling).number(p).number(n);
    numbers.iter().for_each(|&number| {
        out.number(number);
    });
    seal(magic, &out.0)
}

/// A sender chooses neither a filter without offsets nor one that takes long to read: one run of all fingerprints.
#[test]
fn filters_of_others_are_read_in_time() {
    let n = 400_000;
    for gap in [1, 2] {
        let bytes = sealed(SET, 0, 64, n, &vec![gap; n as usize]);
        let filter = QuotientFilter::from_bytes(&bytes, 16 << 20).unwrap();
        assert_eq!(filter.shape().sampling, OffsetSampling::Blocks);
        assert!(filter.fingerprints().eq((1..=n).map(|i| i * gap)));
        let numbers: Vec<u64> = (0..n).flat_map(|_| [gap, 3]).collect();
        let bytes = sealed(COUNTING, 0, 64, n, &numbers);
        let counting = CountingQuotientFilter::from_bytes(&bytes, 32 << 20).unwrap();
        assert!(counting.counts().eq((1..=n).map(|i| (i * gap, 3))));
    }
}

/// A run that is longer than the slots behind the last quotient, and an offset that a byte does not hold.
#[test]
fn one_quotient_for_all_is_full_and_not_damaged() {
    for sampling in [OffsetSampling::Blocks, OffsetSampling::Slots] {
        let shape = QuotientShape { bytes_max: 8_000, ..shape(32, sampling) };
        let mut filter = QuotientFilter::new(shape).unwrap();
        let upper = 0xffff_f000_u64;
        let mut n = 0;
        let error = loop {
            match filter.insert_fingerprint(upper | n) {
                Ok(is_new) => assert!(is_new),
                Err(error) => break error,
            }
            n += 1;
        };
        assert_eq!(error, FilterError::Full);
        assert!(n > 300, "{n}");
        filter.check();
        assert!(filter.fingerprints().eq((0..n).map(|i| upper | i)));
        assert!((0..n).all(|i| filter.contains_fingerprint(upper | i)));
    }
}

proptest! {
    #[test]
    fn a_filter_is_the_set_of_its_fingerprints(all in fingerprints(0..600), others in fingerprints(100..101)) {
        let set: BTreeSet<u64> = all.iter().copied().collect();
        for sampling in SAMPLINGS {
            let mut filter = QuotientFilter::new(shape(16, sampling)).unwrap();
            let mut model = BTreeSet::new();
            for &fingerprint in &all {
                prop_assert_eq!(filter.insert_fingerprint(fingerprint), Ok(model.insert(fingerprint)));
            }
            filter.check();
            prop_assert_eq!(filter.len(), set.len());
            prop_assert!(filter.fingerprints().eq(set.iter().copied()));
            for other in all.iter().chain(&others) {
                prop_assert_eq!(filter.contains_fingerprint(*other), set.contains(other));
            }
            let bytes = filter.to_bytes();
            let read = QuotientFilter::from_bytes(&bytes, 1 << 20).unwrap();
            prop_assert!(read.fingerprints().eq(filter.fingerprints()));
        }
        let mut three = ThreeBitFilter::new(10, 6).unwrap();
        let mut model = BTreeSet::new();
        for &fingerprint in &all {
            prop_assert_eq!(three.insert_fingerprint(fingerprint), Ok(model.insert(fingerprint)));
        }
        prop_assert!(three.fingerprints().eq(set.iter().copied()));
        for other in all.iter().chain(&others) {
            prop_assert_eq!(three.contains_fingerprint(*other), set.contains(other));
        }
    }

    #[test]
    fn merged_and_common_fingerprints_are_those_of_sets(a in fingerprints(0..300), b in fingerprints(0..300)) {
        let fill = |all: &[u64], sampling| {
            let mut filter = QuotientFilter::new(shape(16, sampling)).unwrap();
            all.iter().for_each(|&fingerprint| { filter.insert_fingerprint(fingerprint).unwrap(); });
            filter
        };
        let (x, y) = (fill(&a, OffsetSampling::Blocks), fill(&b, OffsetSampling::Slots));
        let (a, b): (BTreeSet<u64>, BTreeSet<u64>) = (a.into_iter().collect(), b.into_iter().collect());
        prop_assert!(x.merge(&y).unwrap().fingerprints().eq(a.union(&b).copied()));
        prop_assert!(x.intersection(&y).unwrap().fingerprints().eq(a.intersection(&b).copied()));
        let other = QuotientFilter::new(shape(17, OffsetSampling::Blocks)).unwrap();
        prop_assert_eq!(x.merge(&other).err(), Some(FilterError::Mismatch));
    }

    /// The model is a map from fingerprints to counts.
    #[test]
    fn counts_are_those_of_a_map(
        steps in prop::collection::vec(
            (
                prop_oneof![(0_u64..4, 0_u64..8).prop_map(|(high, low)| high << 8 | low), 0_u64..1 << 10],
                prop_oneof![3 => Just(1_u64), 1 => 1_u64..10, 1 => any::<u64>()],
                any::<bool>(),
            ),
            0..400,
        ),
        bits in 10_u32..=64,
    ) {
        let mut filter = CountingQuotientFilter::new(shape(bits, OffsetSampling::Blocks)).unwrap();
        let mut model: BTreeMap<u64, u64> = BTreeMap::new();
        for (low, n, is_insert) in steps {
            // The fingerprint is in the upper bits of a hash.
            let hash = KeyHash { low: low << 54, high: 0 };
            let fingerprint = filter.fingerprint(hash);
            let before = model.get(&fingerprint).copied().unwrap_or(0);
            let count = if is_insert { before.saturating_add(n) } else { before.saturating_sub(n) };
            let result = if is_insert { filter.insert(hash, n) } else { filter.remove(hash, n) };
            match result {
                Ok(new) => {
                    prop_assert_eq!(new, count);
                    model.insert(fingerprint, count);
                }
                // With few bits, remainders are soon too short.
                Err(error) => prop_assert!(bits < 40 && error == FilterError::Full, "{} bits: {}", bits, error),
            }
            prop_assert_eq!(filter.count(hash), model.get(&fingerprint).copied().unwrap_or(0));
        }
        model.retain(|_, count| *count > 0);
        filter.check();
        prop_assert_eq!(filter.len(), model.len());
        prop_assert!(filter.counts().eq(model.iter().map(|(&fingerprint, &count)| (fingerprint, count))));
        let read = CountingQuotientFilter::from_bytes(&filter.to_bytes(), 1 << 20);
        prop_assert!(read.is_ok_and(|read| read.counts().eq(filter.counts())));
    }

    /// Records with a valid checksum, written from their fields.
    #[test]
    fn a_filter_of_any_fields_is_refused_or_whole(
        sampling in 0_u8..4,
        p in prop_oneof![4 => 2_u64..=64, 1 => 0_u64..100],
        n in prop_oneof![9 => Just(None), 1 => any::<u64>().prop_map(Some)],
        gaps in prop::collection::vec(
            (
                prop_oneof![40 => 1_u64..5, 20 => 1_u64..1_000, 1 => (0_u32..64).prop_map(|n| 1 << n), 1 => Just(0_u64)],
                prop_oneof![4 => 1_u64..5, 1 => 1_u64..],
            ),
            0..300,
        ),
    ) {
        let n = n.unwrap_or(gaps.len() as u64);
        let fingerprints: Option<Vec<u64>> = gaps.iter().scan(Some(0_u64), |last, &(gap, _)| {
            *last = last.and_then(|last| last.checked_add(gap));
            Some(*last)
        }).collect();
        let is_set = sampling < 3 && (2..=64).contains(&p) && n == gaps.len() as u64
            && gaps.iter().skip(1).all(|&(gap, _)| gap > 0)
            && fingerprints.iter().flatten().all(|fingerprint| u128::from(*fingerprint) >> p == 0)
            && fingerprints.is_some();
        let only: Vec<u64> = gaps.iter().map(|&(gap, _)| gap).collect();
        match QuotientFilter::from_bytes(&sealed(SET, sampling, p, n, &only), 1 << 16) {
            Ok(mut filter) => {
                prop_assert!(is_set);
                filter.check();
                prop_assert!(filter.fingerprints().eq(fingerprints.clone().unwrap_or_default()));
                // It goes on as if it had been made by insertion.
                for fingerprint in 0..40 {
                    let is_new = !filter.contains_fingerprint(fingerprint);
                    match filter.insert_fingerprint(fingerprint) {
                        Ok(inserted) => prop_assert_eq!(inserted, is_new),
                        Err(error) => prop_assert_eq!(error, FilterError::Full),
                    }
                }
                filter.check();
            }
            Err(FilterError::Damaged(_)) => prop_assert!(!is_set),
            Err(error) => prop_assert!(is_set && error == FilterError::Full),
        }
        let both: Vec<u64> = gaps.iter().flat_map(|&(gap, count)| [gap, count]).collect();
        match CountingQuotientFilter::from_bytes(&sealed(COUNTING, sampling, p, n, &both), 1 << 16) {
            Ok(filter) => {
                prop_assert!(is_set && filter.len() == gaps.len());
                filter.check();
                let counts = gaps.iter().map(|&(_, count)| count);
                prop_assert!(filter.counts().eq(fingerprints.unwrap_or_default().into_iter().zip(counts)));
            }
            Err(FilterError::Damaged(_)) => prop_assert!(!is_set),
            Err(error) => prop_assert!(is_set && error == FilterError::Full),
        }
    }

    #[test]
    fn damage_is_found(keys: Vec<u64>, at: prop::sample::Index, bit in 0_u32..8, record: Vec<u8>) {
        let mut filter = QuotientFilter::new(shape(40, OffsetSampling::Blocks)).unwrap();
        let mut counting = CountingQuotientFilter::new(shape(40, OffsetSampling::Blocks)).unwrap();
        for key in keys {
            filter.insert(hash(key)).unwrap();
            counting.insert(hash(key), 3).unwrap();
        }
        for whole in [filter.to_bytes(), counting.to_bytes()] {
            let at = at.index(whole.len());
            let mut changed = whole.clone();
            changed[at] ^= 1_u8 << bit;
            for bytes in [&whole[..at], &changed] {
                prop_assert!(QuotientFilter::from_bytes(bytes, 1 << 20).is_err());
                prop_assert!(CountingQuotientFilter::from_bytes(bytes, 1 << 20).is_err());
            }
        }
        // Records with a valid checksum that are no filters.
        for magic in [&b"crivello quotient filter 1\n"[..], b"crivello counting quotient filter 1\n"] {
            let bytes = seal(magic, &record);
            let _ = QuotientFilter::from_bytes(&bytes, 1 << 16);
            let _ = CountingQuotientFilter::from_bytes(&bytes, 1 << 16);
        }
    }
}

/// In-links of pages: most have one, few have many.
#[test]
fn a_single_key_takes_a_slot_and_repeated_ones_few_more() {
    let mut filter = CountingQuotientFilter::new(shape(40, OffsetSampling::Blocks)).unwrap();
    for i in 0..1_000 {
        filter.insert(hash(i), 1).unwrap();
    }
    assert_eq!(filter.slots_used(), 1_000);
    for i in 0..1_000_000_u64 {
        filter.insert(hash(i % 10), 1).unwrap();
    }
    assert_eq!((0..10).map(|i| filter.count(hash(i))).sum::<u64>(), 1_000_010);
    assert!(filter.slots_used() <= 1_000 + 10 * 4, "{}", filter.slots_used());
    for i in 0..1_000 {
        let count = filter.count(hash(i));
        assert_eq!(filter.remove(hash(i), count), Ok(0));
    }
    assert_eq!((filter.len(), filter.slots_used()), (0, 0));
    filter.check();
}
