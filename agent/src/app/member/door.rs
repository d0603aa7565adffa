//! Where other agents' packets come in: put into the accountant's queue, in order, at once.

use super::Arrival;
use crate::peers::{Body, Receiver, Verdict};
use crivello_common::view::AgentId;
use crossbeam::channel::Sender;
use tokio::sync::oneshot;

/// See the module. The queue needs no bound of its own: each agent's streams have theirs.
#[derive(Clone, Debug)]
pub struct Door(pub Sender<Arrival>);

impl Receiver for Door {
    fn take(&self, from: AgentId, epoch: u64, body: Body, answer: oneshot::Sender<Verdict>) {
        // Fails once the accountant has left; the answer's sender goes with it, which refuses.
        let _ = self.0.send(Arrival::Packet { from, epoch, body, answer });
    }

    fn ping(&self, from: AgentId, epoch: u64, answer: oneshot::Sender<Verdict>) {
        let _ = self.0.send(Arrival::Ping { from, epoch, answer });
    }
}
