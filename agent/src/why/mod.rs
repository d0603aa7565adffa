//! The why: what a host waits for, in one word and in plain ones.
//!
//! *Comes in*: what is known of a host at one moment, gathered from the disk, the workbench and
//! the flags of the crawl ([`Facts`]); results as they come from the fetchers.
//! *Goes out*: the story for whoever asked, as it goes on the wire ([`host_story`], [`reason`]);
//! the last fetches ([`Recent`]).
//! *Remembers*: the last fetches, so many of them as are told on one day of curiosity
//! ([`FETCHES_REMEMBERED`](crate::limits::FETCHES_REMEMBERED)).
//! *Never knows*: where the facts come from, the clock, threads.
//! *Goes wrong*: nothing. What is not known is left out.

mod facts;
mod reason;
mod recent;
mod robots;
mod rule;
mod words;

#[cfg(test)]
mod tests;

pub use facts::{Crawl, Facts, Hold, PagesLeft};
pub use reason::{Waits, reason};
pub use recent::Recent;
pub use robots::{OriginFacts, decisive};

use crivello_proto::v1;
use std::collections::HashMap;

/// What there is to tell of a host, without its robots.txt and its last fetches.
#[must_use]
pub fn host_story(facts: &Facts<'_>) -> v1::HostStory {
    let Waits { reason, next, detail } = reason(facts);
    let row = facts.row;
    let bench = facts.bench;
    let state = facts.state();
    let failures = state.map(|state| state.failures.iter()).into_iter().flatten();
    let failures: HashMap<String, u32> =
        failures.map(|(kind, n)| (kind.name().to_owned(), u32::from(n))).collect();
    v1::HostStory {
        name: facts.name.to_owned(),
        is_known: row.is_some(),
        on_workbench: bench.is_some(),
        reason: reason.into(),
        detail,
        next: next.0,
        address: facts.address().map(|at| at.address.to_string()).unwrap_or_default(),
        queued: row.map_or(0, |row| row.queued),
        in_window: bench.map_or(0, |bench| bench.in_window),
        requests: state.map_or(0, |state| state.requests),
        pages: row.map_or(0, |row| row.pages),
        last_ended: state.map_or(0, |state| state.last_ended.0),
        failures,
        robots: facts.robots.iter().map(|origin| origin.tell(facts.name)).collect(),
        fetches: Vec::new(),
    }
}
