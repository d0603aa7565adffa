//! A seen set, the core of the sieve: it lets through the first of all equal URLs.

use crate::storage::DiskError;
use crivello_common::hash::{GroupHash, UrlKey};
use std::fmt::Debug;

/// A URL offered to a seen set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Key of the URL.
    pub key: UrlKey,
    /// Number that is returned if the URL passes. Tickets rise in the order of appearance.
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

/// Look-ups that a seen set in bounded memory leaves to the rows on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// URLs looked up on disk so far.
    pub looked_up: u64,
    /// True if there was too little memory at some time.
    pub is_full: bool,
}

/// A set of all URLs that were let through and stored.
pub trait SeenSet: Debug + Send {
    /// Appends to `passed` the tickets of the URLs that are not in the set, each of them once, in the
    /// order of first appearance.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. Nothing of the batch has passed then, and it may be offered
    /// again.
    fn lookup(&mut self, batch: &[Lookup], passed: &mut Vec<u64>) -> Result<(), DiskError>;

    /// Adds a URL that has passed, or that another agent has reported, before the next batch is offered.
    fn insert(&mut self, key: UrlKey);

    /// Forgets the URLs of a group of which rows are deleted, before the next batch is offered.
    fn forget_group(&mut self, _group: GroupHash) {}

    /// Returns the bytes in memory, without the caches of a database.
    fn memory(&self) -> usize;

    /// Returns the losses so far.
    fn losses(&self) -> Losses {
        Losses::default()
    }

    /// Returns what the rows on disk have answered so far in its place.
    fn overflow(&self) -> Overflow {
        Overflow::default()
    }
}

/// Appends to `passed` the tickets of the URLs that `has` does not know, each of them once.
pub(super) fn pass_unknown(batch: &[Lookup], has: impl Fn(UrlKey) -> bool, passed: &mut Vec<u64>) {
    let mut first = foldhash::HashSet::<UrlKey>::default();
    for lookup in batch {
        if !has(lookup.key) && first.insert(lookup.key) {
            passed.push(lookup.ticket);
        }
    }
}
