//! A commit: everything that one write batch makes durable, as a value that the stages pass on.
//!
//! ```text
//!   gather ─► route ─► apply ─► enqueue ─► write ─► on_committed
//!   writer    links    rows,    replicas,  batch    acks, once
//!             of other batch,   outbox              replicated
//!             owners   changes
//! ```
//! A commit holds pages or facts, never both: each reads rows that the other's batch changes.

use super::{Ack, Fact, Found, Page, PendingPage, SeedAnswer, SieveResults};
use crate::storage::Batch;
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet};
use tokio::sync::oneshot;

/// The number of a commit whose pages may wait for acknowledgements.
pub type CommitNumber = u64;

/// A change of an outbox row: its key and its new value, or `None` to delete it.
pub type OutboxChange = (Vec<u8>, Option<Vec<u8>>);

/// The content of a commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CommitKind {
    /// Pages, URLs from outside, and notes of the workbench.
    #[default]
    Pages,
    /// Facts of other agents, and changes of roles.
    Facts,
    /// A step of a scan of rows; it is applied when it is made.
    Scan,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Commit {
    /// Its content.
    pub kind: CommitKind,
    /// Stored pages, each with the serial number of its archive file and its offset there.
    pub pages: Vec<(Page, Option<(u32, u64)>)>,
    /// Seeds, and URLs from other agents.
    pub found: Vec<Found>,
    /// URLs that were refused before they came here.
    pub refused: DiscardTally,
    /// All seeds of this run are in this commit or an earlier one, and there were some.
    pub seeds_end: bool,
    /// The archive is complete up to this position, in its own encoding.
    pub archive_position: Option<Vec<u8>>,
    /// Facts to merge.
    pub facts: Vec<Fact>,
    /// Groups of which this other agent has all the merged facts.
    pub already_at: BTreeMap<GroupHash, AgentId>,
    /// Acknowledgements that wait for the commit.
    pub acks: Vec<PendingAck>,
    /// Seed requests that wait for the commit.
    pub seeds: Vec<PendingSeeds>,
    /// Filled when links are routed.
    pub routing: Routing,
    /// All row changes. Filled by the crawl database, and by the outbox.
    pub batch: Batch,
    /// Changes that replicas must store. Filled by the crawl database.
    pub changes: Vec<Fact>,
    /// Pages that wait until their links are acknowledged. Filled by the crawl database.
    pub pending: Vec<PendingPage>,
    /// The sieve's result for each URL: links of pages, then `found`. Filled by the crawl database.
    pub results: SieveResults,
}

/// The links of a commit that belong to other agents, and earlier pages whose links are safe.
#[derive(Debug, Default)]
pub struct Routing {
    /// The commit's number; `None` when the agent is alone.
    pub number: Option<CommitNumber>,
    /// For each page whether some of its links were sent to other agents; empty for none.
    pub sent_links: Vec<bool>,
    /// Links that were sent to other agents.
    pub n_sent: u64,
    /// Whether new URLs must be replicated before their page is finished.
    pub replicated: bool,
    /// Pages of earlier commits whose links are acknowledged.
    pub released: Vec<PendingPage>,
    /// Earlier commits of which all links are acknowledged.
    pub complete: Vec<CommitNumber>,
}

impl Commit {
    /// An empty commit of facts.
    #[must_use]
    pub fn of_facts() -> Self {
        Self { kind: CommitKind::Facts, ..Self::default() }
    }

    /// Whether it contains nothing to store.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages.is_empty()
            && self.found.is_empty()
            && self.facts.is_empty()
            && self.routing.released.is_empty()
            && self.refused == DiscardTally::default()
            && !self.seeds_end
    }

    /// Whether an agent or a person waits for it.
    #[must_use]
    pub const fn is_awaited(&self) -> bool {
        !self.acks.is_empty() || !self.seeds.is_empty()
    }
}

/// The action once facts are stored here and with their replicas.
#[derive(Debug)]
pub enum OnAck {
    /// Acknowledges a packet.
    Answer(oneshot::Sender<Ack>),
    /// Removes these outbox rows, which this agent sent to itself.
    Remove(Vec<u64>),
}

/// An acknowledgement that waits for a commit, and then until these replicas have stored it.
#[derive(Debug)]
pub struct PendingAck {
    /// The action.
    pub action: OnAck,
    /// The replicas.
    pub replicas: BTreeSet<AgentId>,
}

/// A request to add seeds, answered once all are safe.
#[derive(Debug)]
pub struct PendingSeeds {
    /// Indices of refused seeds, and the reasons.
    pub refused: Vec<(usize, Discard)>,
    /// The answer.
    pub answer: oneshot::Sender<SeedAnswer>,
}
