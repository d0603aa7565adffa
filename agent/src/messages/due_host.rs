//! From the crawl database to the workbench: a host that falls due, with the head of its queue.

use super::LinkKind;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

/// The place of a row in the frontier: unique, and in the order of fetching within a host.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct QueueKey {
    /// Smaller goes first.
    pub priority: u8,
    /// The order of first appearance.
    pub seq: u64,
}

/// A URL that the sieve let through and that has not been fetched: one row of the frontier.
/// The host is named by whatever holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queued {
    /// Where it stands in its host's queue.
    pub queue_key: QueueKey,
    /// The hash of the whole URL.
    pub hash: UrlHash,
    /// Scheme and port.
    pub origin: Origin,
    /// Path and query, in normal form.
    pub path: Box<str>,
    /// Links away from a seed.
    pub depth: u16,
    /// Attempts that failed so far.
    pub attempts: u8,
    /// What it was found as.
    pub kind: LinkKind,
}

impl Queued {
    /// What it counts for among the URLs in memory: one, and one more for each 256 bytes of it.
    #[must_use]
    pub const fn weight(&self) -> usize {
        1 + self.path.len() / 256
    }
}

/// A host that falls due, with the head of its queue: from the crawl database to the workbench.
#[derive(Clone, Debug)]
pub struct DueHost {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// What politeness remembers of it.
    pub state: HostState,
    /// The robots.txt of its origins, as far as they are known.
    pub robots: Vec<(Origin, RobotsRecord)>,
    /// The head of its queue, in order; empty only in answer to a [`ToFrontier::RequestHost`](super::ToFrontier::RequestHost).
    pub urls: Vec<Queued>,
    /// Whether the queue has more behind it on disk.
    pub more: bool,
    /// How many more pages may be fetched from it; `u64::MAX` without a limit.
    pub pages_left: u64,
}

impl DueHost {
    /// How many hosts of a standing order it is: one, and one more for each
    /// [`RULES_A_HOST`](crate::limits::RULES_A_HOST) of its rules.
    #[must_use]
    pub fn counts_as(&self) -> u32 {
        let rules = self.robots.iter().map(|(_, record)| record.rules_bytes()).sum::<usize>();
        u32::try_from(1 + rules / crate::limits::RULES_A_HOST).unwrap_or(u32::MAX)
    }
}

/// What is known of one origin's robots.txt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRecord {
    /// When it was last asked for.
    pub asked: Timestamp,
    /// When the rules in force were fetched (equal to `asked` unless last-known-good holds).
    pub fetched: Timestamp,
    /// Since when it has been unreachable; `None` while it answers.
    pub unreachable_since: Option<Timestamp>,
    /// How often in a row it was unreachable.
    pub failures: u32,
    /// The rules in force: `None` while it has never been reached (all is disallowed).
    pub rules: Option<Arc<Rules>>,
}

impl RobotsRecord {
    /// Bytes that its rules take in memory.
    #[must_use]
    pub fn rules_bytes(&self) -> usize {
        self.rules.as_ref().map_or(0, |rules| rules.heap_size())
    }
}
