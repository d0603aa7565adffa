//! Models as agents that exchange facts of their groups.

use super::Model;
use crate::messages::{
    Commit, ExportCursor, Fact, GroupRole, HostScore, PRIORITY_DEFAULT, ReplicaStore as _,
    RobotsRecord, RoleRows, ToFrontier, ToWorkbench,
};
use crate::storage::group_row::GroupRow;
use crate::storage::values::{HostRow, Seen, UrlOutcome, decode_queued};
use crate::storage::{Family, GroupState, Row, keys};
use crivello_common::hash::{GroupHash, HostKey, UrlHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, LostArchive};
use std::collections::{BTreeMap, BTreeSet};

/// Id of every model: all are the same agent.
pub const ME: AgentId = AgentId(1);

/// The shared knowledge of agents: rows without queue keys, and without the places of pages in
/// archives.
#[derive(Debug, Default, PartialEq)]
pub struct Rows {
    pub done: BTreeSet<(GroupHash, UrlHash)>,
    /// Hash, depth and attempts of each URL, in the order of each queue.
    pub queued: BTreeMap<HostKey, Vec<(UrlHash, u16, u8)>>,
    pub hosts: BTreeMap<HostKey, HostRow>,
    pub robots: BTreeMap<Vec<u8>, RobotsRecord>,
}

impl Rows {
    /// Sorts the queues, for comparisons without their order.
    pub fn sorted(mut self) -> Self {
        self.queued.values_mut().for_each(|urls| urls.sort_unstable());
        self
    }
}

impl Model {
    fn each(&self, family: Family, mut f: impl FnMut(&[u8], &[u8])) {
        let disk = self.disk.as_ref().unwrap();
        disk.walk(family, &[], &[0xff; 30], |key, value| {
            f(key, value);
            Ok(true)
        })
        .unwrap();
    }

    pub fn rows(&self) -> Rows {
        let mut rows = Rows::default();
        self.each(Family::Seen, |key, value| {
            let UrlKey { group, url } = keys::read_seen(key).unwrap();
            if matches!(Seen::decode(value).unwrap(), Seen::Done(_)) {
                rows.done.insert((group, url));
            }
        });
        self.each(Family::Frontier, |key, value| {
            let (host, queue_key) = keys::read_frontier(key).unwrap();
            let url = decode_queued(queue_key, value).unwrap();
            let queue = rows.queued.entry(host).or_default();
            queue.push((url.hash, url.depth, url.attempts));
        });
        self.each(Family::Hosts, |key, value| {
            let host = keys::read_host(key).unwrap();
            if host.host.0 != 0 {
                // Pages that wait for links are not counted here, but on other agents: see
                // `queued`.
                let row = HostRow {
                    scheduled: None,
                    score: HostScore::default(),
                    queued: 0,
                    queued_bytes: 0,
                    ..HostRow::decode(value).unwrap()
                };
                rows.hosts.insert(host, row);
            }
        });
        self.each(Family::Robots, |key, value| {
            rows.robots.insert(key.to_vec(), RobotsRecord::decode(value).unwrap());
        });
        rows
    }

    pub fn groups(&self) -> BTreeSet<GroupHash> {
        self.rows().hosts.keys().map(|host| host.group).collect()
    }

    /// Returns the groups with rows in `schedule`.
    pub fn scheduled(&self) -> BTreeSet<GroupHash> {
        let mut groups = BTreeSet::new();
        self.each(Family::Schedule, |key, _| {
            groups.insert(keys::read_schedule(key).unwrap().1.group);
        });
        groups
    }

