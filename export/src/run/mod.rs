//! The run of an export: WARC files in, one output for each, in parallel.

mod each_file;
mod job;
mod one_file;
mod progress_file;

pub use each_file::each_file;
pub use job::{ExportJob, ExportProgress, ExportReport};
pub(crate) use progress_file::{InputState, ProgressFile, forget_done, lock_directory};

use crate::article::AbandonedWorkers;
use crate::counts::ExportCounts;
use crate::file_names::FileNames;
use crate::selection::Selection;
use crate::source::Originals;
use crivello_archive::Damage;
use job::RunState;
use one_file::FileExport;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// The work that the threads have done.
struct Done {
    file: ProgressFile,
    report: ExportReport,
}

/// Files of which each gets an output.
pub(crate) struct FileRun<'a> {
    /// WARC files.
    pub(crate) files: &'a [PathBuf],
    /// Directory of the outputs.
    pub(crate) dir: &'a Path,
    /// Number of threads.
    pub(crate) threads: usize,
    /// Everything beside the files that the outputs depend on.
    pub(crate) options: &'a [(&'a str, &'a str)],
    /// End of the outputs' names.
    pub(crate) suffix: &'a str,
}

impl FileRun<'_> {
    /// Makes the outputs that are not there yet. A thread's exporter is passed the path and the name of a
    /// file, and the path of its output; it returns `None` if the run was stopped.
    pub(crate) fn run<E>(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        new_exporter: impl Fn() -> E + Sync,
    ) -> io::Result<ExportReport>
    where
        E: FnMut(&Path, &str, PathBuf) -> io::Result<Option<ExportCounts>>,
    {
        let names = FileNames::of(self.files, "")?;
        let options = self.options.iter().map(|(name, value)| (*name, *value));
        let options: BTreeMap<String, String> =
            options.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        let file = ProgressFile::open(self.dir, &options)?;
        let done = Mutex::new(Done { file, report: ExportReport::default() });
        each_file(self.files, self.threads, progress, stopped, new_exporter, |exporter, path| {
            self.export(path, names.name(path), exporter, &done)
        })?;
        let mut report = done.lock().report.clone();
        report.is_stopped = stopped();
        Ok(report)
    }

    fn export<E>(
        &self,
        path: &Path,
        name: &str,
        exporter: &mut E,
        done: &Mutex<Done>,
    ) -> io::Result<()>
    where
        E: FnMut(&Path, &str, PathBuf) -> io::Result<Option<ExportCounts>>,
    {
        let input = InputState::of(path)?;
        let output = [stem(name), self.suffix].concat();
        let before = done.lock().file.done(&output, input).cloned();
        let is_done = before.is_some();
        let counts = match before {
            Some(counts) => Some(counts),
            None => exporter(path, name, self.dir.join(&output))?,
        };
        let Some(counts) = counts else { return Ok(()) };
        let mut done = done.lock();
        done.report.counts.add(&counts);
        if is_done {
            done.report.files_done_before += 1;
            return Ok(());
        }
        done.file.note(output, input, counts)
    }
}

/// Returns the name of a WARC file without its suffixes.
pub(crate) fn stem(name: &str) -> &str {
    let suffixes = [".warc", ".warc.gz", ".warc.zst"];
    suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

impl ExportJob<'_> {
    /// Exports all files that are not done yet. `stopped` ends the run; files that are not whole then are
    /// written again by the next one.
    ///
    /// # Errors
    /// The first error of a file. Damage inside a file is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<ExportReport> {
        let state = RunState { progress, stopped, on_damage };
        let originals = Originals::new(self.files);
        let abandoned = AbandonedWorkers::default();
        let run = FileRun {
            files: self.files,
            dir: self.dir,
            threads: self.threads,
            options: &[
                ("format", self.format.name()),
                ("compression", self.compression.name()),
                ("select", self.selection.map_or("", Selection::text)),
            ],
            suffix: &[self.format.suffix(), self.compression.suffix()].concat(),
        };
        run.run(progress, stopped, || {
            let mut export = FileExport::new(self, &originals, &abandoned, &state);
            move |path: &Path, name: &str, output| export.run(path, name, output)
        })
    }
}
