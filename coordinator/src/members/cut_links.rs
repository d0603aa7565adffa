//! State of the links between members that do not work, and of the agents that gave way.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;

/// Links between living members that do not work.
#[derive(Clone, Debug, Default)]
pub(super) struct CutLinks {
    /// Time since which two members do not reach each other. The smaller id comes first.
    pub(super) since: BTreeMap<(AgentId, AgentId), Timestamp>,
    /// Member that must give way, and the other end of the link.
    pub(super) gives_way: Option<(AgentId, AgentId)>,
}

/// Exclusion of an agent that could not reach another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exclusion {
    pub(super) other: AgentId,
    /// Number of such deaths.
    pub(super) n_deaths: u32,
    /// Time from which on it may rejoin.
    pub(super) until: Timestamp,
}
