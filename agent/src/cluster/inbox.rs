//! Inbox: the queues for all messages from the cluster.
//!
//! Messages go to the writer's queue in order; those about IP leases go to the queue of the lease
//! task. If the writer's queue is full, only callers that can wait do so.

use crate::messages::{
    Ack, ChangeSignal, Found, HostRequest, LeaseCommand, LeaseSender, RobotsOutcome, SeedAnswer,
};
use crate::peers::{Body, LeaseBatch, PacketOrigin, PeerEvent, PeerHandler, PublishedSet};
use crate::process::payloads::OwnPayloads;
use crate::storage::ranks::RankStore;
use crate::storage::values::ContentRow;
use bytes::Bytes;
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::hash::ContentDigest;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use crossbeam::channel::{Sender, TrySendError};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tokio::sync::oneshot;

/// Pause between two attempts to enqueue when the queue is full.
const RETRY_PAUSE: Duration = Duration::from_millis(5);

/// Message from the cluster or from people to the writer.
#[derive(Debug)]
pub enum InboundMsg {
    /// Packet of another agent.
    Packet {
        /// The sender.
        from: PacketOrigin,
        /// The epoch of the sender's view.
        epoch: u64,
        /// The content.
        body: Body,
        /// Receives the acknowledgement once everything is stored.
        answer: oneshot::Sender<Ack>,
    },
    /// Request of another agent for a peer lease.
    RenewPeerLease {
        /// The agent.
        from: AgentId,
        /// The epoch of its view.
        epoch: u64,
        /// Receives the answer.
        answer: oneshot::Sender<Ack>,
    },
    /// Event of the transport: an acknowledgement or a view of another agent.
    Peer(PeerEvent),
    /// View; it may be older than the one in force.
    View(Arc<View>),
    /// End of the coordinator's lease.
    Leased(Timestamp),
    /// Peer lease that another agent granted.
    PeerLease {
        /// The agent that granted it.
        by: AgentId,
        /// The time of the request.
        requested_at: Timestamp,
    },
    /// Seeds from people, answered once all accepted ones are safe.
    Seeds {
        /// Accepted seeds.
        found: Vec<Found>,
        /// Requests to fetch pages again.
        signals: Vec<ChangeSignal>,
        /// Requests to fetch all pages of hosts again.
        host_requests: Vec<HostRequest>,
        /// Counts of refused seeds by reason.
        tally: Box<DiscardTally>,
        /// Index and reason of each refused seed.
        refused: Vec<(usize, Discard)>,
        /// Receives the answer.
        answer: oneshot::Sender<SeedAnswer>,
    },
}

/// Sending sides of both queues.
#[derive(Clone, Debug)]
pub struct Inbox {
    /// Queue of the writer.
    pub messages: Sender<InboundMsg>,
    /// Queue of the lease task.
    pub ip_leases: LeaseSender,
    /// Files of ranks, which other agents may read.
    pub ranks: RankStore,
    /// Payloads of the archive, to which other agents may refer; unset if they may not, and before the crawl is open.
    pub payloads: Arc<OnceLock<Arc<OwnPayloads>>>,
}

impl Inbox {
    /// Enqueues a message. If the queue is full or the writer has ended, the message is dropped,
    /// which refuses it if its sender waits for an answer; returns false then.
    pub fn offer(&self, message: InboundMsg) -> bool {
        self.messages.try_send(message).is_ok()
    }

    /// Enqueues a message that must not be lost. Waits while the queue is full.
    pub async fn deliver(&self, mut message: InboundMsg) {
        while let Err(TrySendError::Full(back)) = self.messages.try_send(message) {
            message = back;
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }
}

impl PeerHandler for Inbox {
    fn on_packet(
        &self,
        from: PacketOrigin,
        epoch: u64,
        body: Body,
        answer: oneshot::Sender<Ack>,
    ) -> bool {
        self.offer(InboundMsg::Packet { from, epoch, body, answer })
    }

    fn on_ip_leases(
        &self,
        from: AgentId,
        epoch: u64,
        batch: LeaseBatch,
        answer: oneshot::Sender<Ack>,
    ) {
        self.ip_leases.send(LeaseCommand::Batch { from, epoch, batch, reply: answer });
    }

    fn fetch_robots(&self, url: CrawlUrl, answer: oneshot::Sender<RobotsOutcome>) {
        self.ip_leases.send(LeaseCommand::PeerRobots((url, answer)));
    }

    fn host_ranks(&self, digest: &str) -> Option<PathBuf> {
        self.ranks.file(digest)
    }

    fn payload_sets(&self) -> Vec<PublishedSet> {
        let sets = self.payloads.get().map(|payloads| payloads.list());
        let set = |(id, n, length)| PublishedSet { id, n, length };
        sets.into_iter().flatten().map(set).collect()
    }

    fn payload_set(&self, id: u64) -> Option<Bytes> {
        self.payloads.get()?.set(id)
    }

    fn find_payload(&self, digest: ContentDigest, answer: oneshot::Sender<Option<ContentRow>>) {
        let Some(payloads) = self.payloads.get().cloned() else { return };
        tokio::task::spawn_blocking(move || match payloads.find(&digest) {
            Ok(row) => drop(answer.send(row)),
            Err(error) => tracing::warn!(%error, "cannot look up a payload for another agent"),
        });
    }

    fn renew_peer_lease(&self, from: AgentId, epoch: u64, answer: oneshot::Sender<Ack>) {
        self.offer(InboundMsg::RenewPeerLease { from, epoch, answer });
    }
}
