//! The crawl's page limit, granted to the agents in portions. The sum of all quotas never exceeds
//! the limit, so the limit holds at any crawl speed and even if an agent is unreachable.
//!
//! A quota is a number of pages over all runs of an agent. Only the agent reduces it: when it
//! starts (pages granted to an earlier process and not fetched are free), when it leaves, and when
//! others want more pages and it cannot use its own at the moment. An agent requests no more than
//! its visits in flight can use soon, so few pages stay unused.

use crate::members::ProcessId;
use crivello_common::view::{AgentId, View};
use crivello_proto::v1::{QuotaGrant, QuotaReport};
use std::collections::{BTreeMap, BTreeSet};

/// Divisor of a portion: the free pages divided by this and by the number of agents.
const SHARE: u64 = 4;
/// Maximum portion, in pages.
const PORTION_MAX: u64 = 10_000;

/// Returns the living agents of `view`.
pub(crate) fn living(view: &View) -> BTreeSet<AgentId> {
    view.living().map(|agent| agent.id).collect()
}

/// An agent's page counts, and the process that reports them.
pub(crate) type PageReport = (QuotaReport, ProcessId);

/// The quotas of all agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageQuota {
    limit: u64,
    /// Quotas of all agents that ever had one.
    granted: BTreeMap<AgentId, u64>,
    /// Last report of each agent.
    reports: BTreeMap<AgentId, PageReport>,
    /// Agents that wanted more pages and got none.
    waiting: BTreeSet<AgentId>,
    /// Agents that may have fetched uncounted pages. Nothing is granted before they report.
    unreported: BTreeSet<AgentId>,
}

impl PageQuota {
    /// Returns the quotas granted before a restart.
    pub(crate) const fn new(limit: u64, granted: BTreeMap<AgentId, u64>) -> Self {
        let reports = BTreeMap::new();
        Self { limit, granted, reports, waiting: BTreeSet::new(), unreported: BTreeSet::new() }
    }

    /// Grants nothing until these agents have reported: they may have fetched pages without a
    /// limit.
    pub(crate) fn with_unreported(mut self, agents: BTreeSet<AgentId>) -> Self {
        self.unreported = agents;
        self
    }

    /// Changes the limit. If more was already granted, the agents return it.
    pub(crate) fn with_limit(mut self, limit: u64) -> Self {
        self.limit = limit;
        self
    }

    /// Returns all quotas. They are stored before any agent receives its own.
    pub(crate) const fn granted(&self) -> &BTreeMap<AgentId, u64> {
        &self.granted
    }

    /// Processes an agent's report and returns its quota. `living` holds the living agents. A
    /// report older than the last one changes nothing.
    pub(crate) fn on_report(
        &mut self,
        id: AgentId,
        (report, process): PageReport,
        living: &BTreeSet<AgentId>,
    ) -> QuotaGrant {
        self.waiting.retain(|waiting| living.contains(waiting));
        // The reported quota counts; a larger grant that may not have arrived is free.
        let known = self.granted.get(&id).copied().unwrap_or_default();
        let is_late = self
            .reports
            .get(&id)
            .is_some_and(|(last, of)| *of == process && last.number >= report.number);
        if is_late {
            return self.grant(id, known, living);
        }
        self.reports.insert(id, (report, process));
        self.unreported.retain(|agent| *agent != id && living.contains(agent));
        let mut allowed = report.allowed.min(known).max(report.fetched);
        let others = self.granted.iter().filter(|(other, _)| **other != id);
        let others: u64 = others.map(|(_, allowed)| allowed).sum();
        let free = match self.unreported.is_empty() {
            true => self.limit.saturating_sub(others.saturating_add(allowed)),
            false => 0,
        };
        self.waiting.remove(&id);
        if report.wanted > 0 {
            let portion = free / (SHARE * living.len().max(1) as u64);
            let portion = portion.clamp(1, PORTION_MAX).min(report.wanted).min(free);
            allowed += portion;
            if portion == 0 && self.unreported.is_empty() {
                self.waiting.insert(id);
            }
        }
        self.granted.insert(id, allowed);
        self.grant(id, allowed, living)
    }

