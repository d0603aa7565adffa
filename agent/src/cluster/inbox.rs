//! The inbox: the queues for everything that arrives from the cluster.
//!
//! Messages go to the writer's queue in order, and those about IP leases to the lease task's queue.
//! Only callers that can wait do so for room.

use crate::messages::{Ack, Found, LeaseCommand, LeaseSender, RobotsOutcome, SeedAnswer};
use crate::peers::{Body, LeaseBatch, PacketOrigin, PeerEvent, PeerHandler};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use crossbeam::channel::{Sender, TrySendError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;

/// Pause between two attempts to enqueue when the queue is full.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// A message from the cluster, or from people, to the writer.
#[derive(Debug)]
pub enum InboundMsg {
    /// A packet of another agent.
    Packet {
        /// The sender.
        from: PacketOrigin,
        /// The epoch of the sender's view.
        epoch: u64,
        /// The content.
        body: Body,
        /// The acknowledgement, once everything is stored.
        answer: oneshot::Sender<Ack>,
    },
    /// Another agent requests a peer lease.
    Ping {
        /// The agent.
        from: AgentId,
        /// The epoch of its view.
        epoch: u64,
        /// The answer.
        answer: oneshot::Sender<Ack>,
    },
    /// An answer of another agent.
    Peer(PeerEvent),
    /// A view; it may be older than the one in force.
    View(Arc<View>),
    /// The coordinator's lease runs until this time.
    Leased(Timestamp),
    /// Another agent granted a peer lease, which was requested at `asked`.
    PeerLease {
        /// The agent that granted it.
        by: AgentId,
        /// The time of the request.
        asked: Timestamp,
    },
    /// Seeds from people, with those that were refused; answered once all are safe.
    Seeds {
        /// Accepted seeds.
        found: Vec<Found>,
        /// A count of the refused ones.
        tally: DiscardTally,
        /// Indices of refused seeds, and the reasons.
        refused: Vec<(usize, Discard)>,
        /// The answer.
        answer: oneshot::Sender<SeedAnswer>,
    },
}

/// The sending sides of both queues.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// The writer's queue.
    pub arrivals: Sender<InboundMsg>,
    /// The queue of the IP leases.
    pub turns: LeaseSender,
}

impl Inbox {
    /// Enqueues a message, if there is room and the writer runs. Otherwise a message that waits for an
    /// answer is refused by dropping it.
    pub fn offer(&self, arrival: InboundMsg) {
        let _ = self.arrivals.try_send(arrival);
    }

    /// Enqueues a message that must not be lost, waiting for room.
    pub async fn deliver(&self, mut arrival: InboundMsg) {
        while let Err(TrySendError::Full(back)) = self.arrivals.try_send(arrival) {
            arrival = back;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl PeerHandler for Inbox {
    fn take(&self, from: PacketOrigin, epoch: u64, body: Body, answer: oneshot::Sender<Ack>) {
        self.offer(InboundMsg::Packet { from, epoch, body, answer });
    }

    fn turns(&self, from: AgentId, epoch: u64, batch: LeaseBatch, answer: oneshot::Sender<Ack>) {
        self.turns.send(LeaseCommand::Batch { from, epoch, batch, reply: answer });
    }

    fn robots(&self, url: CrawlUrl, answer: oneshot::Sender<RobotsOutcome>) {
        self.turns.send(LeaseCommand::PeerRobots((url, answer)));
    }

    fn ping(&self, from: AgentId, epoch: u64, answer: oneshot::Sender<Ack>) {
        self.offer(InboundMsg::Ping { from, epoch, answer });
    }
}
