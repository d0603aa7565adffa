//! A commit: everything that one write batch makes durable, as a value that the stages pass on.
//!
//! ```text
//!   append ─► route ─► sync ──► apply ─► enqueue ─► write ─► on_committed
//!   records   links    archive  rows,    replicas,  batch    acks, once synced
//!   to the    of other          batch,   outbox              and replicated
//!   archive   owners            changes
//! ```
//! A commit holds pages or facts, never both: each reads rows that the other's batch changes.

use super::{Ack, ChangeSignal, Fact, Found, HostRequest, Page, PendingPage, SeedAnswer};
use crate::storage::Batch;
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// Number of a commit whose pages may wait for acknowledgements.
pub type CommitNumber = u64;

/// A change of an outbox row: its key and its new value, or `None` to delete it.
pub type OutboxChange = (Vec<u8>, Option<Vec<u8>>);

/// The sieve's result for a URL, for URL tracing: `Ok(true)` if it is new and queued, `Ok(false)` if it
/// is known, `Err` with the reason if it is new and not queued.
pub type SieveResult = Result<bool, Discard>;

/// Content kind of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitKind {
    /// Pages, URLs from outside, and messages of the workbench.
    #[default]
    Pages,
    /// Facts of other agents, and changes of roles.
    Facts,
    /// One step of a scan of rows; its changes are already applied when it is created.
    Scan,
}

/// Everything that one write batch makes durable.
#[derive(Debug, Default)]
pub struct Commit {
    /// Content kind.
    pub kind: CommitKind,
    /// Stored pages, each with the serial number of its archive file and its offset there.
    pub pages: Vec<(Page, Option<(u32, u64)>)>,
    /// Seeds, and URLs from other agents.
    pub found: Vec<Found>,
    /// Requests of people to fetch pages again.
    pub signals: Vec<ChangeSignal>,
    /// Requests of people to fetch all pages of hosts again.
    pub host_requests: Vec<HostRequest>,
    /// Tally of URLs that were refused before they reached the writer.
    pub refused: DiscardTally,
    /// True if all seeds of this run are in this commit or an earlier one, and there was at least
    /// one.
    pub seeds_end: bool,
    /// Position up to which the archive is complete, in the archive's own encoding.
    pub archive_position: Option<Vec<u8>>,
    /// Periods of the archive, encoded; `None` if they have not changed.
    pub archive_periods: Option<Vec<u8>>,
    /// Facts to merge.
    pub facts: Vec<Fact>,
    /// Groups of the merged facts, with the other agent that brought all of them and keeps them, if
    /// there is one: they are not sent to it.
    pub already_at: BTreeMap<GroupHash, Option<AgentId>>,
    /// Acknowledgements to send once the commit is written and replicated.
    pub acks: Vec<PendingAck>,
    /// Seed requests to answer once the commit is written and replicated.
    pub seeds: Vec<PendingSeeds>,
    /// Routed links; filled when links are routed.
    pub routing: Routing,
    /// All row changes. Filled by the crawl database, and by the outbox.
    pub batch: Batch,
    /// Changes that replicas must store. Filled by the crawl database.
    pub changes: Vec<Fact>,
    /// Pages that wait until their links are acknowledged. Filled by the crawl database.
    pub pending: Vec<PendingPage>,
    /// The sieve's result for each URL: links of pages, then `found`. Filled by the crawl database.
    pub results: Vec<SieveResult>,
}

/// Links of a commit that belong to other agents, and earlier pages whose links are safe.
#[derive(Debug, Default)]
pub struct Routing {
    /// Number of the commit; `None` if the agent is alone.
    pub number: Option<CommitNumber>,
    /// For each page, true if some of its links were sent to other agents; empty if none were.
    pub sent_links: Vec<bool>,
    /// Number of links that were sent to other agents.
    pub n_sent: u64,
    /// True if new URLs must be replicated before their page is finished.
    pub replicated: bool,
    /// Pages of earlier commits whose links are acknowledged.
    pub released: Vec<PendingPage>,
    /// Earlier commits of which all links are acknowledged.
    pub complete: Vec<CommitNumber>,
}

impl Commit {
    /// Creates an empty commit of facts.
    #[must_use]
    pub fn of_facts() -> Self {
        Self { kind: CommitKind::Facts, ..Self::default() }
    }

    /// Returns true if it contains nothing to store.
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
            && self.found.is_empty()
            && self.signals.is_empty()
            && self.host_requests.is_empty()
            && self.facts.is_empty()
            && self.routing.released.is_empty()
            && self.refused == DiscardTally::default()
            && !self.seeds_end
    }

    /// Adds a fact to merge. `at` is the agent that brought it and keeps it, if there is one.
    pub fn add_fact(&mut self, fact: Fact, at: Option<AgentId>) {
        let known = self.already_at.entry(fact.group()).or_insert(at);
        // Facts of several agents: each lacks those of the others.
        *known = known.filter(|known| Some(*known) == at);
        self.facts.push(fact);
    }

    /// Returns true if an agent or a person waits for it.
    pub const fn is_awaited(&self) -> bool {
        !self.acks.is_empty() || !self.seeds.is_empty()
    }
}

/// Action to take once facts are synced here and on their replicas.
#[derive(Debug)]
pub enum OnAck {
    /// Acknowledges a packet.
    Answer(oneshot::Sender<Ack>),
    /// Removes these outbox rows, which this agent addressed to itself.
    Remove(Vec<u64>),
    /// Answers the seed requests of a commit.
    AnswerSeeds(CommitNumber),
}

/// Action to take once its commit is synced and these replicas have it.
#[derive(Debug)]
pub struct PendingAck {
    /// Action to take then.
    pub action: OnAck,
    /// Replicas that must have stored the commit.
    pub replicas: BTreeSet<AgentId>,
}

/// Request to add seeds, answered once all of them are safe.
#[derive(Debug)]
pub struct PendingSeeds {
    /// Index and reason of each refused seed.
    pub refused: Vec<(usize, Discard)>,
    /// Receives the answer.
    pub answer: oneshot::Sender<SeedAnswer>,
}
