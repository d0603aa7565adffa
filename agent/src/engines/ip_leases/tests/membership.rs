//! Events of the cluster: agents join, leave, die, are cut off, and come back.

use super::world::{Event, World};
use crate::workbench::tests::fixture::ms;
use crivello_common::view::AgentState;

impl World {
    pub(super) fn membership_event(&mut self) {
        if self.is_calm() {
            return;
        }
        let wait = ms(500 + self.rng.below(8_000));
        self.at(wait, Event::Membership);
        let n = self.rng.below(self.view.agents.len() as u64) as usize;
        let id = self.view.agents[n].id;
        let states = self.view.agents.iter().map(|agent| agent.state);
        let active = states.filter(|&state| state == AgentState::Active).count();
        match (self.view.agents[n].state, self.rng.below(5)) {
            // The coordinator forgets the dead agent, perhaps while it still fetches.
            (AgentState::Dead, 0..2) => {
                self.view.agents.remove(n);
                self.apply_view();
            }
            (AgentState::Dead, _) if self.nodes.contains_key(&id) => {}
            (AgentState::Dead, _) => {
                self.begin_life(id);
                self.view.agents[n].state = AgentState::Active;
                self.view.agents[n].joined_epoch = self.view.epoch + 1;
                self.apply_view();
            }
            (AgentState::Draining, _) => {}
            (_, 0) if self.view.agents.len() < 7 => self.join(),
            (_, 1) if active > 1 => {
                self.view.agents[n].state = AgentState::Draining;
                self.apply_view();
            }
            (_, 2) if active > 1 => {
                self.kill(id);
                self.view.agents[n].state = AgentState::Dead;
                self.apply_view();
            }
            (_, 3) if active > 1 => {
                // It receives nothing any more, and continues to fetch by peer leases for a while.
                let closes = ms(self.rng.below(4_000));
                let life = self.nodes[&id].life;
                self.view.agents[n].state = AgentState::Dead;
                self.at(closes, Event::Fence(id, life));
                let node = self.nodes.remove(&id).expect("the node is alive");
                self.clear = self.clear.max(self.now + closes);
                self.apply_view();
                self.nodes.insert(id, node);
            }
            (_, 4) => {
                // It is killed, and restarts before it is counted as dead.
                self.kill(id);
                self.begin_life(id);
                self.view.agents[n].joined_epoch = self.view.epoch + 1;
                self.apply_view();
            }
            _ => {}
        }
    }
}
