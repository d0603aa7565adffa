//! Search for the captures that are to be taken back, in all archives.

use super::journal::ForgetJournal;
use crate::args::forget::RevisitChoice;
use crate::cmd::archive::files::is_warc;
use crate::exit::CliError;
use crate::screen;
use anyhow::Context as _;
use crivello_archive::{FileRedaction, RecordHead, RedactionCause};
use crivello_common::forget_list::ForgetList;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;

/// A search for the captures of hosts and URLs.
pub struct CaptureSearch<'a> {
    /// Hosts and URLs.
    pub list: &'a ForgetList,
    /// Choice for revisits of other URLs.
    pub revisits: RevisitChoice,
}

/// The captures that were found in a WARC file.
#[derive(Debug, Default)]
pub struct FoundFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Records to be redacted.
    pub redaction: FileRedaction,
    /// Number of revisits that stay without their original.
    pub n_kept: u64,
}

impl FoundFile {
    /// Returns the name of the file.
    pub fn name(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns true if exports of the file have what is forgotten.
    pub const fn is_affected(&self) -> bool {
        !self.redaction.is_empty() || self.n_kept > 0
    }
}

/// Returns the WARC files of an archive, the newest first, because revisits are newer than their originals:
/// a run that is killed leaves no revisit without the capture by which it is found.
pub fn archive_files(dir: &Path) -> Result<Vec<PathBuf>, CliError> {
    let context = || dir.display().to_string();
    let entries = fs::read_dir(dir).and_then(|entries| entries.collect::<Result<Vec<_>, _>>());
    let entries = entries.with_context(context)?;
    let is_file = |path: &PathBuf| path.file_name().is_some_and(|n| is_warc(&n.to_string_lossy()));
    let mut files: Vec<_> = entries.into_iter().map(|entry| entry.path()).filter(is_file).collect();
    files.sort_unstable_by(|a, b| b.cmp(a));
    Ok(files)
}

impl CaptureSearch<'_> {
    /// Searches all files, and again while revisits of revisits are found. Adds those to `journal`. Returns
    /// the files in their order.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn run(
        &self,
        files: &[PathBuf],
        journal: &mut ForgetJournal,
    ) -> Result<Vec<FoundFile>, CliError> {
        loop {
            let found = self.pass(files, &journal.references)?;
            let n_known = journal.references.len();
            for capture in found.iter().flat_map(|file| &file.redaction.captures) {
                if capture.cause == RedactionCause::Reference {
                    journal.references.insert((capture.url.clone(), capture.date.clone()));
                }
            }
            if journal.references.len() == n_known {
                return Ok(found);
            }
        }
    }

    fn pass(
        &self,
        files: &[PathBuf],
        references: &BTreeSet<(String, String)>,
    ) -> Result<Vec<FoundFile>, CliError> {
        let (next, n_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (found, error) = (Mutex::new(Vec::new()), Mutex::new(None));
        let work = || {
            while error.lock().is_none()
                && let at = next.fetch_add(1, Relaxed)
                && let Some(path) = files.get(at)
            {
                match self.search(path, references) {
                    Ok(file) => found.lock().push((at, file)),
                    Err(problem) => *error.lock() = Some(problem),
                }
                let done = n_done.fetch_add(1, Relaxed) + 1;
                screen::show_line(&format!("searched {done} of {} files", files.len()));
            }
        };
        let n_threads = available_parallelism().map_or(1, usize::from).min(files.len());
        std::thread::scope(|scope| {
            for _ in 0..n_threads {
                scope.spawn(work);
            }
        });
        screen::restore();
        if let Some(error) = error.into_inner() {
            return Err(error);
        }
        let mut found = found.into_inner();
        found.sort_unstable_by_key(|(at, _)| *at);
        Ok(found.into_iter().map(|(_, file)| file).collect())
    }

    fn search(
        &self,
        path: &Path,
        references: &BTreeSet<(String, String)>,
    ) -> Result<FoundFile, CliError> {
        let mut n_kept = 0;
        let redaction = FileRedaction::find(path, |head| {
            if self.list.has_url(head.uri("WARC-Target-URI")?) {
                return Some(RedactionCause::Url);
            }
            if !refers_to_forgotten(head, self.list, references) {
                return None;
            }
            n_kept += u64::from(self.revisits == RevisitChoice::Keep);
            (self.revisits == RevisitChoice::Redact).then_some(RedactionCause::Reference)
        });
        let redaction = redaction.with_context(|| path.display().to_string())?;
        Ok(FoundFile { path: path.to_owned(), redaction, n_kept })
    }
}

fn refers_to_forgotten(
    head: &RecordHead,
    list: &ForgetList,
    references: &BTreeSet<(String, String)>,
) -> bool {
    let Some(url) = head.uri("WARC-Refers-To-Target-URI").filter(|_| head.kind() == "revisit")
    else {
        return false;
    };
    let date = head.fields.get("WARC-Refers-To-Date").unwrap_or_default();
    list.has_url(url) || references.contains(&(url.to_owned(), date.to_owned()))
}
