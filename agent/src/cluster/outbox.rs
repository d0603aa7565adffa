//! Rows of facts that other agents have not acknowledged: on disk a line for each agent and class.
//!
//! A row is written with the commit that it follows from, and deleted with a commit after its
//! acknowledgement. Memory holds an entry for each row, and the facts of rows that no commit has
//! written yet and of the first rows of each line: an agent that does not answer costs disk.

mod rows;

use crate::cluster::store::OutboxRows;
use crate::messages::{CommitNumber, OutboxChange, PendingPage};
use crate::peers::Class;
use crate::storage::{DiskError, RowReader, RowWriter};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use rows::{PAGES, code, damaged, key, read_key, read_pages};
use std::collections::{BTreeMap, HashMap};

/// Bytes of one line that stay in memory once they are on disk.
const KEPT_BYTES_MAX: usize = 2 << 20;
/// Bytes of changes after which they are written without waiting for a commit.
const CHANGES_BYTES_MAX: usize = 16 << 20;
/// Most bytes of facts in one row.
pub const ROW_BYTES_MAX: usize = 256 << 10;

/// A line: the receiver and the class.
pub type Line = (AgentId, Class);

/// A row.
#[derive(Debug)]
struct Row {
    /// The commit whose pages wait for it.
    commit: Option<CommitNumber>,
    bytes: usize,
    /// Its facts; `None` if only the disk has them.
    facts: Option<Vec<Bytes>>,
    /// Whether the packet queue has it.
    offered: bool,
}

#[derive(Debug, Default)]
struct Rows {
    rows: BTreeMap<u64, Row>,
    bytes: usize,
    kept_bytes: usize,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Outbox {
    last: u64,
    lines: BTreeMap<Line, Rows>,
    /// For each commit with pending pages the number of rows with their links.
    open: HashMap<CommitNumber, usize>,
    /// Pending pages of each group.
    pending: HashMap<GroupHash, usize>,
    /// Rows to write or delete with the next commit.
    changes: Vec<OutboxChange>,
    /// Their bytes since [`Self::relieve`] last tried to write them.
    changed_bytes: usize,
    /// Rows whose facts leave memory once they are on disk.
    to_disk: Vec<(Line, u64)>,
    /// Commits of which all links are acknowledged.
    complete: Vec<CommitNumber>,
}

impl Outbox {
    /// Reads the outbox of an earlier process. Copies are not kept: after a restart all groups are
    /// replicated again.
    ///
    /// # Errors
    /// When the disk fails or a row is damaged.
    pub fn open(rows: &impl OutboxRows) -> Result<Self, DiskError> {
        let mut outbox = Self::default();
        let mut pages: Vec<(CommitNumber, Vec<GroupHash>)> = Vec::new();
        rows.visit_outbox(&mut |row, value| {
            let (class, agent, seq) = read_key(row).ok_or_else(damaged)?;
            outbox.last = outbox.last.max(seq);
            match class {
                PAGES => {
                    let groups = read_pages(value)?.iter().map(|page| page.host.group).collect();
                    pages.push((seq, groups));
                }
                1 => {
                    let commit =
                        RowReader(value).array().map(u64::from_be_bytes).ok_or_else(damaged)?;
                    let commit = Some(commit).filter(|&commit| commit > 0);
                    let row = Row { commit, bytes: value.len(), facts: None, offered: false };
                    let rows = outbox.lines.entry((agent, Class::Main)).or_default();
                    rows.bytes += value.len();
                    rows.rows.insert(seq, row);
                    if let Some(commit) = commit {
                        *outbox.open.entry(commit).or_default() += 1;
                    }
                }
                2 => outbox.changes.push((row.to_vec(), None)),
                _ => return Err(damaged()),
            }
            Ok(true)
        })?;
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

    /// Returns a new number, for a commit or a row.
    pub const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds facts to the end of a line; returns the numbers of their rows.
    pub fn push(
        &mut self,
        (to, class): Line,
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
            let mut w = RowWriter(Vec::with_capacity(n_bytes + 8));
            if class == Class::Main {
                w.rest(&commit.unwrap_or(0).to_be_bytes());
            }
            some.iter().for_each(|fact| {
                w.bytes(fact);
            });
            let value = w.finish();
            let rows = self.lines.entry((to, class)).or_default();
            rows.bytes += value.len();
            rows.kept_bytes += value.len();
            if rows.kept_bytes > KEPT_BYTES_MAX {
                self.to_disk.push(((to, class), seq));
            }
            let facts = Some(some);
            rows.rows.insert(seq, Row { commit, bytes: value.len(), facts, offered: false });
            self.change(key(code(class), to, seq), Some(value));
            if let Some(commit) = commit {
                *self.open.entry(commit).or_default() += 1;
            }
            numbers.push(seq);
        }
        numbers
    }

