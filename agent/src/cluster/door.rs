//! Where everything from the cluster comes in: put into the accountant's queue, in order, or what is
//! said of turns into theirs. Nobody waits for room there but those who can.

use crate::cluster::InboundMsg;
use crate::messages::{Ack, LeaseCommand, LeaseSender, RobotsFound};
use crate::peers::{self, Batch, Body, PeerHandler};
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use crossbeam::channel::{Sender, TrySendError};
use std::time::Duration;
use tokio::sync::oneshot;

/// Who waits for room looks again this soon.
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// See the module.
#[derive(Clone, Debug)]
pub struct Door {
    pub arrivals: Sender<InboundMsg>,
    pub turns: LeaseSender,
}

impl Door {
    /// Puts something in, if there is room and the accountant has not left. What waits for an answer
    /// is refused otherwise.
    pub fn offer(&self, arrival: InboundMsg) {
        let _ = self.arrivals.try_send(arrival);
    }

    /// Puts something in that must not be lost.
    pub async fn bring(&self, mut arrival: InboundMsg) {
        while let Err(TrySendError::Full(back)) = self.arrivals.try_send(arrival) {
            arrival = back;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl PeerHandler for Door {
    fn take(
        &self,
        from: peers::PacketOrigin,
        epoch: u64,
        body: Body,
        answer: oneshot::Sender<Ack>,
    ) {
        self.offer(InboundMsg::Packet { from, epoch, body, answer });
    }

    fn turns(&self, from: AgentId, epoch: u64, batch: Batch, answer: oneshot::Sender<Ack>) {
        self.turns.send(LeaseCommand::Batch { from, epoch, batch, reply: answer });
    }

    fn robots(&self, url: CrawlUrl, answer: oneshot::Sender<RobotsFound>) {
        self.turns.send(LeaseCommand::PeerRobots((url, answer)));
    }

    fn ping(&self, from: AgentId, epoch: u64, answer: oneshot::Sender<Ack>) {
        self.offer(InboundMsg::Ping { from, epoch, answer });
    }
}
