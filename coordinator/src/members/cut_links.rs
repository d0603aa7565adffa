//! Broken links, and the member to exclude.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;

/// Links between living members that do not work.
#[derive(Clone, Debug, Default)]
pub(super) struct CutLinks {
    /// Time since which two members do not reach each other. The smaller id comes first.
    pub(super) since: BTreeMap<(AgentId, AgentId), Timestamp>,
    /// Member to exclude: of the two ends of a link the one with more broken links, else the younger
    /// one. The other end comes second.
    pub(super) weaker_end: Option<(AgentId, AgentId)>,
}
