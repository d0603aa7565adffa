//! Exclusion of an agent after a death, and its cause.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;

/// Cause of an exclusion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// The agent and this one did not reach each other.
    CutFrom(AgentId),
    /// The agent's process had not scanned its groups since it joined. Until all members have, nobody
    /// takes any group over.
    NeverReady,
}

impl Cause {
    /// Returns true if both are of one kind: a further death for such a cause lengthens the exclusion.
    pub(super) const fn is_like(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::CutFrom(_), Self::CutFrom(_)) | (Self::NeverReady, Self::NeverReady)
        )
    }
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
