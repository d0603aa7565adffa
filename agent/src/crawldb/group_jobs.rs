//! Jobs on whole groups, a bounded batch at a time: they put a group's hosts into `schedule`, take
//! them out of it, or delete all rows of the group. Deletions wait for the others. A row in `meta`
//! records a job from its first batch to its last, so that a kill only interrupts it. A deletion ends
//! early if new rows of its group arrive.

use super::GroupRows;
use super::frontier::Frontier;
use crate::messages::Queued;
use crate::storage::values::{HostRow, Seen, decode_queued};
use crate::storage::{Batch, Database, DiskError, Family, Row, keys};
use crivello_common::config::Politeness;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::politeness::HostPolicy;
use crivello_common::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of rows per batch; small in tests, so that a job takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 7 } else { 4_096 };
/// Maximum number of groups per batch: most are small, and there may be a million of them.
const GROUPS_AT_ONCE: usize = if cfg!(test) { 3 } else { 256 };
/// Bytes of compiled rules that count as a row: about as long to read.
const RULES_A_ROW: usize = 1_024;
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

/// Families whose rows a deletion deletes, in this order.
const DELETED: [Family; 4] = [Family::Frontier, Family::Seen, Family::Robots, Family::Hosts];

/// A job in progress.
#[derive(Debug)]
struct GroupJob {
    task: Task,
    /// Index in [`DELETED`] of the family that a deletion has reached.
    stage: usize,
    /// Key before which all rows are done; empty at the start. It is stored for a deletion, which
    /// would read all that it has deleted otherwise; another job that a kill interrupted starts again.
    from: Vec<u8>,
    /// Time until which another agent may have visited the hosts; zero if none may have.
    taken_over: Timestamp,
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
    /// Groups that are opened or closed.
    reschedules: BTreeMap<GroupHash, GroupJob>,
    /// Groups that are deleted; none of them is in `reschedules`.
    deletions: BTreeMap<GroupHash, GroupJob>,
    /// Groups whose jobs have no row in `meta` yet.
    unsaved: Vec<GroupHash>,
    /// Groups whose deletions have ended early, and may still have a row in `meta`.
    cancelled: Vec<GroupHash>,
}

impl GroupJobs {
    /// Reads the jobs that a kill interrupted.
    pub(super) fn read(disk: &Database) -> Result<Self, DiskError> {
        let mut jobs = Self::default();
        let end = [META, &[0xff; 9]].concat();
        disk.walk(Family::Meta, META, &end, |key, value| {
            let group = key[META.len()..].try_into().map(GroupHash::from_bytes);
            let (Ok(group), Some(job)) = (group, GroupJob::decode(value)) else {
                return Err(DiskError::Row { family: "meta", what: "a job is malformed" });
            };
            jobs.of(job.task).insert(group, job);
            Ok(true)
        })?;
        Ok(jobs)
    }

    /// Begins to open or to close a group. Returns false if it is so already. If another agent may have
    /// visited its hosts until `taken_over`, they rest from then on.
    pub(super) fn reschedule(
        &mut self,
        group: GroupHash,
        open: bool,
        taken_over: Timestamp,
        group_rows: &mut GroupRows,
    ) -> Result<bool, DiskError> {
        let changes = group_rows.is_open(group)? != open && !self.is_deleting(group);
        if changes {
            group_rows.set_open(group, open)?;
            // The rest that an unfinished job has not yet given to all hosts is not lost.
            let unfinished = self.reschedules.get(&group).map(|job| job.taken_over);
            let taken_over = taken_over.max(unfinished.unwrap_or(Timestamp::ZERO));
            self.begin(group, Task::Reschedule, taken_over);
        }
        Ok(changes)
    }

    /// Begins to delete all rows of a group.
    pub(super) fn delete(&mut self, group: GroupHash) {
        self.reschedules.remove(&group);
        self.begin(group, Task::Delete, Timestamp::ZERO);
    }

    fn begin(&mut self, group: GroupHash, task: Task, taken_over: Timestamp) {
        self.of(task).insert(group, GroupJob::new(task, taken_over));
        self.unsaved.push(group);
    }

