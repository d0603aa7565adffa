//! Question for a payload that other agents may have archived: from the parsers to the task that asks these agents.

use super::Fetched;
use crivello_common::view::AgentId;

/// Response that waits until other agents are asked for its payload. Its look-up has the digest.
#[derive(Debug)]
pub struct PayloadQuestion {
    /// The result of the request.
    pub fetched: Box<Fetched>,
    /// Agents that may have archived the payload.
    pub holders: Vec<AgentId>,
}
