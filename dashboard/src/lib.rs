//! The dashboard: a web page, and its data as JSON.
//!
//! ```text
//!  browsers ──► server ── guard ──► api ──┬── coordinator  (members, settings)
//!     ▲                                   └── agents       (hosts, URLs, fetches, traces)
//!     └── events, one a second ◄── poll ──┴── history, recent events
//! ```
//! The dashboard is a client of the coordinator and of the agents. It runs in the coordinator's
//! process, but uses only the calls of `Coordinator`; the coordinator never handles URLs. It calls
//! agents over gRPC (`Control`, at the addresses of the view) as `crivello status` and `crivello
//! why` do and forwards their answers. It keeps only ten minutes of totals and the latest
//! membership events.
//!
//! - *Input:* HTTP/1.1. `guard` accepts authorized requests, and no request that another site
//!   caused a browser to send.
//! - *Output:* the files of `page/`, which load nothing from other sites, and JSON (`api`).
//! - *Errors:* an agent that does not answer is shown as such, and an agent with an older
//!   version as "not available"; nothing else waits for it. Connections, requests, listeners,
//!   bodies and times are limited (`server.rs`).

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
mod session;
mod state;

pub use server::{Dashboard, Options};
pub use state::MetricsText;