    const fn of(&mut self, task: Task) -> &mut BTreeMap<GroupHash, GroupJob> {
        match task {
            Task::Reschedule => &mut self.reschedules,
            Task::Delete => &mut self.deletions,
        }
    }

    /// Ends the deletion of a group, if there is one. Returns true then. What is left of the group is
    /// rescheduled: the deletion may have begun before the group was completely closed.
    pub(super) fn cancel_deletion(&mut self, group: GroupHash) -> bool {
        let was_deleting = self.deletions.remove(&group).is_some();
        if was_deleting {
            self.cancelled.push(group);
            self.begin(group, Task::Reschedule, Timestamp::ZERO);
        }
        was_deleting
    }

    pub(super) fn is_deleting(&self, group: GroupHash) -> bool {
        self.deletions.contains_key(&group)
    }

    /// Returns true while some hosts of a group that was taken over do not rest yet: none of them
    /// must be handed out.
    pub(super) fn is_unrested(&self, group: GroupHash) -> bool {
        self.reschedules.get(&group).is_some_and(|job| job.taken_over != Timestamp::ZERO)
    }

    /// Adds the rows of new jobs to `batch`, and deletes those of cancelled ones.
    pub(super) fn settle(&mut self, batch: &mut Batch) {
        for group in self.cancelled.drain(..) {
            batch.delete(Family::Meta, &job_key(group));
        }
        for group in self.unsaved.drain(..) {
            // A job that has finished since needs no row.
            let job = self.reschedules.get(&group).or_else(|| self.deletions.get(&group));
            if let Some(job) = job {
                batch.put(Family::Meta, &job_key(group), &job.encode());
            }
        }
    }

    pub(super) fn count(&self) -> usize {
        self.reschedules.len() + self.deletions.len()
    }

    /// Performs the next step of the jobs.
    pub(super) fn step(
        &mut self,
        frontier: &mut Frontier,
        group_rows: &mut GroupRows,
        politeness: &Politeness,
        batch: &mut Batch,
    ) -> Result<JobStep, DiskError> {
        let mut room = (ROWS_AT_ONCE, GROUPS_AT_ONCE);
        let mut step = JobStep::default();
        let mut done = Vec::new();
        for (&group, job) in &mut self.reschedules {
            let (rows @ 1.., groups @ 1..) = (room.0, room.1) else { break };
            room = (rows, groups - 1);
            step.rescheduled.insert(group);
            if job.reschedule_some(frontier, politeness, group, &mut room.0)? {
                done.push(group);
            }
        }
        for group in done.drain(..) {
            self.reschedules.remove(&group);
            batch.delete(Family::Meta, &job_key(group));
        }
        for (&group, job) in &mut self.deletions {
            let (rows @ 1.., groups @ 1..) = (room.0, room.1) else { break };
            room = (rows, groups - 1);
            step.deleted.insert(group);
            if job.delete_some(frontier, batch, group, &mut room.0)? {
                done.push(group);
            } else {
                batch.put(Family::Meta, &job_key(group), &job.encode());
            }
        }
        for group in done {
            frontier.groups.delete(batch, group);
            group_rows.remove(group);
            step.is_gone = true;
            self.deletions.remove(&group);
            batch.delete(Family::Meta, &job_key(group));
        }
        Ok(step)
    }
}

fn job_key(group: GroupHash) -> Vec<u8> {
    [META, &group.to_bytes()].concat()
}

impl GroupJob {
    const fn new(task: Task, taken_over: Timestamp) -> Self {
        Self { task, stage: 0, from: Vec::new(), taken_over }
    }

    /// Returns the value of its row in `meta`: the task, and the time of a take-over in microseconds,
    /// or the stage of a deletion and the key from which it goes on.
    fn encode(&self) -> Vec<u8> {
        let mut value = vec![self.task as u8];
        if self.task == Task::Delete {
            value.push(self.stage as u8);
            value.extend(&self.from);
        } else if self.taken_over != Timestamp::ZERO {
            value.extend(self.taken_over.0.to_be_bytes());
        }
        value
    }

