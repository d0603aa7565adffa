//! Packets between simulated agents: two queues to each other agent, one for each lane. As in
//! [`crivello_agent::peers`], a stream sends a queue from its head, with some packets in flight, in
//! order; acknowledgements arrive in any order. A lost packet, a lost acknowledgement or a full inbox
//! ends the stream, and the next one begins at the head again.

use super::world::{Event, World};
use crivello_agent::cluster::{InboundMsg, PacketQueue};
use crivello_agent::messages::Ack;
use crivello_agent::peers::{Body, Lane, PacketOrigin, PeerEvent, RejectReason, Rejected};
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;
use tokio::sync::oneshot::error::TryRecvError;

/// Maximum number of packets in a stream; with a large web, `LARGE_FACTOR` times as many.
const STREAM_MAX: usize = 12;
/// Maximum number of packets in flight, likewise.
const WINDOW: usize = 5;
/// Time after the last acknowledgement, in milliseconds, at which it shows that a stream is broken.
const RESEND: u64 = 2_000;

#[derive(Clone, Debug)]
pub struct Packet {
    pub id: u64,
    pub stream: u64,
    pub lane: Lane,
    pub epoch: u64,
    pub sender: AgentId,
    pub body: Body,
}

/// A packet that was passed to an engine, and the address for its acknowledgement.
pub struct PendingAnswer {
    pub to: usize,
    pub life: u64,
    pub stream: u64,
    pub lane: Lane,
    pub id: u64,
    pub answer: oneshot::Receiver<Ack>,
}

#[derive(Clone, Debug)]
pub enum Reply {
    Stored,
    /// Another epoch is in force at the receiver.
    Refused(Option<Arc<View>>),
    /// There was no room.
    NoRoom,
}

#[derive(Default)]
struct Stream {
    queue: VecDeque<Packet>,
    /// Packets of the queue that are acknowledged, while the head is not.
    acknowledged: BTreeSet<u64>,
    number: u64,
    /// Number of packets, from the head, that the stream has sent.
    n_sent: usize,
    /// True if nothing arrives any more.
    is_broken: bool,
    /// Time at which the next stream begins, unless a packet is acknowledged before.
    ends: u64,
    /// Time at which the last packet arrives.
    arrives: u64,
}

/// The packet queues of a node.
#[derive(Default)]
pub struct Streams {
    pub me: AgentId,
    pub epoch: u64,
    /// Factor of the numbers of packets.
    pub factor: usize,
    last: u64,
    streams: BTreeMap<(AgentId, Lane), Stream>,
}

impl Streams {
    pub fn of(me: AgentId, factor: usize) -> Self {
        Self { me, factor, ..Self::default() }
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
        if stream.queue.len() >= STREAM_MAX * self.factor {
            return Err(Rejected { reason: RejectReason::Full, body });
        }
        self.last += 1;
        let (id, epoch, sender) = (self.last, self.epoch, self.me);
        stream.queue.push_back(Packet { id, stream: 0, lane, epoch, sender, body });
        Ok(id)
    }
}

impl World {
    pub fn transmit(&mut self, node: usize) {
        let (life, now) = (self.nodes[node].life, self.now);
        let window = WINDOW * self.web.factor();
        let mut streams = std::mem::take(&mut self.nodes[node].streams.streams);
        for (&(to, _), stream) in &mut streams {
            let Some(to) = self.nodes.iter().position(|n| n.id == Some(to)) else { continue };
            let is_over = stream.number == 0 || stream.is_broken;
            if !stream.queue.is_empty() && is_over && now >= stream.ends {
                stream.number += 1;
                (stream.n_sent, stream.is_broken, stream.ends) = (0, false, now + RESEND);
            }
            while !stream.is_broken
                && stream.n_sent < window
                && let Some(packet) = stream.queue.get(stream.n_sent)
            {
                stream.n_sent += 1;
                let Some(wait) = self.travel(node, to) else {
                    stream.is_broken = true;
                    break;
                };
                stream.arrives = stream.arrives.max(now + wait);
                let packet = Packet { stream: stream.number, ..packet.clone() };
                self.at(stream.arrives, Event::Arrive { from: node, to, life, packet });
            }
        }
        self.nodes[node].streams.streams = streams;
    }

