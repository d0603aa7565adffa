//! Events from the streams to other agents.

use crivello_common::view::{AgentId, View};
use std::sync::Arc;

/// An event from another agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerEvent {
    /// A packet is stored. Sent once, and only in the epoch in which the packet was offered.
    Stored {
        /// The agent that stored it.
        by: AgentId,
        /// The id that [`Outgoing::offer`](super::Outgoing::offer) returned.
        id: u64,
    },
    /// Another agent has a later view, which the coordinator has signed.
    View(Arc<View>),
}
