//! What the replication engine has others do.

use crate::messages::{Ack, SeedAnswer};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::View;
use std::sync::Arc;
use tokio::sync::oneshot;

/// An action outside of the engine.
#[derive(Debug)]
pub enum ReplicationEffect {
    /// Answer another agent.
    Acknowledge(oneshot::Sender<Ack>, Ack),
    /// Answer a person or the command that added seeds.
    AnswerSeeds(oneshot::Sender<SeedAnswer>, SeedAnswer),
    /// A view is in force: packets go to its agents, and packets of its epoch are accepted.
    EnterEpoch(Arc<View>),
    /// No agent that was declared dead in this epoch or before fetches under a peer lease.
    PeerLeasesExpired {
        /// The epoch.
        epoch: u64,
    },
    /// Remove the hosts of this group from the workbench.
    Recall(GroupHash),
    /// Visits may be made until this time.
    FetchDeadline(Timestamp),
    /// All rows of a group have come from another agent.
    GroupReceived,
    /// All rows of a group are stored with its new owner.
    GroupSent,
}