    /// Adds the pages of a commit that stay pending until all its rows are acknowledged.
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

    /// Deletes a row, which is acknowledged or not needed any more.
    pub fn remove(&mut self, line: Line, seq: u64) {
        let Some(rows) = self.lines.get_mut(&line) else { return };
        let Some(row) = rows.rows.remove(&seq) else { return };
        rows.bytes -= row.bytes;
        rows.kept_bytes -= if row.facts.is_some() { row.bytes } else { 0 };
        self.change(key(code(line.1), line.0, seq), None);
        if let Some(commit) = row.commit
            && let Some(open) = self.open.get_mut(&commit)
        {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&commit);
                self.complete.push(commit);
            }
        }
    }

    /// The lowest number of a line that is not acknowledged; `None` for an empty one.
    pub fn head(&self, line: Line) -> Option<u64> {
        self.lines.get(&line)?.rows.keys().next().copied()
    }

    /// The highest number of a line that is not acknowledged.
    pub fn tail(&self, line: Line) -> Option<u64> {
        self.lines.get(&line)?.rows.keys().next_back().copied()
    }

    /// The first row of a line that the packet queue does not have, with its facts.
    ///
    /// # Errors
    /// When the disk fails or the row is damaged.
    pub fn next_to_offer(
        &self,
        disk: &impl OutboxRows,
        line: Line,
    ) -> Result<Option<(u64, Vec<Bytes>)>, DiskError> {
        let Some(rows) = self.lines.get(&line) else { return Ok(None) };
        let Some((&seq, row)) = rows.rows.iter().find(|(_, row)| !row.offered) else {
            return Ok(None);
        };
        let facts = match &row.facts {
            Some(facts) => facts.clone(),
            None => self.read(disk, line, seq)?,
        };
        Ok(Some((seq, facts)))
    }

    /// The packet queue has taken a row.
    pub fn offered(&mut self, line: Line, seq: u64) {
        if let Some(row) = self.lines.get_mut(&line).and_then(|rows| rows.rows.get_mut(&seq)) {
            row.offered = true;
        }
    }

    /// The facts of a row.
    ///
    /// # Errors
    /// When the disk fails or the row is damaged.
    pub fn read(
        &self,
        disk: &impl OutboxRows,
        line: Line,
        seq: u64,
    ) -> Result<Vec<Bytes>, DiskError> {
        let row = self.lines.get(&line).and_then(|rows| rows.rows.get(&seq));
        if let Some(facts) = row.and_then(|row| row.facts.clone()) {
            return Ok(facts);
        }
        let value = disk.outbox_row(&key(code(line.1), line.0, seq))?;
        let value = Bytes::from(value.ok_or_else(damaged)?);
        let mut r = RowReader(&value);
        if line.1 == Class::Main {
            r.array::<8>().ok_or_else(damaged)?;
        }
        let mut facts = Vec::new();
        while !r.0.is_empty() {
            facts.push(value.slice_ref(r.bytes().ok_or_else(damaged)?));
        }
        Ok(facts)
    }

    /// All rows, in order. None of them counts as taken by the packet queue any more.
    pub fn recall(&mut self) -> Vec<(Line, u64)> {
        let mut all = Vec::new();
        for (&line, rows) in &mut self.lines {
            for (&seq, row) in &mut rows.rows {
                row.offered = false;
                all.push((line, seq));
            }
        }
        all
    }

    /// The commit whose pages wait for a row.
    pub fn commit_of(&self, line: Line, seq: u64) -> Option<CommitNumber> {
        self.lines.get(&line)?.rows.get(&seq)?.commit
    }

    /// The pages of commits whose links are all acknowledged, and these commits. Their rows are deleted
    /// with the next commit.
    ///
    /// # Errors
    /// When the disk fails or a row is damaged.
    pub fn take_complete(
        &mut self,
        disk: &impl OutboxRows,
    ) -> Result<(Vec<PendingPage>, Vec<CommitNumber>), DiskError> {
        let (mut pages, complete) = (Vec::new(), std::mem::take(&mut self.complete));
        for &commit in &complete {
            let row = key(PAGES, AgentId(0), commit);
            let value = disk.outbox_row(&row)?;
            if let Some(value) = value {
                pages.extend(read_pages(&value)?);
            }
            self.change(row, None);
        }
        for page in &pages {
            if let Some(n) = self.pending.get_mut(&page.host.group) {
                *n -= 1;
                if *n == 0 {
                    self.pending.remove(&page.host.group);
                }
            }
        }
        Ok((pages, complete))
    }

    /// Whether rows of a commit are not acknowledged.
    pub fn is_open(&self, commit: CommitNumber) -> bool {
        self.open.contains_key(&commit)
    }

    /// Whether a group has pending pages.
    pub fn has_pending_pages(&self, group: GroupHash) -> bool {
        self.pending.contains_key(&group)
    }

    fn change(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.changed_bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.changes.push((key, value));
    }

    /// Writes the changes if they are many: when the rows of a long outbox are redirected, all of them
    /// would be in memory otherwise. If the disk fails, they wait for the next commit, or until as
    /// much again has changed.
    pub fn relieve(&mut self, disk: &impl OutboxRows) {
        if self.changed_bytes < CHANGES_BYTES_MAX {
            return;
        }
        self.changed_bytes = 0;
        match disk.write_outbox(&self.changes) {
            Ok(()) => {
                self.changes.clear();
                self.on_committed();
            }
            Err(error) => tracing::warn!(%error, "the outbox is not written yet"),
        }
    }

    /// The changes since the last commit, for the batch of the next one.
    pub fn take_changes(&mut self) -> Vec<OutboxChange> {
        self.changed_bytes = 0;
        std::mem::take(&mut self.changes)
    }

    /// All changes are written.
    pub fn on_committed(&mut self) {
        for (line, seq) in self.to_disk.drain(..) {
            let Some(rows) = self.lines.get_mut(&line) else { continue };
            if let Some(row) = rows.rows.get_mut(&seq).filter(|row| row.facts.is_some()) {
                row.facts = None;
                rows.kept_bytes -= row.bytes;
            }
        }
    }

    /// Whether anything must be committed.
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty() || !self.complete.is_empty()
    }

    /// The number of rows of a line, and their bytes.
    pub fn amount(&self, line: Line) -> (usize, usize) {
        self.lines.get(&line).map_or((0, 0), |rows| (rows.rows.len(), rows.bytes))
    }

    /// The number of all rows.
    pub fn len(&self) -> usize {
        self.lines.values().map(|rows| rows.rows.len()).sum()
    }

    /// Whether there is no row, no pending page, and no change.
    pub fn is_empty(&self) -> bool {
        let no_row = self.lines.values().all(|rows| rows.rows.is_empty());
        no_row && self.pending.is_empty() && !self.has_changes()
    }

    /// The lines with rows.
    pub fn lines(&self) -> Vec<Line> {
        let filled = self.lines.iter().filter(|(_, rows)| !rows.rows.is_empty());
        filled.map(|(&line, _)| line).collect()
    }
}

#[cfg(test)]
mod tests;
