//! A sort of postings on disk: runs that fit into memory are sorted and written, and then merged.

use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use crivello_common::codec::{RowReader, RowWriter};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs;
use std::path::{Path, PathBuf};

/// Start of the names of runs.
pub(super) const RUN_PREFIX: &str = "anchor-run-";
/// Bytes of a run that are read at once.
const CHUNK: u64 = 1 << 16;
/// Bytes of memory that a posting takes beside its term and positions.
const POSTING_BYTES: usize = 48;

/// A posting of a segment. They are sorted by segment, term and document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortedPosting {
    pub(super) segment: u32,
    pub(super) term: Box<[u8]>,
    pub(super) document: u32,
    pub(super) positions: Box<[u32]>,
}

/// Postings that are being sorted. Runs are files in `dir`.
pub(super) struct PostingSorter<'d> {
    dir: &'d Path,
    memory: usize,
    used: usize,
    postings: Vec<SortedPosting>,
    runs: Vec<PathBuf>,
}

impl<'d> PostingSorter<'d> {
    /// Returns a sorter that keeps about `memory` bytes in memory.
    pub(super) const fn new(dir: &'d Path, memory: usize) -> Self {
        Self { dir, memory, used: 0, postings: Vec::new(), runs: Vec::new() }
    }

    pub(super) fn push(&mut self, posting: SortedPosting) -> Result<(), IndexError> {
        self.used += POSTING_BYTES + posting.term.len() + 4 * posting.positions.len();
        self.postings.push(posting);
        if self.used > self.memory { self.spill() } else { Ok(()) }
    }

    fn spill(&mut self) -> Result<(), IndexError> {
        self.postings.sort_unstable();
        let path = self.dir.join(format!("{RUN_PREFIX}{}", self.runs.len()));
        let mut file = CheckedFileWriter::create(&path, FileKind::Run)?;
        self.runs.push(path);
        for posting in self.postings.drain(..) {
            let mut row = RowWriter::default();
            row.number(u64::from(posting.segment)).bytes(&posting.term);
            row.number(u64::from(posting.document));
            for position in &posting.positions {
                row.number(u64::from(*position));
            }
            file.write(&(row.0.len() as u32).to_le_bytes())?;
            file.write(&row.0)?;
        }
        self.used = 0;
        file.finish().map(drop)
    }

    /// Calls `visit` with all postings in their order. Runs are removed.
    pub(super) fn finish(
        mut self,
        mut visit: impl FnMut(SortedPosting) -> Result<(), IndexError>,
    ) -> Result<(), IndexError> {
        self.postings.sort_unstable();
        let mut in_memory = std::mem::take(&mut self.postings).into_iter();
        let mut runs: Vec<RunReader> =
            self.runs.iter().map(|path| RunReader::open(path)).collect::<Result<_, _>>()?;
        let mut heap = BinaryHeap::new();
        let memory = runs.len();
        for (index, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next()?.map(|posting| Reverse((posting, index))));
        }
        heap.extend(in_memory.next().map(|posting| Reverse((posting, memory))));
        while let Some(Reverse((posting, index))) = heap.pop() {
            let next = match runs.get_mut(index) {
                Some(run) => run.next()?,
                None => in_memory.next(),
            };
            heap.extend(next.map(|posting| Reverse((posting, index))));
            visit(posting)?;
        }
        for path in &self.runs {
            fs::remove_file(path).map_err(IndexError::io(path))?;
        }
        Ok(())
    }
}

/// A run that is read.
struct RunReader {
    file: CheckedFile,
    position: u64,
    bytes: Vec<u8>,
    at: usize,
}

impl RunReader {
    fn open(path: &Path) -> Result<Self, IndexError> {
        let file = CheckedFile::open(path, FileKind::Run, 1)?;
        Ok(Self { file, position: 0, bytes: Vec::new(), at: 0 })
    }

    /// Has this number of bytes, from the next one on, in memory. Returns false at the end.
    fn fill(&mut self, n: usize) -> Result<bool, IndexError> {
        let left = self.bytes.len() - self.at;
        if left >= n {
            return Ok(true);
        }
        let start = self.position - left as u64;
        let end = start.saturating_add(CHUNK.max(n as u64)).min(self.file.section_length(0));
        if end - start < n as u64 {
            return if start == end { Ok(false) } else { Err(self.file.damaged("a run")) };
        }
        self.file.read(0, start..end, &mut self.bytes)?;
        (self.position, self.at) = (end, 0);
        Ok(true)
    }

    fn next(&mut self) -> Result<Option<SortedPosting>, IndexError> {
        if !self.fill(4)? {
            return Ok(None);
        }
        let length = self.bytes[self.at..].first_chunk().map_or(0, |b| u32::from_le_bytes(*b));
        self.at += 4;
        let n = length as usize;
        if !self.fill(n)? {
            return Err(self.file.damaged("a run"));
        }
        let posting = decode(&self.bytes[self.at..self.at + n]);
        self.at += n;
        posting.ok_or_else(|| self.file.damaged("a run")).map(Some)
    }
}

fn decode(bytes: &[u8]) -> Option<SortedPosting> {
    let mut row = RowReader(bytes);
    let (segment, term, document) = (row.small()?, row.bytes()?, row.small()?);
    let mut positions = Vec::new();
    while let Some(position) = row.small() {
        positions.push(position);
    }
    Some(SortedPosting { segment, term: term.into(), document, positions: positions.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn postings_are_sorted_whatever_the_memory() {
        let mut rng = crate::tests::rng();
        for memory in [0, 500, 5_000, 1 << 20] {
            let dir = tempfile::tempdir().unwrap();
            let mut sorter = PostingSorter::new(dir.path(), memory);
            let mut all = Vec::new();
            for _ in 0..rng.random_range(0..300) {
                let term: Vec<u8> = (0..rng.random_range(0..4)).map(|_| rng.random()).collect();
                let positions: Vec<u32> =
                    (0..rng.random_range(1..4)).map(|_| rng.random()).collect();
                let posting = SortedPosting {
                    segment: rng.random_range(0..3),
                    term: term.into(),
                    document: rng.random(),
                    positions: positions.into(),
                };
                sorter.push(posting.clone()).unwrap();
                all.push(posting);
            }
            all.sort();
            let mut sorted = Vec::new();
            sorter
                .finish(|posting| {
                    sorted.push(posting);
                    Ok(())
                })
                .unwrap();
            assert_eq!(sorted, all);
            assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "runs are removed");
        }
    }
}
