//! A node: a disk that survives, and a life that does not.

use super::disk::{Cause, Disk, Item, State};
use super::wire::{Body, COPIES, Packet, Stream};
use super::world::{Page, World};
use crivello_agent::ownership::{Ownership, Role, Tags as _};
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet};

pub const REPLICATION: usize = 2;

/// What waits for copies.
pub struct Wait {
    pub copies: BTreeSet<u64>,
    pub then: Then,
}

/// What is done once they have been stored.
#[derive(Clone, Debug)]
pub enum Then {
    /// Acknowledge this packet.
    Reply { to: usize, life: u64, class: usize, id: u64 },
    /// This item of the own outbox is done.
    Done(u64),
}

pub struct Node {
    pub me: usize,
    pub up: bool,
    pub left: bool,
    pub life: u64,
    pub disk: Disk,
    pub ownership: Option<Ownership>,
    pub streams: BTreeMap<(AgentId, usize), Stream>,
    pub next_packet: u64,
    pub waits: Vec<Wait>,
    pub transfers: BTreeMap<u64, (GroupHash, AgentId)>,
    /// Packets that carry items of the outbox, and the items on their way.
    pub carried: BTreeMap<u64, u64>,
    pub under_way: BTreeSet<u64>,
    pub visits: BTreeMap<GroupHash, Page>,
    pub quieting: BTreeSet<GroupHash>,
    pub heartbeat: u64,
    pub pinged: u64,
    pub asked: u64,
}

impl Node {
    pub fn new(me: usize) -> Self {
        Self {
            me,
            up: false,
            left: false,
            life: 0,
            disk: Disk { number: me as u64 + 1, ..Disk::default() },
            ownership: None,
            streams: BTreeMap::new(),
            next_packet: 0,
            waits: Vec::new(),
            transfers: BTreeMap::new(),
            carried: BTreeMap::new(),
            under_way: BTreeSet::new(),
            visits: BTreeMap::new(),
            quieting: BTreeSet::new(),
            heartbeat: 0,
            pinged: 0,
            asked: 0,
        }
    }

    /// One with a new disk is another agent, and has another name.
    pub fn name(&self) -> String {
        format!("n{}.{}", self.me, self.disk.number)
    }

    pub fn process(&self) -> u64 {
        self.life * 1_000 + self.me as u64 + 1
    }

    pub fn begin_life(&mut self) {
        self.life += 1;
        self.up = true;
        self.heartbeat = 0;
    }

    pub fn crash(&mut self, lose_disk: bool) {
        self.up = false;
        self.ownership = None;
        self.reset();
        self.visits.clear();
        if lose_disk {
            let number = self.disk.number + 100;
            self.disk = Disk { number, ..Disk::default() };
        }
    }

    /// All that belongs to an epoch.
    pub fn reset(&mut self) {
        self.streams.clear();
        self.waits.clear();
        self.transfers.clear();
        self.carried.clear();
        self.under_way.clear();
        self.quieting.clear();
    }

    pub fn can_take(&self) -> bool {
        self.up && !self.left && self.ownership.as_ref().is_some_and(|c| c.epoch() > 0)
    }

    pub fn take_seed(&mut self, page: Page) {
        self.put(page, State::Queued, Cause::Seed);
    }

    pub fn put(&mut self, page: Page, state: State, cause: Cause) {
        self.disk.next_item += 1;
        self.disk.outbox.insert(self.disk.next_item, Item { page, state, cause });
    }

    pub fn is_settled(&self, epoch: u64) -> bool {
        self.ownership.as_ref().is_some_and(|c| c.epoch() == epoch && c.is_settled())
            && self.streams.values().all(|s| s.queue.is_empty())
            && self.disk.outbox.is_empty()
    }

    pub fn is_idle(&self) -> bool {
        self.visits.is_empty()
            && self.disk.tags.0.iter().all(|(group, tag)| {
                !matches!(tag.role, Role::Authority { .. })
                    || self
                        .disk
                        .rows
                        .get(group)
                        .is_none_or(|r| r.values().all(|&s| s == State::Fetched))
            })
    }

