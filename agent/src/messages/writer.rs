//! Messages to the writer.

use super::{Found, Page, ToFrontier};
use crate::report::Ended;
use crivello_common::discard::DiscardTally;

/// A message to the writer.
#[derive(Debug)]
pub enum WriterMsg {
    /// A result, from the parsers.
    Page(Box<Page>),
    /// Seeds of a local crawl, with a tally of those that were refused.
    Found(Vec<Found>, Box<DiscardTally>),
    /// Messages from the workbench.
    ToFrontier(Vec<ToFrontier>),
    /// No more seeds will come.
    SeedsEnd {
        /// True if this run has accepted at least one.
        any: bool,
    },
    /// No visit is in flight, and the scheduler starts no more, for this reason. `None`: it starts
    /// visits again.
    Idle(Option<Ended>),
}
