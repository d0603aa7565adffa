//! What the workbench and the crawl database tell each other.

use super::{DueHost, QueueKey, Queued, RobotsRecord};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::politeness::HostState;
use crivello_common::url::Origin;
use std::sync::Arc;

/// What the workbench tells the crawl database.
#[derive(Debug)]
pub enum ToFrontier {
    /// A standing order: room for this many more hosts, as [`DueHost::counts_as`](super::DueHost::counts_as)
    /// counts them (replaces the last order).
    WantHosts {
        /// Hosts.
        hosts: u32,
    },
    /// The window of this host runs dry: answer with [`ToWorkbench::MoreUrls`].
    Refill {
        /// The host.
        host: HostKey,
    },
    /// A robots.txt redirects to this host, which is not on the workbench: answer with
    /// [`ToWorkbench::Due`], whatever its next time, with an empty queue if it has none and with
    /// the default state if it was never visited; or with [`ToWorkbench::NotOwned`]. No answer is
    /// needed if it is on its way anyway.
    RequestHost {
        /// The host.
        host: HostKey,
        /// Its name.
        name: Arc<str>,
    },
    /// These URLs, which the workbench held, are set aside; the host goes on.
    DiscardUrls {
        /// The host.
        host: HostKey,
        /// URLs of one of its origins.
        urls: Vec<Queued>,
        /// Why.
        reason: Discard,
    },
    /// A name could not be resolved: an attempt that failed, to be counted.
    NameFailed {
        /// How.
        kind: Failure,
    },
    /// The host's state changed; to be kept with the next commit.
    HostState {
        /// The host.
        host: HostKey,
        /// All of it.
        state: HostState,
    },
    /// A robots.txt was asked for; to be kept with the next commit.
    Robots {
        /// The host.
        host: HostKey,
        /// The origin on it.
        origin: Origin,
        /// What is known now.
        record: RobotsRecord,
    },
    /// The host leaves the workbench. If its queue is not empty it is scheduled again.
    Leave {
        /// The host.
        host: HostKey,
        /// All of its state.
        state: HostState,
        /// URLs that were handed out and not tried.
        unused: Vec<QueueKey>,
    },
    /// The host stays, and gives back the end of its window: it goes on there after what it kept.
    /// Never between a [`ToFrontier::Refill`] and its answer.
    ReturnUrls {
        /// The host.
        host: HostKey,
        /// URLs that were handed out last and not tried.
        unused: Vec<QueueKey>,
    },
    /// The host that is dropped next is so because of this entry of `links.blocked`.
    BlockedBy {
        /// The host.
        host: HostKey,
        /// The entry.
        by: String,
    },
    /// All that is queued for this host is to be set aside, and so is what comes later. The host
    /// has left the workbench.
    Drop {
        /// The host.
        host: HostKey,
        /// All of its state.
        state: HostState,
        /// URLs that were handed out and not tried.
        unused: Vec<QueueKey>,
        /// Why.
        reason: Discard,
        /// Whether later URLs of this host are refused too (limits, denied addresses), or only
        /// what is queued now (a name that does not exist today).
        forever: bool,
    },
}

/// What the crawl database tells the workbench.
#[derive(Debug)]
pub enum ToWorkbench {
    /// A host falls due; against a [`ToFrontier::WantHosts`].
    Due(Box<DueHost>),
    /// The answer to a [`ToFrontier::Refill`].
    MoreUrls {
        /// The host.
        host: HostKey,
        /// The next of its queue; empty when there is nothing.
        urls: Vec<Queued>,
        /// Whether there is more behind.
        more: bool,
    },
    /// The answer to a [`ToFrontier::RequestHost`] for a host that this agent may not visit.
    NotOwned {
        /// The host.
        host: HostKey,
    },
    /// The hosts of these groups are to leave: at once, or when their visit is over.
    Recall {
        /// The groups.
        groups: Vec<GroupHash>,
    },
}
