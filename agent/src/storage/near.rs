//! Rows of `near`: the index of fingerprints by which near-duplicates are found.
//!
//! Two fingerprints that differ in at most [`DISTANCE_MAX`] bits are equal in at least one of four blocks of
//! 16 bits, and in at least two of five blocks. Each table has the fingerprints by the bits of one block,
//! or of two (Manku, Jain and Das Sarma 2007). The value of a key is a list of entries, to which commits
//! append. It has at most [`ENTRIES_MAX`]; the oldest are dropped.

use super::Batch;

/// Maximum number of bits in which fingerprints of near-duplicates differ.
pub const DISTANCE_MAX: u32 = 3;
/// Maximum number of entries of a list: 16 times those of a list in an index of 16 million pages.
pub const ENTRIES_MAX: usize = 4_096;
/// Length of the parts of an entry that are no bits of the fingerprint.
const MARK: usize = 7;

/// A key of `near`.
pub type NearKey = [u8; 5];

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
}

impl NearTables {
    /// Returns the tables for a value of `state.near-tables`.
    #[must_use]
    pub const fn of(n_tables: u32) -> Self {
        if n_tables == 10 { Self::Ten } else { Self::Four }
    }

    /// Returns the key of a fingerprint in each table, and its other bits. The keys are sorted.
    #[must_use]
    pub fn keys(self, fingerprint: u64) -> Vec<(NearKey, u64)> {
        let key = |table: usize, bits: u64| {
            let [a, b, c, d] = (bits as u32).to_be_bytes();
            [table as u8, a, b, c, d]
        };
        match self {
            Self::Four => FOUR
                .iter()
                .enumerate()
                .map(|(table, &block)| {
                    let (bits, rest) = cut(fingerprint, block);
                    (key(table, bits), rest)
                })
                .collect(),
            Self::Ten => pairs()
                .enumerate()
                .map(|(table, (high, low))| {
                    let (high_bits, rest) = cut(fingerprint, high);
                    // A lower block stays where it is.
                    let (low_bits, rest) = cut(rest, low);
                    (key(table, high_bits << low.1 | low_bits), rest)
                })
                .collect(),
        }
    }

    /// Returns the number of bytes for the bits of a fingerprint that are not in the key.
    const fn rest_bytes(self) -> usize {
        match self {
            Self::Four => 6,
            Self::Ten => 5,
        }
    }

    /// Returns the length of an entry in bytes.
    const fn entry_bytes(self) -> usize {
        self.rest_bytes() + MARK
    }

    /// Encodes an entry with the bits that are not in its key.
    fn encode(self, rest: u64, entry: NearEntry) -> Vec<u8> {
        let NearEntry { place, domain, is_followed } = entry;
        let mut bytes = Vec::with_capacity(self.entry_bytes());
        bytes.extend_from_slice(&rest.to_be_bytes()[8 - self.rest_bytes()..]);
        bytes.extend_from_slice(&place.file.to_be_bytes());
        bytes.extend_from_slice(&place.offset.to_be_bytes());
        bytes.push(domain << 1 | u8::from(is_followed));
        bytes
    }

    /// Adds the entries of a page.
    pub fn add(self, batch: &mut Batch, fingerprint: u64, entry: NearEntry) {
        for (key, rest) in self.keys(fingerprint) {
            batch.append(&key, &self.encode(rest, entry));
        }
    }

    /// Returns the entries of a list whose fingerprints are near to one with these bits beside the key,
    /// with their distances, in the order of the list. What is left at the end is no entry.
    pub fn near(self, list: &[u8], rest: u64) -> impl Iterator<Item = (u32, NearEntry)> {
        let n = self.rest_bytes();
        list.chunks_exact(self.entry_bytes()).filter_map(move |bytes| {
            let mut word = [0; 8];
            word[8 - n..].copy_from_slice(&bytes[..n]);
            let distance = (u64::from_be_bytes(word) ^ rest).count_ones();
            if distance > DISTANCE_MAX {
                return None;
            }
            let &[a, b, c, d, e, f, mark] = bytes.last_chunk::<MARK>()?;
            let place = NearPlace {
                file: u16::from_be_bytes([a, b]),
                offset: u32::from_be_bytes([c, d, e, f]),
            };
            Some((distance, NearEntry { place, domain: mark >> 1, is_followed: mark & 1 == 1 }))
        })
    }

