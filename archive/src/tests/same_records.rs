//! Comparison of the product's reader with that of the tests, on files of the writer.

use super::read_all::{bytes_of, gzip, read_all, record, zstd};
use super::reader::{files, read_warc};
use super::responses::{append, open, pages, small_files};
use crate::{WarcReader, WarcVersion};
use std::fs;
use std::io::{BufRead as _, Read as _};

#[test]
fn both_readers_read_the_same_from_written_files() {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = open(dir.path(), None, &small_files(60_000)).unwrap();
    append(&mut archive, &pages(0..300));
    archive.close().unwrap();
    let paths = files(dir.path(), ".warc.gz");
    assert!(paths.len() > 2);
    for path in paths {
        let bytes = fs::read(&path).unwrap();
        let expected = read_warc(&bytes);
        let (records, damages) = read_all(&bytes);
        assert!(damages.is_empty(), "{damages:?}");
        assert_eq!(records.len(), expected.len());
        for (found, expected) in records.iter().zip(&expected) {
            assert_eq!(found.head.version, WarcVersion::V1_1);
            assert_eq!((found.offset, found.length), (expected.offset, Some(expected.length)));
            let fields = found.head.fields.iter();
            assert!(fields.eq(expected.fields.iter().map(|(n, v)| (n.as_str(), v.as_str()))));
            assert_eq!(found.block, expected.block);
        }
        let mut reader = WarcReader::open(&path).unwrap();
        for expected in expected.iter().rev() {
            reader.seek(expected.offset).unwrap();
            let mut record = reader.next_record().unwrap().unwrap();
            assert_eq!(record.offset(), expected.offset);
            assert_eq!(record.read_block(1 << 20).unwrap(), expected.block);
        }
    }
}

#[test]
fn the_compression_is_that_of_the_content() {
    let blocks = ["one", "", "three\r\n\r\nWARC/1.0\r\nContent-Length: 0\r\n\r\n", "\r\n\r\n"];
    let each = |f: fn(&[u8]) -> Vec<u8>| blocks.iter().flat_map(|b| f(&record(b))).collect();
    let plain: Vec<u8> = each(<[u8]>::to_vec);
    let frames: Vec<u8> = each(zstd);
    let skippable = [&[0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0][..], b"xyz"].concat();
    let cases: [(&str, Vec<u8>, bool); 5] = [
        ("plain", plain.clone(), true),
        ("a gzip member a record", each(gzip), true),
        ("one gzip member", gzip(&plain), false),
        ("zstd", frames.clone(), true),
        ("zstd with an extension frame", [&frames[..], &skippable, &frames].concat(), true),
    ];
    for (name, file, has_lengths) in cases {
        let (records, damages) = read_all(&file);
        assert!(damages.is_empty(), "{name}: {damages:?}");
        let read: Vec<_> = records.iter().map(|record| &record.block[..]).collect();
        let expected = blocks.map(str::as_bytes);
        assert_eq!(read, expected.repeat(read.len() / 4), "{name}");
        assert!(!has_lengths || records.iter().all(|record| record.length.is_some()), "{name}");
        let extension = if read.len() > 4 { skippable.len() } else { 0 };
        assert_eq!(bytes_of(&records, &damages), (file.len() - extension) as u64, "{name}");
        assert!(has_lengths || records.iter().all(|record| record.offset == 0), "{name}");
    }
}

#[test]
fn a_dictionary_of_a_zstd_file_is_used() {
    let blocks: Vec<String> =
        (0..200).map(|n| format!("page {n} of example.com {}", n * n)).collect();
    let samples: Vec<_> = blocks.iter().map(|block| record(block)).collect();
    let dictionary = zstd::dict::from_samples(&samples, 4096).unwrap();
    let mut compressor = zstd::bulk::Compressor::with_dictionary(3, &dictionary).unwrap();
    let frames: Vec<u8> = samples.iter().flat_map(|s| compressor.compress(s).unwrap()).collect();
    for content in [dictionary.clone(), zstd(&dictionary)] {
        let mut file = 0x184d_2a5d_u32.to_le_bytes().to_vec();
        file.extend((content.len() as u32).to_le_bytes());
        file.extend(&content);
        let first = file.len() as u64;
        file.extend(&frames);
        let (records, damages) = read_all(&file);
        assert!(damages.is_empty(), "{damages:?}");
        assert_eq!((records.len(), records[0].offset), (200, first));
        assert!(records.iter().zip(&blocks).all(|(found, block)| found.block == block.as_bytes()));
        let mut reader = WarcReader::new(std::io::Cursor::new(&file));
        reader.seek(records[150].offset).unwrap();
        let mut record = reader.next_record().unwrap().unwrap();
        assert_eq!(record.read_block(1000).unwrap(), blocks[150].as_bytes());
    }
}

#[test]
fn a_block_is_streamed_or_left_unread() {
    let file: Vec<u8> =
        (0..9).flat_map(|n| gzip(&record(&format!("{n}").repeat(200_000)))).collect();
    let mut reader = WarcReader::new(&file[..]);
    for n in 0..9 {
        let mut record = reader.next_record().unwrap().unwrap();
        match n % 3 {
            0 => {}
            1 => {
                assert_eq!(
                    record.read_block(199_999).unwrap_err().kind(),
                    std::io::ErrorKind::FileTooLarge
                );
                let mut few = [0; 10];
                record.read_exact(&mut few).unwrap();
                assert_eq!(few, [b'0' + n; 10]);
                record.consume(usize::MAX);
            }
            _ => assert_eq!(record.read_block(200_000).unwrap(), [b'0' + n].repeat(200_000)),
        }
    }
    assert!(reader.next_record().is_none());
}
