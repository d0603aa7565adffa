//! `crivello archive check`: compares digests and lengths of records, and indexes with their files.

use super::files::{open, print_problem, warc_files};
use crate::exit::{CliError, Exit};
use crate::screen;
use crivello_archive::{DigestCheck, IndexDifference, IndexLines, check_record};
use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;

/// Counts over all files so far. Problems are printed at once.
#[derive(Default)]
struct Counts {
    records: AtomicU64,
    indexes: AtomicU64,
    /// Digests that are absent, or of bytes or algorithms that cannot be checked.
    unchecked: AtomicU64,
    problems: AtomicU64,
}

impl Counts {
    fn problem(&self, path: &Path, text: &str) {
        self.problems.fetch_add(1, Relaxed);
        print_problem(&format!("{}: {text}", path.display()));
    }
}

pub fn run(paths: &[PathBuf]) -> Result<Exit, CliError> {
    let files = warc_files(paths)?;
    let (next, n_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let counts = Counts::default();
    let work = || {
        while let Some(path) = files.get(next.fetch_add(1, Relaxed)) {
            if let Err(error) = check(path, &counts) {
                counts.problem(path, &error.to_string());
            }
            let done = n_done.fetch_add(1, Relaxed) + 1;
            screen::show_line(&format!("checked {done} of {} files", files.len()));
        }
    };
    let n_threads = available_parallelism().map_or(1, usize::from).min(files.len());
    std::thread::scope(|scope| {
        for _ in 0..n_threads {
            scope.spawn(work);
        }
    });
    screen::restore();
    let Counts { records, indexes, unchecked, problems } = counts;
    let n_problems = problems.into_inner();
    screen::print_out(&format!(
        "{} files, {} indexes, {} records, {} digests not checked, {n_problems} problems\n",
        files.len(),
        indexes.into_inner(),
        records.into_inner(),
        unchecked.into_inner(),
    ));
    Ok(if n_problems > 0 { Exit::Damaged } else { Exit::Finished })
}

fn check(path: &Path, counts: &Counts) -> Result<(), CliError> {
    let mut warc = open(path)?;
    let mut index = index_of(path)?;
    counts.indexes.fetch_add(u64::from(index.is_some()), Relaxed);
    while let Some(item) = warc.next_record() {
        let mut record = match item {
            Ok(record) => record,
            Err(damage) => {
                counts.problem(path, &damage.to_string());
                continue;
            }
        };
        counts.records.fetch_add(1, Relaxed);
        let offset = record.offset();
        // What is wrong inside a block is the next item of the reader.
        let Ok(checked) = check_record(&mut record) else { continue };
        for (what, digest) in [("block", &checked.block), ("payload", &checked.payload)] {
            let problem = match digest {
                DigestCheck::Differs { recorded, computed } => {
                    format!("is {computed}, and {recorded} is recorded")
                }
                DigestCheck::Invalid { recorded } => format!("{recorded} is none"),
                DigestCheck::Matches => continue,
                DigestCheck::Absent | DigestCheck::NotChecked { .. } => {
                    counts.unchecked.fetch_add(1, Relaxed);
                    continue;
                }
            };
            counts.problem(path, &format!("offset {offset}: the digest of the {what} {problem}"));
        }
        let Ok(length) = record.finish() else { continue };
        let status = checked.http.and_then(|http| http.status);
        if let Some(index) = &mut index {
            let length = length.map(|length| length - record.plain_end_length());
            index.compare(&record.head, offset, length, status);
        }
    }
    for difference in index.map_or_else(Vec::new, IndexLines::differences) {
        counts.problem(path, &text_of(&difference));
    }
    Ok(())
}

/// Reads the index beside a file, if there is one.
fn index_of(path: &Path) -> Result<Option<IndexLines>, CliError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".warc").next().unwrap_or_default();
    match File::open(path.with_file_name(format!("{stem}.cdxj"))) {
        Ok(file) => Ok(Some(IndexLines::read(BufReader::new(file), &name)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn text_of(difference: &IndexDifference) -> String {
    match difference {
        IndexDifference::Line { number } => {
            format!("index: line {number} is malformed or repeated")
        }
        IndexDifference::NoLine { offset } => {
            format!("index: no line for the record at offset {offset}")
        }
        IndexDifference::NoRecord { offset } => format!("index: no record at offset {offset}"),
        IndexDifference::Member { offset, name, line, record } => format!(
            "index: {name} is {line:?}, and that of the record at offset {offset} {record:?}"
        ),
    }
}
