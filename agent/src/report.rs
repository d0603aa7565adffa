//! The report of a crawl that has ended: the table that is printed and the JSON of `--report`.
//!
//! The JSON's field names are stable: fields are added, never renamed. Times are seconds, sizes
//! are bytes. The keys of [`Report::skipped`] and [`Report::errors`] are the names of
//! [`Discard`](crivello_common::discard::Discard) and [`Failure`].

use crivello_common::discard::DiscardTally;
use crivello_common::failure::Failure;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Maximum number of hosts in [`Report::slowest_hosts`] and in [`Report::most_resting_hosts`].
pub const HOSTS_LISTED_MAX: usize = 10;

/// Report of a crawl. Counters cover the whole crawl, earlier runs included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name and version of the program.
    pub software: String,
    /// Id of the crawl, drawn when it was first started.
    pub crawl_id: String,
    /// Time when this run began (RFC 3339, UTC).
    pub started: String,
    /// Duration of this run.
    pub elapsed_seconds: f64,
    /// True if this run resumed an earlier one.
    pub resumed: bool,
    /// Way this run ended.
    pub ended: Ended,
    /// Error message, if it failed.
    pub failure: Option<String>,
    /// Seeds of this run.
    pub seeds: SeedCounts,
    /// Totals of the crawl.
    pub totals: ReportTotals,
    /// Pages by HTTP status.
    pub pages_by_status: BTreeMap<u16, u64>,
    /// URLs and pages discarded, by reason; reasons that did not occur are left out.
    pub skipped: BTreeMap<String, u64>,
    /// Requests without a usable response, by kind; a repeated request counts each time.
    pub errors: BTreeMap<String, u64>,
    /// Hosts that took longest to answer, slowest first; at most [`HOSTS_LISTED_MAX`].
    pub slowest_hosts: Vec<SlowHost>,
    /// Hosts that rested longest, longest first; at most [`HOSTS_LISTED_MAX`].
    pub most_resting_hosts: Vec<RestingHost>,
    /// Archive files, oldest first.
    pub archive: Vec<ArchiveFile>,
}

/// Totals of a [`Report`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportTotals {
    /// Number of responses that count as pages.
    pub pages: u64,
    /// Bytes of their bodies, as received.
    pub bytes: u64,
    /// Number of pages whose content was seen before (archived as `revisit`).
    pub duplicates: u64,
    /// Number of pages whose text is nearly that of an earlier page.
    #[serde(default)]
    pub near_duplicates: u64,
    /// Number of pages whose body was cut off.
    pub truncated: u64,
    /// Number of responses to requests for robots.txt.
    pub robots_fetched: u64,
    /// Number of URLs that the sieve let through.
    pub urls_seen: u64,
    /// Number of URLs not yet fetched.
    pub urls_queued: u64,
    /// Number of known hosts.
    pub hosts: u64,
}

/// Way a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Nothing is left to fetch.
    Exhausted,
    /// The page limit is reached.
    Limit,
    /// The run was stopped; the state is saved and the crawl can be resumed.
    #[default]
    Stopped,
    /// The agent handed off all its groups to other agents, and is no longer a member.
    Drained,
    /// Something failed that cannot be worked around; what was committed is safe.
    Failed,
    /// The cluster counted this agent as dead; what was committed is safe, and the agent may join
    /// again.
    Lost,
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Exhausted => "nothing left to fetch",
            Self::Limit => "page limit reached",
            Self::Stopped => "stopped, state saved",
            Self::Drained => "all groups handed over to other agents",
            Self::Failed => "failed",
            Self::Lost => "declared dead by the cluster, state saved",
        })
    }
}

/// Seeds of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeedCounts {
    /// Number of URLs handed to the crawl.
    pub taken: u64,
    /// Number of lines and arguments that were not a URL to crawl.
    pub refused: u64,
}

/// Host that took long to answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowHost {
    /// Name of the host.
    pub host: String,
    /// Number of requests measured.
    pub requests: u64,
    /// Mean time of a request.
    pub mean_seconds: f64,
}

/// Host that rested: backoff, Retry-After, unreachable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RestingHost {
    /// Name of the host.
    pub host: String,
    /// Total time that it rested.
    pub rested_seconds: f64,
    /// Number of rests.
    pub times: u64,
    /// Reason of the last rest.
    pub reason: String,
}

/// Archive file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArchiveFile {
    /// Path within the crawl's directory.
    pub path: String,
    /// Size of the file.
    pub bytes: u64,
}

/// Returns the names of discards, with their counts above zero.
pub fn discards(tally: &DiscardTally) -> impl Iterator<Item = (String, u64)> {
    tally.iter().map(|(reason, n)| (reason.name().to_owned(), n))
}

/// Returns the names of failures, with their counts above zero; `counts` are in the order of
/// [`Failure::ALL`].
pub fn failures(counts: &[u64; Failure::ALL.len()]) -> impl Iterator<Item = (String, u64)> {
    let all = Failure::ALL.into_iter().zip(counts);
    all.filter(|&(_, &n)| n > 0).map(|(kind, &n)| (kind.name().to_owned(), n))
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
            skipped: discards(&tally).collect(),
            pages_by_status: BTreeMap::from([(200, 5)]),
            ..Report::default()
        };
        let json = serde_json::to_value(&report).expect("a report serializes");
        assert_eq!(json["ended"], "exhausted");
        assert_eq!(json["skipped"]["robots"], 3);
        assert_eq!(json["pages_by_status"]["200"], 5);
        assert_eq!(json["totals"]["urls_queued"], 0);
        let back: Report = serde_json::from_value(json).expect("the report can be parsed");
        assert_eq!(back, report);
    }
}
