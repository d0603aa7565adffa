//! Processing of results: what is stored of a response, and which links it leads to.
//!
//! - *In*: a [`Fetched`](crate::messages::Fetched) result.
//! - *Out*: its [`Processed`] parts: links that passed the rules, or the sitemaps of a robots.txt; the digest
//!   of the payload, and whether it is a duplicate; archive records.
//! - *State*: buffers, the link rules in force, payloads that are not committed yet.
//! - *Never knows*: the clock, threads, queues.
//! - *Errors*: none; a look-up of a duplicate that fails is logged, and the page archived as if it were
//!   none.

pub mod duplicates;
pub mod links;
mod response;

pub use response::{Processed, ResponseProcessor, RulesInForce};
