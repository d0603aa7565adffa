//! Broken files: the damage is named, and the records around it are read.

use super::read_all::{bytes_of, gzip, read_all, record, record_with, zstd};
use crate::{DamageKind, WarcReader};
use std::io::{self, BufReader, Read};

type Compress = fn(&[u8]) -> Vec<u8>;

/// Puts damaged bytes between good records. Returns the blocks that are read, and the kinds of damage.
fn around(damaged: &[u8], compress: Compress) -> (Vec<String>, Vec<String>) {
    let good = |block| compress(&record(block));
    let file = [good("first"), good("second"), damaged.to_vec(), good("third"), good("last")];
    let file = file.concat();
    let (records, damages) = read_all(&file);
    assert_eq!(bytes_of(&records, &damages), file.len() as u64, "{records:?} {damages:?}");
    let blocks = records.iter().map(|found| String::from_utf8_lossy(&found.block).into_owned());
    let kinds = damages.iter().map(|damage| format!("{:?}", damage.kind));
    (blocks.collect(), kinds.collect())
}

#[test]
fn broken_records_are_named_and_the_others_are_read() {
    let long_head = [b"WARC/1.0\r\nX: ".to_vec(), vec![b'a'; 2 << 20]].concat();
    let many_fields = [b"WARC/1.0\r\n".to_vec(), b"X: y\r\n".repeat(1 << 20)].concat();
    let cases: &[(&str, &[u8], &str)] = &[
        ("no version", b"WARC-Type: resource\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", "Version"),
        ("an old version", b"WARC/0.18\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", "Version"),
        ("a version of the future", b"WARC/1.19\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", "Version"),
        ("no length", b"WARC/1.0\r\nWARC-Type: x\r\n\r\nx\r\n\r\n", "NoContentLength"),
        ("a word", &record_with("many", "x"), "ContentLength(\"many\")"),
        ("a negative length", &record_with("-1", "x"), "ContentLength(\"-1\")"),
        ("a sign", &record_with("+1", "x"), "ContentLength(\"+1\")"),
        ("an empty length", &record_with("", "x"), "ContentLength(\"\")"),
        (
            "2^64",
            &record_with("18446744073709551616", "x"),
            "ContentLength(\"18446744073709551616\")",
        ),
        ("a small length", &record_with("3", "longer"), "LongBlock"),
        ("a long line", &long_head, "HeadLength"),
        ("many fields", &many_fields, "HeadLength"),
        ("a long line without a version", &vec![b'a'; 2 << 20], "Version"),
    ];
    for (name, damaged, kind) in cases {
        for (form, compress) in
            [("plain", <[u8]>::to_vec as Compress), ("gzip", gzip), ("zstd", zstd)]
        {
            let mut damaged = compress(damaged);
            if form == "plain" {
                damaged.extend(b"\r\n");
            }
            let (mut blocks, kinds) = around(&damaged, compress);
            blocks.retain(|block| block != "lon");
            assert_eq!(blocks, ["first", "second", "third", "last"], "{name}, {form}: {kinds:?}");
            let kinds: Vec<_> =
                kinds.iter().map(|kind| kind.replace("LongBlock", "Version")).collect();
            assert_eq!(kinds, [kind.replace("LongBlock", "Version")], "{name}, {form}");
        }
    }
}

#[test]
fn a_length_that_is_too_large_costs_one_record() {
    for length in ["7", "100000000000", "18446744073709551615"] {
        for compress in [gzip as Compress, zstd] {
            let (blocks, kinds) = around(&compress(&record_with(length, "")), compress);
            assert_eq!(blocks, ["first", "second", "third", "last"]);
            assert_eq!(kinds, ["ShortBlock"]);
        }
    }
    for length in ["100000000000", "18446744073709551615"] {
        let (blocks, kinds) = around(&record_with(length, "block"), <[u8]>::to_vec);
        assert_eq!(blocks, ["first", "second", "third", "last"]);
        assert_eq!(kinds, ["CutTail"]);
    }
}

#[test]
fn broken_members_are_named_and_the_others_are_read() {
    let text = record(&(0..4000).map(|n| (n * n).to_string()).collect::<String>());
    for compress in [gzip as Compress, zstd] {
        let whole = compress(&text);
        let flipped = |at: usize| {
            let mut bytes = whole.clone();
            bytes[at] ^= 0x55;
            bytes
        };
        let n = whole.len();
        let mut cases = vec![flipped(0), flipped(n / 2), flipped(n - 30), whole[..n / 2].to_vec()];
        if whole.starts_with(&[0x1f]) {
            cases.extend([flipped(n - 1), flipped(n - 5), whole[..n - 1].to_vec()]);
        }
        for damaged in
            [&b"garbage"[..], &[0; 100], &[0x1f, 0x8b], &[0x1f, 0x8b, 8, 0, 1, 2], &[0x28]]
        {
            cases.push(damaged.to_vec());
        }
        for (nth, damaged) in cases.iter().enumerate() {
            let (blocks, kinds) = around(damaged, compress);
            assert_eq!(blocks, ["first", "second", "third", "last"], "{nth}: {kinds:?}");
            assert_eq!(kinds.len(), 1, "{nth}: {kinds:?}");
            assert!(
                ["Compression", "BetweenMembers", "CutTail"].contains(&&*kinds[0]),
                "{nth}: {kinds:?}"
            );
        }
        // A member that is no record, and one that is only a part of a head.
        assert_eq!(around(&compress(b"no record"), compress).1, ["Version"]);
        assert_eq!(around(&compress(b"WARC/1.0\r\nX: y"), compress).1, ["HeadEnd"]);
    }
}

