//! Sealed structures with a valid checksum and hostile contents: static functions, ranks, filters.
//!
//! Input: a byte that selects the structure, then its record.

use crate::target::{FuzzTarget, MemoryBound};
use crivello_codes::{FrontCodedList, MonotoneHash, StaticFunction, SystemSolver};
use crivello_common::sealed::{seal, unseal};
use crivello_filters::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CountingQuotientFilter, GolombSet,
    KeyHash, OffsetSampling, QuotientFilter, QuotientShape,
};

/// The target `structures`.
pub const TARGET: FuzzTarget = FuzzTarget {
    name: "structures",
    run,
    samples,
    tokens: &[&[0], &[1], &[64], &[0xff; 9], &[0x80, 0x80, 0x80, 0x10], &[0; 32]],
    len_max: 2_048,
    // Filters of quotients may grow to their bound, with the old table beside the new one.
    peak: MemoryBound { base: 2 << 20, per_byte: 512 },
    // Each insertion in a filter of quotients reads a run, which may be as long as the input.
    total: MemoryBound { base: 16 << 20, per_byte: 128 << 10 },
};

/// Memory of a filter that may grow.
const FILTER_BYTES_MAX: usize = 64 << 10;

/// First lines of the structures, by their number in the input.
const MAGICS: [&[u8]; 9] = [
    b"crivello static function 1\n",
    b"crivello monotone hash 1\n",
    b"crivello front-coded list 1\n",
    b"crivello bloom filter 1\n",
    b"crivello blocked bloom filter 1\n",
    b"crivello counting bloom filter 1\n",
    b"crivello quotient filter 1\n",
    b"crivello counting quotient filter 1\n",
    b"crivello golomb-coded set 1\n",
];

fn run(input: &[u8]) {
    let Some((&selector, record)) = input.split_first() else { return };
    let Some(magic) = MAGICS.get(usize::from(selector)) else { return };
    let bytes = seal(magic, record);
    let key = &record[..record.len().min(8)];
    let hash = KeyHash::of(key, 1);
    match selector {
        0 => {
            let _ = StaticFunction::from_bytes(&bytes).map(|function| function.get(key));
        }
        1 => {
            if let Ok(hash) = MonotoneHash::from_bytes(&bytes) {
                assert!(hash.rank(key).is_none_or(|rank| rank < hash.len()));
            }
        }
        2 => {
            if let Ok(list) = FrontCodedList::from_bytes(&bytes) {
                assert!(list.rank(key).is_none_or(|rank| rank < list.len()));
                let range = list.prefix_range(&key[..key.len().min(1)]);
                assert!(range.start <= range.end && range.end <= list.len());
                // A string may be as long as all bytes.
                list.iter(0..100).for_each(drop);
            }
        }
        3 => {
            if let Ok(mut filter) = BloomFilter::from_bytes(&bytes) {
                filter.insert(hash);
                assert!(filter.contains(hash));
            }
        }
        4 => {
            if let Ok(mut filter) = BlockedBloomFilter::from_bytes(&bytes) {
                filter.insert(hash);
                assert!(filter.contains(hash));
            }
        }
        5 => {
            if let Ok(mut filter) = CountingBloomFilter::from_bytes(&bytes) {
                filter.insert(hash);
                assert!(filter.count(hash) > 0 && filter.remove(hash));
            }
        }
        6 => {
            if let Ok(mut filter) = QuotientFilter::from_bytes(&bytes, FILTER_BYTES_MAX) {
                let is_full = filter.insert(hash).is_err();
                assert!(is_full || filter.contains(hash));
                assert_eq!(filter.fingerprints().count(), filter.len());
            }
        }
        7 => {
            if let Ok(mut filter) = CountingQuotientFilter::from_bytes(&bytes, FILTER_BYTES_MAX) {
                let is_full = filter.insert(hash, 3).is_err();
                assert!(is_full || filter.count(hash) >= 3);
                assert_eq!(filter.counts().count(), filter.len());
            }
        }
        _ => {
            if let Ok(set) = GolombSet::from_bytes(&bytes) {
                assert_eq!(set.numbers().count() as u64, set.len());
                assert!(set.numbers().all(|number| set.contains_number(number)));
            }
        }
    }
}

fn samples() -> Vec<Vec<u8>> {
    let terms: Vec<String> = (100..200).map(|i| format!("term {i}")).collect();
    let items = || terms.iter().zip(0..);
    let solver = SystemSolver::Elimination;
    let function = StaticFunction::build(items(), 10, 4, solver, 1).expect("a function");
    let ranks = MonotoneHash::build(&terms, 4, solver, 1).expect("sorted terms");
    let list = FrontCodedList::build(&terms, 8).expect("sorted terms");
    let hashes: Vec<KeyHash> = terms.iter().map(|term| KeyHash::of(term.as_bytes(), 1)).collect();
    let mut plain = BloomFilter::for_bytes(100, 128);
    let mut blocked = BlockedBloomFilter::for_bytes(100, 128);
    let mut counting = CountingBloomFilter::for_bytes(100, 128);
    let sampling = OffsetSampling::Blocks;
    let shape = QuotientShape { fingerprint_bits: 24, bytes_max: FILTER_BYTES_MAX, sampling };
    let mut quotient = QuotientFilter::new(shape).expect("a shape");
    let mut counts = CountingQuotientFilter::new(shape).expect("a shape");
    for (&hash, n) in hashes.iter().zip(1..) {
        plain.insert(hash);
        blocked.insert(hash);
        counting.insert(hash);
        quotient.insert(hash).expect("room");
        counts.insert(hash, n).expect("room");
    }
    let set = GolombSet::build(&hashes, 100).expect("a rate");
    let all = [
        function.to_bytes(),
        ranks.to_bytes(),
        list.to_bytes(),
        plain.to_bytes(),
        blocked.to_bytes(),
        counting.to_bytes(),
        quotient.to_bytes(),
        counts.to_bytes(),
        set.to_bytes(),
    ];
    let sample = |((selector, magic), bytes): ((u8, &&[u8]), Vec<u8>)| {
        let record = unseal(magic, &bytes).expect("a record");
        [&[selector], record].concat()
    };
    (0..).zip(&MAGICS).zip(all).map(sample).collect()
}
