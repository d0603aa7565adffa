use super::prefix::{all_bits, common_bits};
use super::{FrontCodedList, MonotoneHash};
use crate::{FunctionError, SystemSolver};
use crivello_common::codec::RowWriter;
use crivello_common::sealed::seal;
use proptest::prelude::*;
use std::collections::BTreeSet;

const SOLVERS: [SystemSolver; 3] =
    [SystemSolver::TwoHashes, SystemSolver::ThreeHashes, SystemSolver::Elimination];

fn numbers(n: u32) -> Vec<String> {
    let mut keys: Vec<String> =
        (0..n).map(|i| format!("{:x}", i.wrapping_mul(2_654_435_761))).collect();
    keys.sort();
    keys
}

/// Keys that are prefixes of each other, that have zeros, and that are empty.
fn keys() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let byte = prop_oneof![Just(0_u8), Just(b'a'), Just(b'b'), Just(255), any::<u8>()];
    prop::collection::btree_set(prop::collection::vec(byte, 0..6), 0..300)
        .prop_map(|keys: BTreeSet<_>| keys.into_iter().collect())
}

#[test]
fn bits_in_common_are_those_without_prefixes() {
    for (a, b, bits) in [("", "a", 0), ("a", "b", 7), ("a", "ab", 9), ("ab", "ac", 17)] {
        assert_eq!(common_bits(a.as_bytes(), b.as_bytes()), bits, "{a} {b}");
    }
    assert_eq!(all_bits(b"ab"), 19);
}

#[test]
fn a_signed_rank_rejects_other_terms_at_its_rate() {
    let keys = numbers(20_000);
    for solver in SOLVERS {
        let hash = MonotoneHash::build(&keys, 6, solver, 3).unwrap();
        assert!(keys.iter().enumerate().all(|(at, key)| hash.rank(key.as_bytes()) == Some(at)));
        let n = 64_000;
        let accepted = (0..n).filter(|i| hash.rank(format!("g{i}").as_bytes()).is_some()).count();
        // 1,000 expected at most: many other keys fail before their signature is compared.
        assert!(accepted < 1_160, "{solver:?}: {accepted}");
    }
    let unsigned = MonotoneHash::build(&keys, 0, SystemSolver::Elimination, 3).unwrap();
    let bits = unsigned.bytes() as f64 * 8.0 / keys.len() as f64;
    assert!(bits < 14.0, "{bits} bits a key");
}

#[test]
fn lists_that_are_not_sorted_are_refused() {
    for keys in [["b", "a"], ["a", "a"]] {
        assert_eq!(FrontCodedList::build(keys, 4), Err(FunctionError::Unsorted(1)));
        let hash = MonotoneHash::build(&keys, 4, SystemSolver::ThreeHashes, 0);
        assert_eq!(hash, Err(FunctionError::Unsorted(1)));
    }
}

/// Reads a list with these numbers of strings, of strings of a block, of bits of a start and of starts.
fn list_of_fields(
    fields: [u64; 4],
    words: &[u64],
    data: &[u8],
) -> Result<FrontCodedList, FunctionError> {
    let mut out = RowWriter::default();
    fields.iter().for_each(|&field| {
        out.number(field);
    });
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    out.bytes(&words).rest(data);
    FrontCodedList::from_bytes(&seal(b"crivello front-coded list 1\n", &out.0))
}

#[test]
fn lists_that_claim_too_much_are_refused() {
    let malformed = Err(FunctionError::Damaged("malformed".to_owned()));
    let list = list_of_fields([1, 1, 0, 1], &[], &[1, b'a']);
    assert_eq!(list.map(|list| list.prefix_range(b"a")), Ok(0..1));
    // Starts of no bits, and more strings than bytes.
    assert_eq!(list_of_fields([1 << 40, 1, 0, 1 << 40], &[], &[1, b'a']), malformed);
    assert_eq!(list_of_fields([3, 3, 0, 1], &[], &[1, b'a']), malformed);
    // Starts of two bits: 0, 2; then 0, 0 and 1, 2 and 0, 3, and 0 in front of no data.
    let two = |starts| list_of_fields([2, 1, 2, 2], &[starts], &[1, b'a', 0]);
    assert!(two(0b10_00).is_ok());
    for starts in [0b00_00, 0b10_01, 0b11_00] {
        assert_eq!(two(starts), malformed, "{starts:b}");
    }
}

