//! Payloads of a cluster: which of them this agent has archived, as Golomb-coded sets for the other agents, and the
//! sets of these. With `store.peer-revisits` a page whose payload another agent has archived becomes a `revisit`.
//!
//! - *Input:* digests of committed pages; sets of other agents.
//! - *Output:* the own sets; the agents that may have a payload; the own capture of a payload, once it is synced.
//! - *State:* in memory only, bounded by `state.digests-memory`. The rows of `content` are the one source of the own sets,
//!   which are made anew at each start.
//! - *Does not know:* connections, threads, the use of an answer.
//! - *Errors:* [`DiskError`](crate::storage::DiskError).
//!
//! Numbers of all sets are the upper 40 bits of digests, so sets can be merged without digests, and rows of `content`
//! have the order of numbers. A payload that is not in a set is not with that agent; for 1 in 2⁴⁰/n of the others, with
//! n payloads in the set, it is not either. So only the negative answer of a set is acted on: on a positive one the agent
//! is asked.

mod own;
mod peers;

pub use own::{OwnPayloads, PayloadScan};
pub use peers::{PeerPayloads, SetPlan, SetSummary, read_set};

use crivello_common::hash::ContentDigest;

/// Bits of the numbers in sets.
const NUMBER_BITS: u32 = 40;
/// Bound of the numbers in sets.
const BOUND: u64 = 1 << NUMBER_BITS;
/// Maximum number of sets of an agent: many more than a list has whose sets double.
pub const SETS_MAX: usize = 256;

/// Returns the number of a digest in sets. Its order is that of digests.
const fn number(digest: &ContentDigest) -> u64 {
    let [a, b, c, d, e, ..] = *digest;
    u64::from_be_bytes([0, 0, 0, a, b, c, d, e])
}
