//! A table of all captures, in the schema of Common Crawl's columnar index and more, as Parquet.
//!
//! ```text
//!  captures ─► rows ─► lines: crawl, subset, key, time, row as JSON ─► sorter ─► partitions
//! ```
//! The directory has its name once all files in it are whole. The table of one WARC file is a file (`one_file`).

mod cell;
mod columns;
mod input_file;
mod one_file;
mod partition;
mod row_file;
mod rows;
mod url_parts;

use crate::file_names::FileNames;
use crate::lines::{LineSorter, LineSource as _, SortedLines};
use crate::run::{ExportProgress, each_file};
use crate::selection::Selection;
use crate::source::Originals;
pub use one_file::table_of_file;

use columns::Row;
use crivello_archive::Damage;
use input_file::InputFile;
use parking_lot::Mutex;
use partition::PartitionWriter;
use rows::RowReader;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Separates the parts of a line. Keys have no white space, and JSON has no such character.
const SEPARATOR: u8 = b'\t';

/// A table to be made.
#[derive(Debug)]
pub struct TableJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// Directory of the table, which must not exist.
    pub dir: &'a Path,
    /// Name of the crawl; `None` for that in the names of files.
    pub crawl: Option<&'a str>,
    /// The captures that get a row; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct TableReport {
    /// Rows by subset: `warc`, `robotstxt` and `crawldiagnostics`.
    pub rows: BTreeMap<String, u64>,
    /// Captures that have no row, by the reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Number of damaged places in WARC files.
    pub damaged: u64,
    /// Number of files of the table.
    pub files: usize,
    /// True if the run was stopped. Then there is no table.
    pub is_stopped: bool,
}

/// State that threads share.
struct Gathered {
    sorter: LineSorter,
    report: TableReport,
}

impl TableJob<'_> {
    /// Makes the table. `stopped` ends the run.
    ///
    /// # Errors
    /// The first error of a file, a directory that exists, or another run that writes there. Damage inside
    /// a file is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<TableReport> {
        if self.dir.exists() {
            let dir = self.dir.display();
            return Err(io::Error::other(format!(
                "{dir} exists; remove it, or choose another --out"
            )));
        }
        let names = FileNames::of(self.files, "")?;
        let part = self.dir.with_added_extension("part");
        let directory = begin(&part)?;
        let (sorter, report) = (LineSorter::new(&part), TableReport::default());
        let gathered = Mutex::new(Gathered { sorter, report });
        let originals = Originals::new(self.files);
        each_file(
            self.files,
            self.threads,
            progress,
            stopped,
            || RowReader::new(self.selection, &originals),
            |rows, path| {
                let file = InputFile::of(path, names.name(path), self.crawl)?;
                rows.read(path, &file, |item| {
                    progress.captures.fetch_add(1, Relaxed);
                    add(&gathered, &file, item, |damage| on_damage(path, damage))?;
                    Ok(!stopped())
                })
            },
        )?;
        let gathered = gathered.into_inner();
        let Gathered { sorter, mut report } = gathered;
        report.is_stopped = stopped();
        if !report.is_stopped {
            report.files = write(sorter.finish()?, &part, &mut report.rows)?;
            drop(directory);
            fs::remove_file(part.join(LOCK))?;
            File::open(&part)?.sync_all()?;
            fs::rename(&part, self.dir)?;
        }
        Ok(report)
    }
}

/// Name of the lock in the directory of an unfinished table.
const LOCK: &str = "lock";

/// Begins a table in a directory under a temporary name: removes what a killed run left there.
fn begin(part: &Path) -> io::Result<File> {
    fs::create_dir_all(part)?;
    let lock = File::create(part.join(LOCK))?;
    if lock.try_lock().is_err() {
        return Err(io::Error::other(format!("{}: another export writes there", part.display())));
    }
    for entry in fs::read_dir(part)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("crawl=") {
            fs::remove_dir_all(entry.path())?;
        }
    }
    Ok(lock)
}

/// Adds the row of a capture, or counts why there is none.
fn add(
    gathered: &Mutex<Gathered>,
    file: &InputFile,
    item: rows::RowItem,
    on_damage: impl Fn(&Damage),
) -> io::Result<()> {
    match item {
        rows::RowItem::Capture(Ok((row, time))) => {
            let head = [&*file.crawl, row.subset(), &row.url_surtkey, &time].join("\t");
            let mut line = head.into_bytes();
            line.push(SEPARATOR);
            serde_json::to_writer(&mut line, &row)?;
            gathered.lock().sorter.push(&line)
        }
        rows::RowItem::Capture(Err(skip)) => {
            *gathered.lock().report.skipped.entry(skip.name()).or_default() += 1;
            Ok(())
        }
        rows::RowItem::Damage(damage) => {
            on_damage(&damage);
            gathered.lock().report.damaged += 1;
            Ok(())
        }
    }
}

/// Writes sorted lines to the files of their partitions. Returns the number of files.
fn write(
    mut lines: SortedLines,
    part: &Path,
    rows: &mut BTreeMap<String, u64>,
) -> io::Result<usize> {
    let mut open: Option<(String, PartitionWriter)> = None;
    let (mut line, mut n_files) = (Vec::new(), 0);
    while lines.read_line(&mut line)? {
        let row = row_of(&line, 4)?;
        let crawl = line.split(|byte| *byte == SEPARATOR).next().unwrap_or_default();
        let (crawl, subset) = (str::from_utf8(crawl).map_err(io::Error::other)?, row.subset());
        *rows.entry(subset.to_owned()).or_default() += 1;
        let name = format!("crawl={crawl}/subset={subset}");
        if let Some((_, done)) = open.take_if(|(before, _)| *before != name) {
            n_files += done.finish()?;
        }
        match &mut open {
            Some((_, partition)) => partition.push(&row)?,
            None => {
                let mut partition = PartitionWriter::create(&part.join(&name))?;
                partition.push(&row)?;
                open = Some((name, partition));
            }
        }
    }
    if let Some((_, done)) = open {
        n_files += done.finish()?;
    }
    Ok(n_files)
}

/// Returns the row of a line, which has `n_before` parts before it.
fn row_of(line: &[u8], n_before: usize) -> io::Result<Row> {
    let row = line.splitn(n_before + 1, |byte| *byte == SEPARATOR).nth(n_before);
    Ok(serde_json::from_slice(row.unwrap_or_default())?)
}
