//! The terms of a segment in order, each with the place of its list.
//!
//! A block has 16 terms: for each the length of the prefix that it has in common with the one before, and the rest
//! of it; then numbers of documents and occurrences, and the bytes of its list. All are in δ. Places of lists are the
//! sums of the bytes before, from the place of the first list of the block on. The first terms of blocks are in
//! memory, for prefixes.
//!
//! A term is found by a signed monotone minimal perfect hash (Notes 2.3.2): its rank, and so its block. Of the terms
//! that the segment does not have, one of 256 costs a look into a block. The hash is built in memory, so a segment with
//! very many terms has none, and finds terms by a binary search.

use crate::error::IndexError;
use crate::field::has_positions;
use crate::file::{CheckedFile, CheckedFileWriter, FileKind};
use crate::postings::{ListEntry, skip_bytes};
use crivello_codes::{
    BitReader, BitWriter, Code as _, CodeError, Delta, MonotoneHash, SystemSolver,
};
use crivello_common::codec::{RowReader, RowWriter};
use std::path::Path;

/// Terms of a block.
const BLOCK_TERMS: usize = 16;
/// Bytes of a term at most.
const TERM_BYTES_MAX: u64 = 4096;
const BLOCKS: usize = 0;
const INDEX: usize = 1;
const HASH: usize = 2;
/// Bits of the signature of a term.
const SIGNATURE_BITS: u32 = 8;
/// Terms of a segment with a hash at most: some hundred bytes of memory are needed for each while it is built.
const HASHED_MAX: u64 = 1 << 21;

/// The terms of a segment.
#[derive(Debug)]
pub(crate) struct TermTable {
    file: CheckedFile,
    n_terms: u64,
    /// The first terms of all blocks, one after another, and where each ends.
    firsts: Vec<u8>,
    first_ends: Vec<u32>,
    /// Offset of each block, and the end of the last one.
    offsets: Vec<u64>,
    /// From a term to its rank.
    hash: Option<MonotoneHash>,
}

/// A term and the place of its list.
pub(crate) type TermEntry = (Vec<u8>, ListEntry);

impl TermTable {
    pub(super) fn open(file: CheckedFile) -> Result<Self, IndexError> {
        let index = file.read_section(INDEX)?;
        let (n_terms, firsts, first_ends, offsets) =
            parse_index(&index).ok_or_else(|| file.damaged("the index of terms"))?;
        let hash = match file.read_section(HASH)? {
            bytes if bytes.is_empty() => None,
            bytes => {
                let hash = MonotoneHash::from_bytes(&bytes).ok();
                let hash = hash.filter(|hash| hash.len() as u64 == n_terms);
                Some(hash.ok_or_else(|| file.damaged("the hash of terms"))?)
            }
        };
        Ok(Self { file, n_terms, firsts, first_ends, offsets, hash })
    }

    pub(super) fn file(&self) -> &CheckedFile {
        &self.file
    }

    pub(super) fn file_mut(&mut self) -> &mut CheckedFile {
        &mut self.file
    }

    /// Returns the number of terms.
    pub(crate) const fn len(&self) -> u64 {
        self.n_terms
    }

    fn first(&self, block: usize) -> &[u8] {
        let start = block.checked_sub(1).map_or(0, |before| self.first_ends[before]);
        &self.firsts[start as usize..self.first_ends[block] as usize]
    }

    fn n_blocks(&self) -> usize {
        self.first_ends.len()
    }

    /// Returns the place of the list of a term; `None` if no document has it.
    pub(crate) fn get(&self, term: &[u8]) -> Result<Option<ListEntry>, IndexError> {
        let block = match &self.hash {
            None => self.block_of(term),
            Some(hash) => match hash.rank(term).filter(|rank| (*rank as u64) < self.n_terms) {
                None => return Ok(None),
                Some(rank) => rank / BLOCK_TERMS,
            },
        };
        if block >= self.n_blocks() {
            return Ok(None);
        }
        let mut found = None;
        self.visit_block(block, |candidate, entry| {
            let is_before = candidate < term;
            found = (candidate == term).then_some(entry);
            is_before
        })?;
        Ok(found)
    }

    /// Returns the terms that begin with `prefix`, at most `max` of them, and whether there are more.
    pub(crate) fn with_prefix(
        &self,
        prefix: &[u8],
        max: usize,
    ) -> Result<(Vec<TermEntry>, bool), IndexError> {
        let mut terms = Vec::new();
        let mut cursor = self.cursor_at(prefix);
        while let Some((term, entry)) = cursor.next()? {
            if term.starts_with(prefix) {
                if terms.len() == max {
                    return Ok((terms, true));
                }
                terms.push((term, entry));
            } else if term.as_slice() > prefix {
                break;
            }
        }
        Ok((terms, false))
    }

