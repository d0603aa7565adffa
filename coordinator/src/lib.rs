//! The coordinator: membership of the agents and its epochs. It never handles URLs.
//!
//! ```text
//!  agents, people                        one thread, "members"
//!  ─────────────► rpc ── Command ──► membership ── event, now ──► members   (pure: decides)
//!       ▲          ▲                    │  ◄─────── result ──────────┘
//!       │          └──── reply ─────────┤
//!       │                               ├──► state        (synced before anything is published)
//!       └── views, settings ◄── watch ◄─┘
//! ```
//! [`members`] only makes decisions: it uses no clock, network or disk. The membership thread
//! passes it events with the current time, stores the result, then publishes it. [`Coordinator`]
//! assembles the parts.

mod draft;
mod error;
mod etcd;
mod lease_clock;
pub mod members;
mod membership;
pub mod metrics;
mod page_quota;
mod probe;
mod rebuild;
mod recrawl_rate;
mod rpc;
mod server;
mod settings;
mod signing_key;
mod state;
mod watchers;

pub use error::CoordinatorError;
pub use etcd::{Active, Election, EtcdOptions};
pub use rebuild::{Rebuilt, ViewCopy, rebuild};
pub use server::{Coordinator, CoordinatorDirs, Listen};
pub use signing_key::SIGNING_KEY_FILE;
pub use state::{STATE_FILE, StoredSettings, stored_settings};
