//! Broken links, and the member to exclude.

use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;

/// Links between living members that do not work.
#[derive(Clone, Debug, Default)]
pub(super) struct CutLinks {
    /// Time since which two members do not reach each other. The smaller id comes first.
    pub(super) since: BTreeMap<(AgentId, AgentId), Timestamp>,
    /// Member to exclude, and the other end of the link.
    pub(super) gives_way: Option<(AgentId, AgentId)>,
}
