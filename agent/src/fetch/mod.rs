//! Fetching: name resolution and HTTP requests. No other stage opens sockets to the web.
//!
//! - *Input:* host names to resolve; [`Visit`](crate::messages::Visit)s, each to one host at one
//!   address.
//! - *Output:* [`Resolution`](crate::messages::Resolution)s; a [`Fetched`] for every request, at once;
//!   exactly one [`Verdict`] for every visit, whatever happens to the task.
//! - *State:* answers of the name servers until they expire, idle connections for a few seconds.
//!   Nothing of it is needed after a restart.
//! - *Does not know:* when a host may be visited, which agent owns it, the content of pages.
//! - *Errors:* every misbehavior of a server is a
//!   [`Failure`](crate::messages::FetchOutcome::Failed) or a truncation with its reason. Nothing is
//!   retried here.
//!
//! ```text
//!            name ──► dns ──► address_policy ──► Resolution
//!           Visit ──► visit ──► visit_guard ──► Verdict
//!                       │
//!                       ├── robots.txt allows? ── no ──► Fetched (discarded)
//!                       └─► target (host, address, port) ──► exchange ──► client ══► the web
//!                              └─► body, under its caps ──► Fetched
//! ```

mod address_policy;
mod body;
mod body_budget;
mod certificates;
mod client;
mod dns;
mod error_kind;
mod exchange;
mod fetch_error;
mod idle_limit;
mod name_servers;
mod own_addresses;
mod pins;
mod request_headers;
mod retry_after;
mod reuse_wait;
mod robots;
mod robots_file;
mod target;
mod tdm_file;
#[cfg(test)]
mod tests;
mod timings;
mod tls;
mod visit;
mod visit_guard;

pub use address_policy::AddressPolicy;
pub use dns::DnsResolver;
pub use fetch_error::FetchError;
pub use robots_file::{RobotsFile, robots_file};
pub use timings::Timings;
pub use visit::run;

use crate::limits::{HELD_WINDOW, RATE_GRACE, ROBOTS_SIZE_MAX, idle_max};
use crate::messages::{BlockAndPauseList, Fetched, MinHostDelay, OldestOriginal, Verdict};
use body_budget::BodyBudget;
use client::Clients;
use crivello_common::config::Settings;
use crivello_common::ports::PortPolicy;
use crivello_common::runtime::open_files;
use crivello_common::time::Clock;
use idle_limit::IdleLimit;
use request_headers::RequestHeaders;
use std::sync::Arc;
use std::time::Duration;
use target::ConnectPolicy;

/// Receiver of results. It is called from tasks, so it must never block. It must accept one result
/// of each visit in flight, and further results while [`Sink::has_room`] returns true.
pub trait Sink: Send + Sync {
    /// Receives the result of one URL of a visit.
    fn fetched(&self, fetched: Fetched);
    /// Receives the end of a visit, exactly once for each.
    fn verdict(&self, verdict: Verdict);
    /// Returns true if a visit may continue with its next URL, false if it must return the rest.
    fn has_room(&self) -> bool {
        true
    }
}

/// State that all visits share. There is one for the whole agent, in an [`Arc`].
pub struct FetchContext {
    clients: Clients,
    request_headers: RequestHeaders,
    connect_policy: ConnectPolicy,
    block_list: BlockAndPauseList,
    clock: Clock,
    sink: Arc<dyn Sink>,
    caps: Caps,
    idle_limit: IdleLimit,
    body_budget: BodyBudget,
    timings: Timings,
    oldest_original: OldestOriginal,
}

/// The bounds of one request.
#[derive(Clone, Copy, Debug)]
struct Caps {
    first_byte: Duration,
    total: Duration,
    rate_min: u64,
    rate_grace: Duration,
    held_window: Duration,
    head_size: usize,
    body_size: usize,
}

impl FetchContext {
    /// Creates a context with its HTTP clients. `block_list` and `min_host_delay` are the shared lists of
    /// blocked and paused hosts and the shared shortest delay.
    ///
    /// # Errors
    /// [`FetchError`] if a header cannot be sent, or if TLS or a client cannot be set up.
    pub fn new(
        settings: &Settings,
        clock: Clock,
        sink: Arc<dyn Sink>,
        block_list: BlockAndPauseList,
        min_host_delay: MinHostDelay,
    ) -> Result<Self, FetchError> {
        let fetch = &settings.fixed.fetch;
        let timings = Timings::new(clock);
        Ok(Self {
            clients: Clients::new(fetch, &timings.connect)?,
            request_headers: RequestHeaders::new(&settings.fixed.identity, &fetch.accept_language)?,
            connect_policy: ConnectPolicy {
                addresses: AddressPolicy::of_machine(&fetch.allow_networks, clock),
                ports: PortPolicy::new(&fetch.ports_allowed),
            },
            block_list,
            clock,
            sink,
            caps: Caps {
                first_byte: fetch.first_byte_timeout,
                total: fetch.total_timeout,
                rate_min: fetch.rate_min.0,
                rate_grace: RATE_GRACE,
                held_window: HELD_WINDOW,
                head_size: fetch.head_size_max.as_usize(),
                body_size: fetch.body_size_max.as_usize(),
            },
            idle_limit: IdleLimit::new(
                fetch.keep_alive,
                min_host_delay,
                idle_max(settings, open_files()),
            ),
            body_budget: BodyBudget::new(fetch.body_size_max.as_usize().max(ROBOTS_SIZE_MAX)),
            timings,
            oldest_original: OldestOriginal::default(),
        })
    }

    /// Returns it with conditional requests only for captures that new revisits may refer to.
    #[must_use]
    pub fn referring_from(self, oldest_original: OldestOriginal) -> Self {
        Self { oldest_original, ..self }
    }

    /// Returns the response times of the web.
    pub const fn timings(&self) -> &Timings {
        &self.timings
    }

    /// Returns the number of hosts to which an idle connection is kept.
    pub fn connections_idle(&self) -> usize {
        self.idle_limit.len(self.clock.now())
    }

    /// Returns the bytes that large bodies have reserved, and the number of bodies that wait for a
    /// reservation.
    pub fn bodies(&self) -> (usize, usize) {
        self.body_budget.usage()
    }
}
