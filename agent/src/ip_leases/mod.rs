//! IP leases: the right of one agent of a cluster to visit an IP address for a while. Hosts of
//! different groups, and so of different agents, may share an address. The lessor of an address is
//! the owner of its hash; it grants the lease to one agent at a time.
//!
//! - *Input:* requests of this agent's workbench ([`LeaseRequest`]); views; messages of other agents
//!   ([`LeaseBatch`]).
//! - *Output:* notices for the workbench ([`LeaseNotice`]); [`LeaseBatch`]es, one at a time to each
//!   agent, for many addresses at once.
//! - *State:* the leases and the requests that wait, in memory only.
//! - *Does not know:* hosts, URLs, sockets. Clocks of two agents are never compared: messages carry
//!   durations, and each side counts them so that an error is on the safe side.
//! - *Errors:* lost messages are sent again after a while; a lease that is never returned expires.
//!
//! ```text
//!   workbench ── Acquire ─► IpLeaseExchange ──► lessor of the address (here or another agent)
//!       ◄── Granted ─────── IpLeaseExchange ◄──        ┊ other agents acquire too
//!       ◄── Wanted ──────── IpLeaseExchange ◄──        ┊
//!   workbench ── Return ──► IpLeaseExchange ──► lessor, which grants it to the next
//! ```
//! # Properties
//! 1. *One holder.* From the grant until the lease is returned or expires by the lessor's clock, and
//!    `ip-delay` has passed, no other agent gets it. The borrower counts the term from its request,
//!    which precedes the grant; its visits are aborted at the end of the term.
//! 2. *A new lessor* knows nothing at first. On entering an epoch, each agent reports the leases that
//!    it uses; from then on it uses no other lease granted before. The lessor grants addresses that
//!    were another agent's only after all agents have reported, no agent that was declared dead can
//!    still fetch by a peer lease, and another `ip-delay` has passed. Leases that it granted in the
//!    last epoch stay valid.
//! 3. *Fairness.* Waiting agents are served in order. An agent whose lease is wanted returns it after
//!    one visit, or after a quarter of a second of visits.
//! 4. *Few calls.* An agent that gets a lease again, while no other agent waits, gets it for a minute. An agent that
//!    does not report such a lease in a later epoch does not use it any more, so it ends then. A shorter grant does
//!    not end a longer one: a visit that has begun may go on until the end of that.

mod exchange;
mod lendable;
mod lessor;
#[cfg(test)]
mod tests;

pub use crate::messages::{
    LeaseBatch, LeaseInUse, LeaseNotice, LeaseReport, LeaseRequest, ReportedLease,
};
pub use exchange::IpLeaseExchange;
pub use lendable::lessor_of;

use crate::limits::{
    IP_LEASE_GRANT_AHEAD as LEND_AHEAD, IP_LEASE_LONG_TERM as LONG_TERM, IP_LEASE_TERM as TERM,
};
use std::time::Duration;

/// A request that is not repeated for this long is dropped.
const FORGET_AFTER: Duration = Duration::from_secs(7);
/// Minimum time between two [`LeaseNotice::Wanted`] for one address.
const REMIND: Duration = Duration::from_secs(1);
