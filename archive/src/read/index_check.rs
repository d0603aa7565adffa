//! Comparison of a CDXJ index with the records of its file.

use super::cdxj_line::{CdxjLine, for_each_line};
use super::head::RecordHead;
use crate::format::digest::WarcDigest;
use std::collections::BTreeMap;
use std::io::{self, BufRead};

/// A difference between an index and a WARC file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexDifference {
    /// A line cannot be read, or has the offset of an earlier one.
    Line {
        /// Number of the line, from 1.
        number: u64,
    },
    /// A response or revisit has no line.
    NoLine {
        /// Offset of the record in bytes.
        offset: u64,
    },
    /// No readable record begins at the offset of a line.
    NoRecord {
        /// Offset in the line, in bytes.
        offset: u64,
    },
    /// A member of a line differs from the record.
    Member {
        /// Offset of the record in bytes.
        offset: u64,
        /// Name of the member: `timestamp`, `url`, `status`, `digest` or `length`.
        name: &'static str,
        /// Value in the line.
        line: String,
        /// Value of the record.
        record: String,
    },
}

/// The lines of one file's index, in memory: about 300 bytes a line.
pub struct IndexLines {
    lines: BTreeMap<u64, CdxjLine>,
    differences: Vec<IndexDifference>,
}

impl IndexLines {
    /// Reads the lines of an index that name the file `file_name`, or no file.
    ///
    /// # Errors
    /// Those of `index`.
    pub fn read(index: impl BufRead, file_name: &str) -> io::Result<Self> {
        let mut own = Self { lines: BTreeMap::new(), differences: Vec::new() };
        for_each_line(index, |number, line| match line {
            Some(line) if !line.file_name.is_empty() && line.file_name != file_name => {}
            Some(line) if !own.lines.contains_key(&line.offset) => {
                own.lines.insert(line.offset, line);
            }
            _ => own.differences.push(IndexDifference::Line { number }),
        })?;
        Ok(own)
    }

    /// Compares a record with its line. `length` is that of its member in bytes, `status` that of
    /// its HTTP response; what is `None` is not compared.
    pub fn compare(
        &mut self,
        head: &RecordHead,
        offset: u64,
        length: Option<u64>,
        status: Option<u16>,
    ) {
        let Some(line) = self.lines.remove(&offset) else {
            if matches!(head.kind(), "response" | "revisit") {
                self.differences.push(IndexDifference::NoLine { offset });
            }
            return;
        };
        let text = |name| head.fields.get(name).unwrap_or_default().to_owned();
        let mut compare = |name, line: String, record: String, is_same: bool| {
            if !is_same {
                self.differences.push(IndexDifference::Member { offset, name, line, record });
            }
        };
        let mut timestamp = text("WARC-Date");
        timestamp.retain(|c| c.is_ascii_digit());
        timestamp.truncate(14);
        let is_same = line.timestamp == timestamp;
        compare("timestamp", line.timestamp, timestamp, is_same);
        let url = head.uri("WARC-Target-URI").unwrap_or_default().to_owned();
        let is_same = line.url == url;
        compare("url", line.url, url, is_same);
        if let Some(status) = status.map(|status| status.to_string()) {
            let is_same = line.status == status;
            compare("status", line.status, status, is_same);
        }
        let digest = text("WARC-Payload-Digest");
        let is_same = is_same_digest(&line.digest, &digest);
        compare("digest", line.digest, digest, is_same);
        if let (Some(of_line), Some(length)) = (line.length, length) {
            compare("length", of_line.to_string(), length.to_string(), of_line == length);
        }
    }

    /// Returns all differences, after all records were compared.
    #[must_use]
    pub fn differences(mut self) -> Vec<IndexDifference> {
        let offsets = self.lines.into_keys();
        self.differences.extend(offsets.map(|offset| IndexDifference::NoRecord { offset }));
        self.differences
    }
}

/// Compares digests. Some programs leave the algorithm out of the index, or write `-` for none.
fn is_same_digest(line: &str, record: &str) -> bool {
    let value = |digest: &str| digest.rsplit(':').next().unwrap_or_default().to_owned();
    match WarcDigest::parse(line) {
        Some(digest) => WarcDigest::parse(record) == Some(digest),
        None if matches!(line, "" | "-") => record.is_empty(),
        None => value(line).eq_ignore_ascii_case(&value(record)),
    }
}
