//! What travels, and how: two ordered streams from each node to each other one, each with one
//! packet on its way. Copies have one of their own: nothing that is acknowledged on it waits for
//! anybody else, so what waits for copies never waits in a circle.

use super::disk::State;
use super::node::Then;
use super::world::{Event, Page, World};
use crivello_agent::ownership::{OwnershipMessage, TransferKind};
use crivello_common::hash::GroupHash;
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

pub const MAIN: usize = 0;
pub const COPIES: usize = 1;

#[derive(Clone, Debug)]
pub struct Packet {
    pub id: u64,
    pub class: usize,
    pub epoch: u64,
    pub sender: AgentId,
    pub body: Body,
}

#[derive(Clone, Debug)]
pub enum Body {
    /// A page, for the owner of its group or for one that copies it.
    Fact(Page, State),
    /// All rows of a group.
    Rows(GroupHash, Vec<(Page, State)>, TransferKind),
    Say(OwnershipMessage),
}

#[derive(Clone, Debug)]
pub enum Reply {
    Stored,
    /// Another epoch is in force here.
    Refused(Option<Arc<View>>),
}

/// One of a node's streams to another.
#[derive(Default)]
pub struct Stream {
    pub queue: VecDeque<Packet>,
    /// When the head was sent last.
    pub sent: Option<u64>,
}

impl World {
    pub fn transmit(&mut self, node: usize) {
        let life = self.nodes[node].life;
        let now = self.now;
        let mut out = Vec::new();
        for (&(to, _), stream) in &mut self.nodes[node].streams {
            if let Some(head) = stream.queue.front()
                && stream.sent.is_none_or(|sent| now >= sent + 2_000)
            {
                stream.sent = Some(now);
                out.push((to, head.clone()));
            }
        }
        for (to, packet) in out {
            let Some(to) = self.nodes.iter().position(|n| n.disk.id == Some(to)) else { continue };
            if let Some(wait) = self.travel(node, to) {
                self.after(wait, Event::Arrive { from: node, to, life, packet });
            }
        }
    }

    pub fn arrive(&mut self, from: usize, to: usize, life: u64, packet: Packet) {
        if !self.nodes[to].up {
            return;
        }
        let Some(ownership) = &self.nodes[to].ownership else { return };
        let epoch = ownership.epoch();
        let known = ownership
            .view()
            .and_then(|v| v.agent(packet.sender))
            .is_some_and(|a| a.state != AgentState::Dead);
        if epoch != packet.epoch || !known {
            let view = if epoch > packet.epoch { ownership.view().cloned() } else { None };
            if let Some(wait) = self.travel(to, from) {
                let reply = Reply::Refused(view);
                self.after(
                    wait,
                    Event::Answer {
                        from: to,
                        to: from,
                        life,
                        class: packet.class,
                        id: packet.id,
                        reply,
                    },
                );
            }
            return;
        }
        self.say(|| format!("n{from} -> n{to} e{epoch} {:?}", packet.body));
        let then = Then::Reply { to: from, life, class: packet.class, id: packet.id };
        let sender = packet.sender;
        let mut effects = Vec::new();
        let mut waits = BTreeSet::new();
        let me = self.nodes[to].disk.id;
        match packet.body {
            Body::Fact(page, state) => {
                let group = self.group(page);
                let n = &mut self.nodes[to];
                if packet.class == COPIES {
                    if let Some(c) = &mut n.ownership {
                        c.store_as_copy(group, sender, &mut n.disk.tags);
                    }
                    n.merge(group, page, state);
                } else {
                    if n.ownership.as_ref().and_then(|c| c.owner(group)) != me {
                        self.wrong =
                            Some(format!("n{to} got what it does not own in the same epoch"));
                        return;
                    }
                    waits = n.store(group, page, state, None);
                }
            }
            Body::Rows(group, rows, end) => {
                let n = &mut self.nodes[to];
                if let TransferKind::Handoff { keeps, .. } = end {
                    let except = keeps.then_some(sender);
                    if let Some(c) = &mut n.ownership {
                        c.store_as_owner(group, &mut n.disk.tags);
                    }
                    for (page, state) in rows {
                        waits.extend(n.store(group, page, state, except));
                    }
                } else {
                    if let Some(c) = &mut n.ownership {
                        c.store_as_copy(group, sender, &mut n.disk.tags);
                    }
                    for (page, state) in rows {
                        n.merge(group, page, state);
                    }
                }
                if let Some(c) = &mut n.ownership {
                    c.rows_end(group, sender, end, &mut n.disk.tags, &mut effects);
                }
            }
            Body::Say(message) => {
                let n = &mut self.nodes[to];
                if let Some(c) = &mut n.ownership {
                    c.hear(sender, &message, &mut n.disk.tags, &mut effects);
                }
            }
        }
        self.carry_out(to, effects);
        self.wait(to, waits, then);
    }

    pub fn answered(&mut self, node: usize, from: usize, class: usize, id: u64, reply: Reply) {
        let Some(peer) = self.nodes[from].disk.id else { return };
        let n = &mut self.nodes[node];
        let Some(stream) = n.streams.get_mut(&(peer, class)) else { return };
        if stream.queue.front().map(|p| p.id) != Some(id) {
            return;
        }
        match reply {
            Reply::Refused(view) => {
                if let Some(view) = view {
                    self.learn(node, view);
                }
            }
            Reply::Stored => {
                stream.queue.pop_front();
                stream.sent = None;
                let item = n.carried.remove(&id);
                let transfer = n.transfers.remove(&id);
                let mut effects = Vec::new();
                if let (Some((group, to)), Some(c)) = (transfer, &mut n.ownership) {
                    c.transferred(group, to, &mut n.disk.tags, &mut effects);
                }
                let mut ready = Vec::new();
                for wait in &mut n.waits {
                    if wait.copies.remove(&id) && wait.copies.is_empty() {
                        ready.push(wait.then.clone());
                    }
                }
                n.waits.retain(|wait| !wait.copies.is_empty());
                self.carry_out(node, effects);
                for then in ready {
                    self.then(node, &then);
                }
                if let Some(item) = item {
                    self.done(node, item);
                }
                self.transmit(node);
            }
        }
    }
}
