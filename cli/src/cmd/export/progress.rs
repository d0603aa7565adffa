//! The progress line of exports, and counts by name.

use crate::progress;
use crivello_export::ExportProgress;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::sync::atomic::Ordering::Relaxed;

/// Shows the progress of an export while it runs.
pub fn with_progress<T>(n_files: usize, run: impl FnOnce(&ExportProgress) -> T) -> T {
    let progress = ExportProgress::default();
    progress::with_progress(|| progress_line(&progress, n_files), || run(&progress))
}

fn progress_line(progress: &ExportProgress, n_files: usize) -> String {
    let (files, captures) = (progress.files.load(Relaxed), progress.captures.load(Relaxed));
    format!("exported {files} of {n_files} files, {captures} captures read")
}

/// Returns counts by name in parentheses, after a space; nothing if there are none.
pub fn listed<K: Display>(counts: &BTreeMap<K, u64>) -> String {
    let parts: Vec<String> = counts.iter().map(|(name, n)| format!("{name}: {n}")).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) }
}
