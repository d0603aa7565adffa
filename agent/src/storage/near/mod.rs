//! The index of fingerprints by which near-duplicates are found.
//!
//! Two fingerprints that differ in at most [`DISTANCE_MAX`] bits are equal in at least one of four blocks of
//! 16 bits, and in at least two of five blocks. Each table has the fingerprints with the bits of one block
//! first, or of two (Manku, Jain and Das Sarma 2007). Pages whose fingerprints begin with the same 16 bits in a
//! table are a list.
//!
//! A commit adds a row to `near` for each page. The pages of the rows are also in memory ([`RecentPages`]). When
//! there are many, their lists are written to a file ([`NearFile`]), and the rows are deleted. [`NearStore`] has all.

mod file;
mod recent;
mod store;
#[cfg(test)]
mod tests;

pub use file::NearFile;
pub use recent::RecentPages;
pub use store::NearStore;

use super::{Batch, DiskError, Family, MALFORMED};

/// Maximum number of bits in which fingerprints of near-duplicates differ.
pub const DISTANCE_MAX: u32 = 3;
/// Maximum number of entries of a list in a file, or in memory: 16 times those of a list in an index of 16 million
/// pages. The oldest are dropped.
pub const ENTRIES_MAX: usize = 4_096;
/// Bits of the number of a list in its table.
const LIST_BITS: u32 = 16;
/// Number of lists of a table.
const LISTS_A_TABLE: usize = 1 << LIST_BITS;
/// Bits of a fingerprint that follow those of its list.
const REST_BITS: u32 = u64::BITS - LIST_BITS;

/// The tables of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NearTables {
    /// Four, each with one of four blocks.
    Four,
    /// Ten, each with two of five blocks.
    Ten,
}

/// Start and width in bits of the blocks, from the highest on.
const FOUR: [(u32, u32); 4] = [(48, 16), (32, 16), (16, 16), (0, 16)];
const FIVE: [(u32, u32); 5] = [(51, 13), (38, 13), (25, 13), (12, 13), (0, 12)];
/// The pairs of the five blocks, the higher block of each first.
const PAIRS: [(usize, usize); 10] =
    [(0, 1), (0, 2), (0, 3), (0, 4), (1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)];

/// An archived page in a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NearEntry {
    /// Place of its record.
    pub place: NearPlace,
    /// Hash of its registrable domain, 7 bits.
    pub domain: u8,
    /// True if its links were followed, or had other reasons not to be.
    pub is_followed: bool,
}

/// Place of a record in the archive: serial number of the file, and offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NearPlace {
    /// Serial number of the file.
    pub file: u16,
    /// Offset in bytes.
    pub offset: u32,
}

impl NearPlace {
    /// Returns the place of a record; `None` beyond 65,536 files or 4 GiB, where pages are not in the index.
    #[must_use]
    pub fn of((file, offset): (u32, u64)) -> Option<Self> {
        Some(Self { file: file.try_into().ok()?, offset: offset.try_into().ok()? })
    }

    /// Encodes the place so that the order of bytes is that of places.
    fn encode(self) -> [u8; ROW_KEY_BYTES] {
        let ([a, b], [c, d, e, f]) = (self.file.to_be_bytes(), self.offset.to_be_bytes());
        [a, b, c, d, e, f]
    }

    const fn decode([a, b, c, d, e, f]: [u8; ROW_KEY_BYTES]) -> Self {
        Self { file: u16::from_be_bytes([a, b]), offset: u32::from_be_bytes([c, d, e, f]) }
    }
}

impl NearEntry {
    const fn of(place: NearPlace, mark: u8) -> Self {
        Self { place, domain: mark >> 1, is_followed: mark & 1 == 1 }
    }

    /// Returns all but the place.
    fn mark(self) -> u8 {
        self.domain << 1 | u8::from(self.is_followed)
    }
}

impl NearTables {
    /// Returns the tables for a value of `state.near-tables`.
    #[must_use]
    pub const fn of(n_tables: u32) -> Self {
        if n_tables == 10 { Self::Ten } else { Self::Four }
    }

    /// Returns the number of tables.
    #[must_use]
    pub const fn count(self) -> usize {
        match self {
            Self::Four => FOUR.len(),
            Self::Ten => PAIRS.len(),
        }
    }

    /// Returns the number of lists of all tables.
    const fn list_count(self) -> usize {
        self.count() * LISTS_A_TABLE
    }

    /// Returns a fingerprint with the bits of a table first. Distances stay the same.
    const fn arrange(self, table: usize, fingerprint: u64) -> u64 {
        match self {
            Self::Four => {
                let (bits, rest) = cut(fingerprint, FOUR[table]);
                bits << 48 | rest
            }
            Self::Ten => {
                let (high, low) = (FIVE[PAIRS[table].0], FIVE[PAIRS[table].1]);
                let (high_bits, rest) = cut(fingerprint, high);
                // A lower block stays where it is.
                let (low_bits, rest) = cut(rest, low);
                let above = u64::BITS - high.1;
                high_bits << above | low_bits << (above - low.1) | rest
            }
        }
    }

    /// Returns the number of the list in which a fingerprint is in each table, and its other 48 bits.
    pub fn lists(self, fingerprint: u64) -> impl Iterator<Item = (u32, u64)> + Clone {
        (0..self.count()).map(move |table| {
            let bits = self.arrange(table, fingerprint);
            let list = table << LIST_BITS | (bits >> REST_BITS) as usize;
            (list as u32, bits & ((1 << REST_BITS) - 1))
        })
    }
}

/// Length of a row's key: the place.
const ROW_KEY_BYTES: usize = 6;

/// Adds the row of a page.
pub fn add_row(batch: &mut Batch, fingerprint: u64, entry: NearEntry) {
    let mut value = [0; 9];
    value[..8].copy_from_slice(&fingerprint.to_be_bytes());
    value[8] = entry.mark();
    batch.put(Family::Near, &entry.place.encode(), &value);
}

/// Returns the fingerprint and the entry of a row.
fn read_row(key: &[u8], value: &[u8]) -> Result<(u64, NearEntry), DiskError> {
    let place = key.try_into().ok().map(NearPlace::decode);
    let fields = value.split_first_chunk().map(|(bits, mark)| (u64::from_be_bytes(*bits), mark));
    match (place, fields) {
        (Some(place), Some((fingerprint, &[mark]))) => {
            Ok((fingerprint, NearEntry::of(place, mark)))
        }
        _ => Err(DiskError::Row { family: Family::Near.name(), what: MALFORMED }),
    }
}

/// Returns the distance of two numbers if it is that of near-duplicates.
const fn near_distance(a: u64, b: u64) -> Option<u32> {
    let differences = a ^ b;
    // Few have so few differences. Clearing the lowest of them three times is cheaper than counting all.
    let mut more = differences;
    more &= more.wrapping_sub(1);
    more &= more.wrapping_sub(1);
    more &= more.wrapping_sub(1);
    if more == 0 { Some(differences.count_ones()) } else { None }
}

/// Cuts a block out of a number: returns its bits, and the others without a gap.
const fn cut(number: u64, (start, width): (u32, u32)) -> (u64, u64) {
    let bits = number >> start & ((1 << width) - 1);
    let below = number & ((1 << start) - 1);
    let above = match number.checked_shr(start + width) {
        Some(above) => above << start,
        None => 0,
    };
    (bits, above | below)
}
