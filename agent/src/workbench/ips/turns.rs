//! Turns of the hosts at one address: first by group, then by time.
//!
//! The hosts of one group (a registrable domain) have one share of the visits together, however many
//! they are: a thousand names at another site's address get one share, like that site. Groups take turns as in start-time fair queuing (Goyal, Vin, Cheng 1997): each has a
//! tag that rises with each of its visits, and of the groups with a host that is due the one with
//! the smallest tag is next. A group that was not due for a while gets the current tag, so it
//! neither saves up turns nor waits for the turns of others.
//!
//! A group that has answered with success weighs more: names that only point to the address of a
//! site that does not know them answer with errors. So a site keeps most of its turns even if
//! several domains point there.
//!
//! A visit costs time logarithmic in the number of groups and of hosts. The first group needs no
//! allocation of its own: most addresses have only one.

use crate::workbench::heap::{ABSENT, Node, Positions, TimeHeap};
use crate::workbench::slab::{Keyed, Slab};
use crivello_common::hash::GroupHash;
use crivello_common::time::Timestamp;

/// The hosts of one group at an address.
#[derive(Debug, Default)]
struct Group {
    key: GroupHash,
    /// The hosts that wait for a visit, by their next time.
    hosts: TimeHeap,
    /// Number of hosts in any phase.
    members: u32,
    /// Position in the heap of groups that contains it, or [`ABSENT`].
    position: u32,
    is_ready: bool,
    /// True if one of its hosts has answered with success.
    answered: bool,
    tag: u64,
}

impl Group {
    fn new(key: GroupHash) -> Self {
        Self { key, position: ABSENT, ..Self::default() }
    }
}

impl Keyed for Group {
    type Key = GroupHash;
    fn key(&self) -> &GroupHash {
        &self.key
    }
}

impl Positions for Slab<Group> {
    fn set_position(&mut self, id: u32, position: u32) {
        self[id].position = position;
    }
}

/// Several groups at one address.
#[derive(Debug, Default)]
struct Several {
    groups: Slab<Group>,
    /// Groups with hosts, by the time of the first; those that were found due are in `ready`.
    waiting: TimeHeap,
    /// Groups with a host that is due, by their tags.
    ready: TimeHeap,
    sequence: u32,
    /// Tag of the group that was visited last.
    served: u64,
}

/// The hosts at one address.
#[derive(Debug)]
pub struct Turns(Kind);

#[derive(Debug)]
enum Kind {
    One(Group),
    Several(Box<Several>),
}

impl Default for Turns {
    fn default() -> Self {
        Self(Kind::One(Group::new(GroupHash::default())))
    }
}

impl Turns {
    /// Adds a host of a group.
    pub fn join(&mut self, key: GroupHash, answered: bool) {
        if let Kind::One(group) = &mut self.0 {
            if group.members == 0 {
                *group = Group::new(key);
            }
            if group.key == key {
                group.members += 1;
                group.answered |= answered;
                return;
            }
            let mut several = Box::<Several>::default();
            let first = several.groups.insert(std::mem::take(group));
            several.place(first);
            self.0 = Kind::Several(several);
        }
        let Kind::Several(several) = &mut self.0 else { return };
        let id = several.groups.find(&key);
        let id = id.unwrap_or_else(|| several.groups.insert(Group::new(key)));
        let group = &mut several.groups[id];
        group.members += 1;
        group.answered |= answered;
    }

    /// Removes a host of a group, which does not wait any more.
    pub fn leave(&mut self, key: GroupHash) {
        self.with(key, |group| group.members -= 1);
        if let Kind::Several(several) = &mut self.0
            && let Some(id) = several.groups.find(&key)
            && several.groups[id].members == 0
        {
            several.groups.remove(id);
        }
    }

    /// Records that a host of a group has answered with success.
    pub fn set_answered(&mut self, key: GroupHash) {
        self.with(key, |group| group.answered = true);
    }

    /// Adds a host to those that wait for a visit.
    pub fn push(&mut self, key: GroupHash, node: Node, hosts: &mut impl Positions) {
        self.with(key, |group| group.hosts.push(node, hosts));
    }

    /// Removes the host at `position` of its group from those that wait for a visit.
    pub fn remove(&mut self, key: GroupHash, position: u32, hosts: &mut impl Positions) {
        self.with(key, |group| {
            group.hosts.remove(position, hosts);
        });
    }

    /// Removes and returns the host whose turn it is at `now`, if there is one. The group is charged
    /// by [`Self::begin_visit`].
    pub fn pop(&mut self, now: Timestamp, hosts: &mut impl Positions) -> Option<u32> {
        match &mut self.0 {
            Kind::One(group) => group.hosts.pop(hosts).map(|node| node.id),
            Kind::Several(several) => {
                several.collect_due(now);
                let id = several.ready.first().or_else(|| several.waiting.first())?.id;
                let host = several.groups[id].hosts.pop(hosts).map(|node| node.id);
                several.place(id);
                host
            }
        }
    }

