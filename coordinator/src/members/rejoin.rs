//! Exclusion of agents that kept the others waiting: they may rejoin only after a while, which grows.

use super::exclusion::Exclusion;
use super::{MemberRefusal, Members};
use crivello_common::view::{AgentId, RunState};
use std::time::Duration;

impl Members {
    /// Excludes a member that is declared dead, if it kept the others waiting. One death before it was
    /// ready may be chance.
    pub(super) fn exclude(&mut self, id: AgentId) {
        let cut = self.cut.weaker_end.filter(|&(member, _)| member == id);
        let was_ready = self.leases.get(&id).is_none_or(|lease| lease.was_ready);
        let mut known = self.exclusions.get(&id).copied().unwrap_or_default();
        match cut {
            Some((_, other)) => {
                let last = known.cut_from.map(|(_, last)| last);
                let next = Exclusion::after(last, 0, &self.rules, self.now);
                known.cut_from = Some((other, next));
            }
            None if !was_ready => {
                let next = Exclusion::after(known.never_ready, 1, &self.rules, self.now);
                known.never_ready = Some(next);
            }
            None => return,
        }
        self.exclusions.insert(id, known);
    }

    /// Checks that a living member is not behind for too long: its lease must then expire, although a
    /// new process of it begins.
    pub(super) fn check_not_left_behind(&self, id: AgentId) -> Result<(), MemberRefusal> {
        let Some(lease) = self.leases.get(&id) else { return Ok(()) };
        let waits = self.view.run != RunState::Stopping && self.living().len() > 1;
        if waits && self.is_left_behind(id) {
            let secs = lease.until.since(self.now).as_secs() + 1;
            return Err(MemberRefusal::NeverReady { secs });
        }
        Ok(())
    }

    /// Returns the dead agents that may not rejoin because they were never ready, and the time since
    /// the first such death.
    pub(super) fn never_ready(&self) -> impl Iterator<Item = (AgentId, Duration)> + '_ {
        self.exclusions.iter().filter_map(|(&id, known)| {
            let last = known.never_ready?;
            let may_rejoin = self.now >= last.until || self.alive(id).is_ok();
            let is_known = self.view.agent(id).is_some();
            (!may_rejoin && is_known).then(|| (id, self.now.since(last.since)))
        })
    }

    /// Forgets that a member was never ready, once it is.
    pub(super) fn on_ready(&mut self, id: AgentId) {
        if let Some(known) = self.exclusions.get_mut(&id) {
            known.never_ready = None;
        }
    }

    /// Checks that an agent may rejoin, as far as others wait for it.
    pub(super) fn check_not_excluded(&self, id: AgentId) -> Result<(), MemberRefusal> {
        let Some(known) = self.exclusions.get(&id) else { return Ok(()) };
        if let Some((other, cut)) = known.cut_from
            && let Some(secs) = cut.secs_left(self.now)
            && self.alive(other).is_ok()
        {
            return Err(MemberRefusal::Excluded { other, secs });
        }
        let secs = known.never_ready.and_then(|last| last.secs_left(self.now));
        match secs.filter(|_| !self.living().is_empty()) {
            Some(secs) => Err(MemberRefusal::NeverReady { secs }),
            None => Ok(()),
        }
    }
}
