//! Redaction: captures are taken out of files that are not written any more. Their records are replaced by
//! redacted ones of the same length, and their lines are removed from the index. So the places of all other
//! records stay as they are.
//!
//! The index is replaced first. A kill in between leaves captures without lines, which the next search finds.

use crate::error::ArchiveError;
use crate::format::file_names::{FileStem, INDEX};
use crate::format::redacted::RedactedRecordBuilder;
use crate::index::cdxj::offset_of;
use crate::read::damage::Damage;
use crate::read::head::RecordHead;
use crate::read::reader::WarcReader;
use crivello_common::config::{ArchiveCompression, DigestKind};
use crivello_common::runtime::Replacement;
use crivello_common::time::Timestamp;
use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::Write;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The reason why a capture is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RedactionCause {
    /// Its URL is to be forgotten.
    Url,
    /// It is a revisit that refers to a capture that is redacted.
    Reference,
}

/// A capture that is redacted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedactedCapture {
    /// URL of the capture.
    pub url: String,
    /// Value of its `WARC-Date`.
    pub date: String,
    /// The reason.
    pub cause: RedactionCause,
}

/// A record that is redacted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RecordRange {
    offset: u64,
    length: u64,
}

/// Records and captures to be redacted in one WARC file.
#[derive(Debug, Default)]
pub struct FileRedaction {
    /// Captures: responses, revisits and other records that belong to none of these.
    pub captures: Vec<RedactedCapture>,
    /// Damage of the file: what was skipped may have more.
    pub damage: Vec<Damage>,
    records: Vec<RecordRange>,
}

impl FileRedaction {
    /// Finds the records to be redacted in a file. `causes` is called with the head of each record that has
    /// a URL. The records of a request and of metadata follow the response that they belong to.
    ///
    /// # Errors
    /// Those of the system; [`ErrorKind::Unsupported`] if a record is not in a gzip member or zstd frame of
    /// its own.
    pub fn find(
        path: &Path,
        mut causes: impl FnMut(&RecordHead) -> Option<RedactionCause>,
    ) -> io::Result<Self> {
        let mut found = Self::default();
        let mut reader = WarcReader::open(path)?;
        let mut ids = HashSet::new();
        while let Some(item) = reader.next_record() {
            let mut record = match item {
                Ok(record) => record,
                Err(damage) => {
                    found.damage.push(damage);
                    continue;
                }
            };
            let head = &record.head;
            let Some(url) = head.uri("WARC-Target-URI") else { continue };
            let concurrent = head.fields.get("WARC-Concurrent-To");
            let belongs = concurrent.is_some_and(|id| ids.contains(id));
            let cause = causes(head);
            if cause.is_none() && !belongs {
                continue;
            }
            let capture = cause.filter(|_| !belongs).map(|cause| {
                let date = head.fields.get("WARC-Date").unwrap_or_default().to_owned();
                RedactedCapture { url: url.to_owned(), date, cause }
            });
            if let Some(id) = head.fields.get("WARC-Record-ID") {
                ids.insert(id.to_owned());
            }
            let offset = record.offset();
            match record.finish() {
                Ok(Some(length)) => {
                    found.records.push(RecordRange { offset, length });
                    found.captures.extend(capture);
                }
                Ok(None) => {
                    return Err(io::Error::new(
                        ErrorKind::Unsupported,
                        "several records are in one gzip member or zstd frame",
                    ));
                }
                // The next item of the reader is this damage: the record stays, and is reported.
                Err(error) if error.kind() == ErrorKind::InvalidData => {}
                Err(error) => return Err(error),
            }
        }
        Ok(found)
    }

    /// Returns true if the file has nothing to be redacted.
    pub const fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns the number of records to be redacted.
    pub const fn n_records(&self) -> usize {
        self.records.len()
    }

    /// Redacts the records in the file and in its index, which must be finished. A kill leaves either the
    /// old or the new file.
    ///
    /// # Errors
    /// [`ArchiveError::Io`] and [`ArchiveError::Full`]; also if a record is shorter than a redacted one.
    pub fn apply(
        &self,
        path: &Path,
        digest: DigestKind,
        now: Timestamp,
    ) -> Result<(), ArchiveError> {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if let (Some((stem, _)), Some(dir)) = (FileStem::split(name), path.parent()) {
            self.remove_lines(&stem.path(dir, INDEX))?;
        }
        let compression = match name.ends_with(".zst") {
            true => ArchiveCompression::Zstd,
            false => ArchiveCompression::Gzip,
        };
        let mut redacted = RedactedRecordBuilder::new(compression, digest, now);
        Replacement::default()
            .write(path, |new| self.copy_redacted(path, new, &mut redacted))
            .map_err(ArchiveError::io("redact", path))
    }

    fn copy_redacted(
        &self,
        path: &Path,
        new: &mut File,
        redacted: &mut RedactedRecordBuilder,
    ) -> io::Result<()> {
        let mut old = BufReader::with_capacity(1 << 20, File::open(path)?);
        let mut out = BufWriter::with_capacity(1 << 20, new);
        let mut at = 0;
        for record in &self.records {
            copy_exactly(&mut old, &mut out, record.offset - at)?;
            let short =
                || io::Error::other(format!("the record at {} is too short", record.offset));
            redacted.build(record.length).ok_or_else(short)?.write_to(&mut out)?;
            at = record.offset + record.length;
            old.seek(SeekFrom::Start(at))?;
        }
        io::copy(&mut old, &mut out)?;
        out.flush()
    }

    fn remove_lines(&self, index: &Path) -> Result<(), ArchiveError> {
        let source = match File::open(index) {
            Ok(file) => BufReader::new(file),
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(ArchiveError::io("read", index)(error)),
        };
        let offsets: BTreeSet<u64> = self.records.iter().map(|record| record.offset).collect();
        Replacement::default()
            .write(index, |new| copy_other_lines(source, new, &offsets))
            .map_err(ArchiveError::io("write", index))
    }
}

fn copy_exactly(from: &mut impl BufRead, to: &mut impl Write, n: u64) -> io::Result<()> {
    match io::copy(&mut from.take(n), to)? {
        copied if copied == n => Ok(()),
        _ => Err(ErrorKind::UnexpectedEof.into()),
    }
}

fn copy_other_lines(
    mut source: impl BufRead,
    new: &mut File,
    offsets: &BTreeSet<u64>,
) -> io::Result<()> {
    let mut out = BufWriter::new(new);
    let mut line = Vec::new();
    while source.read_until(b'\n', &mut line)? > 0 {
        if offset_of(&line).is_none_or(|offset| !offsets.contains(&offset)) {
            out.write_all(&line)?;
        }
        line.clear();
    }
    out.flush()
}
