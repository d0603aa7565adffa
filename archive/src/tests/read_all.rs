//! Records and damage of a file, as the product's reader returns them, and files to read.

use crate::{Damage, RecordHead, WarcReader};
use flate2::{Compression, write::GzEncoder};
use std::io::{BufReader, Write as _};

#[derive(Debug)]
pub struct Found {
    pub offset: u64,
    pub length: Option<u64>,
    pub head: RecordHead,
    pub block: Vec<u8>,
}

/// Reads a file in chunks of 1,000 bytes. Records that cannot be read to their end are only damage.
pub fn read_all(bytes: &[u8]) -> (Vec<Found>, Vec<Damage>) {
    let mut reader = WarcReader::new(BufReader::with_capacity(1000, bytes));
    let (mut records, mut damages) = (Vec::new(), Vec::new());
    while let Some(item) = reader.next_record() {
        match item {
            Err(damage) => damages.push(damage),
            Ok(mut record) => {
                let block = record.read_block(1 << 20);
                if let (Ok(block), Ok(length)) = (block, record.finish()) {
                    let (offset, head) = (record.offset(), record.head.clone());
                    records.push(Found { offset, length, head, block });
                }
            }
        }
        assert!(records.len() + damages.len() <= bytes.len() + 1, "the reader does not end");
    }
    (records, damages)
}

/// Returns the bytes of all records and damage.
pub fn bytes_of(records: &[Found], damages: &[Damage]) -> u64 {
    let skipped: u64 = damages.iter().map(|damage| damage.skipped).sum();
    records.iter().filter_map(|record| record.length).sum::<u64>() + skipped
}

/// Returns a plain record with this block and a `Content-Length` of this text.
pub fn record_with(length: &str, block: &str) -> Vec<u8> {
    format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n")
        .into_bytes()
}

pub fn record(block: &str) -> Vec<u8> {
    record_with(&block.len().to_string(), block)
}

pub fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Returns a frame with a checksum, without which flipped bits are not noticed.
pub fn zstd(text: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.include_checksum(true).unwrap();
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}
