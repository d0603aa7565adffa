//! Golomb-coded sets (seed 002): the sorted hashes of keys, as gaps in a Golomb code.
//!
//! Hashes are numbers below n/δ, so another key has the hash of one of n keys with probability δ. The gaps are
//! geometrically distributed, and the Golomb code is the best one for them. An index divides the numbers into ranges of
//! equal size, so that a query decodes one of them.

use crate::{FilterError, KeyHash};
use crivello_codes::{BitReader, BitWriter, Code as _, Golomb, MinimalBinary, PackedArray};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello golomb-coded set 1\n";
/// Numbers of an entry of the index, on average.
const ENTRY_NUMBERS: u64 = 64;

/// A set that cannot be changed, for sending and storing: about log₂ 1/δ + 1.5 bits a key, and an index of half a bit.
///
/// Only the negative answer may be acted on: a key that is not in the set was not among its keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GolombSet {
    n: u64,
    /// All numbers are below.
    bound: u64,
    modulus: u64,
    /// Length of the code in bits.
    bits: u64,
    code: Vec<u8>,
    index: Index,
}

/// For each range of numbers, its first one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Index {
    /// Size of a range.
    range: u64,
    /// The first number in each range or behind it, as the distance from the beginning of the range. Behind the last
    /// number, the bound of all numbers.
    firsts: PackedArray,
    /// Position behind the code of this number.
    positions: PackedArray,
}

impl GolombSet {
    /// Returns the set of keys with these hashes, with a rate of false positives of 1 in `inverse_rate`. The modulus is the
    /// best one for gaps less 1, which for gaps is the best one, too, or nearly.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] if the rate is 0, or if the product of rate and keys exceeds 64 bits.
    pub fn build(hashes: &[KeyHash], inverse_rate: u64) -> Result<Self, FilterError> {
        let bound = (hashes.len() as u64).max(1).checked_mul(inverse_rate);
        let bound = bound.filter(|&bound| bound > 0).ok_or(FilterError::Parameters)?;
        let mut numbers: Vec<u64> = hashes.iter().map(|&hash| number(hash, bound)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let modulus = Golomb::for_density(numbers.len() as u64, bound).modulus();
        Self::of_numbers(&numbers, bound, modulus)
    }

    /// Returns the set of ascending numbers below `bound`, with gaps in the Golomb code with `modulus`. The seed has a
    /// bound of n/δ, and a power of two, 1/δ, as modulus, which makes it a Rice code.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] if the numbers do not ascend or are not below the bound, or if the modulus is 0 or so
    /// small that a gap has too long a word.
    pub fn of_numbers(numbers: &[u64], bound: u64, modulus: u64) -> Result<Self, FilterError> {
        let mut builder = GolombSetBuilder::new(bound, modulus)?;
        numbers.iter().try_for_each(|&number| builder.push(number))?;
        Ok(builder.finish())
    }

    /// Returns the union of sets with the same bound, number by number: nothing but the sets themselves is in memory.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] if the bounds differ, or there is no set.
    pub fn merge(sets: &[&Self]) -> Result<Self, FilterError> {
        let bound = sets.first().map(|set| set.bound).ok_or(FilterError::Parameters)?;
        if sets.iter().any(|set| set.bound != bound) {
            return Err(FilterError::Parameters);
        }
        let n = sets.iter().fold(0_u64, |n, set| n.saturating_add(set.n));
        let mut builder = GolombSetBuilder::expecting(n, bound)?;
        let mut rest: Vec<_> = sets.iter().map(|set| set.numbers().peekable()).collect();
        while let Some(least) = rest.iter_mut().filter_map(|numbers| numbers.peek().copied()).min()
        {
            builder.push(least)?;
            for numbers in &mut rest {
                numbers.next_if_eq(&least);
            }
        }
        Ok(builder.finish())
    }

    /// Returns whether the set may have a key. `false` is certain.
    #[must_use]
    pub fn contains(&self, hash: KeyHash) -> bool {
        self.contains_number(number(hash, self.bound))
    }

    /// Returns whether the set has a number.
    #[must_use]
    pub fn contains_number(&self, wanted: u64) -> bool {
        if wanted >= self.bound {
            return false;
        }
        let at = (wanted / self.index.range) as usize;
        let first = (at as u64 * self.index.range).saturating_add(self.index.firsts.get(at));
        if wanted <= first {
            return wanted == first;
        }
        let from = self.words_from(self.index.positions.get(at), first);
        let mut from = from.map(|(number, _)| number).take_while(|&number| number <= wanted);
        from.any(|number| number == wanted)
    }

    /// Returns the numbers in ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.words_from(0, 0).map(|(number, _)| number)
    }

