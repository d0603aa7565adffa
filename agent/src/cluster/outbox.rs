//! What waits to be acknowledged by other agents: a line of rows on disk for each agent and class.
//!
//! A row is written with the commit that it follows from and deleted with one after it was
//! acknowledged. In memory there is a note of each row, and the bytes of those that no commit has
//! written yet and of the first few of a line: an agent that answers nothing costs disk.

mod rows;

use crate::crawldb::PendingPage;
use crate::peers::Class;
use crate::storage::{Batch, Database, DiskError, Family, RowReader, RowWriter};
use bytes::Bytes;
use crivello_common::hash::GroupHash;
use crivello_common::view::AgentId;
use rows::{PAGES, code, damaged, key, read_key, read_pages};
use std::collections::{BTreeMap, HashMap};

/// Bytes of rows of one line that are kept in memory once they are on disk.
const KEPT_BYTES_MAX: usize = 2 << 20;
/// Bytes of changes that wait for a commit before one is made for them alone.
const CHANGES_BYTES_MAX: usize = 16 << 20;
/// Bytes of facts in one row.
pub const ROW_BYTES_MAX: usize = 256 << 10;

/// To one agent, in one class.
pub type Line = (AgentId, Class);

/// A commit with pages whose links are on their way.
pub type BatchNumber = u64;

/// A row.
#[derive(Debug)]
struct Row {
    /// The commit whose pages wait for it.
    batch: Option<BatchNumber>,
    bytes: usize,
    /// Its facts, unless they are to be read from the disk, which then has them.
    facts: Option<Vec<Bytes>>,
    /// Whether the peers' queue has it.
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
    /// For each commit with unsettled pages the rows that bring their links.
    open: HashMap<BatchNumber, usize>,
    /// PendingPage pages of each group.
    unsettled: HashMap<GroupHash, usize>,
    /// Rows to be written or deleted with the next commit.
    changes: Vec<(Vec<u8>, Option<Vec<u8>>)>,
    /// Bytes of these since [`Self::relieve`] last tried to write them.
    changed_bytes: usize,
    /// Rows of which only the disk is to have the facts, once it has them.
    beyond: Vec<(Line, u64)>,
    /// Commits of which all links are safe.
    complete: Vec<BatchNumber>,
}

impl Outbox {
    /// What an earlier process left. Copies are not kept: after a restart all groups are copied
    /// anew.
    ///
    /// # Errors
    /// When the disk fails or a row is damaged.
    pub fn open(disk: &Database) -> Result<Self, DiskError> {
        let mut outbox = Self::default();
        let mut pages: Vec<(BatchNumber, Vec<GroupHash>)> = Vec::new();
        disk.walk(Family::Outbox, &[], &[0xff], |row, value| {
            let (class, agent, seq) = read_key(row).ok_or_else(damaged)?;
            outbox.last = outbox.last.max(seq);
            match class {
                PAGES => {
                    let groups = read_pages(value)?.iter().map(|page| page.host.group).collect();
                    pages.push((seq, groups));
                }
                1 => {
                    let batch =
                        RowReader(value).array().map(u64::from_be_bytes).ok_or_else(damaged)?;
                    let batch = Some(batch).filter(|&batch| batch > 0);
                    let row = Row { batch, bytes: value.len(), facts: None, offered: false };
                    let rows = outbox.lines.entry((agent, Class::Main)).or_default();
                    rows.bytes += value.len();
                    rows.rows.insert(seq, row);
                    if let Some(batch) = batch {
                        *outbox.open.entry(batch).or_default() += 1;
                    }
                }
                2 => outbox.changes.push((row.to_vec(), None)),
                _ => return Err(damaged()),
            }
            Ok(true)
        })?;
        for (batch, groups) in pages {
            for group in groups {
                *outbox.unsettled.entry(group).or_default() += 1;
            }
            if !outbox.open.contains_key(&batch) {
                outbox.complete.push(batch);
            }
        }
        Ok(outbox)
    }