    /// Charges a group for a visit that begins: its tag rises by 1 if it has answered with success, else
    /// by `answered_weight`.
    pub fn begin_visit(&mut self, key: GroupHash, answered_weight: u32) {
        let Kind::Several(several) = &mut self.0 else { return };
        if let Some(id) = several.groups.find(&key) {
            let group = &mut several.groups[id];
            several.served = several.served.max(group.tag);
            let rise = if group.answered { 1 } else { answered_weight };
            group.tag = several.served + u64::from(rise);
        }
    }

    /// Returns a host that waits, the first one of its group.
    pub fn any(&self) -> Option<u32> {
        match &self.0 {
            Kind::One(group) => group.hosts.first().map(|node| node.id),
            Kind::Several(several) => {
                let id = several.ready.first().or_else(|| several.waiting.first())?.id;
                several.groups[id].hosts.first().map(|node| node.id)
            }
        }
    }

    /// Returns the earliest time of a host that waits; any time that has come if there are several.
    pub fn next_time(&self) -> Option<Timestamp> {
        match &self.0 {
            Kind::One(group) => group.hosts.first().map(|node| node.at),
            Kind::Several(several) => match several.ready.first() {
                Some(node) => several.groups[node.id].hosts.first().map(|node| node.at),
                None => several.waiting.first().map(|node| node.at),
            },
        }
    }

    /// Returns the number of hosts that are visited before the one at `position` of its group, if
    /// all that wait are due and all groups weigh the same: each other group has as many turns as
    /// its own one, and one more if it comes first.
    pub fn before(&self, key: GroupHash, position: u32) -> usize {
        let own_before = |group: &Group| {
            let own = group.hosts.at(position)?;
            Some(group.hosts.iter().filter(|other| *other < own).count())
        };
        match &self.0 {
            Kind::One(group) => own_before(group).unwrap_or(0),
            Kind::Several(several) => {
                let id = several.groups.find(&key);
                let Some(own) = id.and_then(|id| own_before(&several.groups[id])) else { return 0 };
                let rank =
                    |group: &Group| Some((group.tag.max(several.served), *group.hosts.first()?));
                let own_rank = id.and_then(|id| rank(&several.groups[id]));
                let others = several.groups.iter().filter(|group| group.key != key);
                let turns = others.map(|group| {
                    let comes_first = usize::from(rank(group) < own_rank);
                    group.hosts.iter().count().min(own + comes_first)
                });
                own + turns.sum::<usize>()
            }
        }
    }

    /// Changes a group and its place.
    fn with(&mut self, key: GroupHash, change: impl FnOnce(&mut Group)) {
        match &mut self.0 {
            Kind::One(group) => change(group),
            Kind::Several(several) => {
                if let Some(id) = several.groups.find(&key) {
                    change(&mut several.groups[id]);
                    several.place(id);
                }
            }
        }
    }
}

impl Several {
    /// Updates the place of a group after a change. The next turn finds out if it is due.
    fn place(&mut self, id: u32) {
        let group = &mut self.groups[id];
        let (position, is_ready) = (group.position, std::mem::take(&mut group.is_ready));
        let first = group.hosts.first().map(|node| node.at);
        if position != ABSENT {
            let heap = if is_ready { &mut self.ready } else { &mut self.waiting };
            heap.remove(position, &mut self.groups);
        }
        if let Some(at) = first {
            self.sequence = self.sequence.wrapping_add(1);
            let node = Node { at, seq: self.sequence, id };
            self.waiting.push(node, &mut self.groups);
        }
    }

