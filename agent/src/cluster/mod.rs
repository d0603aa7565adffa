//! Cluster membership: the agent as a client of the coordinator, and the replication of its groups.
//!
//! ```text
//!   inbox ── InboundMsg ──► engine ──► open commits ──► writer ──► acks, once replicated
//!   links of pages ──► engine ──► outbox ──► packet queue ──► peers ── Stored ──► pages finished
//! ```
//! [`ReplicationEngine`] makes the decisions. [`Replication`] connects it with the queues, the
//! settings and the lifecycle of the agent, on the writer's thread.

mod ack_waiters;
mod coordinator_client;
pub mod coordinator_key;
mod effect;
mod engine;
mod epoch;
mod inbound;
mod inbox;
pub mod joining;
mod lag;
mod membership;
mod open_commits;
mod outbound;
mod outbox;
mod packet_queue;
mod replication;
mod session;
mod status;
mod traced;
mod transfers;

pub use coordinator_client::{
    CALL_TIMEOUT, CoordinatorClient, Joined, Joining, LOG_EVERY, RETRY_PAUSE,
};
pub use effect::ReplicationEffect;
pub use engine::ReplicationEngine;
pub use epoch::MembershipOutcome;
pub use inbox::{InboundMsg, Inbox};
pub use lag::Waiting;
pub use membership::Membership;
pub use open_commits::OpenCommits;
pub use outbox::Outbox;
pub use packet_queue::PacketQueue;
pub use replication::{ClusterParts, ClusterReplication, Replication};
pub use session::ClusterSession;
pub use status::ClusterStatus;

use bytes::Bytes;
use crivello_common::view::AgentId;
use std::collections::BTreeMap;

/// Encoded facts by receiving agent.
type ByAgent = BTreeMap<AgentId, Vec<Bytes>>;

#[cfg(test)]
mod tests;
