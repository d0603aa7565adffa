//! A simulated agent: a disk that survives a crash, and the replication engine, which does not.

use super::store::{State, Store};
use super::wire::{PendingAnswer, Streams};
use super::world::{LEASE, Page, Web, World, timestamp};
use crivello_agent::cluster::{InboundMsg, ReplicationEngine};
use crivello_agent::messages::{Ack, Commit, Role, SeedAnswer};
use crivello_agent::peers::Lane;
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use tokio::sync::oneshot;

/// Number of messages in an inbox from which on others find no room, and the same while it is cramped.
const INBOX_MAX: usize = 40;
const INBOX_CRAMPED: usize = 3;
/// Time without a turn of the writer, in milliseconds like all times here, from which on it is
/// reported, as by [`crivello_agent`]'s heartbeats.
const STALL_REPORTED_FROM: u64 = 2_000;
/// Time without an answer from which on another agent is reported as unreachable: a peer lease.
pub const UNREACHABLE_FROM: u64 = LEASE.as_millis() as u64 / 2;

/// The fault of a disk when a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskFault {
    /// Nothing: all commits are on disk.
    None,
    /// A power cut: so many commits are lost.
    SetBack(usize),
    /// The disk is gone.
    Lost,
}

pub struct Node {
    pub me: usize,
    pub up: bool,
    pub left: bool,
    pub life: u64,
    /// Id of its disk, drawn when it was new.
    pub disk: u64,
    pub id: Option<AgentId>,
    pub store: Store,
    pub engine: Option<ReplicationEngine>,
    /// The open commits of pages and of facts.
    pub open: Commit,
    pub facts: Commit,
    pub inbox: VecDeque<InboundMsg>,
    pub streams: Streams,
    /// The latest stream of each sender and lane.
    pub latest: BTreeMap<(AgentId, Lane), (u64, u64)>,
    /// Packets that wait for their acknowledgement.
    pub answers: Vec<PendingAnswer>,
    /// Seeds that wait for their answer.
    pub seeds: Vec<(Page, oneshot::Receiver<SeedAnswer>)>,
    /// Requests for peer leases that wait for their answer: sender, life of the sender, time,
    /// answer.
    pub grants: Vec<(usize, u64, u64, oneshot::Receiver<Ack>)>,
    pub visits: BTreeMap<GroupHash, Page>,
    pub heartbeat: u64,
    pub pinged: u64,
    /// Time at which the last process ended.
    pub ended_at: u64,
    /// Number of durable steps after which the process ends, in the middle of a turn.
    pub steps_left: Option<u64>,
    /// Time until which the process does nothing.
    pub frozen_until: u64,
    /// Time until which the writer stands still, while the network threads answer.
    pub stuck_until: u64,
    /// Time until which the disk is full. A process that ends joins again only then.
    pub full_until: u64,
    /// Time until which the writer's turns are slow, and the time of the next one.
    pub slow_until: u64,
    pub next_turn: u64,
    /// Time until which the inbox has room for a few messages only.
    pub cramped_until: u64,
    /// Time of the writer's last turn.
    pub wrote_at: u64,
    /// Time since which it is a member that neither stands still nor is frozen.
    pub fit_since: u64,
    /// Last time at which all groups that other agents must have were there.
    pub shared_at: u64,
    /// Last epoch in which all its groups were replicated, as its heartbeats report it.
    pub settled_in: u64,
    /// Epoch in which its last complete check of all copies began, as its heartbeats report it.
    pub copied_since: u64,
    /// Epoch since which the coordinator wants such a check.
    pub copies_wanted: u64,
    /// Time of the last answer of each other agent in the view.
    pub answered: BTreeMap<AgentId, u64>,
    /// Time by which its clock is ahead of the slowest of the others, in milliseconds.
    pub clock_ahead: u64,
}

