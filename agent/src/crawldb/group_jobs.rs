//! Jobs on whole groups, a bounded batch at a time: they put a group's hosts into `schedule`, take
//! them out of it, or delete all rows of the group. A row in `meta` records a job from its first
//! batch to its last, so that a kill only interrupts it.

use super::domain_counters::DomainCounters;
use super::serve::increment;
use super::{CrawlDb, mark};
use crate::messages::{Commit, CommitKind, PRIORITY_PENDING, QueueKey};
use crate::storage::values::{HostRow, decode_queued};
use crate::storage::{Batch, Database, DiskError, Family, keys};
use crivello_common::hash::{GroupHash, HostKey, UrlHash, UrlKey};
use crivello_common::politeness::WaitRule;
use crivello_common::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

/// Maximum number of rows per batch; small in tests, so that a job takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 7 } else { 4_096 };
/// Maximum number of groups per batch: most are small, and there may be a million of them.
const GROUPS_AT_ONCE: usize = if cfg!(test) { 3 } else { 256 };
/// Prefix of the keys in `meta`; the group's hash follows.
const META: &[u8] = b"job/";

/// The task of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Task {
    /// Adds or removes the rows in `schedule` of hosts with a queue, as the group's state requires.
    Reschedule = 1,
    /// Deletes all rows.
    Delete = 2,
}

/// A job in progress.
#[derive(Debug)]
struct GroupJob {
    task: Task,
    /// Key before which all hosts are done.
    from: [u8; keys::PAIR],
    /// Earliest time at which a host falls due. Not stored: after a kill no host is visited at once
    /// anyway.
    floor: Timestamp,
}

/// The jobs in progress.
#[derive(Debug, Default)]
pub struct GroupJobs {
    tasks: BTreeMap<GroupHash, GroupJob>,
    /// Groups whose jobs have no row in `meta` yet.
    unsaved: Vec<GroupHash>,
}

impl GroupJobs {
    /// Reads the jobs that a kill interrupted.
    pub(super) fn read(disk: &Database) -> Result<Self, DiskError> {
        let mut jobs = Self::default();
        let end = [META, &[0xff; 9]].concat();
        disk.walk(Family::Meta, META, &end, |key, value| {
            let group = key[META.len()..].try_into().map(GroupHash::from_bytes);
            let task = match value {
                [1] => Some(Task::Reschedule),
                [2] => Some(Task::Delete),
                _ => None,
            };
            let (Ok(group), Some(task)) = (group, task) else {
                return Err(DiskError::Row { family: "meta", what: "a job is malformed" });
            };
            let from = keys::group(group);
            jobs.tasks.insert(group, GroupJob { task, from, floor: Timestamp::ZERO });
            Ok(true)
        })?;
        Ok(jobs)
    }

    fn begin(&mut self, group: GroupHash, task: Task, floor: Timestamp) {
        self.tasks.insert(group, GroupJob { task, from: keys::group(group), floor });
        self.unsaved.push(group);
    }

    pub(super) fn is_deleting(&self, group: GroupHash) -> bool {
        self.tasks.get(&group).is_some_and(|job| job.task == Task::Delete)
    }

    /// Adds the rows of new jobs to `batch`.
    pub(super) fn settle(&mut self, disk: &Database, batch: &mut Batch) {
        for group in self.unsaved.drain(..) {
            // A job that has finished since needs no row.
            if let Some(job) = self.tasks.get(&group) {
                disk.put(batch, Family::Meta, &job_key(group), &[job.task as u8]);
            }
        }
    }

    pub(super) fn are_left(&self) -> bool {
        !self.tasks.is_empty()
    }

    fn after(&self, group: Option<&GroupHash>) -> Option<(&GroupHash, &GroupJob)> {
        let from = group.map_or(Bound::Unbounded, Bound::Excluded);
        self.tasks.range((from, Bound::Unbounded)).next()
    }
}

fn job_key(group: GroupHash) -> Vec<u8> {
    [META, &group.to_bytes()].concat()
}

