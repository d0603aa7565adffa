//! The room that opens sockets to the web, and the only one.
//!
//! * *Comes in*: host names to be resolved; [`Visit`](crate::messages::Visit)s, each a lease on one
//!   host and one address.
//! * *Goes out*: [`Resolution`](crate::messages::Resolution)s; for every request a
//!   [`Fetched`], at once; for every visit exactly one [`Verdict`], whatever happens to the task.
//! * *Remembers*: answers of the name servers for as long as they hold, idle connections for a
//!   few seconds. Nothing that would be missed after a restart.
//! * *Never knows*: when a host may be visited, who owns it, what a page says.
//! * *Goes wrong*: every way a server can misbehave is one of
//!   [`Failure`](crate::messages::FetchOutcome::Failed) or a truncation with its reason; nothing is tried
//!   twice here.
//!
//! ```text
//!            name ──► dns ──► guard ──► Resolution
//!           Visit ──► visit ──► lease ──► Verdict
//!                       │
//!                       ├── robots.txt allows? ── no ──► Fetched (discarded)
//!                       └─► exchange ──► client ══► the web
//!                              └─► body, under its caps ──► Fetched
//! ```

mod answers;
mod body;
mod client;
mod dns;
mod exchange;
mod fault;
mod follow;
mod guard;
mod identity;
mod idle;
mod lease;
mod name_servers;
mod pins;
mod retry_after;
mod robots;
mod robots_file;
mod rooms;
#[cfg(test)]
mod tests;
mod times;
mod tls;
mod visit;

pub use dns::Dns;
pub use guard::Guard;
pub use robots_file::{RobotsFile, robots_file};
pub use times::Times;
pub use visit::run;

use crate::limits::{HELD_WINDOW, RATE_GRACE, ROBOTS_SIZE_MAX, idle_max};
use crate::messages::{BlockAndPauseList, Fetched, MinHostDelay, Verdict};
use client::Clients;
use crivello_common::config::Settings;
use crivello_common::runtime::open_files;
use crivello_common::time::Clock;
use identity::Identity;
use idle::Idle;
use rooms::Rooms;
use std::sync::Arc;
use std::time::Duration;

/// Where results go. Called from tasks, so it must never block; what is behind it has room for one
/// result of each visit in flight, and for as many more as it says.
pub trait Sink: Send + Sync {
    /// One URL of a visit is done with.
    fn fetched(&self, fetched: Fetched);
    /// A visit is over: exactly once for each.
    fn verdict(&self, verdict: Verdict);
    /// Whether a visit may go on to its next URL, or had better return the rest.
    fn has_room(&self) -> bool {
        true
    }
}

/// Why the room cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The contact or the name cannot be sent in a header.
    #[error("{what} cannot be sent as an HTTP header: {value:?}")]
    Identity {
        /// Which setting.
        what: &'static str,
        /// Its value.
        value: String,
    },
    /// The HTTP client cannot be built (TLS roots, mostly).
    #[error("the HTTP client cannot be set up")]
    Client(#[from] reqwest::Error),
    /// TLS cannot be set up (no root certificates on this machine, mostly).
    #[error("TLS cannot be set up")]
    Tls(#[from] rustls::Error),
}

/// What all visits share. One for the whole agent, in an [`Arc`].
pub struct FetchContext {
    clients: Clients,
    identity: Identity,
    guard: Guard,
    barred: BlockAndPauseList,
    clock: Clock,
    sink: Arc<dyn Sink>,
    caps: Caps,
    idle: Idle,
    rooms: Rooms,
    times: Times,
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
    /// Sets the HTTP clients up.
    ///
    /// # Errors
    /// [`FetchError`]: the identity cannot be sent, or TLS cannot be set up.
    pub fn new(settings: &Settings, clock: Clock, sink: Arc<dyn Sink>) -> Result<Self, FetchError> {
        let fetch = &settings.fixed.fetch;
        let times = Times::new(clock);
        Ok(Self {
            clients: Clients::new(fetch, &times.connect)?,
            identity: Identity::new(&settings.fixed.identity, &fetch.accept_language)?,
            guard: Guard::new(&fetch.allow_networks),
            barred: BlockAndPauseList::of(&settings.live),
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
            idle: Idle::new(
                fetch.keep_alive,
                MinHostDelay::of(&settings.live),
                idle_max(settings, open_files()),
            ),
            rooms: Rooms::new(fetch.body_size_max.as_usize().max(ROBOTS_SIZE_MAX)),
            times,
        })
    }

    /// How long the web took to answer.
    #[must_use]
    pub const fn times(&self) -> &Times {
        &self.times
    }

    /// Hosts that an idle connection is kept to.
    #[must_use]
    pub fn connections_idle(&self) -> usize {
        self.idle.len(self.clock.now())
    }

    /// Bytes of room that large bodies hold, and how many visits wait for some.
    #[must_use]
    pub fn bodies(&self) -> (usize, usize) {
        self.rooms.held()
    }

    /// The same, heeding while it works what is blocked and paused, and how long hosts rest.
    #[must_use]
    pub fn with_live_settings(mut self, barred: BlockAndPauseList, rest_min: MinHostDelay) -> Self {
        self.barred = barred;
        self.idle.heed(rest_min);
        self
    }
}