    /// Appends lists to a list: the merge operator of the family. It is associative, because of any lists in a
    /// row the last entries are kept.
    pub(super) fn append<'a>(
        self,
        list: &[u8],
        more: impl IntoIterator<Item = &'a [u8]>,
    ) -> Vec<u8> {
        let mut all = list.to_vec();
        more.into_iter().for_each(|more| all.extend_from_slice(more));
        let excess = all.len().saturating_sub(ENTRIES_MAX * self.entry_bytes());
        all.drain(..excess);
        all
    }
}

/// Returns the pairs of the five blocks, the higher block of each first.
fn pairs() -> impl Iterator<Item = ((u32, u32), (u32, u32))> {
    FIVE.iter().enumerate().flat_map(|(i, &high)| FIVE[i + 1..].iter().map(move |&low| (high, low)))
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ENTRY: NearEntry =
        NearEntry { place: NearPlace { file: 3, offset: 7 }, domain: 99, is_followed: true };

    proptest! {
        #[test]
        fn keys_have_all_bits_once_and_equal_blocks_have_equal_keys(
            fingerprint: u64,
            flips in proptest::collection::vec(0_u32..64, 0..4),
        ) {
            for tables in [NearTables::Four, NearTables::Ten] {
                let near = flips.iter().fold(fingerprint, |bits, flip| bits ^ 1 << flip);
                let distance = (near ^ fingerprint).count_ones();
                let (keys, others) = (tables.keys(fingerprint), tables.keys(near));
                prop_assert!(keys.is_sorted());
                let mut n_found = 0;
                for ((key, rest), (other_key, other_rest)) in keys.iter().zip(&others) {
                    let in_key = u32::from_be_bytes(*key[1..].first_chunk().unwrap());
                    let n_ones = in_key.count_ones() + rest.count_ones();
                    prop_assert_eq!(n_ones, fingerprint.count_ones());
                    prop_assert!(*rest < 1 << (8 * tables.rest_bytes()));
                    if key == other_key {
                        n_found += 1;
                        let list = tables.encode(*rest, ENTRY);
                        let found: Vec<_> = tables.near(&list, *other_rest).collect();
                        prop_assert_eq!(found, [(distance, ENTRY)]);
                    }
                }
                prop_assert!(n_found > 0);
            }
        }

        #[test]
        fn damaged_lists_are_read_quietly(list: Vec<u8>, rest: u64) {
            for tables in [NearTables::Four, NearTables::Ten] {
                prop_assert!(tables.near(&list, rest).count() <= list.len());
            }
        }
    }

    #[test]
    fn the_newest_entries_of_a_list_are_kept_however_it_is_appended_to() {
        let tables = NearTables::Four;
        let entry = |n: u64| tables.encode(n, ENTRY);
        let entries: Vec<Vec<u8>> = (0..ENTRIES_MAX as u64 + 10).map(entry).collect();
        let (some, rest) = entries.split_at(1_000);
        let at_once = tables.append(&[], entries.iter().map(Vec::as_slice));
        let of_rest = tables.append(&[], rest.iter().map(Vec::as_slice));
        let by_parts = tables.append(&some.concat(), [of_rest.as_slice()]);
        assert_eq!(at_once, entries[10..].concat());
        assert_eq!(at_once, by_parts);
    }

    #[test]
    fn places_that_are_too_far_have_no_entry() {
        assert_eq!(NearPlace::of((5, 9)), Some(NearPlace { file: 5, offset: 9 }));
        assert_eq!(NearPlace::of((65_536, 0)), None);
        assert_eq!(NearPlace::of((0, 1 << 32)), None);
    }
}
