//! The porter's lodge: who is alive, and under which epoch. It never sees a URL.
//!
//! ```text
//!  agents, people                     one thread, "members"
//!  ─────────────► rpc ── Ask ──► lodge ── event, now ──► members   (pure: decides)
//!       ▲          ▲               │  ◄──── effects ────────┘
//!       │          └── answer ─────┤
//!       │                          ├──► journal   (synced before anyone hears of it)
//!       └── views ◄── watch ◄──────┘
//! ```
//! [`members`] decides and does nothing else: no clock, no network, no disk. The lodge feeds it
//! events with the present time, writes the view down, then publishes it. [`Coordinator`] puts the
//! parts together.

mod allowance;
mod app;
mod home;
mod journal;
mod lodge;
pub mod members;
pub mod metrics;
mod patience;
mod reach;
mod rpc;
mod settings;
mod watchers;

pub use app::{Coordinator, Listen};
pub use home::CoordinatorError;
pub use settings::given_last;
