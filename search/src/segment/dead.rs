//! Documents that count no more: a later capture of their URL is indexed, or their archive file was changed.

use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use std::path::Path;

/// A set of documents of a segment: a bit for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct DeadSet {
    bits: Vec<u8>,
    n: u32,
}

/// Returns the name of the file of a generation.
pub(crate) fn dead_name(generation: u64) -> String {
    format!("dead-{generation}")
}

impl DeadSet {
    /// Returns true if the set has a document.
    pub(crate) fn contains(&self, document: u32) -> bool {
        let byte = self.bits.get(document as usize / 8).copied().unwrap_or(0);
        byte >> (document % 8) & 1 == 1
    }

    /// Adds a document.
    pub(crate) fn insert(&mut self, document: u32) {
        if !self.contains(document) {
            let at = document as usize / 8;
            self.bits.resize(self.bits.len().max(at + 1), 0);
            self.bits[at] |= 1 << (document % 8);
            self.n += 1;
        }
    }

    /// Returns the number of documents.
    pub(crate) const fn len(&self) -> u32 {
        self.n
    }

    /// Reads a set of documents below `n_documents`.
    pub(crate) fn read(path: &Path, n_documents: u32) -> Result<Self, IndexError> {
        let file = CheckedFile::open(path, FileKind::Dead, 1)?;
        let bits = file.read_section(0)?;
        if bits.len() > (n_documents as usize).div_ceil(8) {
            return Err(file.damaged("a set of documents"));
        }
        let n = bits.iter().map(|byte| byte.count_ones()).sum();
        Ok(Self { bits, n })
    }

    /// Writes the set.
    pub(crate) fn write(&self, path: &Path) -> Result<(), IndexError> {
        let mut file = CheckedFileWriter::create(path, FileKind::Dead)?;
        file.write(&self.bits)?;
        file.finish().map(drop)
    }
}
