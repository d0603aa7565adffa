//! Earliest times for visits to hosts and IP addresses: arithmetic only, without clock or queue.
//!
//! - [`HostState`] is the state of a host between visits. It is persisted and part of a handoff.
//! - [`after_visit`] computes the next state from a state and a [`VisitSummary`]. A delay counts
//!   from the end of one request to the start of the next. No rule shortens a wait that another
//!   rule has set: the latest time wins.
//! - [`HostPolicy`] holds the rules for one host: settings, the delay of its domain, and
//!   Crawl-delay.
//! - [`retry`], [`rest_after`] and [`HostState::is_given_up`] read the retry table.

mod backoff;
mod codec;
mod host_policy;
mod reapply;
mod retry;
mod state;
mod unit;
mod visit;

#[cfg(test)]
mod tests;

pub use backoff::slow_down_wait;
pub use host_policy::{HostPolicy, domain_delay_index};
pub use retry::{ROBOTS_TRIES_MAX, Retry, rest_after, retry, robots_rest};
pub use state::{FailureRun, HostState, WaitRule};
pub use unit::{address_in, address_unit, interface_of};
pub use visit::{VisitSignal, VisitSummary, after_visit};
