//! Exclusion of agents that kept the others waiting: they may rejoin only after a while, which grows.

use super::exclusion::{Cause, Exclusion};
use super::{MemberRefusal, Members};
use crivello_common::view::{AgentId, RunState};
use std::time::Duration;

/// Time after which an exclusion no longer makes the next one longer.
const MEMORY: Duration = Duration::from_secs(3_600);

impl Members {
    /// Excludes a member that is declared dead, if it kept the others waiting. One death before it was
    /// ready may be chance.
    pub(super) fn exclude(&mut self, id: AgentId) {
        let gives_way = self.cut.gives_way.filter(|&(member, _)| member == id);
        let was_ready = self.leases.get(&id).is_none_or(|lease| lease.was_ready);
        let (cause, spared) = match gives_way {
            Some((_, other)) => (Cause::CutFrom(other), 0),
            None if !was_ready => (Cause::NeverReady, 1),
            None => return,
        };
        let known = self.exclusions.get(&id).filter(|known| self.now < known.until + MEMORY);
        let last = known.filter(|known| known.cause.is_like(cause));
        let n_deaths = last.map_or(1, |last| last.n_deaths + 1);
        let time = match n_deaths - spared {
            0 => Duration::ZERO,
            n => self.rules.exclusion(n),
        };
        let since = last.map_or(self.now, |last| last.since);
        let until = known.map_or(self.now, |known| known.until).max(self.now + time);
        self.exclusions.insert(id, Exclusion { cause, n_deaths, since, until });
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
        let excluded = self.exclusions.iter().filter(|(id, last)| {
            let may_rejoin = self.now >= last.until || self.alive(**id).is_ok();
            last.cause == Cause::NeverReady && !may_rejoin && self.view.agent(**id).is_some()
        });
        excluded.map(|(&id, last)| (id, self.now.since(last.since)))
    }

    /// Forgets that a member was never ready, once it is.
    pub(super) fn on_ready(&mut self, id: AgentId) {
        self.exclusions.retain(|other, last| *other != id || last.cause != Cause::NeverReady);
    }

    /// Checks that an agent may rejoin, as far as others wait for it.
    pub(super) fn check_not_excluded(&self, id: AgentId) -> Result<(), MemberRefusal> {
        let Some(excluded) = self.exclusions.get(&id).filter(|last| self.now < last.until) else {
            return Ok(());
        };
        let secs = excluded.until.since(self.now).as_secs() + 1;
        match excluded.cause {
            Cause::CutFrom(other) if self.alive(other).is_ok() => {
                Err(MemberRefusal::Excluded { other, secs })
            }
            Cause::NeverReady if !self.living().is_empty() => {
                Err(MemberRefusal::NeverReady { secs })
            }
            _ => Ok(()),
        }
    }
}
