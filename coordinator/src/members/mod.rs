//! The membership: a pure step function of events and the current time.
//!
//! - *Input:* a [`MemberEvent`] and `now`.
//! - *Output:* the view, to be stored and published when its epoch has changed; and a
//!   [`MemberLease`] or a [`MemberRefusal`] for the sender of the event.
//! - *State:* the [`MembersRecord`], which is stored, and the last reports of the members.
//! - *Does not know:* groups, hosts, URLs, sockets, the clock.
//! - *Errors:* if time runs backwards, the last time stays in force.
//!
//! ```text
//!            Join                Drain                 Leave
//!   unknown ─────► Active ───────────────► Draining ─────────► removed
//!                   │  ▲                      │
//!        lease over │  │ Join         lease   │            Remove
//!                   └► Dead ◄────────────────┴──── Dead ─────────► removed
//! ```
//! A member that died while draining continues to drain when it returns. While the crawl is
//! stopping, no agent fetches and no lease expires: agents end one after another, and no agent
//! takes over from another. All of them are still members when the crawl resumes.
//!
//! A member whose lease is over is dead once [`UsableViews`] permits it; until then it is silent.
//!
//! This file holds the state and its smallest changes, `step.rs` what each event changes, `join.rs`
//! how agents become members, `liveness.rs` whose lease is renewed and who is dead, `rejoin.rs` which
//! dead agents may not rejoin yet, `copies.rs` which dead agents may be the only ones with some data,
//! `obstacles.rs` what keeps a crawl from going on, `certificates.rs` by which certificates members
//! speak.

mod certificates;
mod copies;
mod cut_links;
mod event;
mod exclusion;
mod join;
mod liveness;
mod obstacles;
mod rejoin;
mod step;
mod usable_views;

pub use event::{
    HeartbeatReport, MemberEvent, MemberLease, MemberRefusal, MembershipRules, ProcessId,
    StepResult,
};
pub use usable_views::{Conflict, PublishedViews, UsableViews};

use crivello_common::time::Timestamp;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View};
use cut_links::CutLinks;
use exclusion::Exclusions;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Maximum number of usable views with different living agents. Nobody joins beyond it.
const USABLE_VIEWS_MAX: usize = 256;

/// The part of the state that is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MembersRecord {
    /// The view in force.
    pub view: View,
    /// First id never assigned.
    pub next_id: u32,
    /// Members to be drained, including members that died meanwhile.
    pub draining: BTreeSet<AgentId>,
    /// Members that may hold data that no other member has, with the last epoch in which there were
    /// fewer active members than replicas. A member leaves the set when it has copied its data since.
    pub unreplicated: BTreeMap<AgentId, FewHolders>,
    /// Dead members.
    pub deaths: BTreeMap<AgentId, Death>,
    /// Views that an agent may still use.
    pub usable: Vec<PublishedViews>,
    /// For each member: its archive files with lower serial numbers are safe in a store that survives its
    /// machine.
    pub safe_files: BTreeMap<AgentId, u32>,
}

impl Default for MembersRecord {
    fn default() -> Self {
        Self {
            view: View::default(),
            next_id: 1,
            draining: BTreeSet::new(),
            unreplicated: BTreeMap::new(),
            deaths: BTreeMap::new(),
            usable: Vec::new(),
            safe_files: BTreeMap::new(),
        }
    }
}

/// The death of a member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Death {
    /// Epoch in which it was declared dead.
    pub epoch: u64,
    /// True if since then all groups of the living members have been fully replicated.
    pub covered: bool,
    /// Number of members that held each of its groups; as many as replicas if it is not known.
    pub holders: Option<usize>,
}

/// A member that has held groups while there were fewer active members than replicas, and has not
/// copied them since.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FewHolders {
    /// Last epoch of that time.
    pub epoch: u64,
    /// The fewest members that held each of its groups.
    pub holders: usize,
}

