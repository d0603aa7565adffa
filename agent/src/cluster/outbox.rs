//! Outbox: rows of facts that other agents have not acknowledged, on disk. Each agent has one queue
//! of rows per lane.
//!
//! A row is written with the commit that causes it, leaves this agent once that commit is synced, and
//! is deleted with a commit after its acknowledgement. Memory holds an entry for each row, and the
//! facts of rows that no commit has written yet and of the first rows of each lane. So an agent that
//! does not answer mainly takes disk space. Rows for replicas are written only if their facts leave
//! memory, because a restart does not need them.

mod rows;

use crate::messages::{CommitNumber, OutboxChange, OutboxRows, PendingPage};
use crate::peers::Lane;
use crate::storage::{DiskError, RowReader, RowWriter};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use rows::{PAGES, damaged, encode_row, key, read_key, read_pages, row_key};
use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, VecDeque};
use std::hash::Hash;

/// Maximum bytes of one lane that stay in memory once they are on disk.
const KEPT_BYTES_MAX: usize = 2 << 20;
/// Bytes of changes from which on they are written without waiting for a commit.
const CHANGES_BYTES_MAX: usize = 16 << 20;
/// Maximum bytes of facts in one row, unless a single fact is longer.
pub const ROW_BYTES_MAX: usize = 256 << 10;

/// Key of a lane: the receiver and the kind of the lane.
pub type LaneKey = (AgentId, Lane);

/// Numbers of rows that were appended together, by receiver.
pub type RowsByAgent = BTreeMap<AgentId, Vec<u64>>;

/// Row of a lane.
#[derive(Debug, Default)]
struct Row {
    /// Commit whose pages wait for its acknowledgement.
    commit: Option<CommitNumber>,
    bytes: usize,
    /// Facts of the row; `None` if they are only on disk.
    facts: Option<Vec<Bytes>>,
    /// True if the row is on disk, or will be with the next commit.
    stored: bool,
    /// True if the packet queue has it.
    offered: bool,
    /// True from [`Outbox::recall`] to [`Outbox::release`].
    recalled: bool,
}

#[derive(Debug, Default)]
struct Rows {
    rows: BTreeMap<u64, Row>,
    bytes: usize,
    kept_bytes: usize,
}

/// Rows of facts that other agents have not acknowledged.
#[derive(Debug, Default)]
pub struct Outbox {
    last: u64,
    lanes: BTreeMap<LaneKey, Rows>,
    /// Number of unacknowledged rows with links of each commit.
    open: HashMap<CommitNumber, usize>,
    /// Number of pending pages of each group.
    pending: HashMap<GroupHash, usize>,
    /// Rows to write or delete with the next commit.
    changes: Vec<OutboxChange>,
    /// Bytes of changes since [`Self::relieve`] last tried to write them.
    changed_bytes: usize,
    /// Rows whose facts leave memory once they are on disk.
    to_disk: Vec<(LaneKey, u64)>,
    /// Commits whose links are all acknowledged.
    complete: Vec<CommitNumber>,
    /// Number of the last row that a commit has written.
    committed: u64,
    /// Number of the last row of a synced commit: later rows must not leave this agent.
    synced: u64,
}

impl Outbox {
    /// Reads the outbox of the previous process. Rows for replicas are deleted, because all groups
    /// are replicated again after a restart.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or a row is damaged.
    pub fn open(rows: &dyn OutboxRows) -> Result<Self, DiskError> {
        let mut outbox = Self::default();
        let mut pages: Vec<(CommitNumber, Vec<GroupHash>)> = Vec::new();
        rows.visit_outbox(&mut |row, value| {
            let (lane, agent, seq) = read_key(row).ok_or_else(damaged)?;
            outbox.last = outbox.last.max(seq);
            match lane {
                PAGES => {
                    let groups = read_pages(value)?.iter().map(|page| page.host.group).collect();
                    pages.push((seq, groups));
                }
                1 => {
                    let commit =
                        RowReader(value).array().map(u64::from_be_bytes).ok_or_else(damaged)?;
                    let commit = Some(commit).filter(|&commit| commit > 0);
                    let bytes = value.len();
                    let row = Row { commit, bytes, facts: None, stored: true, ..Row::default() };
                    outbox.add((agent, Lane::Main), seq, row);
                }
                2 => outbox.changes.push((row.to_vec(), None)),
                _ => return Err(damaged()),
            }
            Ok(true)
        })?;
        (outbox.committed, outbox.synced) = (outbox.last, outbox.last);
        for (commit, groups) in pages {
            for group in groups {
                *outbox.pending.entry(group).or_default() += 1;
            }
            if !outbox.open.contains_key(&commit) {
                outbox.complete.push(commit);
            }
        }
        Ok(outbox)
    }

