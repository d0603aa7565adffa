//! The limit of pages, dealt out to the agents in portions: all portions together are never more than
//! the limit, so it holds whoever crawls how fast, and whoever cannot be reached.
//!
//! An agent is allowed a number of pages over all its runs. Only the agent makes that number smaller:
//! when it begins (what an earlier process was allowed and did not fetch is free), when it leaves, and
//! when others want more than it can use just then. It asks for no more than its visits in flight can
//! use soon, so little is left with those who do not need it.

use crate::members::Process;
use crivello_common::view::{AgentId, AgentState, View};
use std::collections::{BTreeMap, BTreeSet};

/// A portion is so much of what is left, shared by all agents.
const SHARE: u64 = 4;
/// It is no larger than this.
const PORTION_MAX: u64 = 10_000;

/// Those that are to be heard of before anything is dealt out.
pub(crate) fn living(view: &View) -> BTreeSet<AgentId> {
    let living = view.agents.iter().filter(|agent| agent.state != AgentState::Dead);
    living.map(|agent| agent.id).collect()
}

/// What an agent says of its pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    /// It goes by this allowance.
    pub(crate) allowed: u64,
    /// It has fetched so many.
    pub(crate) fetched: u64,
    /// It could use so many more.
    pub(crate) wants: u64,
    /// Which process says so, and the number of what it says, which rises.
    pub(crate) said: (Process, u64),
}

/// What it is told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// It may fetch so many.
    pub(crate) allowed: u64,
    /// Others want what it does not need.
    pub(crate) is_scarce: bool,
    /// All have fetched as many as there may be.
    pub(crate) is_used_up: bool,
    /// How many are still to be fetched, by whomever; `None` while nobody knows.
    pub(crate) left: Option<u64>,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Allowance {
    limit: u64,
    /// Of everyone who ever had one.
    allowed: BTreeMap<AgentId, u64>,
    /// What was heard last of those who were heard of.
    told: BTreeMap<AgentId, Told>,
    /// Who wants more and got nothing.
    waiting: BTreeSet<AgentId>,
    /// Who may have fetched pages that were not counted: nothing is dealt out before they are heard of.
    awaited: BTreeSet<AgentId>,
}

impl Allowance {
    /// What was dealt out before a restart.
    pub(crate) const fn new(limit: u64, allowed: BTreeMap<AgentId, u64>) -> Self {
        let told = BTreeMap::new();
        Self { limit, allowed, told, waiting: BTreeSet::new(), awaited: BTreeSet::new() }
    }

    /// The same where these agents may have fetched pages without a limit.
    pub(crate) fn awaiting(mut self, agents: BTreeSet<AgentId>) -> Self {
        self.awaited = agents;
        self
    }

