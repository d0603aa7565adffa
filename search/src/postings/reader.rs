//! Reading one posting list: forwards, or by skips.

use super::block::ListShape;
use super::fast::{self, Groups};
use super::skips::Skips;
use super::small;
use super::window::Window;
use super::{Impacts, ListEntry, POSITIONS_MAX, Preset, QUANTUM};
use crate::error::IndexError;
use crate::file::CheckedFile;
use crivello_codes::{BitReader, CodeError};
use std::ops::Range;

/// Numbers of one list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PostingStats {
    /// Postings that were decoded.
    pub(crate) postings: u64,
    /// Blocks that were decoded.
    pub(crate) blocks: u64,
    /// Positions that were decoded.
    pub(crate) positions: u64,
}

/// The files and the documents of the lists of a segment.
#[derive(Clone, Copy)]
pub(crate) struct ListFiles<'s> {
    pub(crate) postings: &'s CheckedFile,
    pub(crate) positions: &'s CheckedFile,
    pub(crate) preset: Preset,
    /// Length of each document in words.
    pub(crate) lengths: &'s [u32],
}

/// A list that is read. It is at a block, which is decoded when a document of it is wanted.
pub(crate) struct PostingReader<'s> {
    postings: Window<'s>,
    positions: Window<'s>,
    preset: Preset,
    entry: ListEntry,
    lengths: &'s [u32],
    has_positions: bool,
    skips: Skips,
    is_ended: bool,
    /// Documents of the block, and their number; 0 if it is not decoded. Behind them is no document.
    documents: Box<[u32; QUANTUM]>,
    n: usize,
    /// Index of the document in the block.
    at: usize,
    counts: BlockCounts,
    of_block: BlockPositions,
    /// Positions of the last document that was asked for.
    of_document: Vec<u32>,
    stats: PostingStats,
}

/// Counts of a block.
struct BlockCounts {
    counts: Box<[u32; QUANTUM]>,
    /// Bit at which they begin in the preset `small`.
    bit: u64,
    are_read: bool,
}

/// Positions of a block.
#[derive(Default)]
struct BlockPositions {
    /// Index of the first position of each document; none if it is not known yet.
    starts: Vec<u32>,
    /// Places of the positions in the preset `fast`.
    groups: Groups,
    /// The positions in the preset `small`.
    all: Vec<u32>,
}

/// Documents of a block, and how often each has the term.
pub(crate) type Run<'r> = (&'r [u32], &'r [u32]);

impl<'s> PostingReader<'s> {
    /// Opens a list, before its first document.
    pub(crate) fn open(
        files: ListFiles<'s>,
        entry: ListEntry,
        has_positions: bool,
    ) -> Result<Self, IndexError> {
        let ListFiles { postings, positions, preset, lengths } = files;
        let damaged = || postings.damaged("a posting list");
        let end = entry.start.checked_add(entry.bytes);
        let position_end = entry.position_start.checked_add(entry.position_bytes);
        let n_documents = lengths.len() as u32;
        if end.is_none()
            || position_end.is_none()
            || !(1..=n_documents).contains(&entry.documents)
            || entry.skip_bytes > entry.bytes
        {
            return Err(damaged());
        }
        let skips = Skips::open(postings, &entry, n_documents, has_positions)?;
        // Documents without counts have the term once.
        let counts = BlockCounts { counts: Box::new([1; QUANTUM]), bit: 0, are_read: true };
        Ok(Self {
            postings: Window::new(postings),
            positions: Window::new(positions),
            preset,
            entry,
            lengths,
            has_positions,
            skips: skips.ok_or_else(damaged)?,
            is_ended: false,
            documents: Box::new([u32::MAX; QUANTUM]),
            n: 0,
            at: 0,
            counts,
            of_block: BlockPositions::default(),
            of_document: Vec::new(),
            stats: PostingStats::default(),
        })
    }

    fn damaged(&self) -> IndexError {
        self.postings.damaged("a posting list")
    }

    fn documents(&self) -> &[u32] {
        &self.documents[..self.n]
    }

    /// Returns the document; `None` before the first and after the last one.
    #[inline]
    pub(crate) fn document(&self) -> Option<u32> {
        (self.at < self.n).then(|| self.documents[self.at])
    }

