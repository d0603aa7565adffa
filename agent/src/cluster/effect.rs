//! Effects of the replication engine, performed by its caller.

use crate::messages::{Ack, SeedAnswer};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::View;
use std::sync::Arc;
use tokio::sync::oneshot;

/// Action outside of the engine.
#[derive(Debug)]
pub enum ReplicationEffect {
    /// Answer a packet or request of another agent.
    Acknowledge(oneshot::Sender<Ack>, Ack),
    /// Answer a person or the command that added seeds.
    AnswerSeeds(oneshot::Sender<SeedAnswer>, SeedAnswer),
    /// Enter the epoch of this view: packets are sent to its agents, and packets of its epoch are
    /// accepted.
    EnterEpoch(Arc<View>),
    /// Note that the peer leases of all agents declared dead in this epoch or earlier have expired.
    PeerLeasesExpired {
        /// The epoch.
        epoch: u64,
    },
    /// Remove the hosts of this group from the workbench.
    Recall(GroupHash),
    /// Allow visits until this time.
    FetchDeadline(Timestamp),
    /// Count a group of which all rows were received from another agent.
    GroupReceived,
    /// Count a group of which the new owner has stored all rows.
    GroupSent,
}
