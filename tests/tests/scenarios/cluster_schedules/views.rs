//! Views, leases and peer leases of a simulated agent.

use super::wire::Streams;
use super::world::{Event, LEASE, World};
use crivello_agent::cluster::{ClusterStatus, InboundMsg, Outbox, ReplicationEngine};
use crivello_agent::messages::Ack;
use crivello_agent::url_tracing::Tracer;
use crivello_common::assignment::StrategyKind;
use crivello_common::config::{Cluster, Telemetry};
use crivello_common::identity::KeyedHasher;
use crivello_common::view::{AgentId, AgentState, View};
use std::sync::Arc;
use tokio::sync::oneshot;

fn cluster_settings(replication: u32) -> Cluster {
    let strategy = StrategyKind::Permutation;
    Cluster { strategy, replication, lease: LEASE }
}

impl World {
    pub fn renew_peer_leases(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        if self.now < n.pinged + 1_000 {
            return;
        }
        n.pinged = self.now;
        let (Some(engine), Some(id)) = (&n.engine, n.id) else { return };
        let Some(view) = engine.ownership().view() else { return };
        let epoch = view.epoch;
        let (sent, life) = (self.now, n.life);
        let number = |name: &str| {
            name[1..]
                .split_once('.')
                .and_then(|(n, _)| n.parse().ok())
                .expect("the format written above")
        };
        let others: Vec<usize> = view
            .agents
            .iter()
            .filter(|agent| agent.id != id && agent.state != AgentState::Dead)
            .map(|agent| number(&agent.name))
            .collect();
        for to in others {
            if let Some(wait) = self.travel(node, to) {
                self.after(wait, Event::Ping { from: node, to, life, sent, epoch });
            }
        }
    }

    pub fn ping(&mut self, from: usize, to: usize, life: u64, sent: u64, epoch: u64) {
        let asker = self.nodes[from].id;
        let n = &mut self.nodes[to];
        let (true, Some(engine), Some(from_id)) = (n.up, &n.engine, asker) else { return };
        let ownership = engine.ownership();
        let known = ownership
            .view()
            .and_then(|view| view.agent(from_id))
            .is_some_and(|agent| agent.state != AgentState::Dead);
        let view = if ownership.epoch() > epoch { ownership.view().cloned() } else { None };
        if known && n.inbox.len() >= n.inbox_max(self.now) * self.web.factor() {
            // The request is not answered.
        } else if known {
            // The answer follows with the node's next turn.
            let (answer, granted) = oneshot::channel();
            n.inbox.push_back(InboundMsg::RenewPeerLease { from: from_id, epoch, answer });
            n.grants.push((from, life, sent, granted));
        } else if let Some(wait) = self.travel(to, from) {
            self.after(wait, Event::Pong { from: to, to: from, life, sent, ok: false, view });
        }
    }

    /// Answers requests for peer leases.
    pub fn answer_pings(&mut self, node: usize) {
        for (to, life, sent, mut granted) in std::mem::take(&mut self.nodes[node].grants) {
            let ok = match granted.try_recv() {
                Ok(ack) => ack == Ack::Done,
                Err(oneshot::error::TryRecvError::Empty) => {
                    self.nodes[node].grants.push((to, life, sent, granted));
                    continue;
                }
                Err(oneshot::error::TryRecvError::Closed) => continue,
            };
            let engine = self.nodes[node].engine.as_ref();
            let view = engine.and_then(|engine| engine.ownership().view().cloned());
            if let Some(wait) = self.travel(node, to) {
                let view = view.filter(|_| !ok);
                self.after(wait, Event::Pong { from: node, to, life, sent, ok, view });
            }
        }
    }

    pub fn pong(&mut self, node: usize, from: usize, sent: u64, ok: bool, view: Option<Arc<View>>) {
        let peer = self.nodes[from].id;
        let now = self.now;
        let n = &mut self.nodes[node];
        if let Some(by) = peer {
            n.answered.insert(by, now);
        }
        if let (true, Some(by)) = (ok, peer) {
            let requested_at = n.clock(sent);
            n.inbox.push_back(InboundMsg::PeerLease { by, requested_at });
        }
        if let Some(view) = view {
            n.inbox.push_back(InboundMsg::View(view));
        }
    }

    pub fn hear_coordinator(
        &mut self,
        node: usize,
        sent: u64,
        refused: bool,
        id: Option<AgentId>,
        view: Arc<View>,
        leased: bool,
    ) {
        let now = self.clock(node);
        let n = &mut self.nodes[node];
        if refused {
            // The agent was declared dead, or another process holds the lease: it joins again.
            let lost =
                n.id.is_some_and(|id| view.agent(id).is_none_or(|a| a.state == AgentState::Dead));
            // A writer that stands still cannot save its state: it joins again once it moves.
            if n.engine.is_some() && lost && n.stalled(self.now) == 0 {
                self.evict(node);
            }
            return;
        }
        if let Some(id) = id
            && n.engine.is_none()
        {
            n.id = Some(id);
            n.streams = Streams::of(id, self.web.factor());
            let tracer =
                Tracer::new("schedule", KeyedHasher::with_public_key(), &Telemetry::default(), now)
                    .into();
            let status = Arc::new(ClusterStatus::default());
            let settings = cluster_settings(self.replication);
            let outbox = Outbox::open(n.store.outbox()).expect("a store in memory cannot fail");
            let mut engine = ReplicationEngine::new(
                (id, KeyedHasher::with_public_key()),
                &settings,
                tracer,
                status,
                outbox,
                now,
            );
            if let Some(n_roles) = self.roles_a_step {
                engine.set_roles_a_step(n_roles);
            }
            n.engine = Some(engine);
            n.wrote_at = self.now;
        }
        if n.engine.is_none() {
            // The first view of a process is the one with which it joins.
            return;
        }
        if leased && n.inbox.len() < n.inbox_max(self.now) * self.web.factor() {
            let from = n.clock(sent);
            n.inbox.push_back(InboundMsg::Leased(from + LEASE));
        }
        n.inbox.push_back(InboundMsg::View(view));
    }
}
