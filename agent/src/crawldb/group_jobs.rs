//! Jobs on whole groups, a bounded batch at a time: they put a group's hosts into `schedule`, take
//! them out of it, or delete all rows of the group. A row in `meta` records a job from its first
//! batch to its last, so that a kill only interrupts it.

use super::GroupRows;
use super::frontier::Frontier;
use crate::messages::{PRIORITY_PENDING, QueueKey};
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

/// The groups of a step.
#[derive(Debug, Default)]
pub(super) struct JobStep {
    pub rescheduled: BTreeSet<GroupHash>,
    pub deleted: BTreeSet<GroupHash>,
    /// True if all rows of a group are deleted.
    pub is_gone: bool,
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

    /// Begins to open a group, whose hosts then fall due not before `floor`, or to close it.
    pub(super) fn reschedule(
        &mut self,
        group: GroupHash,
        open: bool,
        floor: Timestamp,
        group_rows: &mut GroupRows,
    ) -> Result<(), DiskError> {
        if group_rows.is_open(group)? != open && !self.is_deleting(group) {
            group_rows.set_open(group, open)?;
            self.begin(group, Task::Reschedule, floor);
        }
        Ok(())
    }

    /// Begins to delete all rows of a group.
    pub(super) fn delete(&mut self, group: GroupHash) {
        self.begin(group, Task::Delete, Timestamp::ZERO);
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

    /// Performs the next step of the jobs.
    pub(super) fn step(
        &mut self,
        frontier: &mut Frontier,
        group_rows: &mut GroupRows,
        batch: &mut Batch,
    ) -> Result<JobStep, DiskError> {
        let (mut room, mut groups) = (ROWS_AT_ONCE, Vec::new());
        let mut step = JobStep::default();
        while room > 0
            && groups.len() < GROUPS_AT_ONCE
            && let Some((&group, job)) = self.after(groups.last())
        {
            let GroupJob { task, from, floor } = *job;
            let rest = match task {
                Task::Reschedule => reschedule_some(frontier, from, group, floor, &mut room)?,
                Task::Delete => delete_some(frontier, batch, group, &mut room)?.then_some(from),
            };
            groups.push(group);
            match task {
                Task::Reschedule => step.rescheduled.insert(group),
                Task::Delete => step.deleted.insert(group),
            };
            match (rest, self.tasks.get_mut(&group)) {
                (Some(from), Some(job)) => job.from = from,
                _ => {
                    self.tasks.remove(&group);
                    frontier.disk.delete(batch, Family::Meta, &job_key(group));
                    if task == Task::Delete {
                        group_rows.remove(group);
                        step.is_gone = true;
                    }
                }
            }
        }
        Ok(step)
    }
}

fn job_key(group: GroupHash) -> Vec<u8> {
    [META, &group.to_bytes()].concat()
}

/// Marks hosts with a queue as changed, so that the commit updates their rows in `schedule`.
/// Returns the key at which to continue.
fn reschedule_some(
    frontier: &mut Frontier,
    from: [u8; keys::PAIR],
    group: GroupHash,
    floor: Timestamp,
    room: &mut usize,
) -> Result<Option<[u8; keys::PAIR]>, DiskError> {
    let (mut hosts, mut rest) = (Vec::new(), None);
    frontier.disk.walk(Family::Hosts, &from, &keys::end_of_group(group), |key, value| {
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
    frontier.hosts.load(&hosts)?;
    for host in hosts {
        frontier.hosts.change(host, |entry| {
            entry.row.state.hold_until(floor, WaitRule::StartUp);
        });
    }
    Ok(rest)
}

/// Deletes some rows of a group. Returns true if there may be more.
fn delete_some(
    frontier: &mut Frontier,
    batch: &mut Batch,
    group: GroupHash,
    room: &mut usize,
) -> Result<bool, DiskError> {
    let before = *room;
    delete_queues(frontier, batch, group, room)?;
    // A queued URL's row in `seen` is deleted with its row in `frontier`.
    if *room < before {
        return Ok(true);
    }
    for family in [Family::Seen, Family::Robots, Family::Hosts] {
        let mut rows = Vec::new();
        frontier.disk.walk(
            family,
            &keys::group(group)[..8],
            &keys::end_of_group(group),
            |key, value| {
                let scheduled = match family {
                    Family::Hosts if key[8..] != [0; 8] => HostRow::decode(value)?.scheduled,
                    _ => None,
                };
                rows.push((key.to_vec(), scheduled));
                Ok(rows.len() < *room)
            },
        )?;
        for (key, scheduled) in &rows {
            frontier.disk.delete(batch, family, key);
            match keys::read_host(key) {
                Some(host) if family == Family::Hosts && host.host.0 != 0 => {
                    delete_host(frontier, batch, host, *scheduled);
                }
                _ => frontier.totals.seen -= u64::from(family == Family::Seen),
            }
        }
        *room -= rows.len();
        if *room == 0 {
            return Ok(true);
        }
    }
    frontier.robots.retain(|(key, _)| !key.starts_with(&group.to_bytes()));
    Ok(false)
}

fn delete_host(
    frontier: &mut Frontier,
    batch: &mut Batch,
    host: HostKey,
    scheduled: Option<Timestamp>,
) {
    frontier.totals.hosts -= 1;
    if let Some(at) = scheduled {
        frontier.disk.delete(batch, Family::Schedule, &keys::schedule(at, host));
    }
    frontier.hosts.forget(host);
}

fn delete_queues(
    frontier: &mut Frontier,
    batch: &mut Batch,
    group: GroupHash,
    room: &mut usize,
) -> Result<(), DiskError> {
    let mut rows: Vec<(HostKey, QueueKey, UrlHash)> = Vec::new();
    frontier.disk.walk(
        Family::Frontier,
        &keys::group(group),
        &keys::end_of_group(group),
        |key, value| {
            let (Some(host), Some(queue_key)) = (keys::read_host(key), keys::read_queue_key(key))
            else {
                let what = "its key is malformed";
                return Err(DiskError::Row { family: "frontier", what });
            };
            rows.push((host, queue_key, decode_queued(queue_key, value)?.hash));
            Ok(rows.len() < *room)
        },
    )?;
    *room -= rows.len();
    let hosts: Vec<HostKey> = rows.iter().map(|&(host, ..)| host).collect();
    frontier.hosts.load(&hosts)?;
    for (host, queue_key, hash) in rows {
        frontier.disk.delete(batch, Family::Frontier, &keys::frontier(host, queue_key));
        frontier.disk.delete(batch, Family::Seen, &keys::seen(UrlKey { group, url: hash }));
        frontier.totals.seen -= 1;
        if queue_key.priority != PRIORITY_PENDING {
            frontier.take_from_queue(host, queue_key);
        }
    }
    Ok(())
}