    /// Returns the numbers whose code begins at a position, behind this one, each with the position behind its code. It
    /// ends early if the bits are damaged: they are decoded without trust.
    fn words_from(&self, position: u64, mut last: u64) -> impl Iterator<Item = (u64, u64)> {
        let remainder = MinimalBinary::new(self.modulus);
        let mut reader = BitReader::with_len(&self.code, self.bits).unwrap_or(BitReader::new(&[]));
        let is_inside = reader.seek(position).is_ok();
        std::iter::from_fn(move || {
            if !is_inside || reader.remaining() == 0 {
                return None;
            }
            let upper = reader.zeros().ok()?.checked_mul(self.modulus)?;
            let gap = upper.checked_add(remainder.read(&mut reader).ok()?)?;
            last = last.checked_add(gap).filter(|&number| number < self.bound)?;
            Some((last, reader.position()))
        })
    }

    /// Returns the number of different hashes of keys.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.n
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the bound below which all numbers are.
    #[must_use]
    pub const fn bound(&self) -> u64 {
        self.bound
    }

    /// Returns the rate of false positives.
    #[must_use]
    pub fn rate(&self) -> f64 {
        self.n as f64 / self.bound as f64
    }

    /// Returns the length of the code in bits, without the index.
    #[must_use]
    pub const fn code_bits(&self) -> u64 {
        self.bits
    }

    /// Returns the bytes in memory, with the index.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        self.code.len() + self.index.firsts.bytes() + self.index.positions.bytes()
    }

    /// Returns the set as bytes, with a header and a checksum. The index is made again when it is read.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        out.number(self.n)
            .number(self.bound)
            .number(self.modulus)
            .number(self.bits)
            .rest(&self.code);
        seal(MAGIC, &out.0)
    }

    /// Reads a set. It takes the memory of the set.
    ///
    /// # Errors
    /// [`FilterError::Damaged`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FilterError> {
        let record = unseal(MAGIC, bytes).map_err(FilterError::Damaged)?;
        let read = || {
            let mut from = RowReader(record);
            let (n, bound) = (from.number()?, from.number()?);
            let (modulus, bits) = (from.number().filter(|&modulus| modulus > 0)?, from.number()?);
            let code = from.rest().to_vec();
            let padding = (code.len() as u64).checked_mul(8)?.checked_sub(bits)?;
            let is_padded = padding < 8
                && code.last().is_none_or(|last| last.trailing_zeros() as u64 >= padding);
            // Only a gap of 0 has a word of one bit, and only the first number may have that.
            let may_be_whole = is_padded && bound > 0 && n <= bits / 2 + 1;
            let index = Index::default();
            may_be_whole.then_some(Self { n, bound, modulus, bits, code, index })
        };
        let mut set = read().ok_or_else(FilterError::malformed)?;
        let (mut n, mut end, mut last) = (0, 0, None);
        for (number, position) in set.words_from(0, 0) {
            if last == Some(number) {
                return Err(FilterError::malformed());
            }
            (n, end, last) = (n + 1, position, Some(number));
        }
        if (n, end) != (set.n, set.bits) {
            return Err(FilterError::malformed());
        }
        set.index = Index::of(&set);
        Ok(set)
    }
}

/// A set whose numbers are added in ascending order. Only the code is in memory.
#[derive(Debug)]
pub struct GolombSetBuilder {
    bound: u64,
    code: Golomb,
    n: u64,
    last: Option<u64>,
    writer: BitWriter,
}

impl GolombSetBuilder {
    /// Returns an empty set of numbers below `bound`, with the best code for this number of them.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] if the bound is 0.
    pub fn expecting(n: u64, bound: u64) -> Result<Self, FilterError> {
        Self::new(bound, Golomb::for_density(n.max(1), bound).modulus())
    }

    /// Returns an empty set of numbers below `bound`, with gaps in the Golomb code with `modulus`.
    const fn new(bound: u64, modulus: u64) -> Result<Self, FilterError> {
        if bound == 0 || modulus == 0 {
            return Err(FilterError::Parameters);
        }
        Ok(Self { bound, code: Golomb::new(modulus), n: 0, last: None, writer: BitWriter::new() })
    }

