//! Links of the documents of a segment: for each target the documents that link to it, with the text of the link.
//!
//! ```text
//! blocks of about 64 KiB: length in bytes (4) │ rows, compressed by zstd
//! row: keyed hash of the URL of the target (8) │ half of the keyed hash of the URL of the document (4) │ document (4)
//!      │ keyed hash of its host (8) │ length of the text (2) │ stems of its words, with a space between
//! ```
//! Rows ascend by these fields. A target has at most 64 different pairs of text and host, 16 of one host, and 4 rows for
//! each pair, since the documents of some may not count later. Those of the lowest orders are kept, so they are the same
//! in any segments.

use crate::error::IndexError;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::Path;

/// Different pairs of text and host of a target at most, and those of one host.
const PAIRS_MAX: usize = 64;
const PAIRS_OF_HOST_MAX: u8 = 16;
/// Rows of a pair of text and host at most.
const ROWS_MAX: u8 = 4;
/// Bytes at which a block ends, before compression.
const BLOCK: usize = 64 << 10;
/// Bytes of a block at most: the last row may be beyond its end.
const BLOCK_MAX: usize = BLOCK + HEAD + u16::MAX as usize;
/// Bytes of a row before its text.
const HEAD: usize = 8 + 4 + 4 + 8 + 2;
const LEVEL: i32 = 3;

/// A link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LinkRow {
    /// Keyed hash of the URL of the target.
    pub(crate) target: u64,
    /// Half of the keyed hash of the URL of the document that has the link: nobody can choose a URL that comes first.
    pub(crate) order: u32,
    /// The document.
    pub(crate) linker: u32,
    /// Keyed hash of its host.
    pub(crate) host: u64,
    /// Stems of the words of its text, with a space between.
    pub(crate) stems: Box<str>,
}

/// The links to one target that count, among all in their order.
#[derive(Default)]
pub(crate) struct LinksOfTarget {
    /// Number of rows by host and text.
    rows: HashMap<(u64, Box<str>), u8>,
    /// Number of pairs by host.
    pairs: HashMap<u64, u8>,
}

impl LinksOfTarget {
    /// Adds a link. Returns the number of links of its host with its text so far; `None` if they do not count.
    pub(crate) fn add(&mut self, row: &LinkRow) -> Option<u8> {
        let n_pairs = self.rows.len();
        match self.rows.entry((row.host, row.stems.clone())) {
            Entry::Occupied(mut rows) => {
                *rows.get_mut() = rows.get().saturating_add(1);
                Some(*rows.get())
            }
            Entry::Vacant(rows) => {
                let of_host = self.pairs.entry(row.host).or_default();
                if n_pairs == PAIRS_MAX || *of_host == PAIRS_OF_HOST_MAX {
                    return None;
                }
                *of_host += 1;
                Some(*rows.insert(1))
            }
        }
    }
}

/// A writer of links, in their order. Those of a target beyond the bounds are left out.
pub(crate) struct LinkWriter {
    file: CheckedFileWriter,
    block: Vec<u8>,
    last: Option<LinkRow>,
    /// Links to the target of the last one.
    of_target: LinksOfTarget,
}

impl LinkWriter {
    pub(super) fn create(path: &Path) -> Result<Self, IndexError> {
        let file = CheckedFileWriter::create(path, FileKind::Links)?;
        Ok(Self { file, block: Vec::new(), last: None, of_target: LinksOfTarget::default() })
    }

    /// Adds a link. One that repeats the last one is left out.
    pub(super) fn push(&mut self, row: LinkRow) -> Result<(), IndexError> {
        debug_assert!(self.last.as_ref().is_none_or(|last| *last <= row), "links ascend");
        if self.last.as_ref().is_some_and(|last| *last == row) {
            return Ok(());
        }
        if self.last.as_ref().is_none_or(|last| last.target != row.target) {
            self.of_target = LinksOfTarget::default();
        }
        if self.of_target.add(&row).is_some_and(|n| n <= ROWS_MAX) {
            let length = u16::try_from(row.stems.len());
            let length = length.map_err(|_| IndexError::TooLarge("the text of a link"))?;
            self.block.extend(row.target.to_le_bytes());
            self.block.extend(row.order.to_le_bytes());
            self.block.extend(row.linker.to_le_bytes());
            self.block.extend(row.host.to_le_bytes());
            self.block.extend(length.to_le_bytes());
            self.block.extend(row.stems.as_bytes());
        }
        self.last = Some(row);
        if self.block.len() >= BLOCK { self.end_block() } else { Ok(()) }
    }