    /// Moves the groups with a host that is due at `now` to those that take turns.
    fn collect_due(&mut self, now: Timestamp) {
        while let Some(id) = self.waiting.first().filter(|node| node.at <= now).map(|node| node.id)
        {
            self.waiting.pop(&mut self.groups);
            let group = &mut self.groups[id];
            group.is_ready = true;
            group.tag = group.tag.max(self.served);
            self.sequence = self.sequence.wrapping_add(1);
            let node = Node { at: Timestamp(group.tag), seq: self.sequence, id };
            self.ready.push(node, &mut self.groups);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Positions of hosts, as the table of hosts keeps them.
    #[derive(Default)]
    struct Places(BTreeMap<u32, u32>);

    impl Positions for Places {
        fn set_position(&mut self, id: u32, position: u32) {
            self.0.insert(id, position);
        }
    }

    const NOW: Timestamp = Timestamp::from_secs(1_000);
    const WEIGHT: u32 = 4;

    /// An address whose hosts are due again as soon as they were visited.
    struct Address {
        turns: Turns,
        places: Places,
        groups: BTreeMap<u32, GroupHash>,
        seq: u32,
        now: Timestamp,
    }

    impl Address {
        /// Creates an address with as many hosts of each group; a true one has answered.
        fn new(groups: &[(u32, bool)]) -> Self {
            let (turns, places, groups_of) = (Turns::default(), Places::default(), BTreeMap::new());
            let mut address = Self { turns, places, groups: groups_of, seq: 0, now: NOW };
            let mut id = 0;
            for (group, &(n, answered)) in (1..).zip(groups) {
                for _ in 0..n {
                    address.groups.insert(id, GroupHash(group));
                    address.turns.join(GroupHash(group), answered);
                    address.push(id);
                    id += 1;
                }
            }
            address
        }

        fn push(&mut self, id: u32) {
            self.seq += 1;
            let node = Node { at: self.now, seq: self.seq, id };
            self.turns.push(self.groups[&id], node, &mut self.places);
        }

        /// Visits hosts in turns. Returns the number of visits to each group.
        fn visit(&mut self, n: usize) -> BTreeMap<u64, usize> {
            let mut visits = BTreeMap::new();
            for _ in 0..n {
                self.now = self.now + std::time::Duration::from_secs(1);
                let id = self.turns.pop(self.now, &mut self.places).unwrap();
                self.turns.begin_visit(self.groups[&id], WEIGHT);
                *visits.entry(self.groups[&id].0).or_default() += 1;
                self.push(id);
            }
            visits
        }
    }

    #[test]
    fn a_group_has_one_share_however_many_hosts_it_has() {
        let visits = Address::new(&[(200, false), (1, false), (5, false)]).visit(300);
        assert_eq!(visits, BTreeMap::from([(1, 100), (2, 100), (3, 100)]));
    }

    #[test]
    fn a_group_that_has_answered_weighs_four_times_as_much() {
        let visits = Address::new(&[(200, false), (1, true)]).visit(500);
        assert_eq!(visits, BTreeMap::from([(1, 100), (2, 400)]));
    }

    #[test]
    fn a_group_that_comes_later_neither_waits_nor_overtakes_for_long() {
        let mut address = Address::new(&[(3, true), (3, true)]);
        address.visit(1_000);
        address.groups.insert(99, GroupHash(9));
        address.turns.join(GroupHash(9), true);
        address.push(99);
        let visits = address.visit(300);
        assert!((99..=101).contains(&visits[&9]), "{visits:?}");
    }

    #[test]
    fn hosts_of_one_group_are_visited_by_time() {
        let mut address = Address::new(&[(5, false)]);
        let order: Vec<_> =
            (0..5).map(|_| address.turns.pop(NOW, &mut address.places).unwrap()).collect();
        assert_eq!(order, [0, 1, 2, 3, 4]);
        assert_eq!(address.turns.next_time(), None);
    }

    proptest! {
        /// Hosts come, go and are visited in any order: the first one of a group comes first, no
        /// host is lost, and none is visited early.
        #[test]
        fn no_host_is_lost_or_early(
            steps in prop::collection::vec((0u32..24, 0u64..40, 0u8..4), 1..200),
        ) {
            let group = |id: u32| GroupHash(u64::from(id % 5) + 1);
            let (mut turns, mut places) = (Turns::default(), Places::default());
            let (mut members, mut waiting) = (BTreeMap::new(), BTreeMap::<u32, Timestamp>::new());
            let (mut seq, mut now) = (0, NOW);
            for (id, wait, step) in steps {
                now = now + std::time::Duration::from_secs(1);
                match step {
                    0 | 1 if !waiting.contains_key(&id) => {
                        if members.insert(id, ()).is_none() {
                            turns.join(group(id), id % 2 == 0);
                        }
                        seq += 1;
                        let at = now + std::time::Duration::from_secs(wait);
                        turns.push(group(id), Node { at, seq, id }, &mut places);
                        waiting.insert(id, at);
                    }
                    2 => {
                        if waiting.remove(&id).is_some() {
                            turns.remove(group(id), places.0[&id], &mut places);
                        }
                        if members.remove(&id).is_some() {
                            turns.leave(group(id));
                        }
                    }
                    _ => {
                        let due: Vec<_> = waiting.iter().filter(|(_, at)| **at <= now).collect();
                        prop_assert_eq!(
                            turns.next_time().is_some_and(|at| at <= now), !due.is_empty()
                        );
                        if !due.is_empty() {
                            let id = turns.pop(now, &mut places).unwrap();
                            let at = waiting.remove(&id).unwrap();
                            prop_assert!(at <= now, "early");
                            let mut same = waiting.iter().filter(|(i, _)| group(**i) == group(id));
                            prop_assert!(same.all(|(_, other)| *other >= at), "not the first");
                            turns.begin_visit(group(id), WEIGHT);
                        }
                    }
                }
                let first = waiting.values().min().copied();
                prop_assert_eq!(turns.next_time().is_some(), first.is_some());
                prop_assert_eq!(turns.any().is_some(), first.is_some());
                if first.is_some_and(|first| first > now) {
                    prop_assert_eq!(turns.next_time(), first);
                }
            }
        }
    }
}
