//! How a node learns views, leases and peer leases.

use super::node::REPLICATION;
use super::wire::{Body, COPIES};
use super::world::{Event, LEASE, World, timestamp};
use crivello_agent::ownership::Ownership;
use crivello_common::assignment::StrategyKind;
use crivello_common::config::Cluster;
use crivello_common::view::{AgentId, AgentState, View};
use std::sync::Arc;

fn cluster_settings() -> Cluster {
    let strategy = StrategyKind::Permutation;
    Cluster { strategy, replication: REPLICATION as u32, lease: LEASE }
}

impl World {
    pub fn renew_peer_leases(&mut self, node: usize) {
        let n = &mut self.nodes[node];
        if self.now < n.pinged + 1_000 {
            return;
        }
        n.pinged = self.now;
        let (Some(ownership), Some(id)) = (&n.ownership, n.disk.id) else { return };
        let Some(view) = ownership.view() else { return };
        let epoch = view.epoch;
        let (sent, life) = (self.now, n.life);
        let others: Vec<usize> = view
            .agents
            .iter()
            .filter(|a| a.id != id && a.state != AgentState::Dead)
            .map(|a| {
                a.name[1..a.name.find('.').expect("as it was made")]
                    .parse()
                    .expect("as it was made")
            })
            .collect();
        for to in others {
            if let Some(wait) = self.travel(node, to) {
                self.after(wait, Event::Ping { from: node, to, life, sent, epoch });
            }
        }
    }

    pub fn ping(&mut self, from: usize, to: usize, life: u64, sent: u64, epoch: u64) {
        let now = self.timestamp();
        let asker = self.nodes[from].disk.id;
        let n = &mut self.nodes[to];
        let (true, Some(ownership), Some(asker)) = (n.up, &mut n.ownership, asker) else { return };
        let ok = ownership.epoch() == epoch
            && ownership
                .view()
                .and_then(|v| v.agent(asker))
                .is_some_and(|a| a.state != AgentState::Dead);
        if ok {
            ownership.fence.grant(asker, epoch, now);
        }
        let view = if ownership.epoch() > epoch { ownership.view().cloned() } else { None };
        if let Some(wait) = self.travel(to, from) {
            self.after(wait, Event::Pong { from: to, to: from, life, sent, ok, view });
        }
    }

    pub fn pong(&mut self, node: usize, from: usize, sent: u64, ok: bool, view: Option<Arc<View>>) {
        let peer = self.nodes[from].disk.id;
        if let (true, Some(peer), Some(ownership)) = (ok, peer, &mut self.nodes[node].ownership) {
            ownership.fence.peer_lease_renewed(peer, timestamp(sent));
        }
        if let Some(view) = view {
            self.learn(node, view);
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
        let now = self.timestamp();
        if refused {
            // Declared dead, or somebody else holds the lease: join again.
            let n = &mut self.nodes[node];
            let lost = n
                .disk
                .id
                .is_some_and(|id| view.agent(id).is_none_or(|a| a.state == AgentState::Dead));
            if n.ownership.is_some() && lost {
                n.ownership = None;
                n.reset();
                let gone: Vec<_> = std::mem::take(&mut n.visits).into_keys().collect();
                for group in gone {
                    self.visited.remove(&group);
                }
                self.nodes[node].heartbeat = 0;
            }
            return;
        }
        let n = &mut self.nodes[node];
        if let Some(id) = id
            && n.ownership.is_none()
        {
            n.disk.id = Some(id);
            n.ownership = Some(Ownership::new(id, &cluster_settings(), now));
        }
        if leased && let Some(ownership) = &mut n.ownership {
            ownership.fence.leased(timestamp(sent) + LEASE);
        }
        self.learn(node, view);
    }

    pub fn learn(&mut self, node: usize, view: Arc<View>) {
        let n = &mut self.nodes[node];
        let Some(ownership) = &mut n.ownership else { return };
        let epoch = view.epoch;
        if ownership.on_view(view).expect("as it was made") {
            self.keep_copies(node);
            self.say(|| format!("n{node} knows epoch {epoch}"));
        }
    }

    /// A new epoch: all that was said in the old one is forgotten, but for the copies of facts to
    /// those that have all else and still are to have them.
    pub fn keep_copies(&mut self, node: usize) {
        let mut kept = Vec::new();
        let n = &self.nodes[node];
        let Some(ownership) = &n.ownership else { return };
        for (&(to, class), stream) in &n.streams {
            for packet in stream.queue.iter().filter(|_| class == COPIES) {
                if let Body::Fact(page, _) = packet.body {
                    let group = self.group(page);
                    if ownership.is_in_sync(group, to, &n.disk.tags)
                        && ownership.replicas(group).contains(&to)
                    {
                        kept.push((to, packet.body.clone()));
                    }
                }
            }
        }
        let n = &mut self.nodes[node];
        n.reset();
        for (to, body) in kept {
            n.send(to, COPIES, body);
        }
    }
}