impl Node {
    pub fn new(me: usize, clock_ahead: u64, web: Arc<Web>) -> Self {
        Self {
            me,
            up: false,
            left: false,
            life: 0,
            disk: me as u64 + 1,
            id: None,
            store: Store::new(web),
            engine: None,
            open: Commit::default(),
            facts: Commit::of_facts(),
            inbox: VecDeque::new(),
            streams: Streams::default(),
            latest: BTreeMap::new(),
            answers: Vec::new(),
            seeds: Vec::new(),
            grants: Vec::new(),
            visits: BTreeMap::new(),
            heartbeat: 0,
            pinged: 0,
            ended_at: 0,
            steps_left: None,
            frozen_until: 0,
            stuck_until: 0,
            full_until: 0,
            slow_until: 0,
            next_turn: 0,
            cramped_until: 0,
            wrote_at: 0,
            fit_since: 0,
            shared_at: 0,
            settled_in: 0,
            copied_since: 0,
            copies_wanted: 0,
            answered: BTreeMap::new(),
            clock_ahead,
        }
    }

    /// Returns what its clock shows at a time.
    pub fn clock(&self, at: u64) -> Timestamp {
        timestamp(at + self.clock_ahead)
    }

    /// Returns the name. An agent with a new disk is another agent and has another name.
    pub fn name(&self) -> String {
        format!("n{}.{}", self.me, self.disk)
    }

    pub fn process(&self) -> u64 {
        self.life * 1_000 + self.me as u64 + 1
    }

    pub fn begin_life(&mut self) {
        self.life += 1;
        self.up = true;
        self.heartbeat = 0;
    }

    /// Ends the process: everything that is not committed is lost, and the last `n_lost` commits.
    pub fn end_process(&mut self, n_lost: usize) {
        self.engine = None;
        self.open = Commit::default();
        self.facts = Commit::of_facts();
        self.inbox.clear();
        self.streams = Streams::default();
        self.latest.clear();
        self.frozen_until = 0;
        (self.stuck_until, self.slow_until, self.cramped_until) = (0, 0, 0);
        (self.settled_in, self.copied_since, self.copies_wanted) = (0, 0, 0);
        self.answered.clear();
        self.steps_left = None;
        self.answers.clear();
        self.seeds.clear();
        self.grants.clear();
        self.visits.clear();
        self.store.crash(n_lost);
    }

    pub fn crash(&mut self, fault: DiskFault, web: &Arc<Web>) {
        self.up = false;
        self.end_process(if let DiskFault::SetBack(n_lost) = fault { n_lost } else { 0 });
        if fault == DiskFault::Lost {
            self.disk += 100;
            self.id = None;
            self.full_until = 0;
            self.store = Store::new(web.clone());
        }
    }

    /// Returns the number of messages in the inbox from which on others find no room.
    pub const fn inbox_max(&self, now: u64) -> usize {
        if now < self.cramped_until { INBOX_CRAMPED } else { INBOX_MAX }
    }

    /// Returns the time since the writer's last turn, if it is long enough to be reported.
    pub fn stalled(&self, now: u64) -> u64 {
        let stalled = now.saturating_sub(self.wrote_at);
        if stalled < STALL_REPORTED_FROM { 0 } else { stalled }
    }

    /// Returns true while its writer or its whole process is disturbed.
    pub const fn is_disturbed(&self, now: u64) -> bool {
        now <= self.frozen_until
            || now <= self.stuck_until
            || now <= self.slow_until
            || now <= self.cramped_until
    }

    /// Returns the living agents of the view that have not answered for a while, and forgets those
    /// that are not in it. An agent counts from when it was first seen in a view.
    pub fn unreachable(&mut self, now: u64) -> Vec<AgentId> {
        let view = self.engine.as_ref().and_then(|engine| engine.ownership().view().cloned());
        let Some(view) = view else { return Vec::new() };
        let answered = &mut self.answered;
        answered.retain(|id, _| view.is_alive(*id));
        let others = view.living().map(|agent| agent.id).filter(|id| Some(*id) != self.id);
        others.filter(|id| now - *answered.entry(*id).or_insert(now) >= UNREACHABLE_FROM).collect()
    }

