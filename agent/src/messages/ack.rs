//! The answers to other agents, and to people who add seeds.

use crivello_common::discard::Discard;

/// The answer to a packet, a ping or a batch of another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// A packet is stored, with all the replicas it needs; a peer lease is granted; a batch is taken.
    Done,
    /// Another epoch is in force: nothing was taken.
    OtherEpoch,
}

/// The answer to a request to add seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SeedAnswer {
    /// All other seeds are stored with their owners and the replicas.
    Safe {
        /// Refused seeds: the index in the request, and the reason, in the order of the indices.
        refused: Vec<(usize, Discard)>,
    },
    /// Another epoch has begun, or the agent is leaving: the request must be sent again.
    NotNow,
}
