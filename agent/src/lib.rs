//! The agent: one crawler, from seeds to archive.
//!
//! Stages come first, then the types that they share and the engines that drive them.
//! `ARCHITECTURE.md` has the overview. [`app`] alone depends on all of them.

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
mod progress;
pub mod report;
mod shared;

pub use app::{AgentError, Crawl, JoinOptions, StoppedCrawl};
pub use engines::seeding::Seed;
pub use observe::explain::explain_from_directory;
pub use observe::metrics;
pub use observe::trace_export::Otlp;
pub use storage::OpenError;