    pub fn epoch(&self) -> u64 {
        self.engine.as_ref().map_or(0, |engine| engine.ownership().epoch())
    }

    pub fn can_take(&self) -> bool {
        self.up && !self.left && self.epoch() > 0
    }

    pub fn is_settled(&self, epoch: u64) -> bool {
        self.epoch() == epoch
            && self.engine.as_ref().is_some_and(ReplicationEngine::is_settled)
            && self.has_committed()
            && self.inbox.is_empty()
            && self.streams.are_empty()
            && self.store_outbox_is_empty()
    }

    pub fn has_committed(&self) -> bool {
        let empty = |commit: &Commit| commit.is_empty() && !commit.is_awaited();
        empty(&self.open) && empty(&self.facts)
    }

    fn store_outbox_is_empty(&self) -> bool {
        self.store.outbox().is_empty()
    }

    /// Returns whether it reports that it has nothing to do.
    pub fn seems_idle(&self) -> bool {
        self.visits.is_empty() && self.seeds.is_empty() && self.store.scheduled().is_empty()
    }

    pub fn is_idle(&self) -> bool {
        self.visits.is_empty()
            && self.store.all_roles().iter().all(|(group, role)| {
                !matches!(role.role, Role::Authority { .. })
                    || self
                        .store
                        .pages()
                        .get(group)
                        .is_none_or(|rows| rows.values().all(|&state| state == State::Fetched))
            })
    }

    pub fn describe(&self, epoch: u64) -> String {
        format!(
            "n{} up {} id {:?} epoch {} settled {} committed {} inbox {} streams {} visits {:?}\n   roles {:?}\n   handoff {:?}",
            self.me,
            self.up,
            self.id,
            self.epoch(),
            self.is_settled(epoch),
            self.has_committed(),
            self.inbox.len(),
            self.streams.are_empty(),
            self.visits,
            self.store.all_roles(),
            self.engine.as_ref().map(|engine| engine.ownership().handoff()),
        )
    }

    /// Describes the first row that is missing or misplaced at the end.
    pub fn misplaced(&self, world: &World) -> Option<String> {
        let ownership = self.engine.as_ref()?.ownership();
        let me = self.id?;
        if self.store.is_deleting() {
            return Some(format!("n{} is deleting groups", self.me));
        }
        for (&group, rows) in self.store.pages().iter() {
            if !rows.is_empty() && !self.store.all_roles().contains_key(&group) {
                return Some(format!("n{} has rows of {group:?} and no role", self.me));
            }
        }
        for (&group, role) in self.store.all_roles().iter() {
            let replica_set = ownership.replica_set(group);
            let owner = replica_set.first() == Some(&me);
            if owner != matches!(role.role, Role::Authority { .. }) {
                return Some(format!(
                    "n{} is {role:?} of {group:?}, held by {replica_set:?}",
                    self.me
                ));
            }
            if !replica_set.contains(&me) {
                return Some(format!(
                    "n{} keeps {group:?} as {role:?}, held by {replica_set:?}",
                    self.me
                ));
            }
        }
        for &page in world.fetched.keys() {
            let group = world.web.group(page);
            let state = self.store.state(page);
            if ownership.replica_set(group).contains(&me) && state != Some(State::Fetched) {
                let roles: Vec<_> = world
                    .nodes
                    .iter()
                    .map(|n| (n.me, n.id, n.store.all_roles().get(&group), n.store.state(page)))
                    .collect();
                return Some(format!(
                    "n{} should hold page {page} of {group:?}, held by {:?}, and has {state:?}: {roles:?}",
                    self.me,
                    ownership.replica_set(group)
                ));
            }
        }
        None
    }
}