    fn add(&mut self, lane: LaneKey, seq: u64, row: Row) -> &mut Rows {
        if let Some(commit) = row.commit {
            *self.open.entry(commit).or_default() += 1;
        }
        let rows = self.lanes.entry(lane).or_default();
        rows.bytes += row.bytes;
        rows.rows.insert(seq, row);
        rows
    }

    /// Returns a new number, for a commit or a row.
    pub const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Appends facts to a lane. Returns the numbers of their rows.
    pub fn push(
        &mut self,
        lane: LaneKey,
        commit: Option<CommitNumber>,
        facts: Vec<Bytes>,
    ) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut facts = facts.into_iter().peekable();
        while facts.peek().is_some() {
            let (mut some, mut n_bytes) = (Vec::new(), 0);
            while let Some(fact) =
                facts.next_if(|f| n_bytes == 0 || n_bytes + f.len() <= ROW_BYTES_MAX)
            {
                n_bytes += fact.len() + 4;
                some.push(fact);
            }
            let seq = self.next();
            let value = encode_row(lane.1, commit, &some);
            let rows = self.lanes.entry(lane).or_default();
            let spills = rows.kept_bytes + value.len() > KEPT_BYTES_MAX;
            let stored = spills || lane.1 == Lane::Main;
            let bytes = value.len();
            let row = Row { commit, bytes, facts: Some(some), stored, ..Row::default() };
            self.add(lane, seq, row).kept_bytes += bytes;
            if spills {
                self.to_disk.push((lane, seq));
            }
            if stored {
                self.change(row_key(lane, seq), Some(value));
            }
            numbers.push(seq);
        }
        numbers
    }

    /// Replaces the facts of a row. It keeps its number, because acknowledgements may wait for it.
    pub fn replace(&mut self, lane: LaneKey, seq: u64, facts: Vec<Bytes>) {
        let Some(rows) = self.lanes.get_mut(&lane) else { return };
        let Some(row) = rows.rows.get_mut(&seq) else { return };
        let value = encode_row(lane.1, row.commit, &facts);
        rows.bytes = rows.bytes - row.bytes + value.len();
        match row.facts.replace(facts) {
            Some(_) => rows.kept_bytes -= row.bytes,
            // What is on disk is outdated until the next commit.
            None => self.to_disk.push((lane, seq)),
        }
        rows.kept_bytes += value.len();
        row.bytes = value.len();
        if row.stored {
            self.change(row_key(lane, seq), Some(value));
        }
    }

    /// Appends facts to the lanes of their receivers. Returns the numbers of the rows by receiver.
    pub fn push_all(
        &mut self,
        by_agent: BTreeMap<AgentId, Vec<Bytes>>,
        lane: Lane,
        commit: Option<CommitNumber>,
    ) -> RowsByAgent {
        let push = |(to, facts)| (to, self.push((to, lane), commit, facts));
        by_agent.into_iter().map(push).collect()
    }

    /// Adds pages of a commit, which stay pending until all its rows are acknowledged.
    pub fn put_pages(&mut self, commit: CommitNumber, pages: &[PendingPage]) {
        let mut w = RowWriter::default();
        w.number(pages.len() as u64);
        for page in pages {
            page.write(&mut w);
            *self.pending.entry(page.host.group).or_default() += 1;
        }
        self.change(key(PAGES, AgentId(0), commit), Some(w.finish()));
        if !self.open.contains_key(&commit) {
            self.complete.push(commit);
        }
    }

    /// Deletes a row that is acknowledged or not needed any more.
    pub fn remove(&mut self, lane: LaneKey, seq: u64) {
        let Some(rows) = self.lanes.get_mut(&lane) else { return };
        let Some(row) = rows.rows.remove(&seq) else { return };
        rows.bytes -= row.bytes;
        rows.kept_bytes -= if row.facts.is_some() { row.bytes } else { 0 };
        if row.stored {
            self.change(row_key(lane, seq), None);
        }
        if let Some(commit) = row.commit
            && count_down(&mut self.open, commit)
        {
            self.complete.push(commit);
        }
    }

    /// Returns the lowest unacknowledged number of a lane, or `None` if the lane is empty.
    pub fn head(&self, lane: LaneKey) -> Option<u64> {
        self.lanes.get(&lane)?.rows.keys().next().copied()
    }

    /// Returns the highest unacknowledged number of a lane, or `None` if the lane is empty.
    pub fn tail(&self, lane: LaneKey) -> Option<u64> {
        self.lanes.get(&lane)?.rows.keys().next_back().copied()
    }

    /// Returns the first row of a lane that the packet queue does not have, with its facts, if it is
    /// synced and not recalled.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the row is damaged.
    pub fn next_to_offer(
        &self,
        disk: &dyn OutboxRows,
        lane: LaneKey,
    ) -> Result<Option<(u64, Vec<Bytes>)>, DiskError> {
        let Some(rows) = self.lanes.get(&lane) else { return Ok(None) };
        let next = rows.rows.iter().find(|(_, row)| !row.offered);
        let may_leave = |&(&seq, row): &(&u64, &Row)| seq <= self.synced && !row.recalled;
        let Some((&seq, row)) = next.filter(may_leave) else {
            return Ok(None);
        };
        let facts = match &row.facts {
            Some(facts) => facts.clone(),
            None => self.read(disk, lane, seq)?,
        };
        Ok(Some((seq, facts)))
    }

    /// Marks a row as accepted by the packet queue.
    pub fn offered(&mut self, lane: LaneKey, seq: u64) {
        if let Some(row) = self.lanes.get_mut(&lane).and_then(|rows| rows.rows.get_mut(&seq)) {
            row.offered = true;
        }
    }

    /// Returns the facts of a row.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or the row is damaged.
    pub fn read(
        &self,
        disk: &dyn OutboxRows,
        lane: LaneKey,
        seq: u64,
    ) -> Result<Vec<Bytes>, DiskError> {
        let row = self.lanes.get(&lane).and_then(|rows| rows.rows.get(&seq));
        if let Some(facts) = row.and_then(|row| row.facts.clone()) {
            return Ok(facts);
        }
        let value = disk.outbox_row(&row_key(lane, seq))?;
        let value = Bytes::from(value.ok_or_else(damaged)?);
        let mut r = RowReader(&value);
        if lane.1 == Lane::Main {
            r.array::<8>().ok_or_else(damaged)?;
        }
        let mut facts = Vec::new();
        while !r.0.is_empty() {
            facts.push(value.slice_ref(r.bytes().ok_or_else(damaged)?));
        }
        Ok(facts)
    }

    /// Returns all rows, those of each lane in order. None of them is in the packet queue any more, nor
    /// offered to it before [`Self::release`]. Those for replicas come first: what other agents have
    /// sent is acknowledged once they arrive.
    pub fn recall(&mut self) -> VecDeque<(LaneKey, u64)> {
        let mut all = VecDeque::new();
        for kind in [Lane::Replicas, Lane::Main] {
            for (&lane, rows) in self.lanes.iter_mut().filter(|(lane, _)| lane.1 == kind) {
                for (&seq, row) in &mut rows.rows {
                    (row.offered, row.recalled) = (false, true);
                    all.push_back((lane, seq));
                }
            }
        }
        all
    }

    /// Lets a recalled row be offered again, if it is still there.
    pub fn release(&mut self, lane: LaneKey, seq: u64) {
        if let Some(row) = self.lanes.get_mut(&lane).and_then(|rows| rows.rows.get_mut(&seq)) {
            row.recalled = false;
        }
    }

    /// Returns the commit whose pages wait for a row.
    pub fn commit_of(&self, lane: LaneKey, seq: u64) -> Option<CommitNumber> {
        self.lanes.get(&lane)?.rows.get(&seq)?.commit
    }

    /// Takes the commits whose links are all acknowledged, with their pages. The rows of the pages
    /// are deleted with the next commit.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails or a row is damaged.
    pub fn take_complete(
        &mut self,
        disk: &dyn OutboxRows,
    ) -> Result<(Vec<PendingPage>, Vec<CommitNumber>), DiskError> {
        let (mut pages, complete) = (Vec::new(), std::mem::take(&mut self.complete));
        for &commit in &complete {
            let row = key(PAGES, AgentId(0), commit);
            if let Some(value) = disk.outbox_row(&row)? {
                pages.extend(read_pages(&value)?);
            }
            self.change(row, None);
        }
        for page in &pages {
            count_down(&mut self.pending, page.host.group);
        }
        Ok((pages, complete))
    }

    /// Returns true if a commit has unacknowledged rows.
    pub fn is_open(&self, commit: CommitNumber) -> bool {
        self.open.contains_key(&commit)
    }

    /// Returns true if a group has pending pages.
    pub fn has_pending_pages(&self, group: GroupHash) -> bool {
        self.pending.contains_key(&group)
    }

    fn change(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.changed_bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.changes.push((key, value));
    }

    /// Writes the changes if they are large. Otherwise all rows of a long outbox would be in memory
    /// while they are redirected. If the disk fails, the changes wait for the next commit, or until
    /// as many bytes have changed again.
    pub fn relieve(&mut self, disk: &dyn OutboxRows) {
        if self.changed_bytes < CHANGES_BYTES_MAX {
            return;
        }
        self.changed_bytes = 0;
        match disk.write_outbox(&self.changes) {
            Ok(()) => {
                self.changes.clear();
                self.on_committed();
            }
            Err(error) => tracing::warn!(%error, "cannot write the outbox; retrying later"),
        }
    }

    /// Takes the changes since the last commit, for the batch of the next one.
    pub fn take_changes(&mut self) -> Vec<OutboxChange> {
        self.changed_bytes = 0;
        std::mem::take(&mut self.changes)
    }

    /// Drops facts from memory that are on disk now. Called when all changes are written.
    pub fn on_committed(&mut self) {
        self.committed = self.last;
        for (lane, seq) in self.to_disk.drain(..) {
            let Some(rows) = self.lanes.get_mut(&lane) else { continue };
            if let Some(row) = rows.rows.get_mut(&seq).filter(|row| row.facts.is_some()) {
                row.facts = None;
                rows.kept_bytes -= row.bytes;
            }
        }
    }

    /// Handles a sync: all committed rows may leave this agent.
    pub const fn on_synced(&mut self) {
        self.synced = self.committed;
    }

    /// Returns true if a row for an agent other than `me` may leave only after the next sync.
    pub fn awaits_sync(&self, me: AgentId) -> bool {
        let is_late =
            |rows: &Rows| rows.rows.last_key_value().is_some_and(|(&seq, _)| seq > self.synced);
        self.lanes.iter().any(|((to, _), rows)| *to != me && is_late(rows))
    }

    /// Returns true if a commit is needed.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty() || !self.complete.is_empty()
    }

    /// Returns the number of rows of a lane, and their bytes.
    pub fn amount(&self, lane: LaneKey) -> (usize, usize) {
        self.lanes.get(&lane).map_or((0, 0), |rows| (rows.rows.len(), rows.bytes))
    }

    /// Returns the number of rows in all lanes.
    pub fn len(&self) -> usize {
        self.lanes.values().map(|rows| rows.rows.len()).sum()
    }

    /// Returns true if there is no row, no pending page, and no change.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && self.pending.is_empty() && !self.has_changes()
    }

    /// Returns the lanes that have rows.
    pub fn lanes(&self) -> Vec<LaneKey> {
        let filled = self.lanes.iter().filter(|(_, rows)| !rows.rows.is_empty());
        filled.map(|(&lane, _)| lane).collect()
    }
}

/// Decrements a count, and removes it when it reaches 0. Returns true then.
fn count_down<K: Eq + Hash>(counts: &mut HashMap<K, usize>, key: K) -> bool {
    let Entry::Occupied(mut count) = counts.entry(key) else { return false };
    *count.get_mut() -= 1;
    let is_last = *count.get() == 0;
    if is_last {
        count.remove();
    }
    is_last
}

#[cfg(test)]
mod tests;
