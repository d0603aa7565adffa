//! Payloads in the archives of other agents, as these publish them.

use super::{BOUND, SETS_MAX, number};
use arc_swap::ArcSwap;
use crivello_common::hash::ContentDigest;
use crivello_common::view::AgentId;
use crivello_filters::{FilterError, GolombSet};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Number of failed questions in a row after which an agent is not asked until its sets were read again: each may take
/// its whole time.
const FAILURES_MAX: u32 = 3;

/// Sets of the payloads of other agents. Tasks change them, the parsers read them.
#[derive(Debug)]
pub struct PeerPayloads {
    memory_max: u64,
    agents: ArcSwap<BTreeMap<AgentId, Arc<PeerSets>>>,
}

/// Sets of one agent, by id.
#[derive(Debug, Default)]
struct PeerSets {
    sets: BTreeMap<u64, Arc<GolombSet>>,
    failures: AtomicU32,
}

/// A set as its agent announces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetSummary {
    /// Id, which the agent has for one set only.
    pub id: u64,
    /// Number of payloads.
    pub n: u64,
    /// Length in bytes.
    pub length: u64,
}

/// Sets of an agent that are to be read, and those for which there is no room.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SetPlan {
    /// Ids of sets that are kept.
    pub kept: Vec<u64>,
    /// Sets that are to be read.
    pub wanted: Vec<SetSummary>,
    /// Payloads in sets for which there is no room.
    pub left_out: u64,
}

impl PeerPayloads {
    /// Creates it without agents. The sets take at most `memory_max` bytes.
    pub fn new(memory_max: u64) -> Self {
        Self { memory_max, agents: ArcSwap::default() }
    }

    /// Returns the agents that may have archived a payload, and answer.
    pub fn holders(&self, digest: &ContentDigest) -> Vec<AgentId> {
        let (agents, number) = (self.agents.load(), number(digest));
        let may_have = |agent: &PeerSets| {
            agent.sets.values().any(|set| set.contains_number(number))
                && agent.failures.load(Relaxed) < FAILURES_MAX
        };
        agents.iter().filter(|(_, agent)| may_have(agent)).map(|(id, _)| *id).collect()
    }

    /// Returns true if an agent is alive in the last view: only then pages may refer to its captures.
    pub fn is_alive(&self, agent: AgentId) -> bool {
        self.agents.load().contains_key(&agent)
    }

    /// Returns the living agents.
    pub fn living(&self) -> Vec<AgentId> {
        self.agents.load().keys().copied().collect()
    }

    /// Notes whether an agent answered a question.
    pub fn note_answer(&self, agent: AgentId, has_answered: bool) {
        if let Some(sets) = self.agents.load().get(&agent) {
            if has_answered {
                sets.failures.store(0, Relaxed);
            } else {
                sets.failures.fetch_add(1, Relaxed);
            }
        }
    }

    /// Sets the living agents. Sets of others are dropped.
    pub fn set_living(&self, living: &[AgentId]) {
        self.agents.rcu(|before| -> BTreeMap<_, _> {
            living.iter().map(|id| (*id, before.get(id).cloned().unwrap_or_default())).collect()
        });
    }

    /// Returns which of the sets that an agent announces are to be read: the first ones that have room in its part of the
    /// memory. All living agents have equal parts, so none takes that of another.
    pub fn plan(&self, agent: AgentId, announced: &[SetSummary]) -> SetPlan {
        let agents = self.agents.load();
        let Some(known) = agents.get(&agent) else { return SetPlan::default() };
        let mut room = self.memory_max / (agents.len() as u64).max(1);
        let mut plan = SetPlan::default();
        for set in announced.iter().take(SETS_MAX) {
            let bytes = known.sets.get(&set.id).map(|set| set.bytes() as u64);
            match room.checked_sub(bytes.unwrap_or(set.length)) {
                Some(rest) if bytes.is_some() => (room, _) = (rest, plan.kept.push(set.id)),
                Some(rest) => (room, _) = (rest, plan.wanted.push(*set)),
                None => plan.left_out = plan.left_out.saturating_add(set.n),
            }
        }
        plan
    }

    /// Sets the sets of an agent: those that are kept, and others by id. The agent has answered.
    pub fn update(&self, agent: AgentId, kept: &[u64], received: &[(u64, Arc<GolombSet>)]) {
        self.agents.rcu(|before| {
            let mut agents = BTreeMap::clone(before);
            if let Some(known) = agents.get_mut(&agent) {
                let of_before = known.sets.iter().filter(|(id, _)| kept.contains(id));
                let of_before = of_before.map(|(id, set)| (*id, set.clone()));
                let sets = of_before.chain(received.iter().cloned()).collect();
                *known = Arc::new(PeerSets { sets, failures: AtomicU32::new(0) });
            }
            agents
        });
    }