    /// Returns a cursor at the first term.
    pub(crate) fn cursor(&self) -> TermCursor<'_> {
        self.cursor_of(0)
    }

    /// Returns a cursor at the first term of a block.
    fn cursor_of(&self, block: usize) -> TermCursor<'_> {
        TermCursor { table: self, block, terms: Vec::new().into_iter() }
    }

    /// Returns a cursor at the block in which a term is, if it is in any.
    fn cursor_at(&self, term: &[u8]) -> TermCursor<'_> {
        self.cursor_of(self.block_of(term))
    }

    /// Returns the block in which a term is, if it is in any.
    fn block_of(&self, term: &[u8]) -> usize {
        let (mut low, mut high) = (0, self.n_blocks());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.first(middle) <= term { low = middle + 1 } else { high = middle }
        }
        low.saturating_sub(1)
    }

    fn block(&self, block: usize) -> Result<Vec<TermEntry>, IndexError> {
        let mut terms = Vec::with_capacity(BLOCK_TERMS);
        self.visit_block(block, |term, entry| {
            terms.push((term.to_vec(), entry));
            true
        })?;
        Ok(terms)
    }

    /// Calls `visit` with the terms of a block while it returns true.
    fn visit_block(
        &self,
        block: usize,
        visit: impl FnMut(&[u8], ListEntry) -> bool,
    ) -> Result<(), IndexError> {
        let damaged = || self.file.damaged("terms");
        let range = self.offsets[block]..self.offsets[block + 1];
        let bytes = self.file.bytes_of(BLOCKS, &range)?;
        let bytes = bytes.get(&range).ok_or_else(damaged)?;
        let done = (block * BLOCK_TERMS) as u64;
        let n = (self.n_terms - done).min(BLOCK_TERMS as u64) as usize;
        decode_block(bytes, n, visit).map_err(|_| damaged())
    }
}

/// A position among the terms.
pub(crate) struct TermCursor<'t> {
    table: &'t TermTable,
    block: usize,
    terms: std::vec::IntoIter<TermEntry>,
}

impl TermCursor<'_> {
    /// Returns the next term.
    pub(crate) fn next(&mut self) -> Result<Option<TermEntry>, IndexError> {
        if self.terms.len() == 0 && self.block < self.table.n_blocks() {
            self.terms = self.table.block(self.block)?.into_iter();
            self.block += 1;
        }
        Ok(self.terms.next())
    }
}

type Index = (u64, Vec<u8>, Vec<u32>, Vec<u64>);

fn parse_index(mut bytes: &[u8]) -> Option<Index> {
    let mut u64 = || {
        let (value, rest) = bytes.split_first_chunk()?;
        bytes = rest;
        Some(u64::from_le_bytes(*value))
    };
    let (n_terms, end) = (u64()?, u64()?);
    let (mut firsts, mut first_ends, mut offsets) = (Vec::new(), Vec::new(), Vec::new());
    let (mut rows, mut offset) = (RowReader(bytes), 0_u64);
    while !rows.0.is_empty() {
        offset = offset.checked_add(rows.number()?)?;
        offsets.push(offset);
        firsts.extend_from_slice(rows.bytes()?);
        first_ends.push(u32::try_from(firsts.len()).ok()?);
    }
    offsets.push(end);
    let is_whole = n_terms.div_ceil(BLOCK_TERMS as u64) == first_ends.len() as u64;
    (is_whole && offsets.is_sorted()).then_some((n_terms, firsts, first_ends, offsets))
}

