//! Sorted strings, each as what differs from the one before.
//!
//! ```text
//! block:  first string: length, bytes   others: length in common with the one before, length of the rest, the rest
//! ```

use crate::{FunctionError, PackedArray};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};
use std::cmp::Ordering;
use std::ops::Range;

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello front-coded list 1\n";

/// A list of strings in ascending order, from which each can be read by its number and found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrontCodedList {
    len: usize,
    /// Strings of a block: the first one is stored whole.
    block: usize,
    /// Position of each block in `data`.
    starts: PackedArray,
    data: Vec<u8>,
}

/// Decodes the strings of a block, one after the other.
struct BlockReader<'a> {
    from: RowReader<'a>,
    /// The current string.
    string: Vec<u8>,
    is_first: bool,
}

impl BlockReader<'_> {
    /// Moves to the next string. `None` if the bytes are damaged.
    fn advance(&mut self) -> Option<()> {
        let common = if self.is_first { 0 } else { self.from.small()? };
        self.is_first = false;
        if common > self.string.len() {
            return None;
        }
        self.string.truncate(common);
        self.string.extend_from_slice(self.from.bytes()?);
        Some(())
    }
}

impl FrontCodedList {
    /// Builds a list of strings in ascending order, in blocks of `block` strings, at least 1. Larger blocks take less
    /// memory and more time.
    ///
    /// # Errors
    /// [`FunctionError::Unsorted`] if a string is not above the one before.
    pub fn build<K: AsRef<[u8]>>(
        strings: impl IntoIterator<Item = K>,
        block: usize,
    ) -> Result<Self, FunctionError> {
        let block = block.max(1);
        let (mut out, mut starts, mut len) = (RowWriter::default(), Vec::new(), 0);
        let mut last: Vec<u8> = Vec::new();
        for string in strings {
            let string = string.as_ref();
            if len > 0 && string <= last.as_slice() {
                return Err(FunctionError::Unsorted(len));
            }
            if len % block == 0 {
                starts.push(out.0.len());
                out.bytes(string);
            } else {
                let common = string.iter().zip(&last).take_while(|(a, b)| a == b).count();
                out.number(common as u64).bytes(&string[common..]);
            }
            last.clear();
            last.extend_from_slice(string);
            len += 1;
        }
        let width = usize::BITS - out.0.len().leading_zeros();
        let mut packed = PackedArray::new(width, starts.len());
        starts.iter().enumerate().for_each(|(at, &start)| packed.set(at, start as u64));
        Ok(Self { len, block, starts: packed, data: out.0 })
    }

    /// Returns the number of strings.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.data.len() + self.starts.bytes()
    }

    fn reader(&self, block: usize) -> BlockReader<'_> {
        let start =
            if block < self.starts.len() { self.starts.get(block) as usize } else { usize::MAX };
        let data = self.data.get(start..).unwrap_or_default();
        BlockReader { from: RowReader(data), string: Vec::new(), is_first: true }
    }

    /// Returns a string by its number.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<Vec<u8>> {
        if at >= self.len {
            return None;
        }
        let mut reader = self.reader(at / self.block);
        for _ in 0..=at % self.block {
            reader.advance()?;
        }
        Some(reader.string)
    }

    /// Returns the number of strings below this one, and whether the next one is equal to it.
    fn lower_bound(&self, string: &[u8]) -> (usize, bool) {
        // The block before the first one that begins with a string that is not below.
        let (mut low, mut high) = (0, self.starts.len());
        while low < high {
            let middle = low + (high - low) / 2;
            let is_below = self.reader(middle).from.bytes().is_some_and(|head| head < string);
            if is_below { low = middle + 1 } else { high = middle }
        }
        let start = low.saturating_sub(1) * self.block;
        let mut reader = self.reader(low.saturating_sub(1));
        for at in start..self.len.min(start.saturating_add(self.block)) {
            if reader.advance().is_none() {
                return (at, false);
            }
            match reader.string.as_slice().cmp(string) {
                Ordering::Less => {}
                Ordering::Equal => return (at, true),
                Ordering::Greater => return (at, false),
            }
        }
        let at = low.saturating_mul(self.block).min(self.len);
        (at, at < self.len && self.reader(low).from.bytes() == Some(string))
    }

    /// Returns the number of a string, or `None` if it is not in the list.
    #[must_use]
    pub fn rank(&self, string: &[u8]) -> Option<usize> {
        let (at, is_equal) = self.lower_bound(string);
        is_equal.then_some(at)
    }

    /// Returns the numbers of all strings with this prefix.
    #[must_use]
    pub fn prefix_range(&self, prefix: &[u8]) -> Range<usize> {
        let start = self.lower_bound(prefix).0;
        // The first string above all with the prefix: without trailing 255, and the last byte one more.
        let mut above = prefix.to_vec();
        while above.last() == Some(&u8::MAX) {
            above.pop();
        }
        let end = match above.last_mut() {
            Some(last) => {
                *last += 1;
                self.lower_bound(&above).0
            }
            None => self.len,
        };
        start..end.max(start)
    }

    /// Returns the strings with these numbers, in order. It ends early where the bytes are damaged.
    pub fn iter(&self, range: Range<usize>) -> impl Iterator<Item = Vec<u8>> {
        let (mut at, end) = (range.start, range.end.min(self.len));
        let mut reader = self.reader(at / self.block);
        let mut skip = at % self.block;
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            if at % self.block == 0 {
                reader = self.reader(at / self.block);
            }
            for _ in 0..std::mem::take(&mut skip) {
                reader.advance()?;
            }
            reader.advance()?;
            at += 1;
            Some(reader.string.clone())
        })
    }

    /// Returns the list as bytes, with a header and a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        out.number(self.len as u64).number(self.block as u64);
        self.starts.write(&mut out);
        out.rest(&self.data);
        seal(MAGIC, &out.0)
    }

    /// Reads a list.
    ///
    /// # Errors
    /// [`FunctionError::Damaged`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FunctionError> {
        let record = unseal(MAGIC, bytes).map_err(FunctionError::Damaged)?;
        let list = Self::read(&mut RowReader(record));
        list.ok_or_else(|| FunctionError::Damaged("malformed".to_owned()))
    }

    fn read(from: &mut RowReader<'_>) -> Option<Self> {
        let len: usize = from.small()?;
        let block: usize = from.small().filter(|&block| block > 0)?;
        let starts = PackedArray::read(from)?;
        let data = from.rest();
        // A string has a byte at least, its length. An array of width 0 has as many starts as it says, and no bytes.
        let has_room = len <= data.len() && starts.len() == len.div_ceil(block);
        let is_list = has_room && {
            let ascend = (1..starts.len()).all(|at| starts.get(at - 1) < starts.get(at));
            let first = starts.len().checked_sub(1).map_or(0, |_| starts.get(0));
            let last = starts.len().checked_sub(1).map(|last| starts.get(last));
            ascend && first == 0 && last.is_none_or(|last| last < data.len() as u64)
        };
        is_list.then(|| Self { len, block, starts, data: data.to_vec() })
    }
}
