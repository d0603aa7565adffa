//! Faults, random and planned.

use super::node::{DiskFault, Node};
use super::world::{COORDINATOR, Event, FAULTS_UNTIL, Kind, LEASE, Page, World};
use crivello_common::view::AgentState;
use crivello_coordinator::members::MemberEvent;

/// Maximum time for which a writer stands still or is slow.
const STALL_MAX: u64 = 60_000;
/// Maximum time for which an agent is cut off from the others before it dies and returns.
const CUT_OFF_MAX: u64 = 6_000;
/// Time for which an agent is slow that joins while another one returns.
const SLOW_AFTER_JOIN: u64 = 20_000;
/// Maximum number of agents in a schedule.
const AGENTS_MAX: usize = 8;
/// Maximum number of agents in a schedule in which new ones join while others return.
const AGENTS_MAX_WITH_RETURNS: usize = 12;
/// Maximum time for which the link between two agents is cut, if that is all.
const LONG_CUT_MAX: u64 = 90_000;

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
            _ if self.rng.chance(4) => self.planned(node),
            Kind::Crashes | Kind::LostDisks => self.crash(node),
            Kind::PowerCuts if self.rng.chance(4) => {
                // The power of all agents at once.
                (0..self.nodes.len()).for_each(|node| self.crash_now(node));
            }
            Kind::PowerCuts => self.crash(node),
            Kind::Stalls => self.stall(node),
            Kind::Returns => self.cut_off_and_crash(node),
            Kind::Isolation if self.rng.chance(2) => self.isolate(),
            Kind::Cuts | Kind::Isolation => match self.rng.below(5) {
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
                    let until = self.now + 1_000 + self.rng.below(30_000);
                    self.nodes[node].frozen_until = until;
                    self.say(|| format!("n{node} is frozen until {until}"));
                }
                3 => {
                    // Cuts the node off from all others.
                    for other in (0..self.nodes.len()).chain([COORDINATOR]) {
                        self.cut_both(node, other);
                    }
                }
                _ => {
                    let other = self.rng.below(n_nodes + 1) as usize;
                    let other = if other == n_nodes as usize { COORDINATOR } else { other };
                    match self.rng.below(4) {
                        0 => self.cut((node, other)),
                        1 => self.cut((other, node)),
                        _ => self.cut_both(node, other),
                    }
                }
            },
        }
    }

    /// Cuts the coordinator off from all agents that live. Then an agent joins that has granted
    /// nobody a peer lease: a new one, or one that was dead.
    fn isolate(&mut self) {
        for node in 0..self.nodes.len() {
            if self.nodes[node].up {
                self.cut_both(node, COORDINATOR);
            }
        }
        let is_down = |n: &Node| !n.up && !n.left;
        let newcomer = self.nodes.iter().position(is_down).unwrap_or(self.nodes.len());
        if newcomer < self.nodes.len() {
            self.start(newcomer);
        } else if self.nodes.len() < AGENTS_MAX {
            self.add_node();
        }
        // It reaches the others or not.
        if self.rng.chance(2) {
            (0..self.nodes.len()).for_each(|other| self.cut_both(newcomer, other));
        }
    }

    fn cut_both(&mut self, a: usize, b: usize) {
        self.cut((a, b));
        self.cut((b, a));
    }

    /// Cuts a link in one direction.
    fn cut(&mut self, link: (usize, usize)) {
        let wait = 1_000 + self.rng.below(40_000);
        self.cut_for(link, wait);
    }

    fn cut_for(&mut self, link: (usize, usize), wait: u64) {
        if link.0 != link.1 && !self.cuts.contains_key(&link) {
            self.cuts.insert(link, self.now);
            self.say(|| format!("cut {link:?}"));
            self.after(wait, Event::Heal { cut: link });
        }
    }

    /// Makes an agent slow or lets it stand still, fills its disk or inbox, or cuts its link to
    /// another one.
    fn stall(&mut self, node: usize) {
        let which = self.rng.below(8);
        let until = self.now
            + match which {
                4 => 1_000 + self.rng.below(12_000),
                5 => 1_000 + self.rng.below(30_000),
                6 => 1_000 + self.rng.below(LONG_CUT_MAX),
                _ => 1_000 + self.rng.below(STALL_MAX),
            };
        let n = &mut self.nodes[node];
        match which {
            0..3 if n.engine.is_some() => {
                n.stuck_until = until;
                if which == 0 {
                    n.full_until = until;
                }
                let is_full = which == 0;
                self.say(|| format!("n{node} stands still until {until}, disk full: {is_full}"));
            }
            3 => {
                n.slow_until = until;
                self.say(|| format!("n{node} is slow until {until}"));
            }
            4 => {
                n.cramped_until = until;
                self.say(|| format!("the inbox of n{node} is full until {until}"));
            }
            5 => {
                n.frozen_until = until;
                self.say(|| format!("n{node} is frozen until {until}"));
            }
            6 => {
                let other = self.rng.below(self.nodes.len() as u64) as usize;
                let wait = until - self.now;
                match self.rng.chance(3) {
                    true => self.cut_for((node, other), wait),
                    false => {
                        self.cut_for((node, other), wait);
                        self.cut_for((other, node), wait);
                    }
                }
            }
            _ => self.crash(node),
        }
    }

    pub fn planned(&mut self, node: usize) {
        if self.rng.chance(2) && self.nodes.len() < AGENTS_MAX {
            // Some agents are drained again while the groups are still on their way to them.
            if self.rng.chance(3) {
                let wait = 300 + self.rng.below(6_000);
                self.after(wait, Event::Drain { node: self.nodes.len() });
            }
            return self.add_node();
        }
        self.drain(node);
    }

    pub fn drain(&mut self, node: usize) {
        if let Some(id) = self.nodes[node].id {
            let epoch = self.members.view().epoch;
            let step = self.members.step(&MemberEvent::Drain { id }, self.timestamp());
            let refusal = step.err();
            self.say(|| format!("drain n{node}: {refusal:?}"));
            self.publish(self.members.view().epoch != epoch);
        }
    }

    /// Ends the process of a node, now or in the middle of one of its next turns.
    fn crash(&mut self, node: usize) {
        match self.rng.chance(2) {
            true => self.crash_now(node),
            false => self.nodes[node].steps_left = Some(self.rng.below(12)),
        }
    }

    /// Marks a point between two durable steps of a node. Returns true if its process ends there.
    pub fn ends_here(&mut self, node: usize) -> bool {
        let left = self.nodes[node].steps_left;
        self.nodes[node].steps_left = left.and_then(|left| left.checked_sub(1));
        if left == Some(0) {
            self.say(|| format!("n{node} ends in the middle of a turn"));
            self.crash_now(node);
        }
        left == Some(0)
    }

    pub fn crash_now(&mut self, node: usize) {
        if !self.nodes[node].up || self.nodes[node].left {
            return;
        }
        let may_lose = match self.kind {
            Kind::LostDisks => self.can_lose(node),
            Kind::PowerCuts | Kind::Returns => false,
            _ => self.is_whole(),
        };
        let fault = if may_lose && self.rng.chance(2) {
            self.exposed = true;
            DiskFault::Lost
        } else if self.kind == Kind::PowerCuts {
            let n_unsynced = self.nodes[node].store.n_unsynced() as u64;
            DiskFault::SetBack(self.rng.below(n_unsynced + 1) as usize)
        } else {
            DiskFault::None
        };
        self.visited.retain(|_, (by, _)| *by != node);
        let wait = match self.kind {
            // It returns about when it is declared dead.
            Kind::Returns => LEASE.as_millis() as u64 + self.rng.below(2_500),
            _ if self.rng.chance(2) => 200 + self.rng.below(3_000),
            _ => self.rng.below(50_000),
        };
        self.say(|| format!("n{node} crashes, its disk: {fault:?}"));
        let web = self.web.clone();
        self.nodes[node].ended_at = self.now;
        self.break_streams_to(node);
        self.nodes[node].crash(fault, &web);
        self.after(wait, Event::Back { node });
        if self.kind == Kind::Returns {
            let wait = wait + self.rng.below(400);
            self.after(wait, Event::Join);
        }
    }

    /// Cuts an agent off from the others for a moment, so that it has rows that they lack. Then it crashes.
    /// A link that is cut already heals when it would have healed.
    fn cut_off_and_crash(&mut self, node: usize) {
        if !self.nodes[node].up {
            return;
        }
        let (life, wait) = (self.nodes[node].life, self.rng.below(CUT_OFF_MAX));
        for other in 0..self.nodes.len() {
            self.cut_for((node, other), wait);
            self.cut_for((other, node), wait);
        }
        self.after(wait, Event::Crash { node, life });
    }

    /// Adds a slow agent, while another one returns.
    pub fn add_slow_node(&mut self) {
        if self.nodes.len() >= AGENTS_MAX_WITH_RETURNS {
            return;
        }
        let node = self.nodes.len();
        self.add_node();
        self.nodes[node].slow_until = self.now + SLOW_AFTER_JOIN;
        self.say(|| format!("n{node} is slow"));
    }

    /// Returns true if the crawl must survive the loss of a disk: everything was where it belongs
    /// since the last loss, and either the agents count as settled, or the other disks have all pages
    /// that were acknowledged.
    fn can_lose(&self, node: usize) -> bool {
        let others = || self.nodes.iter().filter(|n| n.me != node && !n.left);
        let is_elsewhere = |page: &Page| others().any(|n| n.store.has_synced(*page));
        self.is_whole() || (!self.exposed && self.acknowledged().iter().all(is_elsewhere))
    }
}
