//! Turns: who of a cluster's agents may visit an IP address for a while.

use crivello_common::time::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Until when a visit may go on; the workbench can make it longer. The default is without end.
#[derive(Clone, Debug, Default)]
pub struct VisitDeadline(Option<Arc<AtomicU64>>);

impl VisitDeadline {
    /// One that ends then.
    #[must_use]
    pub fn until(end: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicU64::new(end.0))))
    }

    /// Its end.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        self.0.as_ref().map_or(Timestamp::MAX, |end| Timestamp(end.load(Relaxed)))
    }

    /// Another end, unless it has none.
    pub fn extend_to(&self, end: Timestamp) {
        if let Some(at) = &self.0 {
            at.store(end.0, Relaxed);
        }
    }
}

/// What an agent that visits addresses says to the one that lends their turns. The times `asked`
/// are of the sender's clock, each only once; nobody else reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseRequest {
    /// Lend me the turn, or lend it on.
    Acquire {
        /// The address.
        address: IpAddr,
        /// When this was said.
        asked: Timestamp,
    },
    /// Whatever was asked for before is void: I use no turn of this address any more.
    Return {
        /// The address.
        address: IpAddr,
        /// When this was said.
        asked: Timestamp,
        /// How long it must rest from now on.
        rest: Duration,
    },
}

/// What the one who lends them says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseNotice {
    /// The turn is yours for [`IP_LEASE_TERM`](crate::limits::IP_LEASE_TERM), counted from when you asked.
    Granted {
        /// The address.
        address: IpAddr,
        /// When that was.
        asked: Timestamp,
        /// How long it must rest before, from now on.
        rest: Duration,
    },
    /// Others wait for it: return it when you have used it.
    Wanted {
        /// The address.
        address: IpAddr,
    },
}

/// A turn that is in use: what a new lender must know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseInUse {
    /// The address.
    pub address: IpAddr,
    /// When it was asked for.
    pub asked: Timestamp,
}

/// In the order in which it was said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseBatch {
    /// Rises within an epoch.
    pub number: u64,
    /// On entering an epoch, and when something in it changes.
    pub report: Option<LeaseReport>,
    /// To the lender.
    pub notes: Vec<LeaseRequest>,
    /// From the lender.
    pub news: Vec<LeaseNotice>,
}

/// Which turns an agent is using in the epoch that it has entered; it uses no others that were
/// lent before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseReport {
    /// Those that the receiver lends now.
    pub held: Vec<ReportedLease>,
    /// Nobody who was declared dead fetches by a promise of this agent any more.
    pub is_clear: bool,
}

/// A turn in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedLease {
    /// The address.
    pub address: IpAddr,
    /// When it was asked for, by the borrower's clock.
    pub asked: Timestamp,
    /// How much is left of it, at most.
    pub left: Duration,
}

impl LeaseBatch {
    /// Whether there is nothing in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.report.is_none() && self.notes.is_empty() && self.news.is_empty()
    }
}