/// The members: the view and its leases.
#[derive(Clone, Debug)]
pub struct Members {
    rules: MembershipRules,
    view: View,
    leases: BTreeMap<AgentId, Lease>,
    draining: BTreeSet<AgentId>,
    unreplicated: BTreeMap<AgentId, FewHolders>,
    deaths: BTreeMap<AgentId, Death>,
    usable: UsableViews,
    /// See [`MembersRecord::safe_files`].
    safe_files: BTreeMap<AgentId, u32>,
    /// Reason why silent members could not be declared dead in the last step.
    conflict: Option<Conflict>,
    cut: CutLinks,
    exclusions: BTreeMap<AgentId, Exclusions>,
    /// Digest of each view that was published since the start.
    digests: BTreeMap<u64, u64>,
    /// Refusal of everything, once an agent has shown that the record is an old copy.
    outdated: Option<MemberRefusal>,
    next_id: u32,
    now: Timestamp,
}

/// Lease of a member, and its last report.
#[derive(Clone, Debug)]
struct Lease {
    until: Timestamp,
    process: ProcessId,
    /// Time of the last report; `None` if there was none since the coordinator started.
    reported_at: Option<Timestamp>,
    report: HeartbeatReport,
    /// Time since which it has not taken or not scanned the view in force. A restart does not end
    /// this.
    behind_since: Option<Timestamp>,
    /// True if its process has taken and scanned a view.
    was_ready: bool,
}

/// Placeholder process of a lease. The next process to report takes the lease.
const ANY: ProcessId = ProcessId(0);
/// Maximum number of digests of views that are kept.
const DIGESTS_MAX: usize = 1_024;

impl Members {
    /// Returns a membership without members.
    #[must_use]
    pub fn new(rules: MembershipRules) -> Self {
        Self::restore(rules, MembersRecord::default(), Timestamp::ZERO)
    }

    /// Restores the membership after a restart from stored state. Each living member of the view
    /// gets a full lease, and the first process to report takes it.
    #[must_use]
    pub fn restore(rules: MembershipRules, record: MembersRecord, now: Timestamp) -> Self {
        let MembersRecord { view, next_id, draining, unreplicated, deaths, usable, safe_files } =
            record;
        let until = now + rules.lease;
        let lease = |agent: &Agent| {
            let report = HeartbeatReport { id: agent.id, ..HeartbeatReport::default() };
            (
                agent.id,
                Lease {
                    until,
                    process: ANY,
                    reported_at: None,
                    report,
                    behind_since: None,
                    was_ready: true,
                },
            )
        };
        let leases = view.agents.iter().map(lease).collect();
        let beyond = view.agents.iter().map(|agent| agent.id.0.saturating_add(1));
        let next_id = beyond.fold(next_id, u32::max);
        let mut members = Self {
            rules,
            view,
            leases,
            draining,
            unreplicated,
            deaths,
            usable: UsableViews::restore(usable),
            safe_files,
            conflict: None,
            cut: CutLinks::default(),
            exclusions: BTreeMap::new(),
            digests: BTreeMap::new(),
            outdated: None,
            next_id,
            now,
        };
        members.publish();
        members
    }

    /// Returns the part of the state that is stored.
    pub fn record(&self) -> MembersRecord {
        MembersRecord {
            view: self.view.clone(),
            next_id: self.next_id,
            draining: self.draining.clone(),
            unreplicated: self.unreplicated.clone(),
            deaths: self.deaths.clone(),
            usable: self.usable.views().to_vec(),
            safe_files: self.safe_files.clone(),
        }
    }

    /// Returns true if the stored part differs from that of `other` in something that must be
    /// stored before it is used. Views that were only forgotten need not be, nor reports of safe files: a death
    /// stores them.
    pub fn must_be_stored(&self, other: &Self) -> bool {
        self.view.epoch != other.view.epoch
            || self.unreplicated != other.unreplicated
            || self.deaths != other.deaths
    }

    /// Returns the refusal of everything, once an agent has shown that the record is an old copy.
    pub const fn outdated(&self) -> Option<MemberRefusal> {
        self.outdated
    }

