//! Processing of results: the parts of a response that are stored, and its links.
//!
//! - *Input:* a [`Fetched`](crate::messages::Fetched) result.
//! - *Output:* its [`Processed`] parts: links that passed the rules, or the sitemaps of a robots.txt;
//!   the dates of the links of a sitemap or feed; the digest of the payload, and whether it is a
//!   duplicate; the fingerprint of the text, and whether it is a near-duplicate; archive records.
//! - *State:* buffers, the link rules in force, payloads that are not committed yet, sets of those of other agents.
//! - *Does not know:* the clock, threads, queues.
//! - *Errors:* none. A failed look-up of a duplicate is logged, and the page is archived as if it
//!   were new.

pub mod duplicates;
pub mod known;
pub mod links;
pub mod near;
mod originals;
pub mod payloads;
mod response;
mod revisit_data;
#[cfg(test)]
mod tests;

pub use response::{EarlierPages, Processed, ResponseProcessor, RulesInForce};
