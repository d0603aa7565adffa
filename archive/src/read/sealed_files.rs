//! The files of an archive that are never written again.

use crate::error::ArchiveError;
use crate::format::file_names::{FileStem, INDEX, is_warc};
use crate::recover;
use crate::write::position::ArchivePosition;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A WARC file that is never written again, and its index.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SealedFile {
    /// Serial number.
    pub serial: u32,
    /// The WARC file, if it is there.
    pub warc: Option<FilePart>,
    /// The sorted index, if it is there.
    pub index: Option<FilePart>,
}

/// A file on the disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FilePart {
    /// Path.
    pub path: PathBuf,
    /// Length in bytes.
    pub length: u64,
    /// Time of the last change, if the file system has it.
    pub modified: Option<SystemTime>,
}

impl SealedFile {
    /// Returns the WARC file and its index, if both are there.
    pub fn parts(&self) -> Option<[&FilePart; 2]> {
        Some([self.warc.as_ref()?, self.index.as_ref()?])
    }
}

/// Returns the files before the one in which the committed position `end` lies, in order; with `is_closed`, that
/// one too: the writer has closed it.
///
/// # Errors
/// [`ArchiveError::Io`] if the directory cannot be read.
pub fn sealed_files(
    dir: &Path,
    end: &ArchivePosition,
    is_closed: bool,
) -> Result<Vec<SealedFile>, ArchiveError> {
    let Ok(last) = FileStem::of_warc(&end.file) else { return Ok(Vec::new()) };
    let mut sealed: BTreeMap<u32, SealedFile> = BTreeMap::new();
    for (name, path) in recover::files(dir)? {
        let Some((stem, suffix)) = FileStem::split(&name) else { continue };
        let is_sealed = stem.serial < last.serial || (is_closed && stem == last);
        let is_part = is_warc(suffix) || suffix == INDEX;
        if is_sealed
            && is_part
            && stem.crawl == last.crawl
            && let Ok(metadata) = path.metadata()
        {
            let (length, modified) = (metadata.len(), metadata.modified().ok());
            let part = Some(FilePart { path, length, modified });
            let file = sealed.entry(stem.serial).or_default();
            file.serial = stem.serial;
            *(if suffix == INDEX { &mut file.index } else { &mut file.warc }) = part;
        }
    }
    Ok(sealed.into_values().collect())
}
