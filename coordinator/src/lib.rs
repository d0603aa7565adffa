//! The coordinator: which agents are alive, and under which epoch. It never sees a URL.
//!
//! ```text
//!  agents, people                        one thread, "members"
//!  ─────────────► rpc ── Command ──► membership ── event, now ──► members   (pure: decides)
//!       ▲          ▲                    │  ◄─────── effects ─────────┘
//!       │          └──── reply ─────────┤
//!       │                               ├──► state_file   (synced before anything is published)
//!       └── views, settings ◄── watch ◄─┘
//! ```
//! [`members`] decides and does nothing else: no clock, no network, no disk. The membership thread
//! feeds it events with the present time, stores the result, then publishes it. [`Coordinator`] puts
//! the parts together.

mod lease_clock;
pub mod members;
mod membership;
pub mod metrics;
mod page_quota;
mod probe;
mod rpc;
mod server;
mod settings;
mod state_file;
mod watchers;

pub use server::{Coordinator, CoordinatorError, Listen};
pub use state_file::{STATE_FILE, StoredSettings, stored_settings};
