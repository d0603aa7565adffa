//! The file of ranks.
//!
//! ```text
//! "crivello host ranks 1\n" │ XXH3-64 of the rest (8) │ length, shares of the 256 ranks (8 each) │ length, static function
//! ```
//! The function is signed (Notes 2.3.2): it maps host names in normal form to ranks of 8 bits, and has signatures of 24
//! bits, so a host that it was not built for has a rank with a probability of 2⁻²⁴. It takes 4.4 bytes a host.

use crate::quantize::{Quantized, quantize};
use crivello_codes::{FunctionError, StaticFunction, SystemSolver};
use crivello_common::codec::{RowReader, RowWriter};
use crivello_common::sealed::{seal, unseal};
use sha2::{Digest as _, Sha256};

/// First line of the file.
const MAGIC: &[u8] = b"crivello host ranks 1\n";
const RANK_BITS: u32 = 8;
const SIGNATURE_BITS: u32 = 24;

/// The reason why ranks cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RanksError {
    /// A score is negative, or no number.
    #[error("the score of {0} is negative, or no number")]
    Score(String),
    /// No function of these hosts can be built.
    #[error("{0}")]
    Function(#[from] FunctionError),
    /// The bytes are damaged, or were written by another version.
    #[error("the file of ranks is {0}")]
    Damaged(String),
    /// The bytes are those of another file.
    #[error("the file of ranks has the digest {0}, not the one that was announced")]
    Digest(String),
}

/// Returns the digest by which a file of ranks is known: its SHA-256, as 64 hexadecimal digits.
#[must_use]
pub fn digest_of(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// Ranks of hosts, in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct HostRanks {
    digest: String,
    shares: Vec<f64>,
    function: StaticFunction,
}

impl HostRanks {
    /// Returns the file of the ranks of some hosts, all different, by their scores. `seed` must be a random number that
    /// no site knows: otherwise one could choose names with the hashes of other hosts. Takes about 50 bytes of memory
    /// a host.
    ///
    /// # Errors
    /// [`RanksError::Score`], or [`RanksError::Function`] if a host occurs twice.
    pub fn build(hosts: &[(String, f64)], seed: u64) -> Result<Vec<u8>, RanksError> {
        let is_wrong = |score: f64| !score.is_finite() || score < 0.0;
        if let Some((host, _)) = hosts.iter().find(|(_, score)| is_wrong(*score)) {
            return Err(RanksError::Score(host.clone()));
        }
        let scores: Vec<f64> = hosts.iter().map(|(_, score)| *score).collect();
        let Quantized { ranks, shares } = quantize(&scores);
        let items = hosts.iter().zip(ranks).map(|((host, _), rank)| (host, u64::from(rank)));
        let function = StaticFunction::build(
            items,
            RANK_BITS,
            SIGNATURE_BITS,
            SystemSolver::Elimination,
            seed,
        )?;
        let shares: Vec<u8> = shares.iter().flat_map(|share| share.to_le_bytes()).collect();
        let record = RowWriter::default().bytes(&shares).bytes(&function.to_bytes()).finish();
        Ok(seal(MAGIC, &record))
    }