fn decode_block(
    bytes: &[u8],
    n: usize,
    mut visit: impl FnMut(&[u8], ListEntry) -> bool,
) -> Result<(), CodeError> {
    let mut reader = BitReader::new(bytes);
    let bits = &mut reader;
    let mut starts = [Delta.read(bits)?, Delta.read(bits)?];
    let mut term = Vec::new();
    for _ in 0..n {
        let (common, rest) = (Delta.read(bits)?, Delta.read(bits)?);
        if common > term.len() as u64 || rest > TERM_BYTES_MAX {
            return Err(CodeError::NotAWord);
        }
        term.truncate(common as usize);
        let mut left = rest as u32;
        while left > 0 {
            // As many bytes as one number has.
            let n = left.min(7);
            let number = bits.bits(8 * n)? << (64 - 8 * n);
            term.extend_from_slice(&number.to_be_bytes()[..n as usize]);
            left -= n;
        }
        let documents = u32::try_from(Delta.read(bits)?).map_err(|_| CodeError::NotAWord)?;
        let documents = documents.checked_add(1).ok_or(CodeError::NotAWord)?;
        let has_positions = has_positions(&term);
        let more = if has_positions { Delta.read(bits)? } else { 0 };
        let skip_bytes = skip_bytes(documents, has_positions);
        let bytes = Delta.read(bits)?.saturating_add(skip_bytes);
        let position_bytes = if has_positions { Delta.read(bits)? } else { 0 };
        let entry = ListEntry {
            documents,
            occurrences: more.saturating_add(u64::from(documents)),
            skip_bytes,
            bytes,
            position_bytes,
            start: starts[0],
            position_start: starts[1],
        };
        starts[0] = starts[0].checked_add(bytes).ok_or(CodeError::NotAWord)?;
        starts[1] = starts[1].checked_add(position_bytes).ok_or(CodeError::NotAWord)?;
        if !visit(&term, entry) {
            break;
        }
    }
    Ok(())
}

/// A writer of terms, in order.
pub(super) struct TermWriter {
    file: CheckedFileWriter,
    block: BitWriter,
    n_in_block: usize,
    last: Vec<u8>,
    n_terms: u64,
    /// For each block its offset, less that of the one before, and its first term.
    index: RowWriter,
    block_start: u64,
    /// All terms, for the hash.
    all: Vec<Box<[u8]>>,
}

impl TermWriter {
    pub(super) fn create(path: &Path) -> Result<Self, IndexError> {
        let file = CheckedFileWriter::create(path, FileKind::Terms)?;
        Ok(Self {
            file,
            block: BitWriter::new(),
            n_in_block: 0,
            last: Vec::new(),
            n_terms: 0,
            index: RowWriter::default(),
            block_start: 0,
            all: Vec::new(),
        })
    }

    pub(super) fn push(&mut self, term: &[u8], entry: &ListEntry) -> Result<(), IndexError> {
        debug_assert!(self.n_terms == 0 || self.last.as_slice() < term, "terms ascend");
        if self.n_in_block == BLOCK_TERMS {
            self.end_block()?;
        }
        if self.n_in_block == 0 {
            let position = self.file.position();
            self.index.number(position - self.block_start).bytes(term);
            self.block_start = position;
            self.last.clear();
        }
        self.encode(term, entry).map_err(|_| IndexError::TooLarge("a number of a term"))?;
        self.last.clear();
        self.last.extend_from_slice(term);
        self.n_in_block += 1;
        self.n_terms += 1;
        match self.n_terms <= HASHED_MAX {
            true => self.all.push(term.into()),
            false => self.all = Vec::new(),
        }
        Ok(())
    }

    fn encode(&mut self, term: &[u8], entry: &ListEntry) -> Result<(), CodeError> {
        let block = &mut self.block;
        if self.n_in_block == 0 {
            Delta.write(block, entry.start)?;
            Delta.write(block, entry.position_start)?;
        }
        let common = self.last.iter().zip(term).take_while(|(one, other)| one == other).count();
        Delta.write(block, common as u64)?;
        Delta.write(block, (term.len() - common) as u64)?;
        term[common..].iter().for_each(|byte| block.bits(u64::from(*byte), 8));
        Delta.write(block, u64::from(entry.documents) - 1)?;
        let has_positions = has_positions(term);
        if has_positions {
            Delta.write(block, entry.occurrences - u64::from(entry.documents))?;
        }
        Delta.write(block, entry.bytes - entry.skip_bytes)?;
        if has_positions {
            Delta.write(block, entry.position_bytes)?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), IndexError> {
        self.n_in_block = 0;
        self.file.write(&std::mem::take(&mut self.block).into_bytes())
    }

    pub(super) fn finish(mut self) -> Result<u64, IndexError> {
        self.end_block()?;
        let end = self.file.position();
        self.file.next_section();
        self.file.write(&self.n_terms.to_le_bytes())?;
        self.file.write(&end.to_le_bytes())?;
        self.file.write(&self.index.0)?;
        self.file.next_section();
        if !self.all.is_empty() {
            // A hash that cannot be built is left out.
            if let Ok(hash) =
                MonotoneHash::build(&self.all, SIGNATURE_BITS, SystemSolver::ThreeHashes, 0)
            {
                self.file.write(&hash.to_bytes())?;
            }
        }
        self.file.finish()
    }
}
