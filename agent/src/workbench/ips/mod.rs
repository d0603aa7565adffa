//! Table of the IP entries in memory, and the heap of those that can be visited.

mod ip_entry;
mod ip_lease;
mod ip_leases;
mod recent_addresses;
mod turns;

pub(super) use ip_entry::IpEntry;
pub(super) use recent_addresses::RecentAddresses;

use super::heap::{ABSENT, Positions, Sequence, TimeHeap};
use super::slab::Slab;
use crate::messages::{LeaseRequest, VisitDeadline};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;
use ip_lease::IpLease;
use std::collections::{BTreeSet, VecDeque};
use std::net::IpAddr;
use std::ops::Index;
use std::sync::Arc;
use std::time::Duration;

/// All IP entries in memory.
#[derive(Debug, Default)]
pub(super) struct Ips {
    entries: Slab<IpEntry>,
    /// Entries with a waiting host, no visit in flight and no lease request pending.
    ready: TimeHeap,
    /// Entries that lost their last host, kept until their delay has passed.
    lingering: VecDeque<u32>,
    /// Number of entries with hosts.
    occupied: usize,
    /// Numbers the nodes of `ready` and of the heaps of hosts.
    sequence: Sequence,
    /// Messages about leases to send.
    lease_requests: Vec<LeaseRequest>,
    /// Time of the last such message; each message has its own.
    last_request: Timestamp,
    /// Entries with a lease request that may be unanswered, by the time of the request.
    unanswered: VecDeque<(Timestamp, u32)>,
    /// Entries with a granted lease request: the time of renewal, and that of the request.
    renewals: BTreeSet<(Timestamp, Timestamp, u32)>,
}

impl Ips {
    /// Returns the number of entries with hosts.
    pub const fn occupied(&self) -> usize {
        self.occupied
    }

    pub fn iter(&self) -> impl Iterator<Item = &IpEntry> {
        self.entries.iter()
    }

    /// Adds a member of `group`, which has answered with success or not, to the entry of an address,
    /// which `new` creates if there is none. Returns the id of the entry.
    pub fn join(
        &mut self,
        address: IpAddr,
        (group, answered): (GroupHash, bool),
        new: impl FnOnce() -> IpEntry,
    ) -> u32 {
        let ip = self.entries.find(&address).unwrap_or_else(|| self.entries.insert(new()));
        let entry = &mut self.entries[ip];
        entry.members += 1;
        entry.turns.join(group, answered);
        if entry.members == 1 {
            self.occupied += 1;
        }
        ip
    }

    /// Removes a member of `group`, which does not wait there any more.
    pub fn leave(&mut self, ip: u32, group: GroupHash) {
        let entry = &mut self.entries[ip];
        entry.members -= 1;
        entry.turns.leave(group);
        if entry.members == 0 {
            self.occupied -= 1;
        }
        self.requeue(ip);
    }

    /// Adds host `id` of `group` to those that wait for a visit.
    pub fn push_host(
        &mut self,
        ip: u32,
        at: Timestamp,
        (group, id): (GroupHash, u32),
        hosts: &mut impl Positions,
    ) {
        let node = self.sequence.node(at, id);
        self.entries[ip].turns.push(group, node, hosts);
        self.requeue(ip);
    }

    /// Removes the host of `group` at `position` from those that wait for a visit.
    pub fn remove_host(
        &mut self,
        ip: u32,
        (group, position): (GroupHash, u32),
        hosts: &mut impl Positions,
    ) {
        self.entries[ip].turns.remove(group, position, hosts);
        self.requeue(ip);
    }

    /// Removes and returns the host whose turn it is at an entry that [`Self::pop_ready`] has
    /// returned.
    pub fn pop_host(&mut self, ip: u32, now: Timestamp, hosts: &mut impl Positions) -> Option<u32> {
        self.entries[ip].turns.pop(now, hosts)
    }

    /// Records that a host of `group` at this entry has answered with success.
    pub fn set_answered(&mut self, ip: u32, group: GroupHash) {
        self.entries[ip].turns.set_answered(group);
    }

