//! Facts about a group's rows, sent from crawl database to crawl database over the peers' links.

use super::{ChangeSignal, Finder, HostRequest, Queued, RobotsRecord};
use crate::storage::values::UrlOutcome;
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::politeness::HostState;
use crivello_common::url::Origin;
use crivello_recrawl::host_evidence::HostEvidence;
use std::sync::Arc;

/// One fact about a group. Facts are merged, never replaced: the result does not depend on their
/// order, or on how often they arrive.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A URL waits to be fetched.
    Queued {
        /// The host of the URL.
        host: HostKey,
        /// The host's name.
        name: Arc<str>,
        /// The URL. Its place is that of the sender; the receiver assigns one of its own, in the
        /// order of arrival.
        url: Queued,
    },
    /// A sitemap on another host lists a URL, which waits to be fetched if the robots.txt of its own host
    /// names that sitemap. Only the owner of the group has it, and decides.
    Listed {
        /// The host of the URL.
        host: HostKey,
        /// The host's name.
        name: Arc<str>,
        /// The URL, as in [`Self::Queued`].
        url: Queued,
        /// URL of the sitemap.
        sitemap: Arc<str>,
    },
    /// A URL has been fetched, or has failed or been discarded for good.
    Done {
        /// The key of the URL.
        url: UrlKey,
        /// The outcome. In a sender's outcome the location in the archive is missing.
        outcome: UrlOutcome,
    },
    /// The state of a host.
    Host {
        /// The host.
        host: HostKey,
        /// Its name.
        name: Arc<str>,
        /// Politeness state; merging takes the larger counter and the later time.
        state: HostState,
        /// Reason why no more URLs of the host are accepted.
        closed: Option<Discard>,
        /// Pages fetched from it with success.
        pages: u64,
        /// Bytes of their bodies, as received.
        bytes: u64,
        /// Class of who found it; merging takes the smaller one.
        finder: Finder,
        /// True if its name had an address at some time.
        resolved: bool,
        /// True if it has answered a request for a page with success (2xx) at some time.
        answered: bool,
        /// Statistics about changes of its pages; merging takes those of more visits.
        evidence: Option<Box<HostEvidence>>,
    },
    /// A hint that a page has changed. Merging moves its due time, if it is finished.
    Signal(ChangeSignal),
    /// A request for all pages of a host. It is kept until a scan has moved their due times.
    HostRequest(HostRequest),
    /// The cached robots.txt of an origin.
    Robots {
        /// The host.
        host: HostKey,
        /// The host's name.
        name: Arc<str>,
        /// The origin on the host.
        origin: Origin,
        /// The record.
        record: RobotsRecord,
    },
}

impl Fact {
    /// Returns the group that it is about.
    pub const fn group(&self) -> GroupHash {
        match self {
            Self::Done { url, .. } | Self::Signal(ChangeSignal { url, .. }) => url.group,
            Self::Queued { host, .. }
            | Self::Listed { host, .. }
            | Self::Host { host, .. }
            | Self::HostRequest(HostRequest { host, .. })
            | Self::Robots { host, .. } => host.group,
        }
    }

    /// Returns the approximate bytes that it takes in memory; no less than on the wire.
    pub fn weight(&self) -> usize {
        size_of::<Self>()
            + match self {
                Self::Queued { name, url, .. } => {
                    let revisit = url.revisit.as_ref().map_or(0, |revisit| revisit.weight());
                    name.len() + url.path.len() + revisit
                }
                Self::Listed { name, url, sitemap, .. } => {
                    name.len() + url.path.len() + sitemap.len()
                }
                Self::Done { outcome, .. } => outcome.weight(),
                Self::Host { name, evidence, .. } => {
                    name.len() + evidence.as_ref().map_or(0, |evidence| evidence.size())
                }
                Self::Signal(_) => 0,
                Self::HostRequest(request) => request.name.len(),
                Self::Robots { name, record, .. } => name.len() + record.rules_bytes(),
            }
    }
}
