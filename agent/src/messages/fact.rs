//! What one agent tells another of a group's rows: from crawl database to crawl database, over the peers' links.

use super::{Queued, RobotsRecord};
use crate::storage::values::UrlOutcome;
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::politeness::HostState;
use crivello_common::url::Origin;
use std::sync::Arc;

/// One thing that is known of a group. Facts are joined, never replaced: whatever their order, and
/// however often they come, the same is known in the end.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A URL waits to be fetched.
    Queued {
        /// Its host.
        host: HostKey,
        /// The host's name.
        name: Arc<str>,
        /// The URL. Its place is that of the sender; the receiver gives it one of its own, in the
        /// order of coming.
        url: Queued,
    },
    /// A URL has been dealt with.
    Done {
        /// Which.
        url: UrlKey,
        /// How. That of a sender does not say where in its archive a page lies.
        outcome: UrlOutcome,
    },
    /// What is remembered of a host.
    Host {
        /// The host.
        host: HostKey,
        /// Its name.
        name: Arc<str>,
        /// What politeness remembers; all of it counts up or goes later when two are joined.
        state: HostState,
        /// Why nothing is taken in for it any more.
        closed: Option<Discard>,
        /// Pages fetched of it.
        pages: u64,
        /// Bytes of their bodies as received.
        bytes: u64,
    },
    /// What is known of an origin's robots.txt.
    Robots {
        /// The host.
        host: HostKey,
        /// The host's name.
        name: Arc<str>,
        /// The origin on it.
        origin: Origin,
        /// The record.
        record: RobotsRecord,
    },
}

impl Fact {
    /// The group that it is about.
    #[must_use]
    pub const fn group(&self) -> GroupHash {
        match self {
            Self::Done { url, .. } => url.group,
            Self::Queued { host, .. } | Self::Host { host, .. } | Self::Robots { host, .. } => {
                host.group
            }
        }
    }

    /// Bytes that it takes in memory, about, and no less than on the wire.
    #[must_use]
    pub fn weight(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Queued { name, url, .. } => name.len() + url.path.len(),
                Self::Done { outcome, .. } => outcome.weight(),
                Self::Host { name, .. } => name.len(),
                Self::Robots { name, record, .. } => name.len() + record.rules_bytes(),
            }
    }
}
