//! A seen set, the core of the sieve: it lets through the first of all equal URLs.

use crate::storage::DiskError;
use crivello_common::hash::UrlKey;
use std::fmt::Debug;

/// A URL offered to a seen set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Key of the URL.
    pub key: UrlKey,
    /// Number that is returned if the URL passes. Tickets rise in the order of appearance, and from
    /// call to call, too, where a seen set may answer later.
    pub ticket: u64,
}

/// Estimate of the new URLs that a seen set takes for known ones.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Share of new URLs that are lost at the current fill; 0 for an exact seen set.
    pub rate: f64,
    /// Approximate number of URLs lost so far, by the rates at the time.
    pub urls: f64,
}

impl Losses {
    /// Adds the losses of a batch of which `n` URLs passed while `rate` was lost.
    pub(super) fn passed(&mut self, n: usize, rate: f64) {
        self.rate = rate;
        #[expect(clippy::cast_precision_loss, reason = "an estimate")]
        let n = n as f64;
        // The URLs that passed are a share of 1 − `rate` of the new ones. If all new ones are lost,
        // their number is unknown.
        self.urls += if rate < 1.0 { n * rate / (1.0 - rate) } else { 0.0 };
    }
}

/// A set of all URLs that were ever offered.
pub trait SeenSet: Debug + Send {
    /// Adds URLs, and appends to `passed` the tickets of those that are let through now, in the
    /// order of first appearance: of this call, or of earlier ones. All implementations but
    /// [`Offline`](super::Offline) have answered for the whole batch when this returns.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. Nothing of the batch has passed then, and it may be offered
    /// again.
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError>;

    /// Answers for all URLs that were offered and not answered for.
    ///
    /// # Errors
    /// Same as [`Self::lookup`].
    fn flush(&mut self, _passed: &mut Vec<u64>) -> Result<(), DiskError> {
        Ok(())
    }

    /// Returns the bytes in memory, without the caches of a database.
    fn memory(&self) -> usize;

    /// Returns the losses so far.
    fn losses(&self) -> Losses {
        Losses::default()
    }
}