    pub fn state(&self, epoch: u64) -> String {
        format!(
            "n{} up {} id {:?} epoch {:?} settled {} outbox {:?} streams {:?} waits {} visits {:?} quieting {:?}\n   tags {:?}\n   ownership {:?}",
            self.me,
            self.up,
            self.disk.id,
            self.ownership.as_ref().map(Ownership::epoch),
            self.is_settled(epoch),
            self.disk.outbox,
            self.streams
                .iter()
                .filter(|(_, s)| !s.queue.is_empty())
                .map(|(k, s)| (k, s.queue.len(), s.queue.front()))
                .collect::<Vec<_>>(),
            self.waits.len(),
            self.visits,
            self.quieting,
            self.disk.tags.0,
            self.ownership,
        )
    }

    /// After everything: whether it holds what it should, and nothing else.
    pub fn misplaced(&self, world: &World) -> Option<String> {
        let ownership = self.ownership.as_ref()?;
        let me = self.disk.id?;
        for (&group, tag) in &self.disk.tags.0 {
            let replica_set = ownership.replica_set(group);
            let owner = replica_set.first() == Some(&me);
            if owner != matches!(tag.role, Role::Authority { .. }) {
                return Some(format!(
                    "n{} is {tag:?} of {group:?}, held by {replica_set:?}",
                    self.me
                ));
            }
            if !replica_set.contains(&me) {
                return Some(format!(
                    "n{} keeps {group:?} as {tag:?}, held by {replica_set:?}",
                    self.me
                ));
            }
        }
        for page in world.fetched.keys() {
            let group = world.group(*page);
            let state = self.disk.rows.get(&group).and_then(|rows| rows.get(page));
            if ownership.replica_set(group).contains(&me) && state != Some(&State::Fetched) {
                let tags: Vec<_> = world
                    .nodes
                    .iter()
                    .map(|n| (n.me, n.disk.id, n.disk.tags.tag(group), n.disk.rows.get(&group)))
                    .collect();
                return Some(format!(
                    "n{} should hold page {page} of {group:?}, held by {:?}, and has {state:?}: {tags:?}",
                    self.me,
                    ownership.replica_set(group)
                ));
            }
        }
        None
    }

    pub fn merge(&mut self, group: GroupHash, page: Page, state: State) -> bool {
        let rows = self.disk.rows.entry(group).or_default();
        match rows.get(&page) {
            Some(&known) if known >= state => false,
            _ => {
                rows.insert(page, state);
                true
            }
        }
    }

    pub fn send(&mut self, to: AgentId, class: usize, body: Body) -> u64 {
        self.next_packet += 1;
        let id = self.next_packet;
        let epoch = self.ownership.as_ref().map_or(0, Ownership::epoch);
        let sender = self.disk.id.unwrap_or_default();
        let packet = Packet { id, class, epoch, sender, body };
        self.streams.entry((to, class)).or_default().queue.push_back(packet);
        id
    }

    /// Stores a fact as the owner of its group, and has it copied: the packets to wait for.
    pub fn store(
        &mut self,
        group: GroupHash,
        page: Page,
        state: State,
        except: Option<AgentId>,
    ) -> BTreeSet<u64> {
        let Some(ownership) = &mut self.ownership else { return BTreeSet::new() };
        ownership.store_as_owner(group, &mut self.disk.tags);
        let replicas = ownership.replicas(group);
        let new = self.merge(group, page, state);
        let mut waits = BTreeSet::new();
        for to in replicas.iter().copied().filter(|&to| Some(to) != except) {
            let is_in_sync =
                self.ownership.as_ref().is_some_and(|c| c.is_in_sync(group, to, &self.disk.tags));
            if new || !is_in_sync {
                waits.insert(self.send(to, COPIES, Body::Fact(page, state)));
            } else if let Some(last) = self.streams.get(&(to, COPIES)).and_then(|s| s.queue.back())
            {
                waits.insert(last.id);
            }
        }
        waits
    }
}
