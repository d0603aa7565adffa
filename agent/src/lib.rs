//! The house: an agent crawls, from intake to archive.
//!
//! The rooms are declared in the order of a URL's walk; `ARCHITECTURE.md` has the drawing. Each
//! opens with what comes in, what goes out, what it remembers, what it never knows and what goes
//! wrong there. [`app`] alone sees all of them.

pub mod api;
pub mod crawldb;
pub mod explain;
pub mod fetch;
pub mod ip_leases;
pub mod ownership;
pub mod peers;
pub mod process;
pub mod url_tracing;
pub mod workbench;

pub mod limits;
pub mod messages;
pub mod storage;

pub mod app;
pub mod cluster;
mod engines;
mod observe;
pub mod progress;
pub mod report;
mod shared;

pub use app::{AgentError, Crawl, JoinOptions};
pub use engines::seeding::Seed;
pub use observe::explain::explain_from_directory;
pub use observe::metrics;
pub use observe::trace_export::Otlp;
pub use storage::OpenError;
