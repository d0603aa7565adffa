//! An export to be run, its progress and its result.

use crate::counts::ExportCounts;
use crate::format::ExportFormat;
use crate::output::OutputCompression;
use crate::selection::Selection;
use crivello_archive::Damage;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize};

/// An export to be run.
#[derive(Debug)]
pub struct ExportJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// Directory of the outputs: `NAME.jsonl.gz` and the like, and `export.json`.
    pub dir: &'a Path,
    /// Format of the outputs.
    pub format: ExportFormat,
    /// Compression of the outputs.
    pub compression: OutputCompression,
    /// The captures that are exported; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each has a file of its own.
    pub threads: usize,
}

/// Progress of a run, in files and captures.
#[derive(Debug, Default)]
pub struct ExportProgress {
    /// Files that are done.
    pub files: AtomicUsize,
    /// Captures that were read in this run.
    pub captures: AtomicU64,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct ExportReport {
    /// Counts of all files, also those of earlier runs.
    pub counts: ExportCounts,
    /// Files that an earlier run had done.
    pub files_done_before: usize,
    /// True if the run was stopped before its end.
    pub is_stopped: bool,
}

/// State that a thread shares with its caller while it exports a file.
#[derive(Clone, Copy)]
pub(super) struct RunState<'a> {
    pub(super) progress: &'a ExportProgress,
    pub(super) stopped: &'a (dyn Fn() -> bool + Sync),
    pub(super) on_damage: &'a (dyn Fn(&Path, &Damage) + Sync),
}