    /// The limit is another one. Where more is dealt out already, the agents give it back.
    pub(crate) fn limited_to(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// To be written down before anybody hears of it.
    pub(crate) const fn dealt(&self) -> &BTreeMap<AgentId, u64> {
        &self.allowed
    }

    /// An agent tells how it stands; these are alive. What comes late changes nothing.
    pub(crate) fn hear(&mut self, id: AgentId, told: Told, living: &BTreeSet<AgentId>) -> Allowed {
        self.waiting.retain(|waiting| living.contains(waiting));
        // It knows of no more than it says; what it may not have heard of is free.
        let known = self.allowed.get(&id).copied().unwrap_or_default();
        let late = self
            .told
            .get(&id)
            .is_some_and(|last| last.said.0 == told.said.0 && last.said.1 >= told.said.1);
        if late {
            return self.answer(id, known, living);
        }
        self.told.insert(id, told);
        self.awaited.retain(|awaited| *awaited != id && living.contains(awaited));
        let mut allowed = told.allowed.min(known).max(told.fetched);
        let others = self.allowed.iter().filter(|(other, _)| **other != id);
        let others: u64 = others.map(|(_, allowed)| allowed).sum();
        let free = match self.awaited.is_empty() {
            true => self.limit.saturating_sub(others.saturating_add(allowed)),
            false => 0,
        };
        self.waiting.remove(&id);
        if told.wants > 0 {
            let portion = free / (SHARE * living.len().max(1) as u64);
            let portion = portion.clamp(1, PORTION_MAX).min(told.wants).min(free);
            allowed += portion;
            if portion == 0 && self.awaited.is_empty() {
                self.waiting.insert(id);
            }
        }
        self.allowed.insert(id, allowed);
        self.answer(id, allowed, living)
    }

    /// An agent is gone for good, and what it fetched is to be fetched again.
    pub(crate) fn forget(&mut self, id: AgentId) {
        self.allowed.remove(&id);
        self.told.remove(&id);
    }

    fn answer(&self, id: AgentId, allowed: u64, living: &BTreeSet<AgentId>) -> Allowed {
        let is_scarce = self.waiting.iter().any(|other| *other != id);
        let left = self.left(living);
        Allowed { allowed, is_scarce, is_used_up: left == Some(0), left }
    }

    /// How many are still to be fetched. Of those who are not alive, what they may have fetched
    /// counts; nobody knows before all others were heard of.
    fn left(&self, living: &BTreeSet<AgentId>) -> Option<u64> {
        if !self.awaited.is_empty() {
            return None;
        }
        let fetched = |(id, allowed): (&AgentId, &u64)| match living.contains(id) {
            true => self.told.get(id).map(|told| told.fetched),
            false => Some(*allowed),
        };
        let fetched: Option<u64> = self.allowed.iter().map(fetched).sum();
        fetched.map(|fetched| self.limit.saturating_sub(fetched))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn living(n: u32) -> BTreeSet<AgentId> {
        (1..=n).map(AgentId).collect()
    }

    const fn told(allowed: u64, fetched: u64, wants: u64, number: u64) -> Told {
        Told { allowed, fetched, wants, said: (Process(7), number) }
    }

    #[test]
    fn one_agent_gets_all_of_it_bit_by_bit() {
        let mut allowance = Allowance::new(10, BTreeMap::new());
        let (mut allowed, mut fetched) = (0, 0);
        for n in 1..40 {
            let heard = allowance.hear(AgentId(1), told(allowed, fetched, 5, n), &living(1));
            assert_eq!((heard.is_used_up, heard.left), (fetched == 10, Some(10 - fetched)));
            (allowed, fetched) = (heard.allowed, heard.allowed);
        }
        assert_eq!(fetched, 10);
    }

    #[test]
    fn what_a_restarted_agent_did_not_fetch_is_free_again() {
        let mut allowance = Allowance::new(8, BTreeMap::from([(AgentId(1), 8)]));
        assert_eq!(allowance.hear(AgentId(2), told(0, 0, 1, 1), &living(2)).allowed, 0);
        let first = allowance.hear(AgentId(1), told(3, 3, 1, 1), &living(2));
        assert!(first.is_scarce && first.allowed == 4, "{first:?}");
        assert!(allowance.hear(AgentId(2), told(0, 0, 1, 2), &living(2)).allowed > 0);
    }

    #[test]
    fn what_the_dead_may_have_fetched_counts_and_nobody_waits_for_them() {
        let mut allowance = Allowance::new(10, BTreeMap::from([(AgentId(1), 6), (AgentId(2), 4)]));
        let both = allowance.hear(AgentId(1), told(6, 6, 1, 1), &living(2));
        assert!(!both.is_used_up && both.left.is_none(), "the other was not heard of");
        let alone = allowance.hear(AgentId(1), told(6, 6, 1, 2), &living(1));
        assert!(alone.is_used_up && !alone.is_scarce);
        allowance.forget(AgentId(2));
        let again = allowance.hear(AgentId(1), told(6, 6, 9, 3), &living(1));
        assert!(!again.is_used_up && again.allowed == 7, "{again:?}");
    }

    #[test]
    fn a_limit_that_comes_later_counts_what_was_fetched_before() {
        let mut allowance = Allowance::new(10, BTreeMap::new()).awaiting(living(2));
        let first = allowance.hear(AgentId(1), told(4, 4, 5, 1), &living(2));
        assert_eq!((first.allowed, first.is_used_up), (4, false), "the other may have fetched 6");
        let second = allowance.hear(AgentId(2), told(5, 5, 5, 1), &living(2));
        assert_eq!(second.allowed, 6);
        let first = allowance.hear(AgentId(1), told(4, 4, 5, 2), &living(2));
        assert_eq!((first.allowed, first.is_used_up), (4, false));
        let second = allowance.hear(AgentId(2), told(6, 6, 5, 2), &living(2));
        assert!(second.is_used_up);
        // Nobody waits for the dead.
        let mut allowance = Allowance::new(10, BTreeMap::new()).awaiting(living(2));
        assert!(allowance.hear(AgentId(1), told(4, 4, 5, 1), &living(1)).allowed > 4);
    }

    #[test]
    fn a_limit_that_is_raised_or_lowered_holds_once_the_agents_gave_back() {
        let mut allowance =
            Allowance::new(100, BTreeMap::from([(AgentId(1), 60), (AgentId(2), 40)]));
        allowance = allowance.limited_to(50);
        let first = allowance.hear(AgentId(1), told(20, 20, 9, 1), &living(2));
        assert_eq!(first.allowed, 20, "the other has 40");
        allowance.hear(AgentId(2), told(10, 10, 0, 1), &living(2));
        assert!(allowance.hear(AgentId(1), told(20, 20, 9, 2), &living(2)).allowed > 20);
        allowance = allowance.limited_to(25);
        let first = allowance.hear(AgentId(1), told(20, 20, 9, 3), &living(2));
        assert_eq!((first.allowed, first.is_used_up), (20, true));
        allowance = allowance.limited_to(200);
        let first = allowance.hear(AgentId(1), told(20, 20, 9, 4), &living(2));
        assert!(first.allowed > 20 && !first.is_used_up);
    }

    #[test]
    fn what_comes_late_frees_nothing() {
        let mut allowance = Allowance::new(10, BTreeMap::new());
        let heard = allowance.hear(AgentId(1), told(0, 0, 9, 2), &living(1));
        let late = allowance.hear(AgentId(1), told(0, 0, 0, 1), &living(1));
        assert_eq!(late.allowed, heard.allowed);
        assert_eq!(allowance.dealt()[&AgentId(1)], heard.allowed);
    }

    proptest! {
        /// Whatever is lost on the way: what agents go by is never more than the limit.
        #[test]
        fn the_limit_holds(
            limit in 0u64..200,
            steps in prop::collection::vec((0u32..4, 0u64..9, 0u64..30, any::<bool>(), 0u8..10), 0..200),
        ) {
            let mut allowance = Allowance::new(limit, BTreeMap::new());
            let (mut allowed, mut fetched) = ([0u64; 4], [0u64; 4]);
            let living = (0..4).map(AgentId).collect();
            for (n, (agent, pages, wants, lost, fate)) in (1..).zip(steps) {
                let i = agent as usize;
                fetched[i] = (fetched[i] + pages).min(allowed[i]);
                if fate == 0 || (fate == 1 && wants == 0) {
                    allowed[i] = fetched[i]; // A new process, or one that gives back.
                }
                if fate == 2 {
                    allowance = Allowance::new(limit, allowance.dealt().clone());
                }
                let told = told(allowed[i], fetched[i], wants, n);
                let heard = allowance.hear(AgentId(agent), told, &living);
                if !lost {
                    prop_assert!(heard.allowed >= allowed[i]);
                    allowed[i] = heard.allowed;
                }
                prop_assert!(allowed.iter().sum::<u64>() <= limit);
                let left = limit - fetched.iter().sum::<u64>();
                prop_assert!(heard.left.is_none_or(|told| told == left));
                prop_assert_eq!(heard.is_used_up, heard.left == Some(0));
            }
        }
    }
}
