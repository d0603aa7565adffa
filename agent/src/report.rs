//! What happened, when a crawl has ended: the table that is printed and the JSON of `--report`.
//!
//! The JSON's field names are stable: fields are added, never renamed. Times are seconds, sizes
//! are bytes. The keys of [`Report::skipped`] and [`Report::errors`] are the names of
//! [`Discard`](crivello_common::discard::Discard) and [`Failure`](crivello_common::failure::Failure).

use crivello_common::discard::DiscardTally;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Hosts listed in [`Report::slowest_hosts`] and in [`Report::most_resting_hosts`].
pub const HOSTS_LISTED_MAX: usize = 10;

/// What happened. Counters cover the whole crawl, earlier runs included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The name and version of the program.
    pub software: String,
    /// The crawl's own name, drawn when it was begun.
    pub crawl_id: String,
    /// When this run began (RFC 3339, UTC).
    pub started: String,
    /// How long this run took.
    pub elapsed_seconds: f64,
    /// Whether this run went on with an earlier one.
    pub resumed: bool,
    /// How this run ended.
    pub ended: Ended,
    /// Why, when it failed.
    pub failure: Option<String>,
    /// The seeds of this run.
    pub seeds: SeedCounts,
    /// The sums.
    pub totals: Totals,
    /// Pages by HTTP status.
    pub pages_by_status: BTreeMap<u16, u64>,
    /// URLs and pages set aside, by reason; reasons that did not occur are left out.
    pub skipped: BTreeMap<String, u64>,
    /// Requests that brought no usable response, by kind; a repeated one counts each time.
    pub errors: BTreeMap<String, u64>,
    /// The hosts that took longest to answer, slowest first; at most [`HOSTS_LISTED_MAX`].
    pub slowest_hosts: Vec<SlowHost>,
    /// The hosts that rested longest, longest first; at most [`HOSTS_LISTED_MAX`].
    pub most_resting_hosts: Vec<RestingHost>,
    /// The archive files, oldest first.
    pub archive: Vec<ArchiveFile>,
}

/// The sums of a [`Report`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// Responses that count as pages.
    pub pages: u64,
    /// Bytes of their bodies, as received.
    pub bytes: u64,
    /// Pages whose content was seen before (archived as `revisit`).
    pub duplicates: u64,
    /// Pages whose body was cut off.
    pub truncated: u64,
    /// Responses to requests for robots.txt.
    pub robots_fetched: u64,
    /// URLs that the sieve has let through.
    pub urls_seen: u64,
    /// URLs not yet fetched.
    pub urls_queued: u64,
    /// Hosts known.
    pub hosts: u64,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Nothing is left to fetch.
    Exhausted,
    /// The page limit is reached.
    Limit,
    /// It was stopped; the state is saved and the crawl can be resumed.
    #[default]
    Stopped,
    /// It handed over to other agents all it had to crawl, and is no member any more.
    Drained,
    /// Something broke that cannot be worked around; what was committed is safe.
    Failed,
    /// The cluster counted this agent as dead; what was committed is safe, and it may join again.
    Lost,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "nothing left to fetch",
            Self::Limit => "page limit reached",
            Self::Stopped => "stopped, state saved",
            Self::Drained => "all handed over to other agents",
            Self::Failed => "failed",
            Self::Lost => "counted as dead by the cluster, state saved",
        })
    }
}

/// The seeds of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedCounts {
    /// URLs handed to the crawl.
    pub taken: u64,
    /// Lines and arguments that were no URL to crawl.
    pub refused: u64,
}

/// A host that took long to answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowHost {
    /// Its name.
    pub host: String,
    /// Requests measured.
    pub requests: u64,
    /// The mean time of one.
    pub mean_seconds: f64,
}

/// A host that rested: backoff, Retry-After, unreachable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestingHost {
    /// Its name.
    pub host: String,
    /// How long it rested, all together.
    pub rested_seconds: f64,
    /// How often.
    pub times: u64,
    /// Why it last did, in words.
    pub reason: String,
}

/// One archive file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveFile {
    /// Its path within the crawl's directory.
    pub path: String,
    /// Its size.
    pub bytes: u64,
}

/// A tally as it stands in a report.
#[must_use]
pub fn skipped(tally: &DiscardTally) -> BTreeMap<String, u64> {
    tally.iter().map(|(reason, n)| (reason.name().to_owned(), n)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::discard::Discard;

    #[test]
    fn the_names_in_the_json_are_the_published_ones() {
        let mut tally = DiscardTally::default();
        tally.add(Discard::Robots, 3);
        let report = Report {
            ended: Ended::Exhausted,
            skipped: skipped(&tally),
            pages_by_status: BTreeMap::from([(200, 5)]),
            ..Report::default()
        };
        let json = serde_json::to_value(&report).expect("a report is plain data");
        assert_eq!(json["ended"], "exhausted");
        assert_eq!(json["skipped"]["robots"], 3);
        assert_eq!(json["pages_by_status"]["200"], 5);
        assert_eq!(json["totals"]["urls_queued"], 0);
        let back: Report = serde_json::from_value(json).expect("what was written is read back");
        assert_eq!(back, report);
    }
}
