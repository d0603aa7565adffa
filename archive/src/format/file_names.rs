//! Names of an archive's files: `crivello-<crawl id>-<yyyymmddhhmmss>-<serial>.warc.gz`, or
//! `.warc.zst`, with an index of the same stem.

use crate::error::ArchiveError;
use crivello_common::config::ArchiveCompression;
use std::fmt;
use std::path::{Path, PathBuf};

/// Suffix of a WARC file of gzip members.
const WARC_GZIP: &str = ".warc.gz";
/// Suffix of a WARC file of zstd frames.
const WARC_ZSTD: &str = ".warc.zst";
/// Suffix of a finished, sorted index.
pub(crate) const INDEX: &str = ".cdxj";
/// Suffix of the index of the file that is being written. Its lines are in the order of writing.
pub(crate) const PART: &str = ".cdxj.part";
/// Suffix of an index that is being sorted or restored, and prefix of the suffixes of sorted runs.
pub(crate) const SCRATCH: &str = ".cdxj.tmp";

/// Returns the suffix of WARC files with this compression.
pub(crate) const fn warc_suffix(compression: ArchiveCompression) -> &'static str {
    match compression {
        ArchiveCompression::Gzip => WARC_GZIP,
        ArchiveCompression::Zstd => WARC_ZSTD,
    }
}

/// Returns true for the suffix of a WARC file.
pub(crate) fn is_warc(suffix: &str) -> bool {
    suffix == WARC_GZIP || suffix == WARC_ZSTD
}

/// Returns the name of the archive file with this serial number in `dir`; `None` if there is none.
#[must_use]
pub fn find_file(dir: &Path, serial: u32) -> Option<String> {
    let names = std::fs::read_dir(dir).ok()?;
    let mut names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let matches = |name: &String| {
        FileStem::split(name).is_some_and(|(stem, suffix)| stem.serial == serial && is_warc(suffix))
    };
    names.find(matches)
}

/// The common stem of a WARC file and its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FileStem {
    pub(crate) crawl: u32,
    /// Fourteen digits.
    pub(crate) created: String,
    pub(crate) serial: u32,
}

impl FileStem {
    /// Splits the name of an archive's file into its stem and its suffix.
    pub(crate) fn split(file_name: &str) -> Option<(Self, &str)> {
        let dot = file_name.find('.')?;
        let (stem, suffix) = file_name.split_at(dot);
        let mut parts = stem.strip_prefix("crivello-")?.split('-');
        let (crawl, created, serial) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if parts.next().is_some() || crawl.len() != 8 || created.len() != 14 || serial.len() < 5 {
            return None;
        }
        if !digits(created) || !digits(serial) {
            return None;
        }
        let crawl = u32::from_str_radix(crawl, 16).ok()?;
        let (created, serial) = (created.to_owned(), serial.parse().ok()?);
        Some((Self { crawl, created, serial }, suffix))
    }

    /// Returns the stem of a WARC file's name, in the form used by positions.
    pub(crate) fn of_warc(file_name: &str) -> Result<Self, ArchiveError> {
        match Self::split(file_name) {
            Some((stem, suffix)) if is_warc(suffix) && stem.file_name(suffix) == file_name => {
                Ok(stem)
            }
            _ => Err(ArchiveError::Position(file_name.to_owned())),
        }
    }

    pub(crate) fn file_name(&self, suffix: &str) -> String {
        format!("{self}{suffix}")
    }

    pub(crate) fn path(&self, dir: &Path, suffix: &str) -> PathBuf {
        dir.join(self.file_name(suffix))
    }
}

impl fmt::Display for FileStem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crivello-{:08x}-{}-{:05}", self.crawl, self.created, self.serial)
    }
}
