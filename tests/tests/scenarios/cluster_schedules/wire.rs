//! Packets between simulated agents: two ordered streams to each other agent, one for each lane,
//! each with one packet in flight.

use super::world::{Event, World};
use crivello_agent::cluster::{InboundMsg, PacketQueue};
use crivello_agent::messages::Ack;
use crivello_agent::peers::{Body, Lane, PacketOrigin, PeerEvent, RejectReason, Rejected};
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

/// Maximum number of packets in a stream.
const STREAM_MAX: usize = 12;
/// Time after which an unacknowledged packet is sent again, in milliseconds.
const RESEND: u64 = 2_000;

#[derive(Clone, Debug)]
pub struct Packet {
    pub id: u64,
    pub lane: Lane,
    pub epoch: u64,
    pub sender: AgentId,
    pub body: Body,
}

/// A packet that was passed to an engine, and the address for its acknowledgement.
pub struct PendingAnswer {
    pub to: usize,
    pub life: u64,
    pub lane: Lane,
    pub id: u64,
    pub answer: oneshot::Receiver<Ack>,
}

#[derive(Clone, Debug)]
pub enum Reply {
    Stored,
    /// Another epoch is in force at the receiver.
    Refused(Option<Arc<View>>),
}

#[derive(Default)]
struct Stream {
    queue: VecDeque<Packet>,
    /// Time at which the head was last sent.
    sent: Option<u64>,
}

/// The packet queues of a node.
#[derive(Default)]
pub struct Streams {
    pub me: AgentId,
    pub epoch: u64,
    last: u64,
    streams: BTreeMap<(AgentId, Lane), Stream>,
}

impl Streams {
    pub fn of(me: AgentId) -> Self {
        Self { me, ..Self::default() }
    }

    /// Enters an epoch, and drops the packets of earlier ones.
    pub fn set_epoch(&mut self, epoch: u64) {
        self.epoch = epoch;
        self.streams.clear();
    }

    pub fn are_empty(&self) -> bool {
        self.streams.values().all(|stream| stream.queue.is_empty())
    }
}

impl PacketQueue for Streams {
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        let lane = body.lane();
        let stream = self.streams.entry((to, lane)).or_default();
        if stream.queue.len() >= STREAM_MAX {
            return Err(Rejected { reason: RejectReason::Full, body });
        }
        self.last += 1;
        let (id, epoch, sender) = (self.last, self.epoch, self.me);
        stream.queue.push_back(Packet { id, lane, epoch, sender, body });
        Ok(id)
    }
}

impl World {
    pub fn transmit(&mut self, node: usize) {
        let (life, now) = (self.nodes[node].life, self.now);
        let mut out = Vec::new();
        for (&(to, _), stream) in &mut self.nodes[node].streams.streams {
            if let Some(head) = stream.queue.front()
                && stream.sent.is_none_or(|sent| now >= sent + RESEND)
            {
                stream.sent = Some(now);
                out.push((to, head.clone()));
            }
        }
        for (to, packet) in out {
            let Some(to) = self.nodes.iter().position(|n| n.id == Some(to)) else { continue };
            if let Some(wait) = self.travel(node, to) {
                self.after(wait, Event::Arrive { from: node, to, life, packet });
            }
        }
    }

    pub fn arrive(&mut self, from: usize, to: usize, life: u64, packet: Packet) {
        let n = &mut self.nodes[to];
        let (true, Some(engine)) = (n.up, &n.engine) else { return };
        let ownership = engine.ownership();
        let known = ownership
            .view()
            .and_then(|view| view.agent(packet.sender))
            .is_some_and(|agent| agent.state != AgentState::Dead);
        let Packet { id, lane, epoch, sender, body } = packet;
        if ownership.epoch() != epoch || !known {
            let view = if ownership.epoch() > epoch { ownership.view().cloned() } else { None };
            self.reply(to, (from, life, lane, id), Reply::Refused(view));
            return;
        }
        let text = format!("n{from} -> n{to} e{epoch} {body:?}");
        let (sender, answer) = (PacketOrigin { id: sender, behind_us: 0 }, oneshot::channel());
        n.inbox.push_back(InboundMsg::Packet { from: sender, epoch, body, answer: answer.0 });
        n.answers.push(PendingAnswer { to: from, life, lane, id, answer: answer.1 });
        self.say(|| text);
    }

    fn reply(&mut self, from: usize, (to, life, lane, id): (usize, u64, Lane, u64), reply: Reply) {
        if let Some(wait) = self.travel(from, to) {
            self.after(wait, Event::Answer { from, to, life, lane, id, reply });
        }
    }

    /// Sends the acknowledgements of the engine.
    pub fn answer(&mut self, node: usize) {
        for mut pending in std::mem::take(&mut self.nodes[node].answers) {
            let PendingAnswer { to, life, lane, id, .. } = pending;
            let reply = match pending.answer.try_recv() {
                Ok(Ack::Done) => Reply::Stored,
                Ok(Ack::OtherEpoch) | Err(TryRecvError::Closed) => Reply::Refused(None),
                Err(TryRecvError::Empty) => {
                    self.nodes[node].answers.push(pending);
                    continue;
                }
            };
            self.reply(node, (to, life, lane, id), reply);
        }
    }

    pub fn answered(&mut self, node: usize, from: usize, lane: Lane, id: u64, reply: Reply) {
        let Some(by) = self.nodes[from].id else { return };
        let n = &mut self.nodes[node];
        let Some(stream) = n.streams.streams.get_mut(&(by, lane)) else { return };
        if stream.queue.front().map(|packet| packet.id) != Some(id) {
            return;
        }
        match reply {
            Reply::Refused(view) => {
                if let Some(view) = view {
                    n.inbox.push_back(InboundMsg::View(view));
                }
            }
            Reply::Stored => {
                stream.queue.pop_front();
                stream.sent = None;
                n.inbox.push_back(InboundMsg::Peer(PeerEvent::Stored { by, id }));
                self.transmit(node);
            }
        }
    }
}
