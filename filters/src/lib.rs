//! Approximate sets: they never deny an element, and accept others at a known rate.
//!
//! ```text
//!  key ──► KeyHash ──┬──► bits at k places:           BloomFilter, BlockedBloomFilter, CountingBloomFilter
//!                    ├──► fingerprint of p bits:      QuotientFilter, CountingQuotientFilter, ThreeBitFilter
//!                    └──► number below n/rate:        GolombSet
//! ```
//!
//! | type | bits a key | insert | delete | grow | count | union | intersection | elements |
//! | --- | --- | --- | --- | --- | --- | --- | --- | --- |
//! | [`BloomFilter`] | 1.44 log₂ 1/δ | yes | | | | yes | yes | |
//! | [`BlockedBloomFilter`] | somewhat more | yes | | | | yes | yes | |
//! | [`CountingBloomFilter`] | 5.77 log₂ 1/δ | yes | yes | | up to 15 | | | |
//! | [`QuotientFilter`] | (2.125 + log₂ 1/δ) / load | yes | | yes | | yes | yes | fingerprints |
//! | [`CountingQuotientFilter`] | the same | yes | yes | yes | yes | | | fingerprints, counts |
//! | [`ThreeBitFilter`] | (3 + log₂ 1/δ) / load | yes | | | | | | fingerprints |
//! | [`GolombSet`] | log₂ 1/δ + 1.5, and an index | | | | | yes | | numbers |
//!
//! δ is the rate of false positives: the share of other keys that are accepted. The least possible is log₂ 1/δ bits
//! a key.
//!
//! A [`KeyHash`] is made with a seed, which is not stored in the filter: whoever stores or sends a filter does that.
//! Filters with keys that others choose need a seed that they do not know. Memory is what the caller gives; a quotient
//! filter that is full returns [`FilterError::Full`] and has what it had, though its table may have grown. Bloom filters
//! are never full, but their rate rises. Bytes have a header and a checksum.
#![deny(unsafe_code)]

mod bloom;
mod error;
mod golomb;
mod quotient;

pub use bloom::{BlockedBloomFilter, BloomFilter, CountingBloomFilter, bloom_rate};
pub use crivello_codes::hash::{KeyHash, mix, place};
pub use error::FilterError;
pub use golomb::{GolombSet, GolombSetBuilder};
pub use quotient::{
    CountingQuotientFilter, OffsetSampling, QuotientFilter, QuotientShape, ThreeBitFilter,
};
