//! Redacted records: they replace records of an archive at exactly the same compressed length, so that the
//! offsets of all other records stay valid.
//!
//! A redacted record is a `metadata` record of no URL. Its member or frame is as long as required because of
//! blocks without content, which every decoder of deflate (RFC 1951 section 3.2.4) or zstd (RFC 8878 section
//! 3.1.1.2) skips. What is left over goes into the comment of the gzip header (RFC 1952 section 2.3.1); a zstd
//! frame is compressed again with another record id until nothing is.

use super::compress::RecordCompressor;
use super::digest::WarcDigest;
use super::fields::{self, WarcDate, push_field};
use super::record_id::RecordIds;
use super::records::RECORD_END;
use crivello_common::config::{ArchiveCompression, DigestKind, Store};
use crivello_common::time::Timestamp;
use std::io::{self, Write};

/// Stored block of deflate without content; not the last block.
const EMPTY_STORED_BLOCK: &[u8] = &[0, 0, 0, 0xff, 0xff];
/// Raw block of zstd without content; not the last block.
const EMPTY_RAW_BLOCK: &[u8] = &[0, 0, 0];
/// Length of a gzip header without optional fields, and its flag of a comment.
const GZIP_HEADER: usize = 10;
const GZIP_COMMENT: u8 = 16;
/// Number of record ids that are tried. Each has the right length with a probability of about one third.
const TRIES_MAX: usize = 200;
/// Number of empty blocks that are written at once.
const BLOCKS_AT_ONCE: usize = 4_096;

/// A member or frame with a redacted record.
pub(crate) struct RedactedRecord {
    start: Vec<u8>,
    filler: &'static [u8],
    n_fillers: u64,
    end: Vec<u8>,
}

/// Builder of redacted records.
pub(crate) struct RedactedRecordBuilder {
    compression: ArchiveCompression,
    digest: DigestKind,
    compressor: RecordCompressor,
    ids: RecordIds,
    at: Timestamp,
}

impl RedactedRecordBuilder {
    /// Creates a builder of records of this time, for a file of this compression.
    pub(crate) fn new(compression: ArchiveCompression, digest: DigestKind, at: Timestamp) -> Self {
        let settings = Store { compression, gzip_level: 9, zstd_level: 19, ..Store::default() };
        let compressor = RecordCompressor::new(&settings);
        Self { compression, digest, compressor, ids: RecordIds::new(), at }
    }

    /// Builds a record of `length` compressed bytes; `None` if it is shorter than any such record.
    pub(crate) fn build(&mut self, length: u64) -> Option<RedactedRecord> {
        // Records of other programs may be so short that there is no space for a digest.
        let with_digest = (0..TRIES_MAX).find_map(|_| self.try_build(length, true));
        with_digest.or_else(|| (0..TRIES_MAX).find_map(|_| self.try_build(length, false)))
    }

    fn try_build(&mut self, length: u64, has_digest: bool) -> Option<RedactedRecord> {
        let bytes = self.compress(has_digest);
        let free = length.checked_sub(bytes.len() as u64)?;
        match self.compression {
            ArchiveCompression::Gzip => Some(padded_gzip(&bytes, free)),
            ArchiveCompression::Zstd => padded_zstd(&bytes, free),
        }
    }

    fn compress(&mut self, has_digest: bool) -> Vec<u8> {
        let date = WarcDate::of(self.at);
        let mut block = Vec::new();
        push_field(&mut block, "redacted", &date.0);
        let mut head = Vec::new();
        fields::begin_head(&mut head, "metadata", &self.ids.next(), &date);
        if has_digest {
            let digest = WarcDigest::of(self.digest, &[&block]);
            push_field(&mut head, "WARC-Block-Digest", digest.text());
        }
        fields::end_head(&mut head, "application/warc-fields", block.len());
        self.compressor.compress(&[&head, &block, RECORD_END])
    }
}

/// Puts empty blocks before the content of a gzip member without optional fields.
fn padded_gzip(member: &[u8], free: u64) -> RedactedRecord {
    let filler = EMPTY_STORED_BLOCK;
    let (header, end) = member.split_at(GZIP_HEADER);
    let mut start = header.to_vec();
    let rest = (free % filler.len() as u64) as usize;
    if let Some(n) = rest.checked_sub(1) {
        start[3] |= GZIP_COMMENT;
        start.extend(std::iter::repeat_n(b' ', n));
        start.push(0);
    }
    RedactedRecord { start, filler, n_fillers: free / filler.len() as u64, end: end.to_vec() }
}

/// Puts empty blocks before the content of a zstd frame; `None` if they do not fill `free` bytes.
fn padded_zstd(frame: &[u8], free: u64) -> Option<RedactedRecord> {
    let filler = EMPTY_RAW_BLOCK;
    let (start, end) = frame.split_at_checked(zstd_header_length(frame)?)?;
    let fits = free.is_multiple_of(filler.len() as u64);
    let n_fillers = free / filler.len() as u64;
    fits.then(|| RedactedRecord { start: start.to_vec(), filler, n_fillers, end: end.to_vec() })
}

/// Returns the length of a frame's magic number and header (RFC 8878 section 3.1.1.1).
fn zstd_header_length(frame: &[u8]) -> Option<usize> {
    let descriptor = *frame.get(4)?;
    let is_single_segment = descriptor & 0x20 != 0;
    let dictionary_id = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let content_size = match descriptor >> 6 {
        0 => usize::from(is_single_segment),
        code => 1 << code,
    };
    Some(5 + usize::from(!is_single_segment) + dictionary_id + content_size)
}

impl RedactedRecord {
    /// Writes the member or frame.
    pub(crate) fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&self.start)?;
        let blocks = self.filler.repeat(BLOCKS_AT_ONCE.min(self.n_fillers as usize));
        let mut left = self.n_fillers;
        while left > 0 {
            let n = left.min(BLOCKS_AT_ONCE as u64);
            out.write_all(&blocks[..n as usize * self.filler.len()])?;
            left -= n;
        }
        out.write_all(&self.end)
    }
}
