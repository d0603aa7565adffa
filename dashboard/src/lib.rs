//! The dashboard: a page, and the answers in JSON that it shows.
//!
//! ```text
//!  browsers ──► server ── guard ──► api ──┬── coordinator  (members, settings)
//!     ▲                                   └── agents       (hosts, URLs, fetches, traces)
//!     └── events, one a second ◄── poll ──┴── history, recent events
//! ```
//! The dashboard is a client of the coordinator and of the agents. It runs in the coordinator's
//! process, but uses only the calls of `Coordinator`; the coordinator never sees a URL. It calls
//! agents over gRPC (`Control`, at the addresses of the view) as `crivello status` and
//! `crivello why` do, passes their answers on, and keeps only ten minutes of totals and the latest
//! membership events.
//!
//! * *Comes in*: HTTP/1.1. `guard` lets in who may come, and nothing that another site made a
//!   browser say.
//! * *Goes out*: the files of `page/`, which load nothing from elsewhere, and JSON (`api`).
//! * *Goes wrong*: an agent that does not answer is shown as such, an agent of an older version as
//!   "not available"; nobody else waits for it. Connections, requests, listeners, bodies and times
//!   are bounded (`server.rs`).

mod api;
mod assignment;
mod cluster;
mod events;
mod guard;
mod history;
mod login;
mod page;
mod poll;
mod server;
mod state;
mod words;

pub use server::{Dashboard, Options};
pub use state::MetricsText;
