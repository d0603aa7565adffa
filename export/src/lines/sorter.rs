//! Sort of lines beyond memory: sorted runs in unnamed files, which vanish with the process.

use super::merge::{LineMerge, LineSource};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Bytes of lines that are sorted in memory at a time.
const RUN_BYTES: usize = 64 << 20;
/// Number of runs of a level that are merged to one of the next level. It bounds open files: below
/// 200 for a petabyte.
const RUNS_MAX: usize = 64;

/// A collector of lines that will be sorted.
pub struct LineSorter {
    /// Directory of the unnamed files.
    dir: PathBuf,
    run_bytes: usize,
    text: Vec<u8>,
    lines: Vec<Range<usize>>,
    /// Runs by level: each of level n + 1 is merged from [`RUNS_MAX`] runs of level n.
    levels: Vec<Vec<File>>,
}

impl LineSorter {
    /// Creates a sorter with its temporary files in `dir`.
    pub fn new(dir: &Path) -> Self {
        Self::with_run_bytes(dir, RUN_BYTES)
    }

    /// Creates a sorter that sorts this number of bytes in memory at a time.
    pub(crate) fn with_run_bytes(dir: &Path, run_bytes: usize) -> Self {
        let (text, lines, levels) = (Vec::new(), Vec::new(), Vec::new());
        Self { dir: dir.to_owned(), run_bytes, text, lines, levels }
    }

    /// Adds a line, which has no newline in it.
    ///
    /// # Errors
    /// Those of writing a run.
    pub fn push(&mut self, line: &[u8]) -> io::Result<()> {
        let start = self.text.len();
        self.text.extend_from_slice(line);
        self.lines.push(start..self.text.len());
        let lines_bytes = self.lines.len() * size_of::<Range<usize>>();
        if self.text.len() + lines_bytes >= self.run_bytes { self.end_run() } else { Ok(()) }
    }

    /// Returns all lines in order.
    ///
    /// # Errors
    /// Those of writing the last run and of reading runs.
    pub fn finish(mut self) -> io::Result<SortedLines> {
        self.end_run()?;
        merged(self.levels.into_iter().flatten())
    }

    fn end_run(&mut self) -> io::Result<()> {
        if self.lines.is_empty() {
            return Ok(());
        }
        let text = &self.text;
        self.lines.sort_unstable_by(|a, b| text[a.clone()].cmp(&text[b.clone()]));
        let mut run = RunWriter::create(&self.dir)?;
        for line in self.lines.drain(..) {
            run.write(&self.text[line])?;
        }
        self.text.clear();
        let run = run.finish()?;
        self.add_run(0, run)
    }

    fn add_run(&mut self, level: usize, run: File) -> io::Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::with_capacity(RUNS_MAX));
        }
        self.levels[level].push(run);
        if self.levels[level].len() < RUNS_MAX {
            return Ok(());
        }
        let mut lines = merged(self.levels[level].drain(..))?;
        let mut run = RunWriter::create(&self.dir)?;
        let mut line = Vec::new();
        while lines.read_line(&mut line)? {
            run.write(&line)?;
        }
        let run = run.finish()?;
        self.add_run(level + 1, run)
    }
}

/// The lines of a [`LineSorter`] in order.
pub type SortedLines = LineMerge<RunReader>;

fn merged(runs: impl Iterator<Item = File>) -> io::Result<SortedLines> {
    LineMerge::new(runs.map(|run| RunReader(BufReader::new(run))).collect())
}

struct RunWriter(BufWriter<File>);

impl RunWriter {
    fn create(dir: &Path) -> io::Result<Self> {
        tempfile::tempfile_in(dir).map(|file| Self(BufWriter::with_capacity(256 << 10, file)))
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        self.0.write_all(line)?;
        self.0.write_all(b"\n")
    }

    fn finish(self) -> io::Result<File> {
        let mut file = self.0.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        Ok(file)
    }
}

/// A reader of a sorted run.
pub struct RunReader(BufReader<File>);

impl LineSource for RunReader {
    type Error = io::Error;

    fn read_line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        line.clear();
        let n = self.0.read_until(b'\n', line)?;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        Ok(n > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(lines: &[Vec<u8>], run_bytes: usize) -> Vec<Vec<u8>> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut sorter = LineSorter::with_run_bytes(dir.path(), run_bytes);
        for line in lines {
            sorter.push(line).expect("written");
        }
        let mut found = Vec::new();
        let mut sorted = sorter.finish().expect("read");
        let mut line = Vec::new();
        while sorted.read_line(&mut line).expect("read") {
            found.push(line.clone());
        }
        drop(sorted);
        assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 0);
        found
    }

    proptest! {
        #[test]
        fn lines_are_sorted_by_bytes(
            lines in proptest::collection::vec("[a-c\u{e9} ]{0,4}", 0..200),
            run_bytes in 1usize..2_000,
        ) {
            let lines: Vec<Vec<u8>> = lines.into_iter().map(String::into_bytes).collect();
            let mut expected = lines.clone();
            expected.sort_unstable();
            prop_assert_eq!(sorted(&lines, run_bytes), expected);
        }
    }

    #[test]
    fn runs_are_merged_over_several_levels() {
        let n = RUNS_MAX * RUNS_MAX + RUNS_MAX + 3;
        let lines: Vec<Vec<u8>> =
            (0..n).map(|i| format!("{:08}", i * 7_919 % n).into_bytes()).collect();
        let mut expected = lines.clone();
        expected.sort_unstable();
        // Each line is a run of its own.
        assert_eq!(sorted(&lines, 1), expected);
    }
}
