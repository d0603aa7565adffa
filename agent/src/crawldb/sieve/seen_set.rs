//! What a body of the sieve does: it lets through the first of all URLs that are equal.

use crate::storage::DiskError;
use crivello_common::hash::UrlKey;
use std::fmt::Debug;

/// A URL that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// What it is known by.
    pub key: UrlKey,
    /// What it is called when it is let through. Tickets rise in the order of appearance, from call
    /// to call too where a body may answer later.
    pub ticket: u64,
}

/// What a body takes for known although it is new.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// The share of new URLs that are lost as full as it is now; 0 for a body that is exact.
    pub rate: f64,
    /// About how many were lost so far, by the rates at which they were.
    pub urls: f64,
}

impl Losses {
    /// So many have passed while this share was lost.
    pub(super) fn passed(&mut self, n: usize, rate: f64) {
        self.rate = rate;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let n = n as f64;
        // Those that passed are the rest of all that were new. Where nothing passes any more, nobody
        // can tell what was new.
        self.urls += if rate < 1.0 { n * rate / (1.0 - rate) } else { 0.0 };
    }
}

/// See the module.
pub trait SeenSet: Debug + Send {
    /// Takes URLs in, and adds to `passed` the tickets of those that are let through now, in the
    /// order of first appearance: of this call, or of earlier ones. All bodies but
    /// [`Offline`](super::Offline) have answered for the whole batch when this returns.
    ///
    /// # Errors
    /// When the disk fails. Nothing of the batch has then passed, and it may be offered again.
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError>;

    /// Answers for all that was offered and not answered for.
    ///
    /// # Errors
    /// As [`Self::lookup`].
    fn flush(&mut self, _passed: &mut Vec<u64>) -> Result<(), DiskError> {
        Ok(())
    }

    /// Bytes that it holds in memory, beside the caches of a database.
    fn memory(&self) -> usize;

    /// What it loses.
    fn losses(&self) -> Losses {
        Losses::default()
    }
}
