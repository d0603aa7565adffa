//! Exclusions of an agent after its deaths.

use super::MembershipRules;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::time::Duration;

/// Time after which an exclusion no longer makes the next one longer.
const MEMORY: Duration = Duration::from_secs(3_600);

/// Exclusions of one agent, one for each cause.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Exclusions {
    /// The agent and this one did not reach each other.
    pub(super) cut_from: Option<(AgentId, Exclusion)>,
    /// The agent's process had not scanned its groups since it joined. Until all members have, nobody
    /// takes any group over.
    pub(super) never_ready: Option<Exclusion>,
}

/// Exclusion of an agent that was declared dead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exclusion {
    /// Number of such deaths.
    n_deaths: u32,
    /// Time of the first of them.
    pub(super) since: Timestamp,
    /// Time from which on it may rejoin.
    pub(super) until: Timestamp,
}

impl Exclusion {
    /// Creates the exclusion that follows `last`. The first `n_spared` deaths cost no time.
    pub(super) fn after(
        last: Option<Self>,
        n_spared: u32,
        rules: &MembershipRules,
        now: Timestamp,
    ) -> Self {
        let last = last.filter(|last| now < last.until + MEMORY);
        let n_deaths = last.map_or(1, |last| last.n_deaths + 1);
        let time = match n_deaths - n_spared {
            0 => Duration::ZERO,
            n => rules.exclusion(n),
        };
        Self { n_deaths, since: last.map_or(now, |last| last.since), until: now + time }
    }

    /// Returns the seconds until the agent may rejoin, rounded up; `None` if it may.
    pub(super) fn secs_left(&self, now: Timestamp) -> Option<u64> {
        (now < self.until).then(|| self.until.since(now).as_secs() + 1)
    }
}
