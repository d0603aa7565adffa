//! The answer to what another agent sent.

/// The answer to a packet, a ping or a batch of another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// A packet is stored, with all the replicas it needs; a peer lease is granted; a batch is taken.
    Done,
    /// Another epoch is in force: nothing was taken.
    OtherEpoch,
}
