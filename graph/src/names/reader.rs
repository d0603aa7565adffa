//! The reader of names.

use super::{BLOCK, NAME_MAX};
use crate::GraphError;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

/// The sorted names of the nodes of a graph. They stay on disk.
#[derive(Debug)]
pub struct Names {
    path: PathBuf,
    names: File,
    offsets: File,
    count: usize,
}

impl Names {
    /// Opens the files at `path` and beside it, which have `count` names.
    ///
    /// # Errors
    /// Those of opening, and a file of another length.
    pub(crate) fn open(path: &Path, count: usize) -> Result<Self, GraphError> {
        let at = path.with_added_extension("at");
        let names = File::open(path).map_err(GraphError::io(path))?;
        let offsets = File::open(&at).map_err(GraphError::io(&at))?;
        let length = offsets.metadata().map_err(GraphError::io(&at))?.len();
        if length != 8 * (count.div_ceil(BLOCK) as u64 + 1) {
            return Err(GraphError::damaged(&at, "its length is that of another number of names"));
        }
        Ok(Self { path: path.to_owned(), names, offsets, count })
    }

    /// Returns the number of names.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count
    }

    /// Returns true if there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns the name of a node.
    ///
    /// # Errors
    /// Those of reading, and [`GraphError::Damaged`]. A node that is not there is damage, too.
    pub fn name(&self, node: usize) -> Result<String, GraphError> {
        let block = self.block(node / BLOCK)?;
        let (mut bytes, mut name) = (block.as_slice(), Vec::new());
        for _ in 0..=node % BLOCK {
            self.next(&mut bytes, &mut name)?;
        }
        self.text(&name).map(str::to_owned)
    }

    /// Returns the node with a name; `None` if none has it.
    ///
    /// # Errors
    /// Those of reading, and [`GraphError::Damaged`].
    pub fn node(&self, name: &str) -> Result<Option<usize>, GraphError> {
        // The last block whose first name is not greater.
        let (mut low, mut high) = (0, self.count.div_ceil(BLOCK));
        while low < high {
            let middle = low.midpoint(high);
            let block = self.block(middle)?;
            let mut first = Vec::new();
            self.next(&mut block.as_slice(), &mut first)?;
            if first.as_slice() <= name.as_bytes() {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let Some(number) = low.checked_sub(1) else { return Ok(None) };
        let block = self.block(number)?;
        let (mut bytes, mut found) = (block.as_slice(), Vec::new());
        for node in number * BLOCK..self.count.min((number + 1) * BLOCK) {
            self.next(&mut bytes, &mut found)?;
            if found == name.as_bytes() {
                return Ok(Some(node));
            }
        }
        Ok(None)
    }

    /// Passes each node and its name to `visit`, in order.
    ///
    /// # Errors
    /// Those of reading and of `visit`, and [`GraphError::Damaged`].
    pub fn for_each(
        &self,
        mut visit: impl FnMut(usize, &str) -> Result<(), GraphError>,
    ) -> Result<(), GraphError> {
        let mut cursor = self.cursor()?;
        for node in 0..self.count {
            let name = cursor.next_name()?.unwrap_or_default();
            visit(node, name)?;
        }
        Ok(())
    }

    /// Returns a cursor before the first name.
    ///
    /// # Errors
    /// Those of opening.
    pub fn cursor(&self) -> Result<NameCursor<'_>, GraphError> {
        let file = File::open(&self.path).map_err(GraphError::io(&self.path))?;
        let file = BufReader::with_capacity(256 << 10, file);
        Ok(NameCursor { names: self, file, name: Vec::new(), next: 0 })
    }

    fn block(&self, number: usize) -> Result<Vec<u8>, GraphError> {
        let mut ends = [0; 16];
        self.offsets
            .read_exact_at(&mut ends, 8 * number as u64)
            .map_err(|error| GraphError::damaged(&self.path, format!("no block: {error}")))?;
        let [start, end] = [0, 8].map(|at| {
            let mut number = [0; 8];
            number.copy_from_slice(&ends[at..at + 8]);
            u64::from_le_bytes(number)
        });
        let length = end.checked_sub(start).filter(|length| *length <= (BLOCK * NAME_MAX) as u64);
        let length = length.ok_or_else(|| GraphError::damaged(&self.path, "offsets"))?;
        let mut bytes = vec![0; length as usize];
        self.names
            .read_exact_at(&mut bytes, start)
            .map_err(|error| GraphError::damaged(&self.path, error))?;
        Ok(bytes)
    }

    fn next(&self, bytes: &mut impl BufRead, name: &mut Vec<u8>) -> Result<(), GraphError> {
        read_name(bytes, name).map_err(|error| GraphError::damaged(&self.path, error))
    }

    fn text<'a>(&self, name: &'a [u8]) -> Result<&'a str, GraphError> {
        str::from_utf8(name).map_err(|error| GraphError::damaged(&self.path, error))
    }
}

/// A position among [`Names`].
pub struct NameCursor<'a> {
    names: &'a Names,
    file: BufReader<File>,
    name: Vec<u8>,
    next: usize,
}

impl NameCursor<'_> {
    /// Returns the next name; `None` after the last.
    ///
    /// # Errors
    /// Those of reading, and [`GraphError::Damaged`].
    pub fn next_name(&mut self) -> Result<Option<&str>, GraphError> {
        if self.next == self.names.count {
            return Ok(None);
        }
        if self.next.is_multiple_of(BLOCK) {
            self.name.clear();
        }
        self.next += 1;
        self.names.next(&mut self.file, &mut self.name)?;
        self.names.text(&self.name).map(Some)
    }
}

/// Replaces `name` by the next name.
fn read_name(bytes: &mut impl BufRead, name: &mut Vec<u8>) -> io::Result<()> {
    let common = read_varint(bytes)?;
    let rest = read_varint(bytes)?;
    if common > name.len() || rest > NAME_MAX {
        return Err(io::Error::other("a length of a name"));
    }
    name.resize(common + rest, 0);
    bytes.read_exact(&mut name[common..])
}

fn read_varint(bytes: &mut impl BufRead) -> io::Result<usize> {
    let mut value = 0;
    for shift in [0, 7, 14] {
        let mut byte = [0];
        bytes.read_exact(&mut byte)?;
        value |= usize::from(byte[0] & 0x7f) << shift;
        if byte[0] < 0x80 {
            return Ok(value);
        }
    }
    Err(io::Error::other("a number of a name"))
}
