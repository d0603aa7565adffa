//! URLs and dates of archived pages, read from their records.

use super::earlier_page::EarlierPage;
use crate::storage::near::NearPlace;
use crivello_archive::{WarcReader, find_file};
use foldhash::fast::RandomState;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, ErrorKind, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Number of pages that stay in memory. Near-duplicates of one page often come one after another.
const KEPT: usize = 2_048;
/// Bytes that are read at once: the head of a record is shorter.
const READ_BYTES: usize = 4 << 10;

/// Reader of the heads of archived records, shared by the parser threads.
#[derive(Debug)]
pub(super) struct ArchivedPages {
    dir: PathBuf,
    /// Paths of archive files by serial number; `None` if a file is missing.
    files: Mutex<HashMap<u16, Option<Arc<Path>>, RandomState>>,
    recent: Mutex<HashMap<NearPlace, Arc<EarlierPage>, RandomState>>,
}

impl ArchivedPages {
    pub(super) fn new(dir: PathBuf) -> Self {
        let (files, recent) = <_>::default();
        Self { dir, files, recent }
    }

    /// Returns the page whose record is at a place; `None` if its file was deleted, or cannot be read.
    pub(super) fn read(&self, place: NearPlace) -> Option<Arc<EarlierPage>> {
        if let Some(page) = self.recent.lock().get(&place) {
            return Some(page.clone());
        }
        let path = self.path(place.file)?;
        let page = match read_head(&path, place.offset) {
            Ok(Some(page)) => Arc::new(page),
            // `crivello forget` has redacted it.
            Ok(None) => return None,
            Err(error) => {
                if error.kind() == ErrorKind::NotFound {
                    self.files.lock().insert(place.file, None);
                } else {
                    let path = path.display();
                    tracing::warn!(%error, %path, "cannot read an archived page; it is no near-duplicate");
                }
                return None;
            }
        };
        let mut recent = self.recent.lock();
        if recent.len() >= KEPT {
            recent.clear();
        }
        recent.insert(place, page.clone());
        Some(page)
    }

    fn path(&self, file: u16) -> Option<Arc<Path>> {
        if let Some(path) = self.files.lock().get(&file) {
            return path.clone();
        }
        let name = find_file(&self.dir, file.into());
        let path = name.map(|name| self.dir.join(name).into());
        self.files.lock().insert(file, path.clone());
        path
    }
}

/// Returns the page of a record; `None` if the record has no URL.
fn read_head(path: &Path, offset: u32) -> io::Result<Option<EarlierPage>> {
    // The reader begins at the record: at the start of the file it would read more, to recognize its format.
    let mut file = File::open(path)?;
    file.seek(SeekFrom::Start(offset.into()))?;
    let mut reader = WarcReader::new(BufReader::with_capacity(READ_BYTES, file));
    let damaged = || io::Error::new(ErrorKind::InvalidData, "the record is damaged");
    let record = reader.next_record().ok_or_else(damaged)?.map_err(|_| damaged())?;
    let Some(url) = record.head.uri("WARC-Target-URI") else { return Ok(None) };
    let date = record.head.fields.get("WARC-Date").ok_or_else(damaged)?;
    Ok(Some(EarlierPage { url: url.to_owned(), date: date.to_owned() }))
}
