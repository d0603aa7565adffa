//! A monotone minimal perfect hash function by longest common prefixes (Belazzougui, Boldi, Pagh and Vigna 2009).
//!
//! Keys in order form buckets of 2ᵏ. A function maps each key to its place in the bucket and to the length of the
//! longest common prefix of the bucket; another one maps this prefix, which no other bucket has, to the
//! bucket.

use super::prefix::{all_bits, common_bits, prefix_hash};
use crate::functions::{StaticFunction, SystemSolver};
use crate::hash::KeyHash;
use crate::{FunctionError, PackedArray};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};

/// First line of the bytes.
const MAGIC: &[u8] = b"crivello monotone hash 1\n";
/// Changes the seed for hashes of prefixes.
const PREFIX_SEED: u64 = 0x6c63_705f_6d6d_7068;
/// The largest k.
const BUCKET_BITS_MAX: u32 = 8;

/// The rank of each of a fixed set of keys, without the keys: about 13 bits a key for a million terms, and signature
/// bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MonotoneHash {
    seed: u64,
    /// k: buckets have 2ᵏ keys.
    bucket_bits: u32,
    /// Lengths of common prefixes, in bits, each once.
    lengths: Vec<usize>,
    /// From a key to its place in the bucket, and the number of the length above that.
    places: StaticFunction,
    /// From a prefix to the bucket.
    buckets: StaticFunction,
    /// Bits of a hash of each key, by rank.
    signatures: PackedArray,
}

/// Returns the bits of numbers below `n`.
const fn bits_below(n: usize) -> u32 {
    if n <= 1 { 0 } else { (n - 1).ilog2() + 1 }
}

impl MonotoneHash {
    /// Builds the function for keys in ascending order. With `signature_bits`, at most 64, the rank of another key is
    /// `None`, except with a probability of 2 to the minus number of these bits. Without, it may be any.
    ///
    /// # Errors
    /// [`FunctionError::Unsorted`] if a key is not above the one before.
    pub fn build<K: AsRef<[u8]>>(
        keys: &[K],
        signature_bits: u32,
        solver: SystemSolver,
        seed: u64,
    ) -> Result<Self, FunctionError> {
        if let Some(at) = keys.windows(2).position(|pair| pair[0].as_ref() >= pair[1].as_ref()) {
            return Err(FunctionError::Unsorted(at + 1));
        }
        let bucket_bits = best_bucket_bits(keys);
        let buckets: Vec<&[K]> = keys.chunks(1 << bucket_bits).collect();
        let lengths_of: Vec<usize> = buckets.iter().map(|bucket| common_length(bucket)).collect();
        let mut lengths = lengths_of.clone();
        lengths.sort_unstable();
        lengths.dedup();

        let mut places = Vec::with_capacity(keys.len());
        let mut prefixes = Vec::with_capacity(buckets.len());
        let mut signatures = PackedArray::new(signature_bits, keys.len());
        for (number, (bucket, length)) in buckets.iter().zip(&lengths_of).enumerate() {
            let Ok(of_length) = lengths.binary_search(length) else { continue };
            for (place, key) in bucket.iter().enumerate() {
                let hash = KeyHash::of(key.as_ref(), seed);
                signatures.set(places.len(), hash.signature(signatures.width()));
                places.push((hash, (of_length << bucket_bits | place) as u64));
            }
            let first = bucket.first().map(AsRef::as_ref).unwrap_or_default();
            let prefix = prefix_hash(first, *length, seed ^ PREFIX_SEED);
            prefixes.extend(prefix.map(|hash| (hash, number as u64)));
        }
        let place_bits = bucket_bits + bits_below(lengths.len());
        let number_bits = bits_below(buckets.len());
        let places = StaticFunction::of_hashes(places, place_bits, 0, solver, seed)?;
        let buckets = StaticFunction::of_hashes(prefixes, number_bits, 0, solver, seed)?;
        Ok(Self { seed, bucket_bits, lengths, places, buckets, signatures })
    }

    /// Returns the rank of a key: the number of smaller ones. `None` if it is none of the keys and the signature tells.
    #[must_use]
    pub fn rank(&self, key: &[u8]) -> Option<usize> {
        let hash = KeyHash::of(key, self.seed);
        let value = self.places.get_hash(hash)?;
        let place = value & ((1 << self.bucket_bits) - 1);
        let length = *self.lengths.get((value >> self.bucket_bits) as usize)?;
        let prefix = prefix_hash(key, length, self.seed ^ PREFIX_SEED)?;
        let bucket = self.buckets.get_hash(prefix)?;
        let rank = usize::try_from(bucket << self.bucket_bits | place).ok()?;
        let is_key = rank < self.signatures.len()
            && self.signatures.get(rank) == hash.signature(self.signatures.width());
        is_key.then_some(rank)
    }

    /// Returns the number of keys.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.signatures.len()
    }

    /// Returns whether there are no keys.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.signatures.is_empty()
    }

    /// Returns the bytes in memory.
    #[must_use]
    pub const fn bytes(&self) -> usize {
        let lengths = self.lengths.len() * size_of::<usize>();
        lengths + self.places.bytes() + self.buckets.bytes() + self.signatures.bytes()
    }

    /// Returns the function as bytes, with a header and a checksum.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = RowWriter::default();
        out.number(self.seed).number(u64::from(self.bucket_bits)).number(self.lengths.len() as u64);
        for &length in &self.lengths {
            out.number(length as u64);
        }
        self.places.write(&mut out);
        self.buckets.write(&mut out);
        self.signatures.write(&mut out);
        seal(MAGIC, &out.0)
    }

    /// Reads a function.
    ///
    /// # Errors
    /// [`FunctionError::Damaged`] if the bytes are damaged.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, FunctionError> {
        let record = unseal(MAGIC, bytes).map_err(FunctionError::Damaged)?;
        let mut from = RowReader(record);
        let function = Self::read(&mut from).filter(|_| from.0.is_empty());
        function.ok_or_else(|| FunctionError::Damaged("malformed".to_owned()))
    }

    fn read(from: &mut RowReader<'_>) -> Option<Self> {
        let seed = from.number()?;
        let bucket_bits = from.small().filter(|&bits| bits <= BUCKET_BITS_MAX)?;
        let mut lengths = Vec::new();
        for _ in 0..from.number()? {
            lengths.push(from.small()?);
        }
        let (places, buckets) = (StaticFunction::read(from)?, StaticFunction::read(from)?);
        let signatures = PackedArray::read(from)?;
        Some(Self { seed, bucket_bits, lengths, places, buckets, signatures })
    }
}

/// Returns the number of bits that all keys of a bucket begin with.
fn common_length<K: AsRef<[u8]>>(bucket: &[K]) -> usize {
    match bucket {
        [first, .., last] => common_bits(first.as_ref(), last.as_ref()),
        [only] => all_bits(only.as_ref()),
        [] => 0,
    }
}

/// Returns the k with which the two functions take the fewest bits.
fn best_bucket_bits<K: AsRef<[u8]>>(keys: &[K]) -> u32 {
    let bits = |k: u32| {
        let buckets = keys.chunks(1 << k);
        let (n, number_bits) = (buckets.len(), bits_below(buckets.len()));
        let mut lengths: Vec<usize> = buckets.map(common_length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let place_bits = k + bits_below(lengths.len());
        keys.len() * place_bits as usize + n * number_bits as usize
    };
    (1..=BUCKET_BITS_MAX).min_by_key(|&k| bits(k)).unwrap_or(1)
}
