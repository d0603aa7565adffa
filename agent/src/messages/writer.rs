//! What the writer receives.

use super::{Found, Page, ToFrontier};
use crate::report::Ended;
use crivello_common::discard::DiscardTally;

/// A message to the writer.
#[derive(Debug)]
pub enum WriterMsg {
    /// A result, from the parsers.
    Page(Box<Page>),
    /// Seeds of a local crawl, with a count of those that were refused.
    Found(Vec<Found>, DiscardTally),
    /// Notes from the workbench.
    Notes(Vec<ToFrontier>),
    /// No more seeds will come.
    SeedsEnd {
        /// Whether this run has accepted any.
        any: bool,
    },
    /// Nothing is in flight and the scheduler will start no more visits, for this reason; with `None`
    /// it starts visits again.
    Idle(Option<Ended>),
}
