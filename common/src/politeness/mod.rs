//! When a host or an IP address may be visited next: arithmetic only, no clock and no queue.
//!
//! - [`HostState`] is what is remembered of a host between visits; it is persisted and travels
//!   with a handoff.
//! - [`after_visit`] turns a state and a [`VisitSummary`] into the next state. A delay is counted
//!   from the end of one request to the start of the next, and a wait that one rule has set is
//!   never shortened by another: the latest time wins.
//! - [`Pace`] is what applies to one host: the settings, its domain's delay, its Crawl-delay.
//! - [`retry`], [`rest_after`] and [`HostState::is_given_up`] read the one retry table.

mod backoff;
mod codec;
mod pace;
mod repace;
mod retry;
mod state;
mod visit;

#[cfg(test)]
mod tests;

pub use backoff::slow_down_wait;
pub use codec::HostStateError;
pub use pace::{Pace, domain_delay_index};
pub use retry::{ROBOTS_TRIES_MAX, Retry, rest_after, retry, robots_rest};
pub use state::{FailureRun, HostState, WaitRule};
pub use visit::{VisitSignal, VisitSummary, after_visit};
