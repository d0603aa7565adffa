//! Sort of a file's lines by their bytes in bounded memory: sorted runs, then a merge.

use crate::error::ArchiveError;
use crate::write::io;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Writes the lines of `from` to `to` in the order of `LC_ALL=C sort`. Sorts about `run_bytes` in
/// memory at a time. Sorted runs are stored in files beside `to`, which are removed at the end.
pub(crate) fn sort_lines(from: &Path, to: &Path, run_bytes: usize) -> Result<(), ArchiveError> {
    let mut runs = Vec::new();
    let sorted = write_runs(from, to, run_bytes, &mut runs).and_then(|()| match runs.len() {
        1 => io::rename(&runs[0], to),
        _ => merge(&runs, to),
    });
    for run in &runs {
        io::remove(run)?;
    }
    if sorted.is_err() {
        io::remove(to)?;
    }
    sorted
}

fn write_runs(
    from: &Path,
    to: &Path,
    run_bytes: usize,
    runs: &mut Vec<PathBuf>,
) -> Result<(), ArchiveError> {
    let mut source = BufReader::new(File::open(from).map_err(ArchiveError::io("read", from))?);
    let mut text = Vec::new();
    let mut lines: Vec<Range<usize>> = Vec::new();
    loop {
        let start = text.len();
        source.read_until(b'\n', &mut text).map_err(ArchiveError::io("read", from))?;
        let ended = start == text.len();
        if !ended {
            lines.push(start..text.len());
        }
        if text.len() >= run_bytes || (ended && (!text.is_empty() || runs.is_empty())) {
            lines.sort_unstable_by(|a, b| text[a.clone()].cmp(&text[b.clone()]));
            let path = run_path(to, runs.len());
            runs.push(path.clone());
            write_lines(&path, lines.iter().map(|line| &text[line.clone()]))?;
            text.clear();
            lines.clear();
        }
        if ended {
            return Ok(());
        }
    }
}

fn run_path(to: &Path, number: usize) -> PathBuf {
    let mut name = to.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

fn write_lines<'a>(path: &Path, lines: impl Iterator<Item = &'a [u8]>) -> Result<(), ArchiveError> {
    let mut out = BufWriter::new(io::create(path)?);
    for line in lines {
        out.write_all(line).map_err(ArchiveError::io("write", path))?;
    }
    out.flush().map_err(ArchiveError::io("write", path))
}

fn merge(runs: &[PathBuf], to: &Path) -> Result<(), ArchiveError> {
    let mut sources = Vec::with_capacity(runs.len());
    let mut heads = BinaryHeap::with_capacity(runs.len());
    for (number, run) in runs.iter().enumerate() {
        let file = File::open(run).map_err(ArchiveError::io("read", run))?;
        let mut source = BufReader::new(file);
        let mut line = Vec::new();
        source.read_until(b'\n', &mut line).map_err(ArchiveError::io("read", run))?;
        heads.push(Reverse((line, number)));
        sources.push(source);
    }
    let mut out = BufWriter::new(io::create(to)?);
    while let Some(Reverse((mut line, number))) = heads.pop() {
        out.write_all(&line).map_err(ArchiveError::io("write", to))?;
        line.clear();
        let run = &runs[number];
        sources[number].read_until(b'\n', &mut line).map_err(ArchiveError::io("read", run))?;
        if !line.is_empty() {
            heads.push(Reverse((line, number)));
        }
    }
    out.flush().map_err(ArchiveError::io("write", to))
}
