//! `permutation`: all slots are shuffled by the group, and the agents are ordered by their slots.
//!
//! The set of slots is fixed, so the permutation of a group does not change when agents join or
//! leave. It is drawn (Fisher–Yates) only as far as needed. An agent holds as many slots as its
//! weight; its rank is the rank of its first slot.

use super::seen::Seen;
use super::strategy::Strategy;
use crate::hash::GroupHash;
use crate::random::SplitMix;
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
        // The drawn slots are at the front.
        let mut slots: Vec<u16> = (0..SLOTS).collect();
        let (mut random, mut seen, n) = (SplitMix(group.0), Seen::default(), self.n_agents);
        let draws = (0..slots.len()).map(move |drawn| {
            let at = drawn + random.below(slots.len() - drawn);
            slots.swap(drawn, at);
            usize::from(slots[drawn])
        });
        let holders = draws.filter_map(move |slot| usize::from(self.holders[slot]).checked_sub(1));
        holders.filter(move |&agent| seen.insert(agent, n)).take(n)
    }
}