/// Returns a bound above all keys of `group`.
pub(super) fn end_of(group: GroupHash) -> [u8; 9] {
    let mut end = [0xff; 9];
    end[..8].copy_from_slice(&group.to_bytes());
    increment(&mut end);
    end
}

impl CrawlDb {
    /// Opens a group: its hosts are handed out from now on, as [`Self::step_job`] proceeds. None
    /// falls due before `floor`.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn open_group(&mut self, group: GroupHash, floor: Timestamp) -> Result<(), DiskError> {
        self.reschedule_group(group, true, floor)
    }

    /// Closes a group: no further hosts of it are handed out once [`Self::step_job`] has nothing
    /// left to do.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError> {
        self.reschedule_group(group, false, Timestamp::ZERO)
    }

    fn reschedule_group(
        &mut self,
        group: GroupHash,
        open: bool,
        floor: Timestamp,
    ) -> Result<(), DiskError> {
        if self.group_rows.is_open(group)? != open && !self.group_jobs.is_deleting(group) {
            self.group_rows.set_open(group, open)?;
            self.group_jobs.begin(group, Task::Reschedule, floor);
        }
        Ok(())
    }

    /// Deletes all rows of a group, as [`Self::step_job`] proceeds. No page of the group may be in
    /// flight, and nothing may be added to it while [`Self::is_deleting`] returns true.
    pub fn delete_group(&mut self, group: GroupHash) {
        self.group_jobs.begin(group, Task::Delete, Timestamp::ZERO);
    }

    /// Returns true while rows of a group remain to be deleted.
    #[must_use]
    pub fn is_deleting(&self, group: GroupHash) -> bool {
        self.group_jobs.is_deleting(group)
    }

    /// Returns true if [`Self::step_job`] has something to do.
    #[must_use]
    pub fn has_jobs(&self) -> bool {
        self.group_jobs.are_left()
    }

    /// Performs the next step of the jobs on groups. Returns its commit, which is applied already,
    /// or `None` if there is no job. All earlier batches must have been written.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails. The crawl database must then not be used any more.
    pub fn step_job(&mut self, now: Timestamp) -> Result<Option<Commit>, DiskError> {
        if !self.group_jobs.are_left() {
            return Ok(None);
        }
        let mut batch = Batch::default();
        let (mut room, mut groups) = (ROWS_AT_ONCE, Vec::new());
        let (mut looked_through, mut deleted) = (BTreeSet::new(), BTreeSet::new());
        let mut is_gone = false;
        while room > 0
            && groups.len() < GROUPS_AT_ONCE
            && let Some((&group, job)) = self.group_jobs.after(groups.last())
        {
            let GroupJob { task, from, floor } = *job;
            let rest = match task {
                Task::Reschedule => self.reschedule_some(from, group, floor, &mut room)?,
                Task::Delete => self.delete_some(&mut batch, group, &mut room)?.then_some(from),
            };
            groups.push(group);
            match task {
                Task::Reschedule => looked_through.insert(group),
                Task::Delete => deleted.insert(group),
            };
            match (rest, self.group_jobs.tasks.get_mut(&group)) {
                (Some(from), Some(job)) => job.from = from,
                _ => {
                    self.group_jobs.tasks.remove(&group);
                    self.disk.delete(&mut batch, Family::Meta, &job_key(group));
                    if task == Task::Delete {
                        self.group_rows.remove(group);
                        is_gone = true;
                    }
                }
            }
        }
        if is_gone {
            self.sieve.forget();
        }
        self.finish(&mut batch, &DomainCounters::default(), now)?;
        self.changes.forget(&deleted);
        self.changes.forget_hosts(&looked_through);
        let changes = self.changes.take();
        Ok(Some(Commit { kind: CommitKind::Scan, batch, changes, ..Commit::default() }))
    }

    /// Marks hosts with a queue as changed, so that the commit updates their rows in `schedule`.
    /// Returns the key at which to continue.
    fn reschedule_some(
        &mut self,
        from: [u8; keys::PAIR],
        group: GroupHash,
        floor: Timestamp,
        room: &mut usize,
    ) -> Result<Option<[u8; keys::PAIR]>, DiskError> {
        let (mut hosts, mut rest) = (Vec::new(), None);
        self.disk.walk(Family::Hosts, &from, &end_of(group), |key, value| {
            let Some(host) = keys::read_host(key).filter(|host| host.host.0 != 0) else {
                return Ok(true);
            };
            if *room == 0 {
                rest = Some(keys::host(host));
                return Ok(false);
            }
            *room -= 1;
            if HostRow::decode(value)?.queued > 0 {
                hosts.push(host);
            }
            Ok(true)
        })?;
        self.load(&hosts)?;
        for host in hosts {
            self.change(host, |entry| {
                entry.row.state.hold_until(floor, WaitRule::StartUp);
            });
        }
        Ok(rest)
    }

    /// Deletes some rows of a group. Returns true if there may be more.
    fn delete_some(
        &mut self,
        batch: &mut Batch,
        group: GroupHash,
        room: &mut usize,
    ) -> Result<bool, DiskError> {
        let before = *room;
        self.delete_queues(batch, group, room)?;
        // A queued URL's row in `seen` is deleted with its row in `frontier`.
        if *room < before {
            return Ok(true);
        }
        for family in [Family::Seen, Family::Robots, Family::Hosts] {
            let mut rows = Vec::new();
            self.disk.walk(family, &keys::group(group)[..8], &end_of(group), |key, value| {
                let scheduled = match family {
                    Family::Hosts if key[8..] != [0; 8] => HostRow::decode(value)?.scheduled,
                    _ => None,
                };
                rows.push((key.to_vec(), scheduled));
                Ok(rows.len() < *room)
            })?;
            for (key, scheduled) in &rows {
                self.disk.delete(batch, family, key);
                match keys::read_host(key) {
                    Some(host) if family == Family::Hosts && host.host.0 != 0 => {
                        self.delete_host(batch, host, *scheduled);
                    }
                    _ => self.totals.seen -= u64::from(family == Family::Seen),
                }
            }
            *room -= rows.len();
            if *room == 0 {
                return Ok(true);
            }
        }
        self.robots.retain(|(key, _)| !key.starts_with(&group.to_bytes()));
        Ok(false)
    }

    fn delete_host(&mut self, batch: &mut Batch, host: HostKey, scheduled: Option<Timestamp>) {
        self.totals.hosts -= 1;
        if let Some(at) = scheduled {
            self.disk.delete(batch, Family::Schedule, &keys::schedule(at, host));
        }
        self.forget(host);
    }

    fn delete_queues(
        &mut self,
        batch: &mut Batch,
        group: GroupHash,
        room: &mut usize,
    ) -> Result<(), DiskError> {
        let mut rows: Vec<(HostKey, QueueKey, UrlHash)> = Vec::new();
        self.disk.walk(Family::Frontier, &keys::group(group), &end_of(group), |key, value| {
            let (Some(host), Some(queue_key)) = (keys::read_host(key), keys::read_queue_key(key))
            else {
                let what = "its key is malformed";
                return Err(DiskError::Row { family: "frontier", what });
            };
            rows.push((host, queue_key, decode_queued(queue_key, value)?.hash));
            Ok(rows.len() < *room)
        })?;
        *room -= rows.len();
        let hosts: Vec<HostKey> = rows.iter().map(|&(host, ..)| host).collect();
        self.load(&hosts)?;
        for (host, queue_key, hash) in rows {
            self.disk.delete(batch, Family::Frontier, &keys::frontier(host, queue_key));
            self.disk.delete(batch, Family::Seen, &keys::seen(UrlKey { group, url: hash }));
            self.totals.seen -= 1;
            if queue_key.priority == PRIORITY_PENDING {
                continue;
            }
            self.totals.queued -= 1;
            if let Some(entry) = self.hosts.get_mut(&host) {
                entry.take_back(queue_key);
                entry.row.queued -= 1;
                mark(&mut self.dirty, host, entry);
            }
        }
        Ok(())
    }
}
