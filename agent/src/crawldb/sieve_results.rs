//! What the sieve did with the URLs of a commit, for those who follow some of them: two bytes each,
//! until the next commit.

use crivello_common::discard::Discard;

/// See the module.
#[derive(Debug, Default)]
pub struct SieveResults {
    /// Of all URLs.
    fresh: Vec<bool>,
    /// Of those that were new.
    kept_out: Vec<Option<Discard>>,
}

/// For each URL whether it is new and queued, or why it was new and not let in.
pub type SieveOutcomes<'a> = Box<dyn Iterator<Item = Result<bool, Discard>> + 'a>;

impl SieveResults {
    /// A commit begins.
    pub fn begin(&mut self) {
        self.fresh.clear();
        self.kept_out.clear();
    }

    /// The next URL that was new was let in, or not.
    pub fn next(&mut self, kept_out: Option<Discard>) {
        self.kept_out.push(kept_out);
    }

    /// All have been looked at: which were new.
    pub fn end(&mut self, fresh: Vec<bool>) {
        self.fresh = fresh;
    }

    /// All of them, in their order.
    pub fn iter(&self) -> SieveOutcomes<'_> {
        let mut of_new = self.kept_out.iter();
        Box::new(self.fresh.iter().map(move |&fresh| match fresh {
            true => of_new.next().copied().flatten().map_or(Ok(true), Err),
            false => Ok(false),
        }))
    }
}