#[test]
fn a_cut_tail_is_named_at_every_length() {
    for compress in [<[u8]>::to_vec as Compress, gzip, zstd] {
        let (first, second) = (compress(&record("first")), compress(&record("second block")));
        let file = [first.clone(), second.clone()].concat();
        for n in first.len() + 1..file.len() {
            let (records, damages) = read_all(&file[..n]);
            assert_eq!(bytes_of(&records, &damages), n as u64);
            assert_eq!(records[0].block, b"first");
            // Only the end of the plain record may be missing.
            if records.len() == 2 {
                assert!(compress(b"") == b"" && n >= file.len() - 4 && damages.is_empty());
                continue;
            }
            assert!(matches!(damages[..], [_]), "{n}: {damages:?}");
            assert_eq!(damages[0].offset, first.len() as u64);
            let is_short = compress(b"") == b"" && n < first.len() + 5;
            let is_cut = matches!(damages[0].kind, DamageKind::CutTail);
            assert!(is_cut || is_short, "{n}: {damages:?}");
        }
    }
}

#[test]
fn a_file_whose_first_bytes_are_broken_is_recognized() {
    for compress in [<[u8]>::to_vec as Compress, gzip, zstd] {
        let mut file = [compress(&record("lost")), compress(&record("found"))].concat();
        file[0] ^= 1;
        let (records, damages) = read_all(&file);
        assert_eq!(bytes_of(&records, &damages), file.len() as u64);
        assert_eq!(records.iter().map(|found| &found.block[..]).collect::<Vec<_>>(), [b"found"]);
        assert_eq!(damages.len(), 1);
    }
    for file in
        [&b""[..], b"\r\n", b"x", b"WARC", &[0x1f], &[0x5d, 0x2a, 0x4d, 0x18, 255, 255, 255, 255]]
    {
        assert!(read_all(file).0.is_empty());
    }
}

#[test]
fn records_in_one_member_are_found_again_after_a_bad_head() {
    let parts = [record("first"), record_with("x", "lost"), record("found")].concat();
    let (records, damages) = read_all(&gzip(&parts));
    let blocks: Vec<_> = records.iter().map(|found| &found.block[..]).collect();
    assert_eq!(blocks, [&b"first"[..], b"found"]);
    assert!(
        matches!(damages[..], [ref damage] if matches!(damage.kind, DamageKind::ContentLength(_)))
    );
}

#[test]
fn text_without_end_takes_neither_memory_nor_time() {
    let bomb =
        [b"WARC/1.0\r\nContent-Length: 5\r\n\r\nblock\r\n\r\n".to_vec(), vec![b' '; 80 << 20]];
    let file = [gzip(&bomb.concat()), gzip(&record("found"))].concat();
    let (records, damages) = read_all(&file);
    assert_eq!(records.last().unwrap().block, b"found");
    assert_eq!(damages.len(), 1);
}

#[test]
fn a_file_in_which_everything_is_damaged_takes_linear_time() {
    let plain = record_with("99999999999", "").repeat(20_000);
    let (records, damages) = read_all(&plain);
    // Each damage reads the rest of the file again, until that was done too often.
    assert!(records.is_empty() && (2..100).contains(&damages.len()), "{}", damages.len());
    let magics = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0xff].repeat(20_000);
    assert!(read_all(&magics).0.is_empty());
}

struct FailsAt<'a>(&'a [u8]);

impl Read for FailsAt<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        match self.0.read(out)? {
            0 => Err(io::Error::other("the disk is broken")),
            n => Ok(n),
        }
    }
}

#[test]
fn an_error_of_the_system_ends_the_reader() {
    let file = [gzip(&record("first")), gzip(&record(&"second".repeat(1000)))].concat();
    for n in 0..file.len() {
        let mut reader = WarcReader::new(BufReader::with_capacity(7, FailsAt(&file[..n])));
        let damage = loop {
            match reader.next_record() {
                Some(Ok(mut record)) => drop(record.read_block(1 << 20)),
                Some(Err(damage)) => break damage,
                None => panic!("no error at {n}"),
            }
        };
        assert!(damage.to_string().contains("the disk is broken"), "{damage}");
        assert!(matches!(damage.kind, DamageKind::Io(_)));
        assert!(reader.next_record().is_none());
    }
}
