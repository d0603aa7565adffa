//! A host that falls due, with the head of its queue: from the crawl database to the workbench.

use super::{Finder, LinkKind, Revisit};
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::politeness::HostState;
use crivello_common::robots::Rules;
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::sync::Arc;

/// The queues of a host, in the order of their rows.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub enum QueueKind {
    /// URLs of which no fetch was answered so far.
    #[default]
    New,
    /// URLs that were answered before.
    Again,
    /// Pending pages; they are not fetched again.
    Pending,
}

impl QueueKind {
    /// Returns the kind with this code, its number in order.
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::New),
            1 => Some(Self::Again),
            2 => Some(Self::Pending),
            _ => None,
        }
    }

    /// Returns the lower bound of the keys in this queue.
    pub const fn start(self) -> QueueKey {
        QueueKey { queue: self, priority: 0, seq: 0 }
    }

    /// Returns the upper bound of the keys in this queue.
    pub const fn end(self) -> QueueKey {
        match self {
            Self::New => Self::Again.start(),
            Self::Again => Self::Pending.start(),
            Self::Pending => QueueKey { queue: self, priority: u8::MAX, seq: u64::MAX },
        }
    }
}

/// Key of a row in the frontier: unique, and in the order of fetching within a queue.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct QueueKey {
    /// Queue of its host. Some URLs of each are fetched in turn.
    pub queue: QueueKind,
    /// Priority, from 0 to 254; URLs with a smaller number are fetched first.
    pub priority: u8,
    /// Sequence number, in the order of first appearance.
    pub seq: u64,
}

impl QueueKey {
    /// Returns the key of a pending page.
    #[must_use]
    pub const fn pending(seq: u64) -> Self {
        Self { seq, ..QueueKind::Pending.start() }
    }

    /// Returns true if it is the key of a pending page.
    pub const fn is_pending(self) -> bool {
        matches!(self.queue, QueueKind::Pending)
    }
}

/// URL that the sieve let through and that has not been fetched: one row of the frontier. The host
/// is known from the context.
#[derive(Clone, Debug, PartialEq)]
pub struct Queued {
    /// Place in its host's queue.
    pub queue_key: QueueKey,
    /// Hash of the whole URL.
    pub hash: UrlHash,
    /// Scheme and port.
    pub origin: Origin,
    /// Path and query, in normal form.
    pub path: Box<str>,
    /// Number of links from a seed.
    pub depth: u16,
    /// Number of redirects that led to it from a seed, whose depth it has; otherwise 0.
    pub redirects: u8,
    /// Failed attempts so far.
    pub attempts: u8,
    /// Kind of link by which it was found.
    pub kind: LinkKind,
    /// Class of who found it.
    pub finder: Finder,
    /// Data of earlier fetches; `None` if it waits for its first one.
    pub revisit: Option<Box<Revisit>>,
}

impl Queued {
    /// Returns its share of the URLs in memory: one, plus one for each 256 bytes of its path, plus one
    /// if it was fetched before.
    pub const fn weight(&self) -> usize {
        1 + self.path.len() / 256 + self.revisit.is_some() as usize
    }

    /// Returns the number of the fetch that it waits for, counted from 0.
    pub fn generation(&self) -> u32 {
        self.revisit.as_ref().map_or(0, |revisit| revisit.generation)
    }

    /// Returns true if a fetch of it had a response, so that limits count it already.
    pub fn was_answered(&self) -> bool {
        self.revisit.as_ref().is_some_and(|revisit| revisit.was_answered)
    }

    /// Returns true if it counts as a page of its host and domain.
    pub fn is_counted(&self) -> bool {
        self.revisit.as_ref().is_some_and(|revisit| revisit.is_counted)
    }

    /// Returns the queue in which it waits to be fetched.
    pub fn queue(&self) -> QueueKind {
        if self.was_answered() { QueueKind::Again } else { QueueKind::New }
    }

    /// Returns it without its last capture, which is lost or redacted: the next request is unconditional.
    #[must_use]
    pub fn without_capture(&self) -> Self {
        let revisit = self.revisit.as_ref().map(|revisit| Box::new(revisit.without_capture()));
        Self { revisit, ..self.clone() }
    }
}

/// Host that falls due, with the head of its queue.
#[derive(Clone, Debug)]
pub struct DueHost {
    /// The host.
    pub host: HostKey,
    /// Name of the host.
    pub name: Arc<str>,
    /// Politeness state.
    pub state: HostState,
    /// Known robots.txt of its origins.
    pub robots: Vec<(Origin, RobotsRecord)>,
    /// Head of its queue, in order; empty only in an answer to a
    /// [`ToFrontier::RequestHost`](super::ToFrontier::RequestHost).
    pub urls: Vec<Queued>,
    /// True if the queue has more URLs on disk.
    pub more: bool,
    /// Number of pages that may still be fetched from it; `u64::MAX` without a limit.
    pub pages_left: u64,
    /// True if its name had an address at some time.
    pub resolved: bool,
    /// True if it has answered a request for a page with success (2xx) at some time.
    pub answered: bool,
}

impl DueHost {
    /// Returns the number of hosts that it counts for in the open host request: one, plus one for each
    /// [`RULES_A_HOST`](crate::limits::RULES_A_HOST) bytes of its rules.
    pub fn counts_as(&self) -> u32 {
        let rules = self.robots.iter().map(|(_, record)| record.rules_bytes()).sum::<usize>();
        u32::try_from(1 + rules / crate::limits::RULES_A_HOST).unwrap_or(u32::MAX)
    }
}

/// Cached robots.txt of one origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RobotsRecord {
    /// Time of the last request.
    pub asked: Timestamp,
    /// Time when the rules in force were fetched; equal to `asked` unless last-known-good applies.
    pub fetched: Timestamp,
    /// Time since when it has been unreachable; `None` while it answers.
    pub unreachable_since: Option<Timestamp>,
    /// Number of failures in a row.
    pub failures: u32,
    /// Rules in force; `None` if it has never been reached (all is disallowed).
    pub rules: Option<Arc<Rules>>,
}

impl RobotsRecord {
    /// Returns the bytes that its rules take in memory.
    pub fn rules_bytes(&self) -> usize {
        self.rules.as_ref().map_or(0, |rules| rules.heap_size())
    }
}