    pub fn arrive(&mut self, from: usize, to: usize, life: u64, packet: Packet) {
        let n = &mut self.nodes[to];
        let (true, Some(engine)) = (n.up, &n.engine) else {
            // There is no connection: nothing of this stream arrives any more.
            self.break_stream(from, (to, packet.lane));
            let n = &mut self.nodes[to];
            let latest = n.latest.entry((packet.sender, packet.lane)).or_default();
            *latest = (*latest).max((packet.epoch, packet.stream + 1));
            return;
        };
        let ownership = engine.ownership();
        let known = ownership
            .view()
            .and_then(|view| view.agent(packet.sender))
            .is_some_and(|agent| agent.state != AgentState::Dead);
        let Packet { id, stream, lane, epoch, sender, body } = packet;
        if ownership.epoch() != epoch || !known {
            let view = if ownership.epoch() > epoch { ownership.view().cloned() } else { None };
            // A rejection ends the stream.
            let latest = n.latest.entry((sender, lane)).or_default();
            *latest = (*latest).max((epoch, stream + 1));
            self.reply(to, (from, life, (lane, stream), id), Reply::Refused(view));
            return;
        }
        let inbox_max = n.inbox_max(self.now) * self.web.factor();
        let latest = n.latest.entry((sender, lane)).or_default();
        if *latest > (epoch, stream) {
            return;
        }
        if n.inbox.len() >= inbox_max || self.rng.chance(200) {
            *latest = (epoch, stream + 1);
            return self.reply(to, (from, life, (lane, stream), id), Reply::NoRoom);
        }
        *latest = (epoch, stream);
        let text = format!("n{from} -> n{to} e{epoch} {body:?}");
        let (sender, answer) = (PacketOrigin { id: sender, behind_us: 0 }, oneshot::channel());
        n.inbox.push_back(InboundMsg::Packet { from: sender, epoch, body, answer: answer.0 });
        n.answers.push(PendingAnswer { to: from, life, stream, lane, id, answer: answer.1 });
        self.say(|| text);
    }

    fn reply(
        &mut self,
        from: usize,
        (to, life, stream, id): (usize, u64, (Lane, u64), u64),
        reply: Reply,
    ) {
        match self.travel(from, to) {
            Some(wait) => self.after(wait, Event::Answer { from, to, life, stream, id, reply }),
            None => self.break_stream(to, (from, stream.0)),
        }
    }

    /// Breaks the stream of a node to another: it is begun again after a while.
    fn break_stream(&mut self, from: usize, (to, lane): (usize, Lane)) {
        let Some(to) = self.nodes[to].id else { return };
        if let Some(stream) = self.nodes[from].streams.streams.get_mut(&(to, lane)) {
            stream.is_broken = true;
        }
    }

    /// Breaks all streams to a node whose process has ended.
    pub fn break_streams_to(&mut self, node: usize) {
        for from in 0..self.nodes.len() {
            for lane in [Lane::Main, Lane::Replicas] {
                self.break_stream(from, (node, lane));
            }
        }
    }

    /// Sends the acknowledgements of the engine.
    pub fn answer(&mut self, node: usize) {
        for mut pending in std::mem::take(&mut self.nodes[node].answers) {
            let PendingAnswer { to, life, stream, lane, id, .. } = pending;
            let reply = match pending.answer.try_recv() {
                Ok(Ack::Done) => Reply::Stored,
                Ok(Ack::OtherEpoch) | Err(TryRecvError::Closed) => Reply::Refused(None),
                Err(TryRecvError::Empty) => {
                    self.nodes[node].answers.push(pending);
                    continue;
                }
            };
            self.reply(node, (to, life, (lane, stream), id), reply);
        }
    }

    pub fn answered(
        &mut self,
        node: usize,
        from: usize,
        (lane, number): (Lane, u64),
        id: u64,
        reply: Reply,
    ) {
        let Some(by) = self.nodes[from].id else { return };
        let n = &mut self.nodes[node];
        let stream = n.streams.streams.get_mut(&(by, lane));
        let Some(stream) = stream.filter(|stream| stream.number == number) else { return };
        match reply {
            Reply::Refused(view) => {
                if let Some(view) = view {
                    n.inbox.push_back(InboundMsg::View(view));
                }
                stream.is_broken = true;
            }
            Reply::NoRoom => (stream.is_broken, stream.ends) = (true, self.now),
            Reply::Stored => {
                let is_waiting = stream.queue.iter().any(|packet| packet.id == id);
                if !is_waiting || !stream.acknowledged.insert(id) {
                    return;
                }
                while let Some(head) = stream.queue.front()
                    && stream.acknowledged.remove(&head.id)
                {
                    stream.queue.pop_front();
                    stream.n_sent = stream.n_sent.saturating_sub(1);
                }
                stream.ends = self.now + RESEND;
                n.inbox.push_back(InboundMsg::Peer(PeerEvent::Stored { by, id }));
                self.transmit(node);
            }
        }
    }
}
