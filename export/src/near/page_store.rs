//! Pages with a fingerprint, in unnamed files: a row of fixed length for each, and texts that the rows refer to.

use crivello_html::SimHash;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Seek as _, Write};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

/// Length of a row in bytes: fingerprint, time, hash of the URL, begin of the text.
const ROW_BYTES: usize = 32;

/// The data of a page that are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRow {
    pub(super) hash: SimHash,
    /// Microseconds since 1970.
    pub(super) time: u64,
    /// Hash of the URL.
    pub(super) url: u64,
    /// Begin of the page's text.
    text: u64,
}

impl PageRow {
    fn of(bytes: &[u8; ROW_BYTES]) -> Self {
        let part = |n: usize| {
            let mut part = [0; 8];
            part.copy_from_slice(&bytes[8 * n..8 * n + 8]);
            u64::from_le_bytes(part)
        };
        Self { hash: SimHash(part(0)), time: part(1), url: part(2), text: part(3) }
    }
}

/// The data of a page that are printed.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct PageText {
    pub(super) url: String,
    pub(super) date: String,
    pub(super) warc_file: String,
    pub(super) warc_offset: u64,
}

/// A store that grows.
pub(super) struct PageWriter {
    rows: BufWriter<File>,
    texts: BufWriter<File>,
    texts_length: u64,
    n_pages: u64,
}

/// A store that is complete.
pub(super) struct PageStore {
    rows: File,
    texts: File,
    n_pages: u64,
}

impl PageWriter {
    /// Creates an empty store with its files in `dir`.
    pub(super) fn create(dir: &Path) -> io::Result<Self> {
        let file =
            || tempfile::tempfile_in(dir).map(|file| BufWriter::with_capacity(256 << 10, file));
        Ok(Self { rows: file()?, texts: file()?, texts_length: 0, n_pages: 0 })
    }

    pub(super) fn push(
        &mut self,
        hash: SimHash,
        (time, url): (u64, u64),
        text: &PageText,
    ) -> io::Result<()> {
        for part in [hash.0, time, url, self.texts_length] {
            self.rows.write_all(&part.to_le_bytes())?;
        }
        let text = serde_json::to_vec(text)?;
        let length = text.len() as u64;
        self.texts.write_all(&length.to_le_bytes())?;
        self.texts.write_all(&text)?;
        self.texts_length += 8 + length;
        self.n_pages += 1;
        Ok(())
    }

    pub(super) fn finish(self) -> io::Result<PageStore> {
        let file =
            |file: BufWriter<File>| file.into_inner().map_err(io::IntoInnerError::into_error);
        Ok(PageStore { rows: file(self.rows)?, texts: file(self.texts)?, n_pages: self.n_pages })
    }
}

impl PageStore {
    /// Returns the number of pages.
    pub(super) const fn len(&self) -> u64 {
        self.n_pages
    }

    pub(super) fn row(&self, number: u64) -> io::Result<PageRow> {
        let mut bytes = [0; ROW_BYTES];
        self.rows.read_exact_at(&mut bytes, number * ROW_BYTES as u64)?;
        Ok(PageRow::of(&bytes))
    }

    /// Returns all rows in the order of their numbers.
    pub(super) fn rows(&self) -> io::Result<impl Iterator<Item = io::Result<PageRow>>> {
        let mut file = self.rows.try_clone()?;
        file.rewind()?;
        let mut file = BufReader::with_capacity(256 << 10, file);
        Ok((0..self.n_pages).map(move |_| {
            let mut bytes = [0; ROW_BYTES];
            file.read_exact(&mut bytes)?;
            Ok(PageRow::of(&bytes))
        }))
    }

    pub(super) fn text(&self, row: &PageRow) -> io::Result<PageText> {
        let mut length = [0; 8];
        self.texts.read_exact_at(&mut length, row.text)?;
        let mut text = vec![0; usize::try_from(u64::from_le_bytes(length)).unwrap_or_default()];
        self.texts.read_exact_at(&mut text, row.text + 8)?;
        Ok(serde_json::from_slice(&text)?)
    }
}
