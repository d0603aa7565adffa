//! Interface of the replication engine to the queues of packets for other agents.

use crate::peers::{Body, Outgoing, Rejected};
use crivello_common::view::AgentId;
use std::sync::Arc;

/// Bounded queues of packets for other agents, in order.
pub trait PacketQueue {
    /// Enqueues a packet. Returns its number, which its acknowledgement contains.
    ///
    /// # Errors
    /// [`Rejected`], with the body, if the queue is full, the agent is unknown, or the body is too
    /// long.
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected>;
}

impl PacketQueue for Arc<Outgoing> {
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        Outgoing::offer(self, to, body)
    }
}