    /// Adds a number.
    ///
    /// # Errors
    /// [`FilterError::Parameters`] if it is not above the last one, or not below the bound, or if the modulus is so small
    /// that the gap has too long a word.
    pub fn push(&mut self, number: u64) -> Result<(), FilterError> {
        if number >= self.bound || self.last.is_some_and(|last| number <= last) {
            return Err(FilterError::Parameters);
        }
        let gap = number - self.last.unwrap_or(0);
        self.code.write(&mut self.writer, gap).map_err(|_| FilterError::Parameters)?;
        (self.n, self.last) = (self.n + 1, Some(number));
        Ok(())
    }

    /// Returns the number of numbers.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.n
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the last number.
    #[must_use]
    pub const fn last(&self) -> Option<u64> {
        self.last
    }

    /// Returns the bytes of the code.
    #[must_use]
    pub const fn bytes(&self) -> u64 {
        self.writer.position().div_ceil(8)
    }

    /// Returns the set.
    #[must_use]
    pub fn finish(self) -> GolombSet {
        let Self { bound, code, n, writer, .. } = self;
        let bits = writer.position();
        let (modulus, code) = (code.modulus(), writer.into_bytes());
        let mut set = GolombSet { n, bound, modulus, bits, code, index: Index::default() };
        set.index = Index::of(&set);
        set
    }
}

/// Returns the number of a key.
const fn number(hash: KeyHash, bound: u64) -> u64 {
    ((hash.low as u128 * bound as u128) >> 64) as u64
}

/// Returns the size of ranges with 64 numbers on average.
fn range_of(n: u64, bound: u64) -> u64 {
    let entries = n.div_ceil(ENTRY_NUMBERS).max(1);
    bound.div_ceil(entries).max(1)
}

impl Default for Index {
    fn default() -> Self {
        Self { range: 1, firsts: PackedArray::new(0, 0), positions: PackedArray::new(0, 0) }
    }
}

