//! External sort of rows of a fixed length, by their bytes: sorted runs in unnamed files, which vanish with the
//! process. Numbers in rows are big-endian, so that the order of bytes is that of numbers.

use rayon::slice::ParallelSliceMut as _;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write as _};
use std::path::{Path, PathBuf};

/// Number of runs of a level that are merged to one of the next level. It bounds open files.
const RUNS_MAX: usize = 64;
/// Bytes of a buffer of a run.
const BUFFER_BYTES: usize = 256 << 10;

/// A row of `N` bytes.
pub(crate) type Row<const N: usize> = [u8; N];

/// A collector of rows that will be sorted. Equal rows are kept once.
pub(crate) struct RowSorter<const N: usize> {
    dir: PathBuf,
    /// Number of rows that are sorted in memory at a time.
    run_rows: usize,
    rows: Vec<Row<N>>,
    /// Runs by level: each of level n + 1 is merged from [`RUNS_MAX`] runs of level n.
    levels: Vec<Vec<File>>,
}

impl<const N: usize> RowSorter<N> {
    /// Creates a sorter with its temporary files in `dir` and about `memory` bytes of rows in memory.
    pub(crate) fn new(dir: &Path, memory: usize) -> Self {
        let run_rows = (memory / N).max(1);
        Self { dir: dir.to_owned(), run_rows, rows: Vec::new(), levels: Vec::new() }
    }

    /// Adds a row.
    ///
    /// # Errors
    /// Those of writing a run.
    pub(crate) fn push(&mut self, row: Row<N>) -> io::Result<()> {
        if self.rows.len() == self.rows.capacity() {
            // Twice as many, but no more than a run has.
            let more = self.rows.len().max(1 << 10).min(self.run_rows - self.rows.len());
            self.rows.reserve_exact(more);
        }
        self.rows.push(row);
        if self.rows.len() >= self.run_rows { self.end_run() } else { Ok(()) }
    }

    /// Returns all rows in order, each once.
    ///
    /// # Errors
    /// Those of writing the last run and of reading runs.
    pub(crate) fn finish(mut self) -> io::Result<SortedRows<N>> {
        if self.levels.is_empty() {
            self.sort();
            return Ok(SortedRows::InMemory(std::mem::take(&mut self.rows).into_iter()));
        }
        self.end_run()?;
        self.rows = Vec::new();
        RowMerge::new(self.levels.into_iter().flatten()).map(SortedRows::Merged)
    }

    fn sort(&mut self) {
        self.rows.par_sort_unstable();
        self.rows.dedup();
    }

    fn end_run(&mut self) -> io::Result<()> {
        if self.rows.is_empty() {
            return Ok(());
        }
        self.sort();
        let run = write_run(&self.dir, self.rows.drain(..).map(Ok))?;
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
        let merged: RowMerge<N> = RowMerge::new(self.levels[level].drain(..))?;
        let run = write_run(&self.dir, merged)?;
        self.add_run(level + 1, run)
    }
}

fn write_run<const N: usize>(
    dir: &Path,
    rows: impl Iterator<Item = io::Result<Row<N>>>,
) -> io::Result<File> {
    let mut file = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile_in(dir)?);
    for row in rows {
        file.write_all(&row?)?;
    }
    let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.rewind()?;
    Ok(file)
}

/// The rows of a [`RowSorter`] in order, each once.
pub(crate) enum SortedRows<const N: usize> {
    /// All were in memory.
    InMemory(std::vec::IntoIter<Row<N>>),
    /// Runs are merged.
    Merged(RowMerge<N>),
}

impl<const N: usize> Iterator for SortedRows<N> {
    type Item = io::Result<Row<N>>;

    fn next(&mut self) -> Option<io::Result<Row<N>>> {
        match self {
            Self::InMemory(rows) => rows.next().map(Ok),
            Self::Merged(merge) => merge.next(),
        }
    }
}

/// A merge of sorted runs. Equal rows come once.
pub(crate) struct RowMerge<const N: usize> {
    runs: Vec<BufReader<File>>,
    /// The next row of each run that has one.
    heads: BinaryHeap<Reverse<(Row<N>, usize)>>,
    last: Option<Row<N>>,
}

impl<const N: usize> RowMerge<N> {
    fn new(runs: impl Iterator<Item = File>) -> io::Result<Self> {
        let runs: Vec<_> = runs.map(|run| BufReader::with_capacity(BUFFER_BYTES, run)).collect();
        let heads = BinaryHeap::with_capacity(runs.len());
        let mut merge = Self { runs, heads, last: None };
        for run in 0..merge.runs.len() {
            merge.read(run)?;
        }
        Ok(merge)
    }

    fn read(&mut self, run: usize) -> io::Result<()> {
        let mut row = [0; N];
        match self.runs[run].read_exact(&mut row) {
            Ok(()) => self.heads.push(Reverse((row, run))),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

impl<const N: usize> Iterator for RowMerge<N> {
    type Item = io::Result<Row<N>>;

    fn next(&mut self) -> Option<io::Result<Row<N>>> {
        loop {
            let Reverse((row, run)) = self.heads.pop()?;
            if let Err(error) = self.read(run) {
                return Some(Err(error));
            }
            if self.last.replace(row) != Some(row) {
                return Some(Ok(row));
            }
        }
    }
}

/// Returns a row of two parts.
pub(crate) fn row<const A: usize, const B: usize, const N: usize>(
    a: [u8; A],
    b: [u8; B],
) -> Row<N> {
    const { assert!(A + B == N) }
    let mut row = [0; N];
    row[..A].copy_from_slice(&a);
    row[A..].copy_from_slice(&b);
    row
}

/// Returns the bytes of a row from `at`.
pub(crate) fn part<const P: usize>(row: &[u8], at: usize) -> [u8; P] {
    let mut part = [0; P];
    part.copy_from_slice(&row[at..at + P]);
    part
}

/// Returns the number of 32 bits in a row at `at`.
pub(crate) fn number(row: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(part(row, at))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sorted(rows: &[Row<3>], memory: usize) -> Vec<Row<3>> {
        let dir = tempfile::tempdir().expect("a directory");
        let mut sorter = RowSorter::new(dir.path(), memory);
        for row in rows {
            sorter.push(*row).expect("written");
        }
        let sorted = sorter.finish().expect("read").collect::<io::Result<_>>().expect("read");
        assert_eq!(std::fs::read_dir(dir.path()).expect("a directory").count(), 0);
        sorted
    }

    proptest! {
        #[test]
        fn rows_are_sorted_and_distinct(
            rows in proptest::collection::vec(proptest::array::uniform3(0_u8..4), 0..300),
            memory in 1_usize..600,
        ) {
            let mut expected = rows.clone();
            expected.sort_unstable();
            expected.dedup();
            prop_assert_eq!(sorted(&rows, memory), expected);
        }
    }

    #[test]
    fn runs_are_merged_over_several_levels() {
        let n = RUNS_MAX * RUNS_MAX + RUNS_MAX + 3;
        let row = |i: usize| part(&u32::try_from(i).expect("small").to_be_bytes(), 1);
        let rows: Vec<Row<3>> = (0..n).map(|i| row(i * 7_919 % n)).collect();
        // Each row is a run of its own.
        assert_eq!(sorted(&rows, 1), (0..n).map(row).collect::<Vec<_>>());
    }
}
