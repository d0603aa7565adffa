//! Faults, random and planned.

use super::node::Node;
use super::world::{COORDINATOR, Event, FAULTS_UNTIL, Kind, World};
use crivello_common::view::AgentState;
use crivello_coordinator::members::MemberEvent;

impl World {
    /// Returns whether every agent has the rows of its groups, so that the loss of one disk loses
    /// nothing.
    pub fn is_whole(&self) -> bool {
        let up = |n: &&Node| n.up;
        self.nodes.iter().filter(|n| !n.left).all(|n| n.up)
            && self.nodes.iter().filter(up).all(|n| n.is_settled(self.members.view().epoch))
            && self.members.view().agents.iter().filter(|a| a.state == AgentState::Active).count()
                >= 2
    }

    pub fn fault(&mut self) {
        if self.now > FAULTS_UNTIL {
            return;
        }
        let wait = 200 + self.rng.below(25_000);
        self.after(wait, Event::Fault);
        let n_nodes = self.nodes.len() as u64;
        let node = self.rng.below(n_nodes) as usize;
        match self.kind {
            Kind::Calm => {}
            Kind::Planned => self.planned(node),
            Kind::Crashes | Kind::Cuts if self.rng.chance(4) => self.planned(node),
            Kind::Crashes => self.crash(node),
            Kind::Cuts => match self.rng.below(4) {
                0 => self.crash(node),
                1 => {
                    if self.coordinator_up {
                        self.coordinator_up = false;
                        let wait = 1_000 + self.rng.below(60_000);
                        self.say(|| "coordinator is down".into());
                        self.after(wait, Event::CoordinatorUp);
                    }
                }
                2 => {
                    // Cuts the node off from all others.
                    for other in (0..self.nodes.len()).chain([COORDINATOR]) {
                        self.cut(node, other);
                    }
                }
                _ => {
                    let other = self.rng.below(n_nodes + 1) as usize;
                    let other = if other == n_nodes as usize { COORDINATOR } else { other };
                    self.cut(node, other);
                }
            },
        }
    }

    pub fn cut(&mut self, a: usize, b: usize) {
        if a != b && self.cuts.insert((a.min(b), a.max(b))) {
            self.say(|| format!("cut {:?}", (a.min(b), a.max(b))));
            let wait = 1_000 + self.rng.below(40_000);
            self.after(wait, Event::Heal { cut: (a.min(b), a.max(b)) });
        }
    }

    pub fn planned(&mut self, node: usize) {
        if self.rng.chance(2) && self.nodes.len() < 8 {
            return self.add_node();
        }
        if let Some(id) = self.nodes[node].id {
            let epoch = self.members.view().epoch;
            let step = self.members.step(&MemberEvent::Drain { id }, self.timestamp());
            let refusal = step.refusal;
            self.say(|| format!("drain n{node}: {refusal:?}"));
            self.publish(self.members.view().epoch != epoch);
        }
    }

    pub fn crash(&mut self, node: usize) {
        if !self.nodes[node].up || self.nodes[node].left {
            return;
        }
        let whole = self.is_whole();
        self.visited.retain(|_, (by, _)| *by != node);
        let lose = whole && self.rng.chance(2);
        let wait =
            if self.rng.chance(2) { 200 + self.rng.below(3_000) } else { self.rng.below(50_000) };
        self.say(|| format!("n{node} crashes{}", if lose { ", its disk is gone" } else { "" }));
        let web = self.web.clone();
        self.nodes[node].crash(lose, &web);
        self.after(wait, Event::Back { node });
    }
}