    /// Returns the number of payloads in all sets, and their bytes.
    pub fn size(&self) -> (u64, u64) {
        let agents = self.agents.load();
        let sets = agents.values().flat_map(|agent| agent.sets.values());
        sets.fold((0, 0), |(n, bytes), set| (n + set.len(), bytes + set.bytes() as u64))
    }
}

/// Reads a set of another agent.
///
/// # Errors
/// [`FilterError`] if it is damaged, or has other numbers.
pub fn read_set(bytes: &[u8]) -> Result<GolombSet, FilterError> {
    let set = GolombSet::from_bytes(bytes)?;
    if set.bound() == BOUND { Ok(set) } else { Err(FilterError::Parameters) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_filters::GolombSetBuilder;

    const A: AgentId = AgentId(1);
    const B: AgentId = AgentId(2);

    fn digest(n: u8) -> ContentDigest {
        [n; 16]
    }

    fn set(digests: &[u8], bound: u64) -> GolombSet {
        let mut set = GolombSetBuilder::expecting(digests.len() as u64, bound).unwrap();
        digests.iter().for_each(|&n| set.push(number(&digest(n)) % bound).unwrap());
        set.finish()
    }

    fn sets<const N: usize>(all: [(u64, &[u8]); N]) -> [(u64, Arc<GolombSet>); N] {
        all.map(|(id, digests)| (id, Arc::new(set(digests, BOUND))))
    }

    fn summary(id: u64, length: u64) -> SetSummary {
        SetSummary { id, n: 3, length }
    }

    #[test]
    fn payloads_are_found_with_the_agents_that_are_alive_and_answer() {
        let peers = PeerPayloads::new(1 << 20);
        peers.update(A, &[], &sets([(1, &[1, 2])]));
        assert_eq!(peers.holders(&digest(1)), [], "it is not alive");
        peers.set_living(&[A, B]);
        peers.update(A, &[], &sets([(1, &[1, 2]), (2, &[3])]));
        peers.update(B, &[], &sets([(1, &[2])]));
        assert_eq!(
            [1, 2, 3, 4].map(|n| peers.holders(&digest(n))),
            [vec![A], vec![A, B], vec![A], vec![]]
        );
        assert_eq!(peers.size().0, 4);
        for _ in 0..FAILURES_MAX {
            assert_eq!(peers.holders(&digest(2)), [A, B]);
            peers.note_answer(A, false);
        }
        assert_eq!(peers.holders(&digest(2)), [B]);
        // Sets that are read again count as an answer.
        peers.update(A, &[1], &[]);
        assert_eq!([2, 3].map(|n| peers.holders(&digest(n))), [vec![A, B], vec![]]);
        peers.set_living(&[B]);
        assert_eq!((peers.holders(&digest(2)), peers.is_alive(A)), (vec![B], false));
    }

    #[test]
    fn damaged_sets_and_those_of_other_numbers_are_refused() {
        let whole = set(&[1, 2], BOUND);
        assert_eq!(read_set(&whole.to_bytes()), Ok(whole.clone()));
        assert!(read_set(&whole.to_bytes()[1..]).is_err());
        assert!(read_set(&set(&[1], BOUND / 2).to_bytes()).is_err());
    }

    #[test]
    fn each_agent_has_its_part_of_the_memory() {
        let peers = PeerPayloads::new(1_000);
        assert_eq!(peers.plan(A, &[summary(1, 10)]), SetPlan::default());
        peers.set_living(&[A, B]);
        let announced = [summary(1, 300), summary(2, 201), summary(3, u64::MAX), summary(4, 200)];
        let wanted = vec![announced[0], announced[3]];
        assert_eq!(peers.plan(A, &announced), SetPlan { kept: vec![], wanted, left_out: 6 });
        peers.update(A, &[], &sets([(1, &[1])]));
        let plan = peers.plan(A, &[announced[0], summary(5, 400)]);
        assert_eq!(plan, SetPlan { kept: vec![1], wanted: vec![summary(5, 400)], left_out: 0 });
        let many: Vec<SetSummary> = (0..1_000).map(|id| summary(id, 0)).collect();
        assert_eq!(peers.plan(B, &many).wanted.len(), SETS_MAX);
    }
}
