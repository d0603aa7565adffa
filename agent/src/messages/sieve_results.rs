//! The sieve's result for each URL of a commit, two bytes each; URL tracing reads it.

use crivello_common::discard::Discard;

/// See the module.
#[derive(Debug, Default)]
pub struct SieveResults {
    /// Whether each URL was new.
    fresh: Vec<bool>,
    /// For each new URL why it was not queued, if it was not.
    refused: Vec<Option<Discard>>,
}

/// For each URL whether it is new and queued, or why it was new and not queued.
pub type SieveOutcomes<'a> = Box<dyn Iterator<Item = Result<bool, Discard>> + 'a>;

impl SieveResults {
    /// Adds the next new URL.
    pub fn push(&mut self, refused: Option<Discard>) {
        self.refused.push(refused);
    }

    /// Sets which URLs were new.
    pub fn set_fresh(&mut self, fresh: Vec<bool>) {
        self.fresh = fresh;
    }

    /// All results, in the order of the URLs.
    #[must_use]
    pub fn iter(&self) -> SieveOutcomes<'_> {
        let mut of_new = self.refused.iter();
        Box::new(self.fresh.iter().map(move |&fresh| match fresh {
            true => of_new.next().copied().flatten().map_or(Ok(true), Err),
            false => Ok(false),
        }))
    }
}
