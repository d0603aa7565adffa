//! `crivello archive check`: compares digests and lengths of records, and indexes with their files.

use super::files::{open, print_problem, warc_files};
use crate::exit::{CliError, Exit};
use crate::screen;
use crivello_archive::{DigestCheck, IndexDifference, IndexLines, check_record};
use parking_lot::Mutex;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread::available_parallelism;

/// The result of checking one file.
#[derive(Default)]
struct Report {
    n_records: u64,
    has_index: bool,
    problems: Vec<String>,
}

pub fn run(paths: &[PathBuf]) -> Result<Exit, CliError> {
    let files = warc_files(paths)?;
    let (next, n_done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let reports: Mutex<Vec<Option<Result<Report, CliError>>>> =
        Mutex::new(files.iter().map(|_| None).collect());
    let work = || {
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some(path) = files.get(at) else { return };
            let report = check(path);
            reports.lock()[at] = Some(report);
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
    let (mut n_records, mut n_problems, mut n_indexes) = (0, 0, 0);
    for (path, report) in files.iter().zip(reports.into_inner()) {
        let Report { n_records: n, has_index, problems } =
            report.unwrap_or_else(|| Ok(Report::default()))?;
        n_records += n;
        n_indexes += u64::from(has_index);
        n_problems += problems.len();
        for problem in problems {
            print_problem(&format!("{}: {}", path.display(), problem));
        }
    }
    screen::print_out(&format!(
        "{} files, {n_indexes} indexes, {n_records} records, {n_problems} problems\n",
        files.len()
    ));
    Ok(if n_problems > 0 { Exit::Damaged } else { Exit::Finished })
}

fn check(path: &Path) -> Result<Report, CliError> {
    let mut report = Report::default();
    let mut warc = open(path)?;
    let mut index = index_of(path)?;
    report.has_index = index.is_some();
    while let Some(item) = warc.next_record() {
        let mut record = match item {
            Ok(record) => record,
            Err(damage) => {
                report.problems.push(damage.to_string());
                continue;
            }
        };
        report.n_records += 1;
        let offset = record.offset();
        // What is wrong inside a block is the next item of the reader.
        let Ok(checked) = check_record(&mut record) else { continue };
        for (what, digest) in [("block", &checked.block), ("payload", &checked.payload)] {
            let problem = match digest {
                DigestCheck::Differs { recorded, computed } => {
                    format!("is {computed}, and {recorded} is recorded")
                }
                DigestCheck::Invalid { recorded } => format!("{recorded} is none"),
                DigestCheck::Absent | DigestCheck::Matches | DigestCheck::NotChecked { .. } => {
                    continue;
                }
            };
            report.problems.push(format!("offset {offset}: the digest of the {what} {problem}"));
        }
        let Ok(length) = record.finish() else { continue };
        let status = checked.http.and_then(|http| http.status);
        if let Some(index) = &mut index {
            index.compare(&record.head, offset, length, status);
        }
    }
    let differences = index.map_or_else(Vec::new, IndexLines::differences);
    report.problems.extend(differences.iter().map(text_of));
    Ok(report)
}

/// Reads the index beside a file, if there is one.
fn index_of(path: &Path) -> Result<Option<IndexLines>, CliError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split(".warc").next().unwrap_or_default();
    let index = path.with_file_name(format!("{stem}.cdxj"));
    match File::open(&index) {
        Ok(file) => Ok(Some(IndexLines::read(BufReader::new(file), &name)?)),
        Err(_) => Ok(None),
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
        IndexDifference::NoRecord { offset } => {
            format!("index: no record at offset {offset}")
        }
        IndexDifference::Member { offset, name, line, record } => {
            format!(
                "index: {name} is {line:?}, and that of the record at offset {offset} {record:?}"
            )
        }
    }
}
