//! Payloads of revisits: those of their originals, over all files of an export.

use super::capture::{ArchivedCapture, Payload};
use crivello_archive::{OriginalIndex, RecordHead, WarcReader};
use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The originals to which revisits refer. The first revisit reads the index of all files, which takes about
/// 150 bytes of memory for each record, twice as many without CDXJ indexes.
pub struct Originals<'f> {
    files: &'f [PathBuf],
    index: OnceLock<OriginalIndex>,
}

impl<'f> Originals<'f> {
    /// Creates the originals in these files. Nothing is read yet.
    pub const fn new(files: &'f [PathBuf]) -> Self {
        Self { files, index: OnceLock::new() }
    }

    /// Returns the capture whose payload is that of a revisit; `None` if it is in none of the files, or
    /// cannot be read.
    pub fn find(&self, revisit: &ArchivedCapture) -> Option<ArchivedCapture> {
        let place = self.index.get_or_init(|| self.read_index()).resolve(&revisit.head)?;
        let is_named = |path: &&PathBuf| {
            path.to_string_lossy() == place.file_name
                || path.file_name().is_some_and(|name| name == place.file_name)
        };
        let path = self.files.iter().find(is_named)?;
        let mut warc = WarcReader::open(path).ok()?;
        warc.seek(place.offset).ok()?;
        let wanted = payload_digest(&revisit.head);
        loop {
            let record = warc.next_record()?.ok()?;
            if record.offset() != place.offset {
                return None;
            }
            let digest = payload_digest(&record.head);
            let is_same = wanted.is_none() || digest.is_none() || digest == wanted;
            if matches!(record.head.kind(), "response" | "resource") && is_same {
                let original = ArchivedCapture::read(record);
                return (original.payload != Payload::Damaged).then_some(original);
            }
        }
    }

    /// Reads the indexes beside the files if their names, which are all that an index has, are unique, and
    /// the files otherwise. Files that cannot be read are reported when they are exported.
    fn read_index(&self) -> OriginalIndex {
        let mut names = HashSet::new();
        let are_unique = self.files.iter().all(|path| names.insert(path.file_name()));
        let mut index = OriginalIndex::default();
        for path in self.files {
            if !(are_unique && add_cdxj(&mut index, path).is_ok())
                && let Ok(mut warc) = WarcReader::open(path)
            {
                index.add_warc(&path.to_string_lossy(), &mut warc);
            }
        }
        index
    }
}

fn add_cdxj(index: &mut OriginalIndex, warc: &Path) -> io::Result<()> {
    let name = warc.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".warc").next().unwrap_or_default();
    let lines = File::open(warc.with_file_name(format!("{stem}.cdxj")))?;
    index.add_cdxj(BufReader::new(lines)).map(|_| ())
}

fn payload_digest(head: &RecordHead) -> Option<&str> {
    head.fields.get("WARC-Payload-Digest")
}
