//! Exclusion of agents for whom the others have waited in vain.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;

/// The reason for which the others waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It and this other agent did not reach each other.
    CutFrom(AgentId),
    /// No process of it had scanned its groups since it joined, as others must before they take
    /// over anything.
    NeverReady,
}

/// Exclusion of an agent that was declared dead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exclusion {
    pub(super) cause: Cause,
    /// Number of such deaths.
    pub(super) n_deaths: u32,
    /// Time of the first of them.
    pub(super) since: Timestamp,
    /// Time from which on it may rejoin.
    pub(super) until: Timestamp,
}