    /// Reads a file. Takes as much memory as the file has bytes.
    ///
    /// # Errors
    /// [`RanksError::Damaged`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RanksError> {
        let malformed = || RanksError::Damaged("malformed".to_owned());
        let mut record = RowReader(unseal(MAGIC, bytes).map_err(RanksError::Damaged)?);
        let (shares, rest) = record.bytes().ok_or_else(malformed)?.as_chunks::<8>();
        let shares: Vec<f64> = shares.iter().map(|share| f64::from_le_bytes(*share)).collect();
        let are_shares = shares.iter().all(|share| (0.0..=1.0).contains(share));
        if !rest.is_empty() || shares.len() != 256 || !are_shares {
            return Err(malformed());
        }
        let function = StaticFunction::from_bytes(record.bytes().ok_or_else(malformed)?)?;
        if !record.0.is_empty() {
            return Err(malformed());
        }
        Ok(Self { digest: digest_of(bytes), shares, function })
    }

    /// Reads the file with this digest.
    ///
    /// # Errors
    /// [`RanksError::Digest`] or [`RanksError::Damaged`].
    pub fn verified(bytes: &[u8], digest: &str) -> Result<Self, RanksError> {
        let ranks = Self::from_bytes(bytes)?;
        if ranks.digest == digest { Ok(ranks) } else { Err(RanksError::Digest(ranks.digest)) }
    }

    /// Returns the digest of the file.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Returns the number of hosts.
    #[must_use]
    pub const fn n_hosts(&self) -> usize {
        self.function.len()
    }

    /// Returns the rank of a host by its name in normal form: 1 to 255, greater ones are better; 0 if it is unknown.
    #[must_use]
    pub fn rank(&self, host: &str) -> u8 {
        self.function.get(host.as_bytes()).and_then(|rank| rank.try_into().ok()).unwrap_or(0)
    }

    /// Returns what static ranks of a search add for a rank, from 0 to 1: s / (s + mean), for the score s of its hosts
    /// and the mean of all scores.
    #[must_use]
    pub fn share(&self, rank: u8) -> f64 {
        self.shares.get(usize::from(rank)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn hosts(n: usize) -> Vec<(String, f64)> {
        (0..n).map(|i| (format!("www.h{i}.example"), (n - i) as f64)).collect()
    }

    #[test]
    fn each_host_has_its_rank_and_others_have_none() {
        let n = 20_000;
        let bytes = HostRanks::build(&hosts(n), 7).unwrap();
        assert!(bytes.len() < 4_096 + n * 9 / 2, "{} bytes", bytes.len());
        let ranks = HostRanks::verified(&bytes, &digest_of(&bytes)).unwrap();
        assert_eq!(ranks.n_hosts(), n);
        let scores: Vec<f64> = hosts(n).iter().map(|(_, score)| *score).collect();
        let wanted = quantize(&scores);
        for ((host, _), rank) in hosts(n).iter().zip(wanted.ranks) {
            assert_eq!(ranks.rank(host), rank, "{host}");
            assert_eq!(ranks.share(rank), wanted.shares[usize::from(rank)]);
        }
        // One in 16.7 million is accepted.
        let strangers = (0..50_000).filter(|i| ranks.rank(&format!("www.s{i}.example")) != 0);
        assert!(strangers.count() <= 1);
        assert_eq!(ranks.share(0), 0.0);
    }

    #[test]
    fn wrong_hosts_and_wrong_files_are_refused() {
        let twice = [("a".to_owned(), 1.0), ("a".to_owned(), 2.0)];
        assert_eq!(
            HostRanks::build(&twice, 0),
            Err(RanksError::Function(FunctionError::Duplicate))
        );
        for wrong in [-1.0, f64::NAN, f64::INFINITY] {
            let built = HostRanks::build(&[("b".to_owned(), wrong)], 0);
            assert_eq!(built, Err(RanksError::Score("b".to_owned())));
        }
        let bytes = HostRanks::build(&hosts(3), 0).unwrap();
        let other = HostRanks::build(&hosts(4), 0).unwrap();
        let found = HostRanks::verified(&bytes, &digest_of(&other)).unwrap_err();
        assert_eq!(found, RanksError::Digest(digest_of(&bytes)));
        let nobody = HostRanks::from_bytes(&HostRanks::build(&[], 0).unwrap()).unwrap();
        assert_eq!((nobody.n_hosts(), nobody.rank("a.example")), (0, 0));
    }

    proptest! {
        #[test]
        fn damage_is_found_at_any_bit_and_any_cut(n in 0_usize..60, at: prop::sample::Index, bit in 0_u32..8) {
            let mut bytes = HostRanks::build(&hosts(n), 3).unwrap();
            let at = at.index(bytes.len());
            prop_assert!(HostRanks::from_bytes(&bytes[..at]).is_err());
            bytes[at] ^= 1_u8 << bit;
            prop_assert!(HostRanks::from_bytes(&bytes).is_err());
        }

        /// A file with a valid checksum of something else.
        #[test]
        fn malformed_records_do_no_harm(record: Vec<u8>, function: Vec<u8>) {
            let _ = HostRanks::from_bytes(&seal(MAGIC, &record));
            let record = RowWriter::default().bytes(&[0; 2_048]).bytes(&function).finish();
            let _ = HostRanks::from_bytes(&seal(MAGIC, &record));
        }
    }
}
