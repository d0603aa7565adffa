//! `permutation`: all slots are shuffled by the group, and the agents are ordered by their slots.
//!
//! The set of slots is fixed, so the permutation of a group does not change when agents join or
//! leave. It is drawn (Fisher–Yates) only as far as needed. An agent holds as many slots as its
//! weight; its rank is the rank of its first slot.

use super::Strategy;
use super::random::{Seen, SplitMix};
use crate::hash::GroupHash;
use crate::view::{SLOTS, View};

/// The agent of each slot.
#[derive(Clone, Debug)]
pub struct Permutation {
    /// One plus the index of the slot's agent; 0 for a free slot.
    holders: Box<[u16]>,
    n_agents: usize,
}

impl Permutation {
    /// Builds the slot table of a view that passed [`View::check`].
    #[must_use]
    pub fn new(view: &View) -> Self {
        let mut holders = vec![0; usize::from(SLOTS)].into_boxed_slice();
        for (number, agent) in (1..).zip(&view.agents) {
            for slot in holders.iter_mut().skip(agent.slots().start).take(agent.slots().len()) {
                *slot = number;
            }
        }
        Self { holders, n_agents: view.agents.len() }
    }
}

impl Strategy for Permutation {
    fn order(&self, group: GroupHash) -> impl Iterator<Item = usize> + '_ {
        Draws {
            holders: &self.holders,
            slots: (0..SLOTS).collect(),
            drawn: 0,
            random: SplitMix(group.0),
            seen: Seen::default(),
            n_agents: self.n_agents,
            left: self.n_agents,
        }
    }
}

struct Draws<'a> {
    holders: &'a [u16],
    /// All slots; the drawn ones are at the front.
    slots: Vec<u16>,
    drawn: usize,
    random: SplitMix,
    seen: Seen,
    n_agents: usize,
    left: usize,
}

impl Iterator for Draws<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while self.left > 0 && self.drawn < self.slots.len() {
            let at = self.drawn + self.random.below(self.slots.len() - self.drawn);
            self.slots.swap(self.drawn, at);
            let slot = usize::from(self.slots[self.drawn]);
            self.drawn += 1;
            if let Some(agent) = usize::from(self.holders[slot]).checked_sub(1)
                && self.seen.insert(agent, self.n_agents)
            {
                self.left -= 1;
                return Some(agent);
            }
        }
        None
    }
}
