//! The assembly of an agent: the only module that uses all others.
//!
//! ```text
//!                    ┌────────────── Verdict, Resolution ──────────────┐
//!                    ▼                                                 ┊
//!   scheduler ── Visit, names ──► fetchers (tokio) ── Fetched ──► parsers (one a core)
//!   (workbench)                   (fetch, dns)                    (parse, links, duplicates, store)
//!      ▲  ┊                                                            │
//!      ┊  └┄┄┄ ToFrontier ┄┄┄┐                                         Page
//!      ┊                    ▼                                          ▼
//!      └┄┄ ToWorkbench ┄┄┄ writer (archive, assign, crawl database) ◄── seeds
//! ```
//! Each box is an engine of `engines`, with its work in parentheses. The queues are in
//! [`messages`](crate::messages), their bounds in [`limits`](crate::limits).

mod build;
mod crawl;
mod crawl_state;
mod error;
mod join;
mod open;
mod stopped_crawl;

pub use crawl::Crawl;
pub use error::AgentError;
pub use join::JoinOptions;
pub use stopped_crawl::StoppedCrawl;
