//! The views that agents may still use, and the rule for declaring agents dead.
//!
//! While the coordinator is unreachable, an agent fetches under the peer leases that the other
//! living agents of its view grant it (see [`peer_leases`](crivello_common::peer_leases)). The
//! coordinator sees neither these leases nor which of the published views a silent agent has
//! received. So it reasons about all views that the agent may use: those from the epoch that it last
//! confirmed on.
//!
//! *Rule*: agents may be declared dead only if, for each of them, for each agent that is dead
//! already, and for each view that it may still use, so many other living agents of that view refuse
//! it peer leases that the rest are too few. An agent refuses if
//!
//! * it lives in the new view: it takes nothing over, and lets nobody else, before the leases that
//!   it granted to dead agents have expired; or
//! * it confirmed a later view at least one peer lease ago, or its process ended at least one peer
//!   lease ago: it grants no lease under an earlier view, and those that it granted have expired.

use crivello_common::peer_leases::refusals_needed;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Living agents of a range of successive views.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedViews {
    /// First epoch.
    pub first: u64,
    /// Last epoch.
    pub last: u64,
    /// Agents that live in all of them, and no others.
    pub living: BTreeSet<AgentId>,
}

/// In place of an epoch, for an agent whose process has ended: it uses no view.
const ENDED: u64 = u64::MAX;

/// Last epoch that an agent confirmed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Confirmed {
    /// Epoch before which it uses no view, or [`ENDED`].
    epoch: u64,
    /// Time of the confirmation.
    at: Timestamp,
    /// Epoch before which all peer leases that it granted have expired.
    refuses_before: u64,
}

/// The reason why agents cannot be declared dead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Agent that may still fetch by peer leases.
    pub agent: AgentId,
    /// Agents that may grant them: at least one of these must report, or be known to have ended.
    pub grantors: BTreeSet<AgentId>,
}

/// All views that some agent may still use. Stored with the view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UsableViews {
    views: Vec<PublishedViews>,
    confirmed: BTreeMap<AgentId, Confirmed>,
}

impl UsableViews {
    /// Restores the views after a restart. What agents confirmed is not known then.
    #[must_use]
    pub const fn restore(views: Vec<PublishedViews>) -> Self {
        Self { views, confirmed: BTreeMap::new() }
    }

    /// Returns the views, in the order of their epochs.
    pub fn views(&self) -> &[PublishedViews] {
        &self.views
    }

    /// Adds a view that is about to be published. Epochs rise.
    pub fn publish(&mut self, epoch: u64, living: BTreeSet<AgentId>) {
        match self.views.last_mut() {
            Some(last) if last.last >= epoch => {}
            Some(last) if last.living == living => last.last = epoch,
            _ => self.views.push(PublishedViews { first: epoch, last: epoch, living }),
        }
    }

    /// Records that an agent uses the view of `epoch` or a later one at `now`. `peer_lease` is the
    /// length of a peer lease.
    pub fn confirm(&mut self, id: AgentId, epoch: u64, now: Timestamp, peer_lease: Duration) {
        let known = self.confirmed.entry(id).or_default();
        if known.epoch == ENDED && epoch != ENDED {
            // Its process was said to have ended, but it runs.
            *known = Confirmed { epoch, at: now, refuses_before: 0 };
        }
        known.advance(now, peer_lease);
        if epoch > known.epoch {
            (known.epoch, known.at) = (epoch, now);
        }
    }

    /// Records that the process of an agent has ended.
    pub fn ended(&mut self, id: AgentId, now: Timestamp, peer_lease: Duration) {
        self.confirm(id, ENDED, now, peer_lease);
    }

    /// Records that a process of an agent begins with the view of `epoch`; its predecessor has
    /// ended. Peer leases that the predecessor granted expire like those of a view before `epoch`.
    pub fn began(&mut self, id: AgentId, epoch: u64, now: Timestamp, peer_lease: Duration) {
        let known = self.confirmed.entry(id).or_default();
        known.advance(now, peer_lease);
        let refuses_before = known.refuses_before.min(epoch);
        *known = Confirmed { epoch, at: now, refuses_before };
    }

    /// Checks the rule for a view in which exactly the agents in `alive` are alive. Of these, only
    /// `survivors` count as agents that refuse peer leases: those that have reported to the coordinator
    /// lately.
    ///
    /// # Errors
    /// Returns the first agent that may still fetch by peer leases.
    pub fn check(
        &mut self,
        alive: &BTreeSet<AgentId>,
        survivors: &BTreeSet<AgentId>,
        now: Timestamp,
        peer_lease: Duration,
    ) -> Result<(), Conflict> {
        self.confirmed.values_mut().for_each(|known| known.advance(now, peer_lease));
        for view in &self.views {
            let refuses = |id: &AgentId| survivors.contains(id) || self.refuses(*id, view.last);
            let refusals = view.living.iter().filter(|id| refuses(id)).count();
            for &id in view.living.difference(alive).filter(|id| self.may_use(**id, view)) {
                // An agent that may use the view is neither a survivor nor refuses under it.
                if refusals < refusals_needed(view.living.len() - 1) {
                    let others = view.living.iter().copied();
                    let grantors = others.filter(|other| *other != id && !refuses(other)).collect();
                    return Err(Conflict { agent: id, grantors });
                }
            }
        }
        Ok(())
    }

    /// Forgets views that no agent can use any more. `alive` are the agents that are alive in the
    /// last view, which is always kept.
    pub fn prune(&mut self, alive: &BTreeSet<AgentId>, now: Timestamp, peer_lease: Duration) {
        self.confirmed.values_mut().for_each(|known| known.advance(now, peer_lease));
        let newest = self.views.last().map(|view| view.last);
        let mut views = std::mem::take(&mut self.views);
        views.retain(|view| {
            let refusals = view.living.iter().filter(|id| self.refuses(**id, view.last)).count();
            let is_closed = refusals >= refusals_needed(view.living.len().saturating_sub(1));
            let closed_to = |id: &AgentId| is_closed && !alive.contains(id);
            Some(view.last) == newest
                || view.living.iter().any(|id| self.may_use(*id, view) && !closed_to(id))
        });
        self.views = views;
        let known = |id: &AgentId| self.views.iter().any(|view| view.living.contains(id));
        let ids: BTreeSet<AgentId> = self.confirmed.keys().copied().filter(known).collect();
        self.confirmed.retain(|id, _| ids.contains(id) || alive.contains(id));
    }

    fn confirmed(&self, id: AgentId) -> Confirmed {
        self.confirmed.get(&id).copied().unwrap_or_default()
    }

    fn may_use(&self, id: AgentId, view: &PublishedViews) -> bool {
        self.confirmed(id).epoch <= view.last
    }

    /// Returns true if no peer lease of `id` under the view of `epoch` or an earlier one is valid,
    /// now or later.
    fn refuses(&self, id: AgentId, epoch: u64) -> bool {
        self.confirmed(id).refuses_before > epoch
    }
}

impl Confirmed {
    fn advance(&mut self, now: Timestamp, peer_lease: Duration) {
        if now >= self.at + peer_lease {
            self.refuses_before = self.epoch;
        }
    }
}

#[cfg(test)]
mod tests;
