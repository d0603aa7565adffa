//! The dashboard: a page, and the answers in JSON that it shows.
//!
//! ```text
//!  browsers ──► server ── guard ──► api ──┬── Rpc ────► lodge      (who is a member, settings)
//!     ▲                                   └── crowd ──► agents     (hosts, URLs, fetches, traces)
//!     └── events, one a second ◄── poll ──┴── history, what happened
//! ```
//! The coordinator never sees a URL, and this does not change that: the dashboard is a client that
//! happens to live in its process. It asks agents over gRPC (`Control`, at the addresses of the
//! view) as `crivello status` and `crivello why` do, passes their answers on, and keeps nothing of
//! them but numbers: some ten minutes of totals, and who joined, died or left.
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
#[cfg(test)]
mod tests;
mod words;

pub use server::{Door, Options};
pub use state::MetricsText;