    /// A number for a commit.
    pub const fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Adds rows of facts to the end of a line; their numbers.
    pub fn push(
        &mut self,
        (to, class): Line,
        batch: Option<BatchNumber>,
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
                w.rest(&batch.unwrap_or(0).to_be_bytes());
            }
            some.iter().for_each(|fact| {
                w.bytes(fact);
            });
            let value = w.finish();
            let rows = self.lines.entry((to, class)).or_default();
            rows.bytes += value.len();
            rows.kept_bytes += value.len();
            if rows.kept_bytes > KEPT_BYTES_MAX {
                self.beyond.push(((to, class), seq));
            }
            let facts = Some(some);
            rows.rows.insert(seq, Row { batch, bytes: value.len(), facts, offered: false });
            self.change(key(code(class), to, seq), Some(value));
            if let Some(batch) = batch {
                *self.open.entry(batch).or_default() += 1;
            }
            numbers.push(seq);
        }
        numbers
    }

    /// Notes the pages of a commit that wait until all its rows are gone.
    pub fn put_pages(&mut self, batch: BatchNumber, pages: &[PendingPage]) {
        let mut w = RowWriter::default();
        w.number(pages.len() as u64);
        for page in pages {
            page.write(&mut w);
            *self.unsettled.entry(page.host.group).or_default() += 1;
        }
        self.change(key(PAGES, AgentId(0), batch), Some(w.finish()));
        if !self.open.contains_key(&batch) {
            self.complete.push(batch);
        }
    }

    /// The row is acknowledged, or needed no more.
    pub fn remove(&mut self, line: Line, seq: u64) {
        let Some(rows) = self.lines.get_mut(&line) else { return };
        let Some(row) = rows.rows.remove(&seq) else { return };
        rows.bytes -= row.bytes;
        rows.kept_bytes -= if row.facts.is_some() { row.bytes } else { 0 };
        self.change(key(code(line.1), line.0, seq), None);
        if let Some(batch) = row.batch
            && let Some(open) = self.open.get_mut(&batch)
        {
            *open -= 1;
            if *open == 0 {
                self.open.remove(&batch);
                self.complete.push(batch);
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

    /// The first row of a line that the peers' queue does not have, with its facts.
    ///
    /// # Errors
    /// When the disk fails or the row is damaged.
    pub fn next_to_offer(
        &self,
        disk: &Database,
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

    /// The peers' queue has it.
    pub fn offered(&mut self, line: Line, seq: u64) {
        if let Some(row) = self.lines.get_mut(&line).and_then(|rows| rows.rows.get_mut(&seq)) {
            row.offered = true;
        }
    }

    /// The facts of a row.
    ///
    /// # Errors
    /// When the disk fails or the row is damaged.
    pub fn read(&self, disk: &Database, line: Line, seq: u64) -> Result<Vec<Bytes>, DiskError> {
        let row = self.lines.get(&line).and_then(|rows| rows.rows.get(&seq));
        if let Some(facts) = row.and_then(|row| row.facts.clone()) {
            return Ok(facts);
        }
        let value = disk.get(Family::Outbox, &key(code(line.1), line.0, seq))?;
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

    /// All rows, in order, as they are when an epoch ends; none of them is with the peers' queues
    /// any more.
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

    /// The commit that waits for a row.
    pub fn batch_of(&self, line: Line, seq: u64) -> Option<BatchNumber> {
        self.lines.get(&line)?.rows.get(&seq)?.batch
    }

    /// The pages of commits whose links are all safe by now; their rows go with the next commit.
    ///
    /// # Errors
    /// When the disk fails or a row is damaged.
    pub fn take_settled(
        &mut self,
        disk: &Database,
    ) -> Result<(Vec<PendingPage>, Vec<BatchNumber>), DiskError> {
        let (mut pages, complete) = (Vec::new(), std::mem::take(&mut self.complete));
        for &batch in &complete {
            let row = key(PAGES, AgentId(0), batch);
            let value = disk.get(Family::Outbox, &row)?;
            if let Some(value) = value {
                pages.extend(read_pages(&value)?);
            }
            self.change(row, None);
        }
        for page in &pages {
            if let Some(n) = self.unsettled.get_mut(&page.host.group) {
                *n -= 1;
                if *n == 0 {
                    self.unsettled.remove(&page.host.group);
                }
            }
        }
        Ok((pages, complete))
    }

    /// Whether a commit waits for rows.
    pub fn is_open(&self, batch: BatchNumber) -> bool {
        self.open.contains_key(&batch)
    }

    /// Whether pages of a group wait for their links.
    pub fn has_unsettled(&self, group: GroupHash) -> bool {
        self.unsettled.contains_key(&group)
    }

    fn change(&mut self, key: Vec<u8>, value: Option<Vec<u8>>) {
        self.changed_bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.changes.push((key, value));
    }

    /// Writes what changed, once that is much: when a long outbox is sorted anew, all of it would be
    /// in memory otherwise. What the disk does not take waits for the next commit, or until as much
    /// again has changed.
    pub fn relieve(&mut self, disk: &Database) {
        if self.changed_bytes < CHANGES_BYTES_MAX {
            return;
        }
        self.changed_bytes = 0;
        let mut batch = Batch::default();
        self.write(disk, &mut batch);
        match disk.commit(&batch) {
            Ok(()) => self.written(),
            Err(error) => tracing::warn!(%error, "the outbox is not written yet"),
        }
    }

    /// Adds what changed since the last commit to `batch`.
    pub fn settle(&mut self, disk: &Database, batch: &mut Batch) {
        self.write(disk, batch);
        self.written();
    }

    fn write(&self, disk: &Database, batch: &mut Batch) {
        for (key, value) in &self.changes {
            match value {
                Some(value) => disk.put(batch, Family::Outbox, key, value),
                None => disk.delete(batch, Family::Outbox, key),
            }
        }
    }

    fn written(&mut self) {
        self.changes.clear();
        self.changed_bytes = 0;
        for (line, seq) in self.beyond.drain(..) {
            let Some(rows) = self.lines.get_mut(&line) else { continue };
            if let Some(row) = rows.rows.get_mut(&seq).filter(|row| row.facts.is_some()) {
                row.facts = None;
                rows.kept_bytes -= row.bytes;
            }
        }
    }

    /// Whether anything is to be committed.
    pub fn has_news(&self) -> bool {
        !self.changes.is_empty() || !self.complete.is_empty()
    }

    /// Rows of a line, and their bytes.
    pub fn amount(&self, line: Line) -> (usize, usize) {
        self.lines.get(&line).map_or((0, 0), |rows| (rows.rows.len(), rows.bytes))
    }

    /// Rows that wait, of all lines.
    pub fn len(&self) -> usize {
        self.lines.values().map(|rows| rows.rows.len()).sum()
    }

    /// Whether no row waits, and no page.
    pub fn is_empty(&self) -> bool {
        let no_row = self.lines.values().all(|rows| rows.rows.is_empty());
        no_row && self.unsettled.is_empty() && !self.has_news()
    }

    /// The agents and classes with rows.
    pub fn lines(&self) -> Vec<Line> {
        let filled = self.lines.iter().filter(|(_, rows)| !rows.rows.is_empty());
        filled.map(|(&line, _)| line).collect()
    }
}

#[cfg(test)]
mod tests;
