//! Responses to other agents, and to requests that add seeds.

use crivello_common::discard::Discard;

/// Response to a packet, a ping or a batch of another agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ack {
    /// The packet is synced here and on all replicas it needs, the peer lease is granted, or the
    /// batch is accepted.
    Done,
    /// Another epoch is in force; nothing was accepted.
    OtherEpoch,
}

/// Response to a request to add seeds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SeedAnswer {
    /// All other seeds are synced with their owners and the replicas.
    Safe {
        /// Refused seeds: index in the request and reason, sorted by index.
        refused: Vec<(usize, Discard)>,
    },
    /// Another epoch has begun, or the agent is leaving; the client must send the request again.
    NotNow,
}
