//! Ranks of hosts: the scores of a link graph's hosts, quantized, in one compact file for the agents of a crawl.
//!
//! ```text
//!  host, score ─► places ─► rank 1 to 255 ─► signed static function ─► file ─► HostRanks ─► rank of a host
//! ```
//!
//! - `quantize`: from scores to ranks, and from ranks to shares for searches.
//! - `file`: [`HostRanks`], its bytes and its digest.
//! - `in_force`: [`RanksInForce`], the ranks that all parts of a process use.
#![forbid(unsafe_code)]

mod file;
mod in_force;
mod quantize;

pub use file::{HostRanks, RanksError, digest_of};
pub use in_force::RanksInForce;