impl Index {
    /// Returns the index of a set that has none yet. Its entries are in memory twice for a moment.
    fn of(set: &GolombSet) -> Self {
        let range = range_of(set.n, set.bound);
        let entries = set.bound.div_ceil(range).max(1) as usize;
        let mut found: Vec<(u64, u64)> = Vec::with_capacity(entries);
        for (number, position) in set.words_from(0, 0) {
            // It is the first one of its range, and behind the ranges before it that have none.
            while found.len() < entries && found.len() as u64 * range <= number {
                found.push((number - found.len() as u64 * range, position));
            }
        }
        while found.len() < entries {
            found.push((set.bound - found.len() as u64 * range, set.bits));
        }
        let pack = |values: &mut dyn Iterator<Item = u64>, max: u64| {
            let mut packed = PackedArray::new(64 - max.leading_zeros(), found.len());
            values.enumerate().for_each(|(at, value)| packed.set(at, value));
            packed
        };
        let firsts = found.iter().map(|&(first, _)| first).max().unwrap_or(0);
        let positions = found.iter().map(|&(_, position)| position).max().unwrap_or(0);
        let firsts = pack(&mut found.iter().map(|&(first, _)| first), firsts);
        let positions = pack(&mut found.iter().map(|&(_, position)| position), positions);
        Self { range, firsts, positions }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// MD5 hashes of the words of the NATO alphabet, as in the seed: `int(md5(word).hexdigest()[24:32], 16) % 1664`.
    const NATO: [(&str, u64); 26] = [
        ("alpha", 1017),
        ("bravo", 591),
        ("charlie", 1207),
        ("delta", 151),
        ("echo", 1393),
        ("foxtrot", 1005),
        ("golf", 526),
        ("hotel", 208),
        ("india", 461),
        ("juliet", 1378),
        ("kilo", 1231),
        ("lima", 192),
        ("mike", 1630),
        ("november", 1327),
        ("oscar", 997),
        ("papa", 662),
        ("quebec", 806),
        ("romeo", 1627),
        ("sierra", 866),
        ("tango", 890),
        ("uniform", 1134),
        ("victor", 269),
        ("whiskey", 512),
        ("xray", 831),
        ("yankee", 1418),
        ("zulu", 1525),
    ];

    fn hash(i: u64) -> KeyHash {
        KeyHash::of(&i.to_le_bytes(), 11)
    }

    /// Seed 002: 26 words at 1 in 64 take 197 bits, and a Bloom filter 225.
    #[test]
    fn the_words_of_the_seed_take_197_bits() {
        let mut numbers = NATO.map(|(_, number)| number);
        numbers.sort_unstable();
        let set = GolombSet::of_numbers(&numbers, 26 * 64, 64).unwrap();
        assert_eq!((set.len(), set.code_bits()), (26, 197));
        assert!(set.numbers().eq(numbers));
        assert!(
            (0..26 * 64).all(|number| set.contains_number(number) == numbers.contains(&number))
        );
        assert!(!set.contains_number(26 * 64));
        // Rounded up to words of 64 bits.
        let bloom = crate::BloomFilter::for_rate(26, 1.0 / 64.0).unwrap();
        assert_eq!(bloom.bytes() * 8, 225_usize.next_multiple_of(64));
    }

    /// Seed 002: 640,000 words at 1 in 1,024 take 11.58 bits each, a Bloom filter 14.43; the least is 10. The seed
    /// counts 639,653 words, of which some have the same hash.
    #[test]
    fn a_dictionary_is_a_fifth_smaller_than_a_bloom_filter() {
        let n = 639_653_u64;
        let hashes: Vec<KeyHash> = (0..n).map(hash).collect();
        let bound = n * 1_024;
        let mut numbers: Vec<u64> = hashes.iter().map(|&hash| number(hash, bound)).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let set = GolombSet::of_numbers(&numbers, bound, 1_024).unwrap();
        let bits = set.code_bits() as f64 / n as f64;
        assert!((bits - 11.58).abs() < 0.01, "{bits}");
        let bloom = 10.0 / std::f64::consts::LN_2;
        assert!((bits / bloom - 7_405_432.0 / 9_227_646.0).abs() < 0.001, "{}", bits / bloom);
        // The best modulus saves a tenth of a bit; the index takes half a bit.
        let best = GolombSet::build(&hashes, 1_024).unwrap();
        let (code, all) =
            (best.code_bits() as f64 / n as f64, best.bytes() as f64 * 8.0 / n as f64);
        assert!(code < 11.49 && all < code + 0.75, "{code} {all}");
        assert!(hashes.iter().step_by(101).all(|&hash| best.contains(hash)));
        let others = 200_000;
        let measured =
            (n..n + others).filter(|&i| best.contains(hash(i))).count() as f64 / others as f64;
        let rate = best.rate();
        assert!((measured - rate).abs() < 4.0 * (rate / others as f64).sqrt(), "{measured} {rate}");
    }

    /// Returns the result of reading a set with these fields: n, bound, modulus, bits.
    fn read_fields(fields: [u64; 4], code: &[u8]) -> Result<GolombSet, FilterError> {
        let mut out = RowWriter::default();
        fields.iter().for_each(|&field| {
            out.number(field);
        });
        GolombSet::from_bytes(&seal(MAGIC, &out.rest(code).0))
    }

    #[test]
    fn sets_that_claim_too_much_are_refused() {
        let malformed = Err(FilterError::malformed());
        // Gaps of 0: each bit is a number.
        for n in [0, 1, 800, u64::MAX] {
            assert_eq!(read_fields([n, 1, 1, 800], &[0xff; 100]), malformed, "{n}");
        }
        // 0 and 1: the words 1 and 01.
        assert!(read_fields([2, 2, 1, 3], &[0b1010_0000]).is_ok());
        for n in [0, 1, 3, u64::MAX] {
            assert_eq!(read_fields([n, 2, 1, 3], &[0b1010_0000]), malformed, "{n}");
        }
    }

    #[test]
    fn what_is_no_set_is_refused() {
        let of = |bound| GolombSet::of_numbers(&[3], bound, 2).unwrap();
        assert_eq!(GolombSet::merge(&[]), Err(FilterError::Parameters));
        assert_eq!(GolombSet::merge(&[&of(10), &of(11)]), Err(FilterError::Parameters));
        assert!(matches!(GolombSetBuilder::new(0, 1), Err(FilterError::Parameters)));
        let bad = [
            GolombSet::of_numbers(&[3, 2], 10, 2),
            GolombSet::of_numbers(&[2, 2], 10, 2),
            GolombSet::of_numbers(&[10], 10, 2),
            GolombSet::of_numbers(&[1], 10, 0),
            GolombSet::of_numbers(&[u64::MAX - 1], u64::MAX, 1),
            GolombSet::build(&[], 0),
            GolombSet::build(&[hash(1), hash(2)], u64::MAX),
        ];
        assert!(bad.iter().all(|set| *set == Err(FilterError::Parameters)), "{bad:?}");
        let empty = GolombSet::build(&[], 100).unwrap();
        assert!(empty.is_empty() && !empty.contains(hash(1)) && empty.numbers().next().is_none());
    }

    proptest! {
        #[test]
        fn a_set_has_its_numbers_and_no_others(
            numbers in prop::collection::btree_set(prop_oneof![0_u64..3_000, 0_u64..100_000], 0..500),
            modulus in 1_u64..500,
            bound in 100_000_u64..200_000,
        ) {
            let sorted: Vec<u64> = numbers.iter().copied().collect();
            let set = GolombSet::of_numbers(&sorted, bound, modulus).unwrap();
            prop_assert!(set.numbers().eq(sorted));
            for number in (0..3_200).chain(numbers.iter().flat_map(|&n| [n, n + 1])).chain([bound - 1, bound]) {
                prop_assert_eq!(set.contains_number(number), numbers.contains(&number), "{}", number);
            }
            prop_assert_eq!(GolombSet::from_bytes(&set.to_bytes()), Ok(set));
        }

        #[test]
        fn a_merged_set_has_the_numbers_of_all(
            sets in prop::collection::vec(
                (prop::collection::btree_set(prop_oneof![0_u64..300, 0_u64..100_000], 0..200), 1_u64..500),
                1..6,
            ),
        ) {
            let all: Vec<u64> = sets.iter().flat_map(|(numbers, _)| numbers).copied().collect::<BTreeSet<_>>()
                .into_iter().collect();
            let sets: Vec<GolombSet> = sets.iter().map(|(numbers, modulus)| {
                let sorted: Vec<u64> = numbers.iter().copied().collect();
                GolombSet::of_numbers(&sorted, 100_000, *modulus).unwrap()
            }).collect();
            let merged = GolombSet::merge(&sets.iter().collect::<Vec<_>>()).unwrap();
            prop_assert!(merged.numbers().eq(all.iter().copied()));
            prop_assert_eq!(merged.len(), all.len() as u64);
            for number in (0..400).chain(all.iter().flat_map(|&n| [n, n + 1])) {
                let is_in = sets.iter().any(|set| set.contains_number(number));
                prop_assert_eq!(merged.contains_number(number), is_in, "{}", number);
            }
            prop_assert_eq!(GolombSet::from_bytes(&merged.to_bytes()), Ok(merged));
        }

        /// Records with a valid checksum, written from their fields.
        #[test]
        fn a_set_of_any_fields_is_refused_or_whole(
            numbers in prop::collection::btree_set(0_u64..300, 0..40),
            bound in prop_oneof![Just(300_u64), any::<u64>()],
            modulus in prop_oneof![1_u64..20, any::<u64>()],
            n in prop_oneof![3 => Just(None), 1 => any::<u64>().prop_map(Some), 1 => (0_u64..40).prop_map(Some)],
            fewer in 0_u64..2,
            change in prop_oneof![Just(None), any::<(prop::sample::Index, u8)>().prop_map(Some)],
        ) {
            let sorted: Vec<u64> = numbers.iter().copied().collect();
            let code = GolombSet::of_numbers(&sorted, 300, modulus.min(300)).unwrap();
            let (mut bytes, bits) = (code.code.clone(), code.bits.saturating_sub(fewer));
            if let Some((at, mask)) = change.filter(|_| !bytes.is_empty()) {
                *at.get_mut(&mut bytes) ^= mask;
            }
            if let Ok(set) = read_fields([n.unwrap_or(code.n), bound, modulus.min(300), bits], &bytes) {
                prop_assert_eq!(set.numbers().count() as u64, set.len());
                prop_assert!(set.numbers().all(|number| number < bound && set.contains_number(number)));
            } else {
                let is_unchanged = n.is_none_or(|n| n == code.n) && fewer == 0
                    && change.is_none_or(|(_, mask)| mask == 0) && bound >= 300;
                prop_assert!(!is_unchanged);
            }
            let _ = read_fields([n.unwrap_or(code.n), bound, modulus, bits], &bytes);
        }

        #[test]
        fn damage_is_found(keys: Vec<u64>, at: prop::sample::Index, bit in 0_u32..8, record: Vec<u8>) {
            let hashes: Vec<KeyHash> = keys.iter().map(|&key| hash(key)).collect();
            let whole = GolombSet::build(&hashes, 100).unwrap().to_bytes();
            let at = at.index(whole.len());
            let mut changed = whole.clone();
            changed[at] ^= 1_u8 << bit;
            prop_assert!(GolombSet::from_bytes(&whole[..at]).is_err());
            prop_assert!(GolombSet::from_bytes(&changed).is_err());
            // A record with a valid checksum that is no set.
            let _ = GolombSet::from_bytes(&seal(MAGIC, &record));
            let _ = GolombSet::from_bytes(&seal(MAGIC, &[&[9, 255, 1, 3, 20], &record[..]].concat()));
        }
    }
}
