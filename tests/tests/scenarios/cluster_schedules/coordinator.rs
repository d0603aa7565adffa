//! The coordinator: the real step function behind a simulated network.

use super::judge::n_active;
use super::world::{COORDINATOR, Event, World};
use crivello_coordinator::members::{HeartbeatReport, MemberEvent, ProcessId};
use std::sync::Arc;
use std::time::Duration;

impl World {
    pub fn publish(&mut self, really: bool) {
        if !really {
            return;
        }
        let view = Arc::new(self.members.view().clone());
        self.exposed |= n_active(&view) < 2;
        self.say(|| {
            let agents = view.agents.iter().map(|a| format!("{}:{}:{:?}", a.id, a.name, a.state));
            format!("epoch {}: {}", view.epoch, agents.collect::<Vec<_>>().join(" "))
        });
        for node in 0..self.nodes.len() {
            let life = self.nodes[node].life;
            if let Some(wait) = self.travel(COORDINATOR, node) {
                let view = Arc::clone(&view);
                let (sent, id) = (0, None);
                self.after(
                    wait,
                    Event::FromCoordinator {
                        node,
                        life,
                        sent,
                        refused: false,
                        id,
                        view,
                        leased: false,
                        copies_wanted: None,
                    },
                );
            }
        }
    }

    pub fn at_coordinator(&mut self, node: usize, life: u64, sent: u64, join: bool) {
        if !self.coordinator_up {
            return;
        }
        let now = self.now;
        let n = &mut self.nodes[node];
        let unreachable = n.unreachable(now);
        let process = ProcessId(n.process());
        let event = match (n.id, join) {
            (id, true) => {
                let (disk, name) = (n.disk, n.name());
                let address = format!("{name}:1");
                let known_epoch = 0;
                MemberEvent::Join {
                    id,
                    disk,
                    process,
                    name,
                    address,
                    weight: 1,
                    known_epoch,
                    certificate: None,
                }
            }
            (Some(id), false) => {
                let epoch = n.epoch();
                let engine = n.engine.as_ref();
                MemberEvent::Heartbeat(HeartbeatReport {
                    id,
                    process,
                    epoch,
                    scanned: engine.is_some_and(|engine| engine.ownership().has_scanned()),
                    settled_epoch: n.settled_in,
                    copied_since: n.copied_since,
                    stalled: Duration::from_millis(n.stalled(now)),
                    disk_full: now < n.full_until,
                    unreachable,
                    ..HeartbeatReport::default()
                })
            }
            (None, false) => return,
        };
        let epoch = self.members.view().epoch;
        let step = self.members.step(&event, self.timestamp());
        self.publish(self.members.view().epoch != epoch);
        let refused = step.is_err();
        if join && let Err(why) = step {
            self.say(|| format!("n{node} is rejected: {why}"));
        }
        let id = step.ok().flatten().map(|lease| lease.id);
        let copies_wanted = id.filter(|_| !join).map(|id| self.members.copies_wanted(id));
        let view = Arc::new(self.members.view().clone());
        if let Some(wait) = self.travel(COORDINATOR, node) {
            self.after(
                wait,
                Event::FromCoordinator {
                    node,
                    life,
                    sent,
                    refused,
                    id,
                    view,
                    leased: !refused,
                    copies_wanted,
                },
            );
        }
    }

    /// Removes a drained node that has nothing left.
    pub fn leave(&mut self, node: usize) {
        let Some(id) = self.nodes[node].id else { return };
        if !self.coordinator_up || self.cuts.contains_key(&(node, COORDINATOR)) {
            return;
        }
        let process = ProcessId(self.nodes[node].process());
        let step = self.members.step(&MemberEvent::Leave { id, process }, self.timestamp());
        if step.is_ok() {
            self.say(|| format!("n{node} leaves"));
            let n = &mut self.nodes[node];
            n.up = false;
            n.left = true;
            n.end_process(0);
            self.publish(true);
        }
    }
}
