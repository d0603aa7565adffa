//! The inverse of the Kraft–McMillan inequality: a code for lengths.

use super::KraftSum;
use crate::{BitReader, BitWriter, Code, CodeError};

/// The longest word, in bits: those that a window of the reader always has.
const LENGTH_MAX: u32 = 57;

/// The canonical instantaneous code with given lengths, for the values 0, 1, …: words of one length are
/// consecutive numbers, in the order of the values, and shorter words come first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PrefixCode {
    /// Length and word of each value.
    words: Vec<(u32, u64)>,
    /// Words of each length that occurs, from the shortest.
    groups: Vec<Group>,
    /// Values by length, then by their order.
    values: Vec<u32>,
    kraft: KraftSum,
}

/// The words of one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Group {
    length: u32,
    /// The first word.
    first: u64,
    /// Number of words.
    n: u64,
    /// Place of the first word's value in `values`.
    at: usize,
}

impl PrefixCode {
    /// Returns the code in which value i has a word of `lengths[i]` bits.
    ///
    /// # Errors
    /// [`CodeError::Lengths`] if the Kraft sum exceeds 1, or for a length of 0 or above 57.
    pub fn from_lengths(lengths: &[u32]) -> Result<Self, CodeError> {
        let kraft = KraftSum::of(lengths.iter().copied())?;
        if !kraft.has_code() || lengths.iter().any(|&length| length > LENGTH_MAX) {
            return Err(CodeError::Lengths);
        }
        let n = u32::try_from(lengths.len()).map_err(|_| CodeError::Lengths)?;
        let mut values: Vec<u32> = (0..n).collect();
        values.sort_by_key(|&value| lengths[value as usize]);
        let mut words = vec![(0, 0); lengths.len()];
        let mut groups: Vec<Group> = Vec::new();
        // The first word that is free, of the current length.
        let mut next = 0_u64;
        for (at, &value) in values.iter().enumerate() {
            let length = lengths[value as usize];
            match groups.last_mut() {
                Some(group) if group.length == length => group.n += 1,
                last => {
                    next <<= length - last.map_or(0, |group| group.length);
                    groups.push(Group { length, first: next, n: 1, at });
                }
            }
            words[value as usize] = (length, next);
            next += 1;
        }
        Ok(Self { words, groups, values, kraft })
    }

    /// Returns whether every sequence of bits can be decoded.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.kraft.is_complete()
    }

    /// Returns the Kraft sum.
    #[must_use]
    pub const fn kraft(&self) -> KraftSum {
        self.kraft
    }

    fn word(&self, value: u64) -> Option<(u32, u64)> {
        self.words.get(usize::try_from(value).ok()?).copied()
    }
}

impl Code for PrefixCode {
    fn name(&self) -> String {
        format!("prefix code({} words)", self.words.len())
    }

    fn write(&self, writer: &mut BitWriter, value: u64) -> Result<(), CodeError> {
        let (length, word) = self.word(value).ok_or(CodeError::OutOfDomain(value))?;
        writer.bits(word, length);
        Ok(())
    }

    fn read(&self, reader: &mut BitReader<'_>) -> Result<u64, CodeError> {
        let window = reader.window();
        for group in &self.groups {
            let at = (window >> (64 - group.length)).wrapping_sub(group.first);
            if at < group.n {
                reader.skip(u64::from(group.length))?;
                return Ok(u64::from(self.values[group.at + at as usize]));
            }
        }
        let longest = self.groups.last().map_or(0, |group| group.length);
        // Bits that the window lacks are 0, so the word may only be cut off.
        Err(if reader.remaining() < u64::from(longest) {
            CodeError::EndOfInput
        } else {
            CodeError::NotAWord
        })
    }

    fn bits(&self, value: u64) -> Option<u64> {
        self.word(value).map(|(length, _)| u64::from(length))
    }
}
