//! The queues to and from the task that manages the IP leases.

use super::{Ack, LeaseBatch, LeaseInUse, LeaseNotice, LeaseRequest, PeerRobotsRequest};
use crivello_common::view::{AgentId, View};
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// Message to the lease task.
#[derive(Debug)]
pub enum LeaseCommand {
    /// Requests and returns from the workbench.
    Requests(Vec<LeaseRequest>),
    /// The leases that the workbench uses in this epoch.
    Uses {
        /// The epoch.
        epoch: u64,
        /// The leases.
        held: Vec<LeaseInUse>,
    },
    /// A view came into force.
    View(Arc<View>),
    /// No agent that was declared dead fetches by a peer lease of this agent any more.
    Clear {
        /// The epoch in which this became true.
        epoch: u64,
    },
    /// A batch from another agent.
    Batch {
        /// The sender.
        from: AgentId,
        /// The sender's epoch.
        epoch: u64,
        /// The batch.
        batch: LeaseBatch,
        /// Receives the answer.
        reply: oneshot::Sender<Ack>,
    },
    /// Another agent requests a robots.txt.
    PeerRobots(PeerRobotsRequest),
    /// The delivery of a batch to another agent ended.
    Sent {
        /// The receiver.
        to: AgentId,
        /// Id of the batch.
        id: u64,
        /// Result of the delivery.
        delivery: Delivery,
    },
}

/// Result of the delivery of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// The other agent accepted it.
    Accepted,
    /// The other agent is in another epoch, and accepted nothing.
    ViewMismatch,
    /// There was no answer; the batch may have been accepted.
    Unknown,
}

/// Message from the lease task to the workbench.
#[derive(Debug)]
pub enum LeaseEvent {
    /// A notice about one lease.
    Notice(LeaseNotice),
    /// A new epoch begins: the workbench answers with [`LeaseCommand::Uses`]; earlier requests are
    /// void.
    Epoch(u64),
}

/// Sending side of the lease task's queue. Sending never waits. The queue is bounded by its
/// senders: other agents and the tasks that send to them have one message there at a time, and the
/// workbench sends at most two for each address in two seconds.
#[derive(Clone, Debug)]
pub struct LeaseSender(mpsc::UnboundedSender<LeaseCommand>);

impl LeaseSender {
    /// Creates a queue: its sender and its receiver.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "bounded by its senders, see above")]
    pub fn new() -> (Self, mpsc::UnboundedReceiver<LeaseCommand>) {
        let (sender, receiver) = mpsc::unbounded_channel();
        (Self(sender), receiver)
    }

    /// Sends a command, unless the task has ended.
    pub fn send(&self, command: LeaseCommand) {
        let _ = self.0.send(command);
    }
}
