//! `permutation`: the slots, shuffled by the group; the agents in the order of their slots.
//!
//! The universe of slots is fixed, so the permutation of a group never changes when agents come
//! and go. It is drawn (Fisher–Yates) only until enough agents have come up. An agent holds as
//! many slots as its weight and stands where the first of them stands.

use super::Strategy;
use super::random::{Seen, SplitMix};
use crate::hash::GroupHash;
use crate::view::{SLOTS, View};

/// Which agent holds which slot.
#[derive(Clone, Debug)]
pub struct Permutation {
    /// One plus the holder's position, 0 for a free slot.
    holders: Box<[u16]>,
    n_agents: usize,
}

impl Permutation {
    /// For a view that was checked.
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
    /// Those drawn stand at the front.
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
