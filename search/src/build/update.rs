//! The order of a run of `crivello index`, its progress and its result.

use crate::postings::Preset;
use crate::text::Stemming;
use crivello_export::Selection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// Options of an index. They are those of its first run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexOptions {
    /// Preset of codes; `None` for that of the index, or [`Preset::Small`].
    pub preset: Option<Preset>,
    /// Stemming; `None` for that of the index, or [`Stemming::Language`].
    pub stemming: Option<Stemming>,
}

/// A run.
#[derive(Debug)]
pub struct IndexUpdate<'a> {
    /// WARC files that are not written any more.
    pub files: &'a [PathBuf],
    /// Other WARC files in which originals of revisits may be, such as those that the crawl still writes. Those of
    /// earlier runs are looked for, too.
    pub others: &'a [PathBuf],
    /// Directory of the index.
    pub dir: &'a Path,
    /// Options.
    pub options: IndexOptions,
    /// The captures that are indexed; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
    /// Memory of the batches of all threads in bytes, about.
    pub memory_bytes: usize,
    /// A table of static ranks of hosts or URLs, which replaces that of the index.
    pub ranks: Option<&'a Path>,
    /// True if all segments are merged into one at the end.
    pub merge_all: bool,
    /// True if the words of links are made at the end, from the links of all segments.
    pub makes_anchors: bool,
    /// True if all bytes of the index are checked first.
    pub check: bool,
}

/// Progress of a run.
#[derive(Debug, Default)]
pub struct IndexProgress {
    /// Files that are done, with those of earlier runs.
    pub files: AtomicUsize,
    /// Captures that were read.
    pub captures: AtomicU64,
    /// Documents that were indexed.
    pub documents: AtomicU64,
    /// Segments that are being merged.
    pub merging: AtomicUsize,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct IndexReport {
    /// Files that earlier runs had read.
    pub files_done_before: usize,
    /// Files that were read again because captures in them count once more: later ones were taken out of other files.
    pub files_again: usize,
    /// Captures that this run read.
    pub captures: u64,
    /// Documents that this run indexed.
    pub documents: u64,
    /// Captures of this run that were not indexed, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Damaged places of archive files.
    pub damaged: u64,
    /// Files of the index that were damaged, and are rebuilt from the archives.
    pub rebuilt: Vec<String>,
    /// Archive files that a damaged part of the index needs, but that were not given.
    pub lost: Vec<PathBuf>,
    /// Documents of the whole index that count.
    pub total: u64,
    /// Segments of the index.
    pub segments: usize,
    /// Bytes of the index.
    pub bytes: u64,
    /// True if the run was stopped before its end.
    pub is_stopped: bool,
}
