//! IP leases: an agent of a cluster may visit an IP address only while it has the address's lease.

use crivello_common::time::Timestamp;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Deadline of a visit, which the workbench can extend. The default is no deadline.
#[derive(Clone, Debug, Default)]
pub struct VisitDeadline(Option<Arc<AtomicU64>>);

impl VisitDeadline {
    /// Creates a deadline at `end`.
    #[must_use]
    pub fn until(end: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicU64::new(end.0))))
    }

    /// Returns the deadline.
    pub fn end(&self) -> Timestamp {
        self.0.as_ref().map_or(Timestamp::MAX, |end| Timestamp(end.load(Relaxed)))
    }

    /// Moves the deadline to `end`, unless there is none.
    pub fn extend_to(&self, end: Timestamp) {
        if let Some(at) = &self.0 {
            at.store(end.0, Relaxed);
        }
    }
}

/// Request of an agent that visits addresses to the agent that grants their leases, the lessor. The
/// times `requested_at` are of the sender's clock, and each is used only once; the lessor only
/// sends them back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseRequest {
    /// Requests the lease, or its renewal.
    Acquire {
        /// The address.
        address: IpAddr,
        /// Time of this message.
        requested_at: Timestamp,
    },
    /// Returns the lease and voids all earlier requests: the sender no longer uses the address.
    Return {
        /// The address.
        address: IpAddr,
        /// Time of this message.
        requested_at: Timestamp,
        /// Time that the address must rest, from now on.
        rest: Duration,
    },
}

/// Notice of the lessor to an agent that visits addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaseNotice {
    /// The lease is granted, for a term counted from the request.
    Granted {
        /// The address.
        address: IpAddr,
        /// Time of the request.
        requested_at: Timestamp,
        /// Time that the address must rest before a visit, from now on.
        rest: Duration,
        /// Length of the lease.
        term: Duration,
    },
    /// Other agents wait for the lease: the receiver must return it after use.
    Wanted {
        /// The address.
        address: IpAddr,
    },
}

/// A lease in use, as reported to a new lessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseInUse {
    /// The address.
    pub address: IpAddr,
    /// Time when it was requested.
    pub requested_at: Timestamp,
    /// Length of the lease, counted from the request.
    pub term: Duration,
}

/// Requests and notices to one agent, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseBatch {
    /// Id of the batch, increasing within an epoch.
    pub id: u64,
    /// Sent on entering an epoch, and when `is_clear` changes.
    pub report: Option<LeaseReport>,
    /// Requests to the lessor.
    pub requests: Vec<LeaseRequest>,
    /// Notices from the lessor.
    pub notices: Vec<LeaseNotice>,
}

/// Leases that an agent uses in the epoch that it has entered. It uses no others that were granted
/// before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeaseReport {
    /// Leases in use that the receiver grants now.
    pub held: Vec<ReportedLease>,
    /// True if no agent that was declared dead can fetch by a peer lease of the sender any more.
    pub is_clear: bool,
}

/// A lease in use, with the time remaining.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedLease {
    /// The address.
    pub address: IpAddr,
    /// Time when it was requested, by the borrower's clock.
    pub requested_at: Timestamp,
    /// Time remaining of its term, at most.
    pub remaining: Duration,
}

impl LeaseBatch {
    /// Returns true if the batch is empty.
    pub const fn is_empty(&self) -> bool {
        self.report.is_none() && self.requests.is_empty() && self.notices.is_empty()
    }
}
