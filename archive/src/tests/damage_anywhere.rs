//! Cuts and flipped bytes anywhere: the records before them are intact, those after them are found
//! again, and every byte is a record's or skipped.

use super::read_all::{Found, bytes_of, gzip, read_all, record, zstd};
use proptest::prelude::*;
use proptest::sample::Index;

/// Returns records with blocks of different lengths that hold their number.
fn records(compress: fn(&[u8]) -> Vec<u8>) -> Vec<Vec<u8>> {
    let block = |n: u32| {
        let noise = (0..n * n * 31 % 3000).map(|i| (i.wrapping_mul(i ^ 0x9e37) % 1009).to_string());
        format!("{n} {}", noise.collect::<String>())
    };
    (0..40).map(|n| compress(&record(&block(n)))).collect()
}

fn number(found: &Found) -> Option<usize> {
    let end = found.block.iter().position(|&byte| byte == b' ')?;
    std::str::from_utf8(&found.block[..end]).ok()?.parse().ok()
}

fn check(compress: fn(&[u8]) -> Vec<u8>, cut: Option<Index>, flips: &[(Index, u8)]) {
    let members = records(compress);
    let mut file = members.concat();
    let (intact, _) = read_all(&file);
    let mut damaged: Vec<_> = flips.iter().map(|(at, _)| at.index(file.len())).collect();
    for (&at, (_, mask)) in damaged.iter().zip(flips) {
        file[at] ^= mask;
    }
    if let Some(at) = cut {
        let at = at.index(file.len());
        damaged.push(at);
        file.truncate(at);
    }
    let (found, damages) = read_all(&file);
    assert_eq!(bytes_of(&found, &damages), file.len() as u64, "{damages:?}");
    let end = |nth: usize| intact[nth].offset as usize + members[nth].len();
    let is_plain = compress(b"").is_empty();
    for (nth, expected) in intact.iter().enumerate() {
        let begin = expected.offset as usize;
        // In a plain file, a length that is too large swallows the records after it. A changed byte makes
        // five digits of it at most.
        let reach = if is_plain { begin.saturating_sub(100_000) } else { begin };
        let is_touched = damaged.iter().any(|&at| (reach..end(nth)).contains(&at));
        let is_gone = end(nth) > file.len();
        if !is_touched && !is_gone {
            let same = found.iter().any(|found| {
                found.offset == expected.offset
                    && found.head == expected.head
                    && found.block == expected.block
            });
            assert!(same, "record {nth} is lost; damaged at {damaged:?}: {damages:?}");
        }
    }
    if !is_plain {
        let numbers: Vec<_> = found.iter().filter_map(number).collect();
        assert!(numbers.is_sorted(), "{numbers:?}");
    }
}

/// Removes bytes from the middle: a broken member then runs on into the next one.
fn check_hole(compress: fn(&[u8]) -> Vec<u8>, at: Index, length: usize) {
    let members = records(compress);
    let mut file = members.concat();
    let (intact, _) = read_all(&file);
    let begin = at.index(file.len());
    let end = (begin + length).min(file.len());
    file.drain(begin..end);
    let (found, damages) = read_all(&file);
    assert_eq!(bytes_of(&found, &damages), file.len() as u64, "{damages:?}");
    for (expected, member) in intact.iter().zip(&members) {
        let offset = expected.offset as usize;
        if offset >= end || offset + member.len() <= begin {
            let is_found = found.iter().any(|found| found.block == expected.block);
            assert!(is_found, "the record at {offset} is lost: {damages:?}");
        }
    }
}

fn flips() -> impl Strategy<Value = Vec<(Index, u8)>> {
    proptest::collection::vec((any::<Index>(), 1_u8..), 0..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn gzip_members(cut in any::<Option<Index>>(), flips in flips()) {
        check(gzip, cut, &flips);
    }

    #[test]
    fn plain_records(cut in any::<Option<Index>>(), flips in flips()) {
        check(<[u8]>::to_vec, cut, &flips);
    }

    #[test]
    fn zstd_frames(cut in any::<Option<Index>>(), flips in flips()) {
        check(zstd, cut, &flips);
    }

    #[test]
    fn members_with_a_hole(at in any::<Index>(), length in 1_usize..5000) {
        check_hole(gzip, at, length);
        check_hole(zstd, at, length);
    }

    #[test]
    fn records_in_one_member_never_panic(cut in any::<Option<Index>>(), flips in flips()) {
        let mut file = gzip(&records(<[u8]>::to_vec).concat());
        for (at, mask) in &flips {
            let at = at.index(file.len());
            file[at] ^= mask;
        }
        if let Some(cut) = cut {
            file.truncate(cut.index(file.len()));
        }
        let (found, damages) = read_all(&file);
        let is_whole = found.len() == 40 || file.is_empty();
        prop_assert!(damages.is_empty() == is_whole || !flips.is_empty());
    }

    #[test]
    fn any_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000), magic in 0_usize..4) {
        let magics = [&b""[..], b"WARC/1.1\r\n", &[0x1f, 0x8b, 8, 0], &[0x28, 0xb5, 0x2f, 0xfd]];
        let (found, damages) = read_all(&[magics[magic], &bytes].concat());
        prop_assert!(found.len() + damages.len() <= bytes.len() + 1);
    }
}
