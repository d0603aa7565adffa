//! Where everything from the cluster comes in: put into the accountant's queue, in order, or what is
//! said of turns into theirs. Nobody waits for room there but those who can.

use super::Arrival;
use crate::app::turns::{TurnLine, TurnWord};
use crate::messages::RobotsFound;
use crate::peers::{self, Batch, Body, Receiver, Verdict};
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
    pub arrivals: Sender<Arrival>,
    pub turns: TurnLine,
}

impl Door {
    /// Puts something in, if there is room and the accountant has not left. What waits for an answer
    /// is refused otherwise.
    pub fn offer(&self, arrival: Arrival) {
        let _ = self.arrivals.try_send(arrival);
    }

    /// Puts something in that must not be lost.
    pub async fn bring(&self, mut arrival: Arrival) {
        while let Err(TrySendError::Full(back)) = self.arrivals.try_send(arrival) {
            arrival = back;
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
}

impl Receiver for Door {
    fn take(&self, from: peers::Sender, epoch: u64, body: Body, answer: oneshot::Sender<Verdict>) {
        self.offer(Arrival::Packet { from, epoch, body, answer });
    }

    fn turns(&self, from: AgentId, epoch: u64, batch: Batch, answer: oneshot::Sender<Verdict>) {
        self.turns.say(TurnWord::Batch { from, epoch, batch, answer });
    }

    fn robots(&self, url: CrawlUrl, answer: oneshot::Sender<RobotsFound>) {
        self.turns.say(TurnWord::Guest((url, answer)));
    }

    fn ping(&self, from: AgentId, epoch: u64, answer: oneshot::Sender<Verdict>) {
        self.offer(Arrival::Ping { from, epoch, answer });
    }
}