    /// Checks the invariants on disk, and recounts the totals.
    pub fn recount(&mut self) {
        let mut shut = BTreeSet::new();
        self.each(Family::Groups, |key, value| {
            if !GroupState::decode(value).unwrap().open {
                shut.insert(GroupHash::from_bytes(key.try_into().unwrap()));
            }
        });
        let (mut waiting, mut n_seen) = (BTreeSet::new(), 0);
        self.each(Family::Seen, |key, value| {
            n_seen += 1;
            let UrlKey { group, url } = keys::read_seen(key).unwrap();
            if let Seen::Queued(Some((host, queue_key))) = Seen::decode(value).unwrap() {
                waiting.insert((HostKey { group, host }, queue_key, url));
            }
        });
        let (mut queued, mut by_host) = (BTreeSet::new(), BTreeMap::<HostKey, (u64, u64)>::new());
        let mut taken = BTreeMap::<GroupHash, GroupRow>::new();
        self.each(Family::Frontier, |key, value| {
            let (host, queue_key) = keys::read_frontier(key).unwrap();
            let url = decode_queued(queue_key, value).unwrap();
            queued.insert((host, queue_key, url.hash));
            if !queue_key.is_pending() {
                let (n, bytes) = by_host.entry(host).or_default();
                (*n, *bytes) = (*n + 1, *bytes + url.path.len() as u64);
                let group = taken.entry(host.group).or_default();
                group.change(url.finder, |taken| taken.add_url(url.path.len() as u64));
            }
        });
        assert_eq!(waiting, queued, "`frontier` and the queued rows of `seen` differ");
        let (mut n_hosts, mut n_own, mut schedule) = (0, 0, BTreeSet::new());
        let mut counted = BTreeMap::<GroupHash, GroupRow>::new();
        self.each(Family::Hosts, |key, value| {
            let host = keys::read_host(key).unwrap();
            if host.host.0 == 0 {
                counted.insert(host.group, GroupRow::decode(value).unwrap());
                return;
            }
            n_hosts += 1;
            let row = HostRow::decode(value).unwrap();
            let in_queue = by_host.get(&host).copied().unwrap_or_default();
            assert_eq!((row.queued, row.queued_bytes), in_queue);
            if let Some((finder, resolved)) = row.counts_as() {
                let group = taken.entry(host.group).or_default();
                group.change(finder, |taken| taken.count_host(resolved, true));
            }
            let wanted = row.queued > 0 && !shut.contains(&host.group);
            assert_eq!(
                row.scheduled.is_some(),
                wanted,
                "a host is scheduled if and only if it has queued URLs and its group is open"
            );
            n_own += if wanted { row.queued } else { 0 };
            schedule.extend(row.scheduled.map(|at| keys::schedule(at, host).to_vec()));
        });
        let sorted = |row: &GroupRow| row.classes().collect::<BTreeMap<_, _>>();
        for (group, row) in &counted {
            let expected = taken.remove(group).unwrap_or_default();
            assert_eq!(sorted(row), sorted(&expected), "the row of a group counts wrong");
        }
        assert_eq!(taken, BTreeMap::new(), "a group has no row of its own");
        let mut found = BTreeSet::new();
        self.each(Family::Schedule, |key, _| {
            found.insert(key.to_vec());
        });
        assert_eq!(found, schedule);
        let totals = self.crawldb().totals();
        let n_queued = by_host.values().map(|(n, _)| n).sum::<u64>();
        assert_eq!((totals.seen, totals.queued, totals.hosts), (n_seen, n_queued, n_hosts));
        assert_eq!(totals.own_queued, n_own);
    }

    /// Returns all facts of all groups, in chunks of about `bytes_max` bytes.
    pub fn export(&mut self, bytes_max: usize) -> Vec<Vec<Fact>> {
        let mut chunks = Vec::new();
        for group in self.groups() {
            let mut next = Some(ExportCursor::default());
            while let Some(cursor) = next {
                let (facts, rest) = self.crawldb().export(group, cursor, bytes_max).unwrap();
                let last = facts.last().map_or(0, Fact::weight);
                let weight: usize = facts.iter().map(Fact::weight).sum();
                assert!(weight - last < bytes_max, "a chunk has {weight} bytes");
                chunks.push(facts);
                next = rest;
            }
        }
        chunks
    }

    pub fn import(&mut self, facts: &[Fact]) {
        for fact in facts {
            match fact {
                Fact::Host { host, name, .. } => {
                    self.names.insert(*host, name.clone());
                }
                // It may come before what is handed out already.
                Fact::Queued { url, .. } if url.queue_key.priority != PRIORITY_DEFAULT => {
                    self.is_prioritized = true;
                }
                _ => {}
            }
        }
        self.merged = true;
        let now = self.now;
        let mut commit = Commit { facts: facts.to_vec(), ..Commit::of_facts() };
        self.crawldb().apply(&mut commit, now).unwrap();
        self.disk.as_ref().unwrap().commit(&commit.batch).unwrap();
    }

    /// Performs one step of the jobs on groups. Returns false if there is none.
    pub fn job(&mut self) -> bool {
        let now = self.now;
        let commit = self.crawldb().step_job(now).unwrap();
        if let Some(commit) = &commit {
            self.disk.as_ref().unwrap().commit(&commit.batch).unwrap();
        }
        commit.is_some()
    }