    fn end_block(&mut self) -> Result<(), IndexError> {
        let bytes = zstd::bulk::compress(&self.block, LEVEL)
            .map_err(|_| IndexError::TooLarge("links cannot be compressed"))?;
        self.file.write(&(bytes.len() as u32).to_le_bytes())?;
        self.file.write(&bytes)?;
        self.block.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> Result<u64, IndexError> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        self.file.finish()
    }
}

/// The links of a segment, one after another.
pub(crate) struct LinkReader<'s> {
    file: &'s CheckedFile,
    position: u64,
    block: Vec<u8>,
    at: usize,
}

impl<'s> LinkReader<'s> {
    pub(super) const fn new(file: &'s CheckedFile) -> Self {
        Self { file, position: 0, block: Vec::new(), at: 0 }
    }

    /// Returns the next link.
    pub(crate) fn next(&mut self) -> Result<Option<LinkRow>, IndexError> {
        if self.at == self.block.len() && !self.read_block()? {
            return Ok(None);
        }
        let row = self.row().ok_or_else(|| self.file.damaged("a link"))?;
        Ok(Some(row))
    }

    fn read_block(&mut self) -> Result<bool, IndexError> {
        let damaged = || self.file.damaged("a block of links");
        if self.position == self.file.section_length(0) {
            return Ok(false);
        }
        let mut bytes = Vec::new();
        let start = self.position.saturating_add(4);
        self.file.read(0, self.position..start, &mut bytes)?;
        let length = bytes.as_slice().try_into().map_err(|_| damaged())?;
        let end = start.saturating_add(u64::from(u32::from_le_bytes(length)));
        self.file.read(0, start..end, &mut bytes)?;
        self.block = zstd::bulk::decompress(&bytes, BLOCK_MAX).map_err(|_| damaged())?;
        (self.position, self.at) = (end, 0);
        if self.block.is_empty() { Err(damaged()) } else { Ok(true) }
    }

    fn row(&mut self) -> Option<LinkRow> {
        let (target, rest) = self.block.get(self.at..)?.split_first_chunk()?;
        let (order, rest) = rest.split_first_chunk()?;
        let (linker, rest) = rest.split_first_chunk()?;
        let (host, rest) = rest.split_first_chunk()?;
        let (length, rest) = rest.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes(*length));
        let stems = std::str::from_utf8(rest.get(..length)?).ok()?.into();
        self.at += HEAD + length;
        let [target, host] = [target, host].map(|bytes| u64::from_le_bytes(*bytes));
        let [order, linker] = [order, linker].map(|bytes| u32::from_le_bytes(*bytes));
        Some(LinkRow { target, order, linker, host, stems })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::SmallRng;
    use rand::seq::SliceRandom;
    use rand::{Rng, SeedableRng};
    use std::collections::BTreeSet;

    fn counted(rows: &[LinkRow], n_max: u8) -> Vec<LinkRow> {
        let mut links = LinksOfTarget::default();
        rows.iter().filter(|row| links.add(row).is_some_and(|n| n <= n_max)).cloned().collect()
    }

    #[test]
    fn no_host_has_all_places_and_any_parts_have_the_links_of_the_whole() {
        let seed = rand::random();
        println!("seed {seed}");
        let mut rng = SmallRng::seed_from_u64(seed);
        for _ in 0..50 {
            let (n_rows, n_hosts) = (rng.random_range(1..600), rng.random_range(1..20));
            let row = |order| LinkRow {
                target: 7,
                order,
                linker: order,
                host: rng.random_range(0..n_hosts),
                stems: rng.random_range(0..30).to_string().into(),
            };
            let rows: Vec<LinkRow> = (0..n_rows).map(row).collect();
            let whole = counted(&rows, 1);
            for host in 0..n_hosts {
                let texts: BTreeSet<&str> =
                    whole.iter().filter(|row| row.host == host).map(|row| &*row.stems).collect();
                assert!(texts.len() <= usize::from(PAIRS_OF_HOST_MAX));
            }
            let mut shuffled = rows.clone();
            shuffled.shuffle(&mut rng);
            let middle = rng.random_range(0..=rows.len());
            let mut parts = [shuffled[..middle].to_vec(), shuffled[middle..].to_vec()];
            parts.iter_mut().for_each(|part| part.sort());
            let mut merged: Vec<LinkRow> =
                parts.iter().flat_map(|part| counted(part, ROWS_MAX)).collect();
            merged.sort();
            assert_eq!(counted(&merged, 1), whole);
        }
    }
}