    /// Reads the value of its row in `meta`.
    fn decode(value: &[u8]) -> Option<Self> {
        match value {
            [1] => Some(Self::new(Task::Reschedule, Timestamp::ZERO)),
            [1, at @ ..] => {
                let at = Timestamp(u64::from_be_bytes(at.try_into().ok()?));
                Some(Self::new(Task::Reschedule, at))
            }
            &[2, stage, ref from @ ..] if usize::from(stage) < DELETED.len() => {
                let job = Self::new(Task::Delete, Timestamp::ZERO);
                Some(Self { stage: stage.into(), from: from.to_vec(), ..job })
            }
            _ => None,
        }
    }

    /// Returns the key from which it goes on.
    fn from(&self, group: GroupHash) -> Vec<u8> {
        if self.from.is_empty() { start_of(group) } else { self.from.clone() }
    }

    /// Marks hosts with a queue as changed, so that the commit updates their rows in `schedule`.
    /// After a take-over they rest. Returns true if no host is left.
    fn reschedule_some(
        &mut self,
        frontier: &mut Frontier,
        politeness: &Politeness,
        group: GroupHash,
        room: &mut usize,
    ) -> Result<bool, DiskError> {
        let (mut hosts, mut rest) = (Vec::new(), None);
        frontier.disk.walk(
            Family::Hosts,
            &self.from(group),
            &keys::end_of_group(group),
            |key, value| {
                let Some(host) = keys::read_hosts(key)? else { return Ok(true) };
                if *room == 0 {
                    rest = Some(key.to_vec());
                    return Ok(false);
                }
                *room -= 1;
                if HostRow::decode(value)?.queued > 0 {
                    hosts.push(host);
                }
                Ok(true)
            },
        )?;
        frontier.hosts.load(&hosts)?;
        for host in hosts {
            if self.taken_over == Timestamp::ZERO {
                frontier.hosts.change(host, |_| {});
                continue;
            }
            let robots = frontier.read_robots(host)?;
            let rules = robots.iter().filter_map(|(_, record)| record.rules.as_ref());
            let crawl_delay = rules.clone().filter_map(|rules| rules.crawl_delay()).max();
            let bytes: usize = rules.map(|rules| rules.heap_size()).sum();
            *room = room.saturating_sub(bytes / RULES_A_ROW);
            frontier.hosts.change(host, |entry| {
                let name = &entry.row.name;
                let exempt = politeness.robots_exempt.iter().any(|e| *e.host == **name);
                let policy = HostPolicy::of(politeness, name, crawl_delay.filter(|_| !exempt));
                entry.row.state.take_over(self.taken_over, &policy);
            });
        }
        let is_done = rest.is_none();
        self.from = rest.unwrap_or_default();
        Ok(is_done)
    }

    /// Deletes some rows of a group. Returns true if none is left. It never reads rows that it has
    /// deleted: those cost as much time as others until RocksDB has compacted them.
    fn delete_some(
        &mut self,
        frontier: &mut Frontier,
        batch: &mut Batch,
        group: GroupHash,
        room: &mut usize,
    ) -> Result<bool, DiskError> {
        while let Some(&family) = DELETED.get(self.stage) {
            let had_room = *room;
            match family {
                Family::Frontier => self.delete_queues(frontier, batch, group, room)?,
                _ => self.delete_rows(family, frontier, batch, group, room)?,
            }
            // A queued URL's row in `seen` is deleted with its row in `frontier`: the batch must be
            // written before `seen` is read.
            if *room == 0 || (family == Family::Frontier && *room < had_room) {
                return Ok(false);
            }
            self.stage += 1;
            self.from.clear();
        }
        frontier.robots.retain(|(host, ..)| host.group != group);
        Ok(true)
    }