    /// Returns a host that could be visited now.
    pub fn any_ready_host(&self, now: Timestamp) -> Option<u32> {
        let ip = self.ready.any_due(now)?.id;
        self.entries[ip].turns.any()
    }

    /// Removes from the heap and returns the first entry that is due. [`Self::requeue`] adds it
    /// again.
    pub fn pop_ready(&mut self, now: Timestamp) -> Option<u32> {
        self.ready.first().filter(|node| node.at <= now)?;
        self.ready.pop(&mut self.entries).map(|node| node.id)
    }

    /// Returns the time of the next action at any entry.
    pub fn next_time(&self) -> Option<Timestamp> {
        self.ready.first().map(|node| node.at)
    }

    /// Returns the number of entries that could be visited now.
    pub fn count_ready(&self, now: Timestamp) -> usize {
        self.ready.count_due(now)
    }

    /// Updates the place of an entry in `ready` and `lingering`.
    pub fn requeue(&mut self, ip: u32) {
        let (next, position) = (self.entries[ip].next_action(), self.entries[ip].position);
        if position != ABSENT {
            if self.ready.at(position).map(|node| node.at) == next {
                return;
            }
            self.ready.remove(position, &mut self.entries);
        }
        if let Some(at) = next {
            let node = self.sequence.node(at, ip);
            self.ready.push(node, &mut self.entries);
        }
        let entry = &mut self.entries[ip];
        if entry.is_vacant() && !entry.lingers {
            entry.lingers = true;
            self.lingering.push_back(ip);
        }
    }

    /// Removes the entries that have no hosts and whose delay has passed.
    pub fn remove_vacant(&mut self, now: Timestamp) {
        while let Some(&ip) = self.lingering.front() {
            let entry = &mut self.entries[ip];
            let is_vacant = entry.is_vacant();
            if is_vacant && entry.next > now {
                break;
            }
            self.lingering.pop_front();
            entry.lingers = false;
            if is_vacant {
                self.entries.remove(ip);
            }
        }
    }

    /// Begins a visit to a host of the entry. Returns its deadline, if there is one.
    pub fn begin_visit(
        &mut self,
        ip: u32,
        (group, host): (GroupHash, &Arc<str>),
        answered_weight: u32,
        now: Timestamp,
    ) -> Option<VisitDeadline> {
        let entry = &mut self.entries[ip];
        entry.busy = true;
        entry.turns.begin_visit(group, answered_weight);
        entry.visited = Some(Arc::clone(host));
        self.use_lease(ip, now)
    }

    /// Ends a visit. If it has sent a request, the last one at `ended`, the address rests.
    pub fn end_visit(
        &mut self,
        ip: u32,
        ended: Option<Timestamp>,
        ip_delay: Duration,
        now: Timestamp,
    ) {
        let entry = &mut self.entries[ip];
        entry.busy = false;
        let visited = entry.visited.take();
        if let Some(ended) = ended {
            entry.last = visited;
            entry.ended = entry.ended.max(ended);
            entry.next = entry.next.max(ended + ip_delay);
        }
        self.yield_if_wanted(ip, now);
        self.requeue(ip);
    }

    /// Recomputes the rest of each visited address from the new `ip_delay`.
    pub fn reapply_delay(&mut self, ip_delay: Duration) {
        for ip in self.entries.ids() {
            let entry = &mut self.entries[ip];
            if entry.ended > Timestamp::ZERO {
                entry.next = entry.ended + ip_delay;
                self.requeue(ip);
            }
        }
    }

    /// Returns an entry and its lease by an id that may have outlived its entry.
    fn with_lease(&self, ip: u32) -> Option<(&IpEntry, &IpLease)> {
        let entry = self.entries.get(ip)?;
        Some((entry, entry.lease.as_deref()?))
    }

    fn lease_mut(&mut self, ip: u32) -> Option<&mut IpLease> {
        self.entries[ip].lease.as_deref_mut()
    }
}

impl Index<u32> for Ips {
    type Output = IpEntry;
    fn index(&self, ip: u32) -> &IpEntry {
        &self.entries[ip]
    }
}

impl Positions for Slab<IpEntry> {
    fn set_position(&mut self, id: u32, position: u32) {
        self[id].position = position;
    }
}