    /// Returns the view in force.
    pub const fn view(&self) -> &View {
        &self.view
    }

    /// Returns the first id never assigned.
    pub const fn next_id(&self) -> u32 {
        self.next_id
    }

    /// Returns the member with this name, or else with this id.
    ///
    /// # Errors
    /// Returns [`MemberRefusal::Unknown`] if there is none.
    pub fn find(&self, name_or_id: &str) -> Result<AgentId, MemberRefusal> {
        let by_name = self.view.agents.iter().find(|agent| agent.name == name_or_id);
        let by_id = || self.view.agent(AgentId(name_or_id.parse().ok()?));
        by_name.or_else(by_id).map(|agent| agent.id).ok_or(MemberRefusal::Unknown)
    }

    /// Returns the rest of a member's lease and the epoch that it last reported (0 before the first
    /// report). Returns `None` for dead members and, while the crawl is stopping, for members whose
    /// process has ended.
    pub fn lease(&self, id: AgentId, now: Timestamp) -> Option<(Duration, u64)> {
        let lease = self.leases.get(&id).filter(|_| self.alive(id).is_ok())?;
        let has_ended = self.view.run == RunState::Stopping && lease.process == ANY;
        (!has_ended).then(|| (lease.until.since(self.now.max(now)), lease.report.epoch))
    }

    /// Returns the number of the first archive files of a member that are safe in a store.
    pub fn safe_files(&self, id: AgentId) -> u32 {
        self.safe_files.get(&id).copied().unwrap_or_default()
    }

    /// Returns the end of the lease that expires next. A [`MemberEvent::Tick`] is due then.
    pub fn next_expiry(&self) -> Option<Timestamp> {
        if self.view.run == RunState::Stopping {
            return None;
        }
        let leases = self.view.living().filter_map(|agent| self.leases.get(&agent.id));
        leases.map(|lease| lease.until).filter(|&until| until > self.now).min()
    }

    fn active(&self) -> impl Iterator<Item = &Agent> {
        self.view.agents.iter().filter(|agent| agent.state == AgentState::Active)
    }

    fn active_count(&self) -> usize {
        self.active().count()
    }

    fn living(&self) -> BTreeSet<AgentId> {
        self.view.living().map(|agent| agent.id).collect()
    }

    fn alive(&self, id: AgentId) -> Result<&Agent, MemberRefusal> {
        let agent = self.view.agent(id).ok_or(MemberRefusal::Unknown)?;
        if agent.state == AgentState::Dead { Err(MemberRefusal::LeaseLost) } else { Ok(agent) }
    }

    fn check_process(&self, id: AgentId, process: ProcessId) -> Result<(), MemberRefusal> {
        match self.leases.get(&id) {
            Some(l) if l.process != process && l.process != ANY => Err(MemberRefusal::OtherProcess),
            _ => Ok(()),
        }
    }

    fn remove(&mut self, id: AgentId) {
        self.view.agents.retain(|agent| agent.id != id);
        self.leases.remove(&id);
        self.draining.remove(&id);
        self.unreplicated.remove(&id);
        self.deaths.remove(&id);
        self.safe_files.remove(&id);
        self.view.epoch += 1;
    }

    /// Records the view in force as published, after each change.
    fn publish(&mut self) {
        let living = self.living();
        self.usable.publish(self.view.epoch, living.clone());
        self.usable.prune(&living, self.now, self.rules.peer_lease);
        self.digests.insert(self.view.epoch, self.view.digest());
        while self.digests.len() > DIGESTS_MAX {
            self.digests.pop_first();
        }
        for agent in self.view.living() {
            if let Some(lease) = self.leases.get_mut(&agent.id) {
                lease.behind_since.get_or_insert(self.now);
            }
        }
        self.mark_unreplicated();
    }

    fn set_state(&mut self, id: AgentId, state: AgentState) {
        for agent in self.view.agents.iter_mut().filter(|agent| agent.id == id) {
            agent.state = state;
            self.view.epoch += 1;
        }
    }
}

#[cfg(test)]
mod tests;
