//! Explanations: why nothing is fetched from a host at the moment.
//!
//! - *Input:* the facts about a host at one moment, gathered from the disk, the workbench and the
//!   flags of the crawl ([`Facts`]); results of the fetchers.
//! - *Output:* the status of the host with the reason, as a message ([`host_status`], [`wait`]); the
//!   last fetches ([`RecentFetches`]).
//! - *State:* the last fetches, at most
//!   [`FETCHES_REMEMBERED`](crate::limits::FETCHES_REMEMBERED).
//! - *Does not know:* where the facts come from, the clock, threads, sentences: `crivello_proto`
//!   formats the messages.
//! - *Errors:* none. Unknown facts are omitted.

mod facts;
mod reason;
mod recent;
mod robots;

#[cfg(test)]
mod tests;

pub use facts::{CrawlFacts, Facts, Holding, PageLimitState};
pub use reason::wait;
pub use recent::RecentFetches;
pub use robots::{OriginFacts, disallowing_rule};

use crivello_proto::v1::{self, HoldKind};

/// Returns the status of a host, without its last fetches.
#[must_use]
pub fn host_status(facts: &Facts<'_>) -> v1::HostStatus {
    let (row, workbench, state) = (facts.row, facts.workbench, facts.state());
    v1::HostStatus {
        rank: 0,
        name: facts.name.to_owned(),
        on_disk: row.is_some(),
        in_memory: workbench.is_some(),
        wait: Some(wait(facts)),
        address: facts.address().map(|at| at.address.to_string()).unwrap_or_default(),
        queued: facts.queued(),
        queued_in_memory: workbench.map_or(0, |workbench| workbench.in_window),
        requests: state.map_or(0, |state| state.requests),
        pages: row.map_or(0, |row| row.pages),
        last_ended: state.map_or(0, |state| state.last_ended.0),
        failures: state.map(reason::failures).unwrap_or_default(),
        robots: facts.robots.iter().map(|origin| origin.status(facts.name)).collect(),
        fetches: Vec::new(),
        is_owned: matches!(facts.holding.kind, HoldKind::Authority | HoldKind::Pending),
    }
}
