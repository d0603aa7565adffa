//! The writer of names.

use super::BLOCK;
use crivello_common::codec::RowWriter;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// A writer of sorted names.
pub(crate) struct NamesWriter {
    names: BufWriter<File>,
    offsets: BufWriter<File>,
    offset: u64,
    count: usize,
    last: Vec<u8>,
    /// The name as it is written.
    row: RowWriter,
}

impl NamesWriter {
    /// Creates the files of names at `path` and beside it.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let names = BufWriter::with_capacity(256 << 10, File::create(path)?);
        let offsets = BufWriter::new(File::create(path.with_added_extension("at"))?);
        let (last, row) = (Vec::new(), RowWriter::default());
        Ok(Self { names, offsets, offset: 0, count: 0, last, row })
    }

    /// Adds a name, which must be greater than the last one.
    pub(crate) fn push(&mut self, name: &[u8]) -> io::Result<()> {
        let mut common = 0;
        if self.count.is_multiple_of(BLOCK) {
            self.offsets.write_all(&self.offset.to_le_bytes())?;
        } else {
            common = name.iter().zip(&self.last).take_while(|(a, b)| a == b).count();
        }
        let rest = &name[common..];
        self.row.0.clear();
        self.row.number(common as u64).bytes(rest);
        self.names.write_all(&self.row.0)?;
        self.offset += self.row.0.len() as u64;
        self.count += 1;
        self.last.clear();
        self.last.extend_from_slice(name);
        Ok(())
    }

    /// Ends the files, and returns the number of names.
    pub(crate) fn finish(mut self) -> io::Result<usize> {
        self.offsets.write_all(&self.offset.to_le_bytes())?;
        self.offsets.flush()?;
        self.names.flush()?;
        Ok(self.count)
    }
}
