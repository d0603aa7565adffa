//! Messages between the workbench and the crawl database.

use super::{DueHost, QueueKey, Queued, RobotsRecord};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::politeness::HostState;
use crivello_common::url::Origin;
use std::sync::Arc;

/// Message from the workbench to the crawl database.
#[derive(Debug)]
pub enum ToFrontier {
    /// The open host request: the workbench has room for this many more hosts, as counted by
    /// [`DueHost::counts_as`](super::DueHost::counts_as). It replaces the last request.
    WantHosts {
        /// Number of hosts.
        hosts: u32,
    },
    /// The window of this host runs low; the answer is [`ToWorkbench::MoreUrls`].
    Refill {
        /// The host.
        host: HostKey,
    },
    /// A robots.txt redirects to this host, which is not on the workbench. The answer is
    /// [`ToWorkbench::Due`], whatever the host's next time (with an empty queue, and the default
    /// state if it was never visited), or [`ToWorkbench::NotOwned`]. There is no answer if the host
    /// is on its way to the workbench anyway.
    RequestHost {
        /// The host.
        host: HostKey,
        /// Its name.
        name: Arc<str>,
    },
    /// Discards these URLs from the window; the host stays on the workbench.
    DiscardUrls {
        /// The host.
        host: HostKey,
        /// URLs of one of its origins.
        urls: Vec<Queued>,
        /// Reason of the discard.
        reason: Discard,
    },
    /// A robots.txt redirects to a URL that is not requested; counts as
    /// [`Discard::RobotsRedirect`].
    RobotsRedirectRefused,
    /// The name of a host has an address; sent once for each arrival of a host whose name had none
    /// before.
    NameResolved {
        /// The host.
        host: HostKey,
    },
    /// A name could not be resolved; counts as a failed attempt.
    NameFailed {
        /// Kind of failure.
        kind: Failure,
    },
    /// The state of the host changed; stored with the next commit.
    HostState {
        /// The host.
        host: HostKey,
        /// Complete new state.
        state: HostState,
    },
    /// A robots.txt was requested; stored with the next commit.
    Robots {
        /// The host.
        host: HostKey,
        /// The origin on the host.
        origin: Origin,
        /// New record.
        record: RobotsRecord,
    },
    /// The host leaves the workbench. If its queue is not empty, it is scheduled again.
    Leave {
        /// The host.
        host: HostKey,
        /// Complete state of the host.
        state: HostState,
        /// Keys of URLs that were sent to the workbench and not tried.
        unused: Vec<QueueKey>,
    },
    /// The host stays and returns the end of its window. The next refill continues after the URLs
    /// that it kept. Never sent between a [`ToFrontier::Refill`] and its answer.
    ReturnUrls {
        /// The host.
        host: HostKey,
        /// Keys of the last URLs that were sent to the workbench, not tried.
        unused: Vec<QueueKey>,
    },
    /// The next [`ToFrontier::Drop`] of this host is due to this entry of `links.blocked`.
    BlockedBy {
        /// The host.
        host: HostKey,
        /// Text of the entry.
        by: String,
    },
    /// Discards all queued URLs of this host, and possibly those that arrive later. The host has
    /// left the workbench.
    Drop {
        /// The host.
        host: HostKey,
        /// Complete state of the host.
        state: HostState,
        /// Keys of URLs that were sent to the workbench and not tried.
        unused: Vec<QueueKey>,
        /// Reason of the discard.
        reason: Discard,
        /// True if later URLs of this host are refused too (limits, denied addresses); false if
        /// only the URLs queued now are discarded (a name that does not exist today).
        forever: bool,
    },
}

/// Message from the crawl database to the workbench.
#[derive(Debug)]
pub enum ToWorkbench {
    /// A host falls due; counts against a [`ToFrontier::WantHosts`].
    Due(Box<DueHost>),
    /// Answer to a [`ToFrontier::Refill`].
    MoreUrls {
        /// The host.
        host: HostKey,
        /// Next URLs of its queue; empty if there are none, if its turn has ended, or if its group may not
        /// be fetched.
        urls: Vec<Queued>,
        /// True if more URLs can be requested. Otherwise the host leaves once its window is empty.
        more: bool,
    },
    /// Answer to a [`ToFrontier::RequestHost`] for a host that this agent may not visit.
    NotOwned {
        /// The host.
        host: HostKey,
    },
    /// The hosts of these groups must leave: at once, or when their visit ends.
    Recall {
        /// The groups.
        groups: Vec<GroupHash>,
    },
}
