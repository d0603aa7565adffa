//! Words of the links to the documents of a segment: an index of terms of its own, since links change when other
//! segments do.
//!
//! ```text
//! anchors-N/terms, postings, positions    as those of the segment
//! ```

use super::terms::{TermTable, TermWriter};
use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, ChunkCache, FileKind};
use crate::postings::{ListWriter, Preset};
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

/// Returns the name of the directory of a generation.
pub(crate) fn anchors_name(generation: u64) -> String {
    format!("anchors-{generation}")
}

/// The words of links to documents of a segment.
#[derive(Debug)]
pub(crate) struct AnchorIndex {
    pub(super) terms: TermTable,
    pub(super) postings: CheckedFile,
    pub(super) positions: CheckedFile,
}

impl AnchorIndex {
    pub(crate) fn open(dir: &Path) -> Result<Self, IndexError> {
        let open = |name, kind, sections| CheckedFile::open(&dir.join(name), kind, sections);
        Ok(Self {
            terms: TermTable::open(open("terms", FileKind::Terms, 3)?)?,
            postings: open("postings", FileKind::Postings, 1)?,
            positions: open("positions", FileKind::Positions, 1)?,
        })
    }

    pub(super) fn share(&mut self, cache: &Arc<ChunkCache>) {
        self.terms.file_mut().share(cache);
        self.postings.share(cache);
        self.positions.share(cache);
    }

    fn files(&self) -> [&CheckedFile; 3] {
        [self.terms.file(), &self.postings, &self.positions]
    }

    /// Checks all pages of all files.
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        self.files().into_iter().try_for_each(CheckedFile::check)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.files().into_iter().map(CheckedFile::bytes).sum()
    }
}

/// A writer of the words of links, term by term.
pub(crate) struct AnchorWriter {
    terms: TermWriter,
    postings: CheckedFileWriter,
    positions: CheckedFileWriter,
    list: ListWriter,
}

impl AnchorWriter {
    /// Creates the directory and its files, for a segment with this number of documents.
    pub(crate) fn create(dir: &Path, preset: Preset, n_documents: u32) -> Result<Self, IndexError> {
        fs::create_dir(dir).map_err(IndexError::io(dir))?;
        Ok(Self {
            terms: TermWriter::create(&dir.join("terms"))?,
            postings: CheckedFileWriter::create(&dir.join("postings"), FileKind::Postings)?,
            positions: CheckedFileWriter::create(&dir.join("positions"), FileKind::Positions)?,
            list: ListWriter::new(preset, n_documents),
        })
    }

    /// Adds a term with its documents, and the positions in each.
    pub(crate) fn push(
        &mut self,
        term: &[u8],
        documents: &[(u32, Box<[u32]>)],
    ) -> Result<(), IndexError> {
        self.list.start(documents.len() as u32, true, &self.positions);
        for (document, positions) in documents {
            // Lengths do not count for the ranks of anchors.
            self.list.push(*document, 0, positions, &mut self.positions)?;
        }
        let entry = self.list.finish(&mut self.postings, &mut self.positions)?;
        self.terms.push(term, &entry)
    }

    /// Ends and syncs all files.
    pub(crate) fn finish(self, dir: &Path) -> Result<(), IndexError> {
        self.terms.finish()?;
        self.postings.finish()?;
        self.positions.finish()?;
        File::open(dir).and_then(|dir| dir.sync_all()).map_err(IndexError::io(dir))
    }
}
