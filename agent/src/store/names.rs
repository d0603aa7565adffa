//! What the archive's files are called: `crivello-<crawl id>-<yyyymmddhhmmss>-<serial>.warc.gz`,
//! with an index of the same stem.

use super::error::Error;
use std::fmt;
use std::path::{Path, PathBuf};

/// The finished WARC file.
pub(super) const WARC: &str = ".warc.gz";
/// The finished, sorted index.
pub(super) const INDEX: &str = ".cdxj";
/// The index of a file that is being written, in the order of writing.
pub(super) const PART: &str = ".cdxj.part";
/// An index on its way to become a finished one, or a part again; also the prefix of sorted runs.
pub(super) const SCRATCH: &str = ".cdxj.tmp";

/// What the archive file of this serial number in `dir` is called; `None` when it is not there.
#[must_use]
pub fn file_of(dir: &Path, serial: u32) -> Option<String> {
    let names = std::fs::read_dir(dir).ok()?;
    let mut names = names.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let is_it = |name: &String| {
        Stem::split(name).is_some_and(|(stem, suffix)| stem.serial == serial && suffix == WARC)
    };
    names.find(is_it)
}

/// The common stem of a WARC file and its index.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Stem {
    pub(super) crawl: u32,
    began: String,
    pub(super) serial: u32,
}

impl Stem {
    /// `began` is fourteen digits.
    pub(super) fn new(crawl: u32, began: String, serial: u32) -> Self {
        Self { crawl, began, serial }
    }

    /// The stem and what follows it, if the file is of this kind.
    pub(super) fn split(file_name: &str) -> Option<(Self, &str)> {
        let dot = file_name.find('.')?;
        let (stem, suffix) = file_name.split_at(dot);
        let mut parts = stem.strip_prefix("crivello-")?.split('-');
        let (crawl, began, serial) = (parts.next()?, parts.next()?, parts.next()?);
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if parts.next().is_some() || crawl.len() != 8 || began.len() != 14 || serial.len() < 5 {
            return None;
        }
        if !digits(began) || !digits(serial) {
            return None;
        }
        let crawl = u32::from_str_radix(crawl, 16).ok()?;
        let stem = Self::new(crawl, began.to_owned(), serial.parse().ok()?);
        Some((stem, suffix))
    }

    /// The stem of a WARC file's name, as positions have it.
    pub(super) fn of_warc(file_name: &str) -> Result<Self, Error> {
        match Self::split(file_name) {
            Some((stem, WARC)) if stem.file_name(WARC) == file_name => Ok(stem),
            _ => Err(Error::Position(file_name.to_owned())),
        }
    }

    pub(super) fn file_name(&self, suffix: &str) -> String {
        format!("{self}{suffix}")
    }

    pub(super) fn path(&self, dir: &Path, suffix: &str) -> PathBuf {
        dir.join(self.file_name(suffix))
    }
}

impl fmt::Display for Stem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "crivello-{:08x}-{}-{:05}", self.crawl, self.began, self.serial)
    }
}
