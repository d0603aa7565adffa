//! The queues of packets to other agents, as the replication engine fills them.

use crate::peers::{Body, Outgoing, Rejected};
use crivello_common::view::AgentId;
use std::sync::Arc;

/// Takes packets for other agents, in order and as far as there is room.
pub trait PacketQueue {
    /// Enqueues a packet and returns its number, which comes back when it is stored there.
    ///
    /// # Errors
    /// When there is no room or no such agent; the body comes back.
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected>;
}

impl PacketQueue for Arc<Outgoing> {
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        Outgoing::offer(self, to, body)
    }
}