    /// Marks the agent's own archive, and with it all pages of models, as lost. Then performs at
    /// most `steps_max` steps of the scan.
    pub fn lose_archive(&mut self, steps_max: usize) {
        self.merged = true;
        let now = self.now;
        self.crawldb().set_lost_archives(&[LostArchive { agent: ME, safe_files: 0 }]);
        for _ in 0..steps_max {
            let Some(commit) = self.crawldb().step_refetch(now).unwrap() else { return };
            self.disk.as_ref().unwrap().commit(&commit.batch).unwrap();
        }
    }

    /// Marks the agent's own archive as lost, as a view does.
    pub fn learn_of_loss(&mut self) {
        self.merged = true;
        self.crawldb().set_lost_archives(&[LostArchive { agent: ME, safe_files: 0 }]);
    }

    /// Performs one step of the scan. Returns its changes, and whether there was a step.
    pub fn look_through(&mut self) -> (Vec<Fact>, bool) {
        let now = self.now;
        let Some(commit) = self.crawldb().step_refetch(now).unwrap() else {
            return (Vec::new(), false);
        };
        self.disk.as_ref().unwrap().commit(&commit.batch).unwrap();
        (commit.changes, true)
    }

    /// Returns the URLs that were fetched, and not discarded or given up.
    pub fn fetched(&self) -> BTreeSet<(GroupHash, UrlHash)> {
        let mut fetched = BTreeSet::new();
        self.each(Family::Seen, |key, value| {
            let UrlKey { group, url } = keys::read_seen(key).unwrap();
            if let Seen::Done(UrlOutcome::Fetched { .. }) = Seen::decode(value).unwrap() {
                fetched.insert((group, url));
            }
        });
        fetched
    }

    pub fn open_or_close(&mut self, group: GroupHash, open: bool) {
        let crawldb = self.crawldb();
        match open {
            true => crawldb.open_group(group, Timestamp::ZERO).unwrap(),
            false => crawldb.close_group(group).unwrap(),
        }
    }

    pub fn delete(&mut self, group: GroupHash) {
        self.merged = true;
        self.crawldb().delete_group(group);
    }

    pub fn cancel_deletion(&mut self, group: GroupHash) -> bool {
        self.crawldb().cancel_deletion(group)
    }

    /// Returns the number of rows with a group in their keys, jobs and roles included. All of
    /// `schedule` counts as one.
    pub fn traces(&self, group: GroupHash) -> usize {
        let mut n = usize::from(self.scheduled().contains(&group));
        for family in
            [Family::Seen, Family::Frontier, Family::Hosts, Family::Robots, Family::Groups]
        {
            self.each(family, |key, _| n += usize::from(key.starts_with(&group.to_bytes())));
        }
        self.each(Family::Meta, |key, _| n += usize::from(key.ends_with(&group.to_bytes())));
        n
    }

    pub fn set_role(&mut self, group: GroupHash, tag: Option<GroupRole>) {
        self.crawldb().group_rows().set_role(group, tag).unwrap();
    }

    /// Returns all roles, in order.
    pub fn tags(&mut self) -> Vec<(GroupHash, GroupRole)> {
        let mut tags: Vec<(GroupHash, GroupRole)> = Vec::new();
        let tag_rows = self.crawldb().group_rows();
        loop {
            let some = tag_rows.roles_after(tags.last().map(|&(g, _)| g), 3).unwrap();
            for (group, tag) in &some {
                assert_eq!(tag_rows.role(*group).unwrap().as_ref(), Some(tag));
            }
            if some.is_empty() {
                return tags;
            }
            tags.extend(some);
        }
    }

    /// Returns the groups of the hosts that are handed out while `may_fetch` allows only some.
    pub fn served(&mut self, mut may_fetch: impl FnMut(GroupHash) -> bool) -> BTreeSet<GroupHash> {
        let (now, mut notes) = (self.now, Vec::new());
        self.crawldb().on_workbench(ToFrontier::WantHosts { hosts: 100 });
        self.crawldb().serve(now, &mut |group, _| Ok(may_fetch(group)), &mut notes).unwrap();
        let group = |note: &ToWorkbench| match note {
            ToWorkbench::Due(due) => Some(due.host.group),
            _ => None,
        };
        notes.iter().filter_map(group).collect()
    }

    pub fn rescan_schedule(&mut self) {
        self.crawldb().rescan_schedule();
    }
}