#[test]
fn a_front_coded_list_is_smaller_than_its_strings() {
    let keys = numbers(10_000);
    let list = FrontCodedList::build(&keys, 16).unwrap();
    let plain: usize = keys.iter().map(String::len).sum();
    assert!(list.bytes() < plain, "{} {plain}", list.bytes());
}

proptest! {
    #[test]
    fn ranks_are_places_in_the_order(keys in keys(), seed: u64, others in prop::collection::vec("[ab]{0,7}", 0..20)) {
        for solver in SOLVERS {
            let hash = MonotoneHash::build(&keys, 20, solver, seed).unwrap();
            prop_assert_eq!(hash.len(), keys.len());
            for (at, key) in keys.iter().enumerate() {
                prop_assert_eq!(hash.rank(key), Some(at));
            }
            for other in &others {
                if let Some(rank) = hash.rank(other.as_bytes()) {
                    prop_assert_eq!(keys[rank].as_slice(), other.as_bytes());
                }
            }
            prop_assert_eq!(MonotoneHash::from_bytes(&hash.to_bytes()), Ok(hash));
        }
    }

    #[test]
    fn a_front_coded_list_is_a_sorted_vector(
        keys in keys(),
        block in 1_usize..20,
        others in prop::collection::vec(prop::collection::vec(prop_oneof![Just(b'a'), Just(255_u8), any::<u8>()], 0..4), 0..40),
        range in (0_usize..310, 0_usize..310),
    ) {
        let list = FrontCodedList::build(&keys, block).unwrap();
        prop_assert_eq!(list.len(), keys.len());
        for (at, key) in keys.iter().enumerate() {
            prop_assert_eq!(list.get(at), Some(key.clone()));
            prop_assert_eq!(list.rank(key), Some(at));
        }
        prop_assert_eq!(list.get(keys.len()), None);
        for other in &others {
            prop_assert_eq!(list.rank(other), keys.binary_search(other).ok());
            let with_prefix = keys.iter().filter(|key| key.starts_with(other)).count();
            let found = list.prefix_range(other);
            prop_assert_eq!(found.len(), with_prefix);
            prop_assert!(keys[found].iter().all(|key| key.starts_with(other)));
        }
        let read: Vec<_> = list.iter(range.0..range.1).collect();
        let end = range.1.min(keys.len());
        prop_assert_eq!(read.as_slice(), keys.get(range.0..end).unwrap_or_default());
        prop_assert_eq!(FrontCodedList::from_bytes(&list.to_bytes()), Ok(list));
    }

    /// Records with a valid checksum, written from their fields.
    #[test]
    fn a_list_of_any_fields_is_refused_or_has_strings(
        len in prop_oneof![0_u64..6, any::<u64>()],
        block in prop_oneof![0_u64..4, any::<u64>()],
        width in 0_u64..6,
        n_starts in prop_oneof![3 => Just(None), 1 => (0_u64..6).prop_map(Some)],
        starts in any::<u32>(),
        data in prop::collection::vec(prop_oneof![0_u8..3, Just(b'a'), any::<u8>()], 0..20),
        prefix in prop::collection::vec(prop_oneof![Just(b'a'), any::<u8>()], 0..3),
    ) {
        let n_starts = n_starts.unwrap_or(len.div_ceil(block.max(1)));
        let words = usize::try_from((u128::from(width) * u128::from(n_starts)).div_ceil(64)).unwrap();
        let list = list_of_fields([len, block, width, n_starts], &vec![u64::from(starts); words.min(4)], &data);
        if let Ok(list) = list {
            prop_assert!(list.len() <= data.len());
            let range = list.prefix_range(&prefix);
            prop_assert!(range.start <= range.end && range.end <= list.len());
            prop_assert!(list.iter(0..list.len()).count() <= data.len());
        }
    }

    #[test]
    fn damage_is_found(at: prop::sample::Index, bit in 0_u32..8) {
        let keys = numbers(30);
        let hash = MonotoneHash::build(&keys, 8, SystemSolver::Elimination, 1).unwrap().to_bytes();
        let list = FrontCodedList::build(&keys, 8).unwrap().to_bytes();
        for (bytes, is_hash) in [(hash, true), (list, false)] {
            let mut changed = bytes.clone();
            let at = at.index(bytes.len());
            changed[at] ^= 1_u8 << bit;
            for bytes in [&changed[..], &bytes[..at]] {
                prop_assert!(!is_hash || MonotoneHash::from_bytes(bytes).is_err());
                prop_assert!(is_hash || FrontCodedList::from_bytes(bytes).is_err());
            }
        }
    }
}
