//! An index to be made: CDXJ files for WARC files, or one over all of them.

use super::reader::{IndexItem, IndexReader};
use crate::counts::ExportCounts;
use crate::file_names::FileNames;
use crate::lines::{LineSorter, LineSource as _};
use crate::output::{Output, OutputCompression};
use crate::run::{ExportProgress, ExportReport, FileRun, each_file, lock_directory};
use crate::selection::Selection;
use crate::source::Originals;
use crivello_archive::Damage;
use parking_lot::Mutex;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// An index to be made.
#[derive(Debug)]
pub struct IndexJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// Directory of the outputs: `NAME.cdxj` for each file, or `index.cdxj`, with the suffix of the
    /// compression.
    pub dir: &'a Path,
    /// True for one index over all files.
    pub merge: bool,
    /// Compression of the outputs.
    pub compression: OutputCompression,
    /// The captures that get a line; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
}

/// The lines that threads gather, and their counts.
struct Gathered {
    sorter: LineSorter,
    counts: ExportCounts,
}

impl IndexJob<'_> {
    /// Makes the index. `stopped` ends the run; outputs that are whole then stay.
    ///
    /// # Errors
    /// The first error of a file. Damage inside a file is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<ExportReport> {
        let originals = Originals::new(self.files);
        if self.merge {
            return self.run_merged(&originals, progress, stopped, on_damage);
        }
        let run = FileRun {
            files: self.files,
            dir: self.dir,
            threads: self.threads,
            options: &[
                ("format", "cdxj"),
                ("compression", self.compression.name()),
                ("select", self.selection.map_or("", Selection::text)),
            ],
            suffix: &[".cdxj", self.compression.suffix()].concat(),
        };
        run.run(progress, stopped, || {
            let mut reader = IndexReader::new(self.selection, &originals, false);
            move |path: &Path, name: &str, output| {
                let sorter = LineSorter::new(self.dir);
                let gathered = Mutex::new(Gathered { sorter, counts: ExportCounts::default() });
                let each = |damage: &Damage| on_damage(path, damage);
                gather(&mut reader, path, name, &gathered, progress, stopped, &each)?;
                if stopped() { Ok(None) } else { self.write(output, gathered).map(Some) }
            }
        })
    }

    fn run_merged(
        &self,
        originals: &Originals<'_>,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<ExportReport> {
        let names = FileNames::of(self.files, "")?;
        let _lock = lock_directory(self.dir)?;
        let sorter = LineSorter::new(self.dir);
        let gathered = Mutex::new(Gathered { sorter, counts: ExportCounts::default() });
        each_file(
            self.files,
            self.threads,
            progress,
            stopped,
            || IndexReader::new(self.selection, originals, false),
            |reader, path| {
                let each = |damage: &Damage| on_damage(path, damage);
                gather(reader, path, names.name(path), &gathered, progress, stopped, &each)
            },
        )?;
        if stopped() {
            return Ok(ExportReport { is_stopped: true, ..ExportReport::default() });
        }
        let output = self.dir.join(["index.cdxj", self.compression.suffix()].concat());
        Ok(ExportReport { counts: self.write(output, gathered)?, ..ExportReport::default() })
    }

    /// Writes sorted lines to an output.
    fn write(&self, output: PathBuf, gathered: Mutex<Gathered>) -> io::Result<ExportCounts> {
        let Gathered { sorter, counts } = gathered.into_inner();
        let mut lines = sorter.finish()?;
        let mut out = Output::create(output, self.compression)?;
        let mut line = Vec::new();
        while lines.read_line(&mut line)? {
            out.write(&[&line, b"\n"])?;
        }
        out.finish()?;
        Ok(counts)
    }
}

/// Gathers the lines of a file, until `stopped`.
fn gather(
    reader: &mut IndexReader<'_>,
    path: &Path,
    name: &str,
    gathered: &Mutex<Gathered>,
    progress: &ExportProgress,
    stopped: &(dyn Fn() -> bool + Sync),
    on_damage: &dyn Fn(&Damage),
) -> io::Result<()> {
    reader.read(path, |item| {
        match item {
            IndexItem::Damage(damage) => {
                on_damage(&damage);
                gathered.lock().counts.damaged += 1;
            }
            IndexItem::Capture(capture) => {
                progress.captures.fetch_add(1, Relaxed);
                let line = capture.record.map(|record| record.line(name, record.offset));
                let mut gathered = gathered.lock();
                gathered.counts.capture(capture.status);
                if let Ok(line) = &line {
                    gathered.sorter.push(line)?;
                }
                gathered.counts.written(line.map(|_| None));
            }
        }
        Ok(!stopped())
    })
}