    /// Frees the quota of an agent that is removed, except for so many of its pages: the others are fetched
    /// again.
    pub(crate) fn keep_only(&mut self, id: AgentId, pages: u64) {
        if let Some(granted) = self.granted.get_mut(&id) {
            *granted = pages.min(*granted);
        }
        self.reports.remove(&id);
    }

    fn grant(&self, id: AgentId, allowed: u64, living: &BTreeSet<AgentId>) -> QuotaGrant {
        let is_scarce = self.waiting.iter().any(|other| *other != id);
        let left = self.left(living);
        QuotaGrant { allowed, is_scarce, is_used_up: left == Some(0), remaining: left }
    }

    /// Returns the number of pages still to be fetched. The whole quota of a dead agent counts as
    /// fetched. Returns `None` before all living agents have reported.
    fn left(&self, living: &BTreeSet<AgentId>) -> Option<u64> {
        if !self.unreported.is_empty() {
            return None;
        }
        let fetched = |(id, allowed): (&AgentId, &u64)| match living.contains(id) {
            true => self.reports.get(id).map(|(report, _)| report.fetched),
            false => Some(*allowed),
        };
        let fetched: Option<u64> = self.granted.iter().map(fetched).sum();
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

    const fn report(allowed: u64, fetched: u64, wanted: u64, number: u64) -> PageReport {
        (QuotaReport { allowed, fetched, wanted, number }, ProcessId(7))
    }

    #[test]
    fn one_agent_gets_the_whole_limit_in_portions() {
        let mut quota = PageQuota::new(10, BTreeMap::new());
        let (mut allowed, mut fetched) = (0, 0);
        for n in 1..40 {
            let grant = quota.on_report(AgentId(1), report(allowed, fetched, 5, n), &living(1));
            assert_eq!((grant.is_used_up, grant.remaining), (fetched == 10, Some(10 - fetched)));
            (allowed, fetched) = (grant.allowed, grant.allowed);
        }
        assert_eq!(fetched, 10);
    }

    #[test]
    fn what_a_restarted_agent_did_not_fetch_is_free_again() {
        let mut quota = PageQuota::new(8, BTreeMap::from([(AgentId(1), 8)]));
        assert_eq!(quota.on_report(AgentId(2), report(0, 0, 1, 1), &living(2)).allowed, 0);
        let first = quota.on_report(AgentId(1), report(3, 3, 1, 1), &living(2));
        assert!(first.is_scarce && first.allowed == 4, "{first:?}");
        assert!(quota.on_report(AgentId(2), report(0, 0, 1, 2), &living(2)).allowed > 0);
    }

    #[test]
    fn the_quota_of_a_dead_agent_counts_as_fetched() {
        let mut quota = PageQuota::new(10, BTreeMap::from([(AgentId(1), 6), (AgentId(2), 4)]));
        let both = quota.on_report(AgentId(1), report(6, 6, 1, 1), &living(2));
        assert!(
            !both.is_used_up && both.remaining.is_none(),
            "used up before the other agent has reported"
        );
        let alone = quota.on_report(AgentId(1), report(6, 6, 1, 2), &living(1));
        assert!(alone.is_used_up && !alone.is_scarce);
        // One of its pages is in a store; the others are fetched again.
        quota.keep_only(AgentId(2), 1);
        let again = quota.on_report(AgentId(1), report(6, 6, 9, 3), &living(1));
        assert!(!again.is_used_up && again.remaining == Some(3), "{again:?}");
        quota.keep_only(AgentId(2), 0);
        let again = quota.on_report(AgentId(1), report(6, 6, 9, 4), &living(1));
        assert!(!again.is_used_up && again.remaining == Some(4), "{again:?}");
    }

    #[test]
    fn a_limit_set_later_counts_pages_fetched_before() {
        let mut quota = PageQuota::new(10, BTreeMap::new()).with_unreported(living(2));
        let first = quota.on_report(AgentId(1), report(4, 4, 5, 1), &living(2));
        assert_eq!(
            (first.allowed, first.is_used_up),
            (4, false),
            "granted although the other agent may have fetched 6"
        );
        let second = quota.on_report(AgentId(2), report(5, 5, 5, 1), &living(2));
        assert_eq!(second.allowed, 6);
        let first = quota.on_report(AgentId(1), report(4, 4, 5, 2), &living(2));
        assert_eq!((first.allowed, first.is_used_up), (4, false));
        let second = quota.on_report(AgentId(2), report(6, 6, 5, 2), &living(2));
        assert!(second.is_used_up);
        // Grants do not wait for a dead agent.
        let mut quota = PageQuota::new(10, BTreeMap::new()).with_unreported(living(2));
        assert!(quota.on_report(AgentId(1), report(4, 4, 5, 1), &living(1)).allowed > 4);
    }

    #[test]
    fn a_changed_limit_holds_once_the_agents_gave_back() {
        let mut quota = PageQuota::new(100, BTreeMap::from([(AgentId(1), 60), (AgentId(2), 40)]));
        quota = quota.with_limit(50);
        let first = quota.on_report(AgentId(1), report(20, 20, 9, 1), &living(2));
        assert_eq!(first.allowed, 20, "granted although the other agent has 40");
        quota.on_report(AgentId(2), report(10, 10, 0, 1), &living(2));
        assert!(quota.on_report(AgentId(1), report(20, 20, 9, 2), &living(2)).allowed > 20);
        quota = quota.with_limit(25);
        let first = quota.on_report(AgentId(1), report(20, 20, 9, 3), &living(2));
        assert_eq!((first.allowed, first.is_used_up), (20, true));
        quota = quota.with_limit(200);
        let first = quota.on_report(AgentId(1), report(20, 20, 9, 4), &living(2));
        assert!(first.allowed > 20 && !first.is_used_up);
    }

    #[test]
    fn a_late_report_frees_nothing() {
        let mut quota = PageQuota::new(10, BTreeMap::new());
        let grant = quota.on_report(AgentId(1), report(0, 0, 9, 2), &living(1));
        let late = quota.on_report(AgentId(1), report(0, 0, 0, 1), &living(1));
        assert_eq!(late.allowed, grant.allowed);
        assert_eq!(quota.granted()[&AgentId(1)], grant.allowed);
    }

    proptest! {
        /// The sum of the quotas in use never exceeds the limit, whichever grants are lost.
        #[test]
        fn the_limit_holds(
            limit in 0u64..200,
            steps in prop::collection::vec((0u32..4, 0u64..9, 0u64..30, any::<bool>(), 0u8..10), 0..200),
        ) {
            let mut quota = PageQuota::new(limit, BTreeMap::new());
            let (mut allowed, mut fetched) = ([0u64; 4], [0u64; 4]);
            let living = (0..4).map(AgentId).collect();
            for (n, (agent, pages, wants, lost, fate)) in (1..).zip(steps) {
                let i = agent as usize;
                fetched[i] = (fetched[i] + pages).min(allowed[i]);
                if fate == 0 || (fate == 1 && wants == 0) {
                    allowed[i] = fetched[i]; // A new process, or one that returns pages.
                }
                if fate == 2 {
                    quota = PageQuota::new(limit, quota.granted().clone());
                }
                let report = report(allowed[i], fetched[i], wants, n);
                let grant = quota.on_report(AgentId(agent), report, &living);
                if !lost {
                    prop_assert!(grant.allowed >= allowed[i]);
                    allowed[i] = grant.allowed;
                }
                prop_assert!(allowed.iter().sum::<u64>() <= limit);
                let left = limit - fetched.iter().sum::<u64>();
                prop_assert!(grant.remaining.is_none_or(|pages| pages == left));
                prop_assert_eq!(grant.is_used_up, grant.remaining == Some(0));
            }
        }
    }
}
