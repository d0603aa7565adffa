//! The sieve's result for each URL of a commit, two bytes each, for URL tracing.

use crivello_common::discard::Discard;

/// Sieve results of a commit's URLs.
#[derive(Debug, Default)]
pub struct SieveResults {
    /// For each URL, true if it was new.
    fresh: Vec<bool>,
    /// For each new URL, the reason why it was not queued, if any.
    refused: Vec<Option<Discard>>,
}

/// For each URL, `Ok(true)` if it is new and queued, `Ok(false)` if it is known, `Err` with the
/// reason if it is new and not queued.
pub type SieveOutcomes<'a> = Box<dyn Iterator<Item = Result<bool, Discard>> + 'a>;

impl SieveResults {
    /// Adds the next new URL.
    pub fn push(&mut self, refused: Option<Discard>) {
        self.refused.push(refused);
    }

    /// Sets the flags of which URLs were new.
    pub fn set_fresh(&mut self, fresh: Vec<bool>) {
        self.fresh = fresh;
    }

    /// Returns all results, in the order of the URLs.
    #[must_use]
    pub fn iter(&self) -> SieveOutcomes<'_> {
        let mut of_new = self.refused.iter();
        Box::new(self.fresh.iter().map(move |&fresh| match fresh {
            true => of_new.next().copied().flatten().map_or(Ok(true), Err),
            false => Ok(false),
        }))
    }
}
