//! A matrix on disk, as sorted triples (Notes 3.3): only vectors are in memory.
//!
//! ```text
//! file    ::= triple*                   (sorted by row, then by column)
//! triple  ::= row:u32-LE column:u32-LE value:f64-LE
//! ```

use crate::{GraphError, Successors};
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Length of a triple in bytes.
const TRIPLE: usize = 16;
/// Number of triples that a thread reads at a time: 1 MiB.
const CHUNK: u64 = 1 << 16;

/// A file of triples.
#[derive(Debug)]
pub struct TripleFile {
    path: PathBuf,
    file: File,
    size: usize,
    count: u64,
}

impl TripleFile {
    /// Writes the transition matrix of a random walk on a graph, 1 / outdegree for each arc, to a file without a name
    /// in `dir`, which vanishes with this value.
    ///
    /// # Errors
    /// Those of writing.
    pub fn random_walk(dir: &Path, graph: &impl Successors) -> Result<Self, GraphError> {
        let failed = |error| GraphError::io(dir)(error);
        let file = tempfile::tempfile_in(dir).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        let mut result = Ok(());
        graph.scan(0..graph.nodes(), |node, successors| {
            let value = 1.0 / successors.len() as f64;
            for to in successors {
                if result.is_ok() {
                    result = write(&mut out, node as u32, *to, value);
                }
            }
        });
        result.map_err(failed)?;
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        Self::new(dir, file, graph.nodes())
    }

    /// Writes triples to a file without a name in `dir`.
    ///
    /// # Errors
    /// Those of writing, and [`GraphError::Parameter`] for a row or column beyond `size`.
    pub fn create(
        dir: &Path,
        size: usize,
        triples: impl IntoIterator<Item = (u32, u32, f64)>,
    ) -> Result<Self, GraphError> {
        let failed = |error| GraphError::io(dir)(error);
        let file = tempfile::tempfile_in(dir).map_err(failed)?;
        let mut out = BufWriter::with_capacity(1 << 20, file);
        for (row, column, value) in triples {
            if row.max(column) as usize >= size {
                let text = format!("{row}, {column} in a matrix of {size} rows");
                return Err(GraphError::Parameter(text));
            }
            write(&mut out, row, column, value).map_err(failed)?;
        }
        let file = out.into_inner().map_err(|error| failed(error.into_error()))?;
        Self::new(dir, file, size)
    }

    fn new(path: &Path, file: File, size: usize) -> Result<Self, GraphError> {
        let length = file.metadata().map_err(GraphError::io(path))?.len();
        Ok(Self { path: path.to_owned(), file, size, count: length / TRIPLE as u64 })
    }

    /// Returns the number of rows.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.size
    }

    /// Returns the number of triples.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Adds x·M to `sums`, which has the bits of numbers. Threads read parts of the file, and add atomically.
    ///
    /// # Errors
    /// Those of reading.
    pub(super) fn multiply_left(&self, x: &[f64], sums: &[AtomicU64]) -> Result<(), GraphError> {
        let chunks = self.count.div_ceil(CHUNK);
        let result = (0..chunks).into_par_iter().try_for_each_init(Vec::new, |buffer, chunk| {
            let first = chunk * CHUNK;
            let length = CHUNK.min(self.count - first) as usize * TRIPLE;
            buffer.resize(length, 0);
            self.file.read_exact_at(buffer, first * TRIPLE as u64)?;
            let (triples, _) = buffer.as_chunks::<TRIPLE>();
            for triple in triples {
                let (row, column, value) = read(triple);
                if let (Some(x), Some(sum)) = (x.get(row as usize), sums.get(column as usize)) {
                    add(sum, x * value);
                }
            }
            io::Result::Ok(())
        });
        result.map_err(GraphError::io(&self.path))
    }
}

fn write(out: &mut impl io::Write, row: u32, column: u32, value: f64) -> io::Result<()> {
    let mut triple = [0; TRIPLE];
    triple[..4].copy_from_slice(&row.to_le_bytes());
    triple[4..8].copy_from_slice(&column.to_le_bytes());
    triple[8..].copy_from_slice(&value.to_le_bytes());
    out.write_all(&triple)
}

fn read(triple: &[u8; TRIPLE]) -> (u32, u32, f64) {
    let word = u128::from_le_bytes(*triple);
    (word as u32, (word >> 32) as u32, f64::from_bits((word >> 64) as u64))
}

/// Adds a value to a number.
pub(super) fn add(sum: &AtomicU64, value: f64) {
    let mut bits = sum.load(Relaxed);
    loop {
        let new = (f64::from_bits(bits) + value).to_bits();
        match sum.compare_exchange_weak(bits, new, Relaxed, Relaxed) {
            Ok(_) => return,
            Err(now) => bits = now,
        }
    }
}