    /// Goes to the next document, and returns it.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<u32>, IndexError> {
        if self.at + 1 < self.n {
            self.at += 1;
            return Ok(Some(self.documents[self.at]));
        }
        if self.n > 0 && !self.next_block()? || self.is_ended {
            return Ok(None);
        }
        self.decode()?;
        Ok(self.document())
    }

    /// Goes to the first document that is `target` or later, and returns it. Never goes backwards.
    #[inline]
    pub(crate) fn skip_to(&mut self, target: u32) -> Result<Option<u32>, IndexError> {
        if self.n == 0 || self.documents[self.n - 1] < target {
            if !self.go_to_block(target)? {
                return Ok(None);
            }
            self.decode()?;
        }
        self.pass_in_block(target);
        if self.at >= self.n {
            // Only a list of one block may end before `last`.
            self.end();
        }
        Ok(self.document())
    }

    /// Passes the documents of the block that are before `target`: some at once, and the next ones first, since lists
    /// of about one length are near one another.
    #[inline]
    fn pass_in_block(&mut self, target: u32) {
        const STEP: usize = 8;
        loop {
            let rest = &self.documents[self.at.min(QUANTUM)..];
            let Some(step) = rest.first_chunk::<STEP>() else {
                self.at += rest.iter().take_while(|document| **document < target).count();
                return;
            };
            let n = step.iter().map(|document| usize::from(*document < target)).sum::<usize>();
            self.at += n;
            if n < STEP {
                return;
            }
        }
    }

    /// Goes to the block in which `target` or a later document is, without decoding it. Returns false if there is none.
    pub(crate) fn go_to_block(&mut self, target: u32) -> Result<bool, IndexError> {
        if !self.is_ended && self.skips.block().last < target {
            let index = self.skips.find(target);
            self.change_block(index)?;
        }
        Ok(!self.is_ended)
    }

    fn next_block(&mut self) -> Result<bool, IndexError> {
        self.change_block(self.skips.block().index + 1)
    }

    /// Goes to a block. Returns false if there is none.
    fn change_block(&mut self, index: usize) -> Result<bool, IndexError> {
        if index * QUANTUM >= self.entry.documents as usize {
            self.end();
            return Ok(false);
        }
        (self.n, self.at) = (0, 0);
        let n_documents = self.lengths.len() as u32;
        let is_whole = self.skips.go_to(index, &self.entry, n_documents);
        if is_whole { Ok(true) } else { Err(self.damaged()) }
    }

    const fn end(&mut self) {
        self.is_ended = true;
        (self.n, self.at) = (0, 0);
    }

    /// Returns true if no document is left, or the list was passed by.
    pub(crate) const fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Returns true if the block is decoded.
    pub(crate) const fn is_decoded(&self) -> bool {
        self.n > 0
    }

    /// Returns a document that no later one is before.
    pub(crate) fn floor(&self) -> u32 {
        let after = || self.skips.block().last.saturating_add(1);
        match self.is_decoded() {
            false => self.skips.block().base,
            true => self.document().unwrap_or_else(after),
        }
    }

    /// Returns the index of the block.
    pub(crate) const fn block_index(&self) -> usize {
        self.skips.block().index
    }

    /// Returns the last document that may be in the block.
    pub(crate) const fn block_last(&self) -> u32 {
        self.skips.block().last
    }

    /// Returns bounds of the counts and lengths in the block; `None` if the list has none.
    pub(crate) fn impacts(&self) -> Option<Impacts> {
        self.skips.impacts()
    }

    /// Passes the documents before `target`, without decoding a block. Returns false if none is left.
    pub(crate) fn pass(&mut self, target: u32) -> Result<bool, IndexError> {
        if self.go_to_block(target)? && self.is_decoded() {
            self.pass_in_block(target);
            self.at = self.at.min(self.n);
            if self.at == self.n {
                self.next_block()?;
            }
        }
        Ok(!self.is_ended)
    }

    /// Returns the documents of the block that are in a range, and the place of the first one. Later ranges are not before
    /// this one.
    pub(crate) fn places(&mut self, range: Range<u32>) -> Result<(usize, &[u32]), IndexError> {
        self.decode()?;
        self.pass_in_block(range.start);
        let start = self.at.min(self.n);
        let rest = &self.documents[start..self.n];
        let n = match rest.last() {
            Some(last) if *last < range.end => rest.len(),
            _ => rest.partition_point(|document| *document < range.end),
        };
        Ok((start, &rest[..n]))
    }

    /// Returns the next documents of one block that are in a range, and passes them. Counts are empty if they are not
    /// wanted. The list is at the start of the range, by [`Self::pass`] or the last call.
    pub(crate) fn run(
        &mut self,
        range: Range<u32>,
        with_counts: bool,
    ) -> Result<Option<Run<'_>>, IndexError> {
        let documents = self.find_run(range)?;
        self.at = documents.end;
        if documents.is_empty() {
            return Ok(None);
        }
        let mut counts: &[u32] = &[];
        if with_counts {
            self.read_counts()?;
            counts = &self.counts.counts[documents.clone()];
        }
        Ok(Some((&self.documents[documents], counts)))
    }

    /// Returns what [`Self::run`] does, without counts, and stays.
    pub(crate) fn peek(&mut self, range: Range<u32>) -> Result<&[u32], IndexError> {
        let documents = self.find_run(range)?;
        Ok(&self.documents[documents])
    }

    fn find_run(&mut self, range: Range<u32>) -> Result<Range<usize>, IndexError> {
        if self.is_decoded() && self.at == self.n {
            self.next_block()?;
        }
        if self.is_ended || self.skips.block().base >= range.end {
            return Ok(self.at..self.at);
        }
        if !self.is_decoded() {
            self.decode()?;
            self.at = self.documents().partition_point(|document| *document < range.start);
        }
        let rest = &self.documents[self.at..self.n];
        let n = match rest.last() {
            Some(last) if *last < range.end => rest.len(),
            _ => rest.partition_point(|document| *document < range.end),
        };
        Ok(self.at..self.at + n)
    }

    /// Decodes the documents of the block, and goes to the first one.
    fn decode(&mut self) -> Result<(), IndexError> {
        if self.n > 0 {
            return Ok(());
        }
        let block = self.skips.block();
        let start = self.entry.start + self.entry.skip_bytes;
        let bytes = self.postings.read(start + block.start..start + block.end)?;
        let n = match self.skips.is_last() {
            true => self.entry.documents as usize - block.index * QUANTUM,
            false => QUANTUM,
        };
        let n_documents = self.lengths.len() as u32;
        let list = ListShape { documents: self.entry.documents, of: n_documents };
        let gaps = &mut *self.documents;
        let result = match self.preset {
            Preset::Small => small::read_gaps(list, bytes, &mut gaps[..n]),
            Preset::Fast => fast::read_gaps(bytes, self.has_positions, n, gaps).map(|()| 0),
        };
        if !result.is_ok_and(|bit| {
            self.counts.bit = bit;
            add_up(&mut gaps[..n], block.base, n_documents)
        }) {
            return Err(self.damaged());
        }
        gaps[n..].fill(u32::MAX);
        self.n = n;
        self.at = 0;
        self.counts.are_read = !self.has_positions;
        self.of_block.starts.clear();
        self.stats.blocks += 1;
        self.stats.postings += n as u64;
        Ok(())
    }

    #[inline]
    fn read_counts(&mut self) -> Result<(), IndexError> {
        if self.counts.are_read { Ok(()) } else { self.decode_counts() }
    }

    fn decode_counts(&mut self) -> Result<(), IndexError> {
        let (start, block) = (self.entry.start + self.entry.skip_bytes, self.skips.block());
        let bytes = self.postings.read(start + block.start..start + block.end)?;
        let BlockCounts { counts, bit, .. } = &mut self.counts;
        let read = match self.preset {
            Preset::Small => small::read_counts(bytes, *bit, &mut counts[..self.n]),
            Preset::Fast => fast::read_counts(bytes, self.n, counts),
        };
        // A power of two is a bound of all if it is one of their bits together.
        const _: () = assert!(POSITIONS_MAX.is_power_of_two());
        let all = counts[..self.n].iter().fold(0, |all, count| all | count);
        if read.is_err() || all >= POSITIONS_MAX as u32 {
            return Err(self.damaged());
        }
        counts.iter_mut().for_each(|count| *count = count.wrapping_add(1));
        self.counts.are_read = true;
        Ok(())
    }

    /// Returns how often the term is in the document.
    #[inline]
    pub(crate) fn count(&mut self) -> Result<u32, IndexError> {
        self.read_counts()?;
        Ok(if self.at < self.n { self.counts.counts[self.at] } else { 0 })
    }

    /// Returns how often the term is in each document of the block.
    #[inline]
    pub(crate) fn counts(&mut self) -> Result<&[u32; QUANTUM], IndexError> {
        self.read_counts()?;
        Ok(&self.counts.counts)
    }

    /// Returns the positions of the term in the document, ascending.
    pub(crate) fn positions(&mut self) -> Result<&[u32], IndexError> {
        let mut positions = std::mem::take(&mut self.of_document);
        positions.clear();
        let result = self.push_positions(&mut positions);
        self.of_document = positions;
        result.map(|()| self.of_document.as_slice())
    }

    /// Appends the positions of the term in the document, ascending.
    pub(crate) fn push_positions(&mut self, out: &mut Vec<u32>) -> Result<(), IndexError> {
        match self.has_positions && self.at < self.n {
            true => self.read_positions(std::iter::once(self.at), |_| {}, out),
            false => Ok(()),
        }
    }

    /// Replaces `out` by the positions of the term in the documents at some places of the block, and `ends` by where those
    /// of each document end.
    pub(crate) fn positions_at(
        &mut self,
        places: &[u8],
        out: &mut Vec<u32>,
        ends: &mut Vec<u32>,
    ) -> Result<(), IndexError> {
        out.clear();
        ends.clear();
        let places = places.iter().map(|place| usize::from(*place));
        self.read_positions(places, |end| ends.push(end as u32), out)
    }

    /// Appends the positions of the term in some documents of the block. `done` is called with the end of each.
    #[inline]
    fn read_positions(
        &mut self,
        places: impl Iterator<Item = usize>,
        mut done: impl FnMut(usize),
        out: &mut Vec<u32>,
    ) -> Result<(), IndexError> {
        self.read_counts()?;
        let (start, block) = (self.entry.position_start, self.skips.block());
        let range = start + block.position_start..start + block.position_end;
        let counts = &self.counts.counts[..self.n];
        let of_block = &mut self.of_block;
        if of_block.starts.is_empty() {
            let bytes = self.positions.read(range.clone())?;
            let documents = &self.documents[..self.n];
            let lengths = documents.iter().map(|document| self.lengths[*document as usize]);
            if of_block.find(self.preset, bytes, counts, lengths).is_err() {
                of_block.starts.clear();
                return Err(self.positions.damaged("positions"));
            }
            self.stats.positions += of_block.all.len() as u64;
        }
        let before = out.len();
        if self.preset == Preset::Small {
            for place in places {
                let start = of_block.starts[place] as usize;
                out.extend_from_slice(&of_block.all[start..start + counts[place] as usize]);
                done(out.len());
            }
            return Ok(());
        }
        let bytes = self.positions.read(range)?;
        let mut bits = BitReader::new(bytes);
        for place in places {
            let (start, n) = (of_block.starts[place] as usize, counts[place] as usize);
            if of_block.groups.read(&mut bits, start, n, out).is_err() {
                return Err(self.positions.damaged("positions"));
            }
            done(out.len());
        }
        self.stats.positions += (out.len() - before) as u64;
        Ok(())
    }

    /// Returns the number of documents of the list.
    pub(crate) const fn n_documents(&self) -> u32 {
        self.entry.documents
    }

    /// Returns what was decoded so far.
    #[inline]
    pub(crate) const fn stats(&self) -> PostingStats {
        self.stats
    }
}

impl BlockPositions {
    /// Finds the positions of each document, or reads them all.
    fn find(
        &mut self,
        preset: Preset,
        bytes: &[u8],
        counts: &[u32],
        lengths: impl Iterator<Item = u32>,
    ) -> Result<(), CodeError> {
        let mut n = 0;
        self.starts.extend(counts.iter().map(|count| {
            n += count;
            n - count
        }));
        match preset {
            Preset::Fast => self.groups.find(bytes, n as usize),
            Preset::Small => {
                self.all.clear();
                small::read_positions(bytes, counts, lengths, &mut self.all)
            }
        }
    }
}

/// Replaces gaps by documents. Returns false if these do not ascend within the segment.
fn add_up(gaps: &mut [u32], base: u32, n_documents: u32) -> bool {
    let sum: u64 = gaps.iter().map(|gap| u64::from(*gap)).sum();
    if u64::from(base) + sum + gaps.len() as u64 > u64::from(n_documents) {
        return false;
    }
    let mut next = base;
    for gap in gaps {
        // One addition for each waits for the one before.
        next += *gap + 1;
        *gap = next - 1;
    }
    true
}