    fn delete_queues(
        &mut self,
        frontier: &mut Frontier,
        batch: &mut Batch,
        group: GroupHash,
        room: &mut usize,
    ) -> Result<(), DiskError> {
        let mut rows: Vec<(HostKey, Queued)> = Vec::new();
        let (start, end) = (self.from(group), keys::end_of_group(group));
        let from = &mut self.from;
        frontier.disk.walk(Family::Frontier, &start, &end, |key, value| {
            let (host, queue_key) = keys::read_frontier(key)?;
            rows.push((host, decode_queued(queue_key, value)?));
            *from = after_key(key);
            Ok(rows.len() < *room)
        })?;
        *room -= rows.len();
        let hosts: Vec<HostKey> = rows.iter().map(|(host, _)| *host).collect();
        frontier.hosts.load(&hosts)?;
        for (host, url) in rows {
            batch.delete(Family::Frontier, &keys::frontier(host, url.queue_key));
            batch.delete(Family::Seen, &keys::seen(UrlKey { group, url: url.hash }));
            frontier.totals.seen -= 1;
            if !url.queue_key.is_pending() {
                frontier.take_from_queue(host, &url)?;
            }
        }
        Ok(())
    }

    fn delete_rows(
        &mut self,
        family: Family,
        frontier: &mut Frontier,
        batch: &mut Batch,
        group: GroupHash,
        room: &mut usize,
    ) -> Result<(), DiskError> {
        let has_due = frontier.totals.scheduled > 0;
        let (mut rows, mut scheduled) = (Vec::new(), Vec::new());
        frontier.disk.walk(
            family,
            &self.from(group),
            &keys::end_of_group(group),
            |key, value| {
                // The group's own row counts what is left, and goes last.
                if family != Family::Hosts || key[8..] != [0; 8] {
                    let is_host = family == Family::Hosts;
                    let host = is_host.then(|| HostRow::decode(value)).transpose()?;
                    if family == Family::Seen
                        && has_due
                        && let Seen::Done(outcome) = Seen::decode(value)?
                        && outcome.due().is_some()
                    {
                        scheduled.push((keys::read_seen(key)?, outcome));
                    }
                    rows.push((key.to_vec(), host));
                }
                Ok(rows.len() < *room)
            },
        )?;
        if let Some((last, _)) = rows.last() {
            self.from = after_key(last);
        }
        *room -= rows.len();
        for (url, outcome) in &scheduled {
            frontier.forget_due(batch, *url, outcome);
        }
        for (key, row) in &rows {
            batch.delete(family, key);
            match (keys::read_host(key), row) {
                (Some(host), Some(row)) => delete_host(frontier, batch, host, row)?,
                _ => frontier.totals.seen -= u64::from(family == Family::Seen),
            }
        }
        Ok(())
    }
}

fn start_of(group: GroupHash) -> Vec<u8> {
    keys::group(group)[..8].to_vec()
}

/// Returns the first possible key after `key`.
fn after_key(key: &[u8]) -> Vec<u8> {
    [key, &[0]].concat()
}

fn delete_host(
    frontier: &mut Frontier,
    batch: &mut Batch,
    host: HostKey,
    row: &HostRow,
) -> Result<(), DiskError> {
    frontier.totals.hosts -= 1;
    if let Some(place) = row.scheduled {
        batch.delete(Family::Schedule, &keys::schedule(place, host));
    }
    let counted = frontier.hosts.get(host).map_or(row.counts_as(), |entry| entry.counted_as);
    frontier.hosts.forget(host);
    frontier.groups.change(host.group, |group| {
        group.pages = group.pages.saturating_sub(row.pages);
        if let Some((finder, resolved)) = counted {
            group.change(finder, |taken| taken.count_host(resolved, false));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deletion_goes_on_where_a_kill_stopped_it() {
        let job = GroupJob { stage: 2, ..GroupJob::new(Task::Delete, Timestamp::ZERO) };
        let job = GroupJob { from: vec![7, 8, 9], ..job };
        let read = GroupJob::decode(&job.encode()).unwrap();
        assert_eq!((read.task, read.stage, read.from), (Task::Delete, 2, vec![7, 8, 9]));
        let job = GroupJob::new(Task::Reschedule, Timestamp(5));
        let read = GroupJob::decode(&job.encode()).unwrap();
        assert_eq!((read.task, read.taken_over), (Task::Reschedule, Timestamp(5)));
        for bad in [&[][..], &[1, 0], &[2, 4], &[3]] {
            assert!(GroupJob::decode(bad).is_none(), "{bad:?}");
        }
    }
}
