//! The disk of a simulated agent: rows, roles, archive and outbox, in their current state, as of each
//! commit since the last sync, and as of that sync. A crash reverts the disk to the last commit, a
//! power cut to any commit that is not older than the last sync.

use super::world::{Page, Web};
use crivello_agent::messages::{
    Commit, CommitKind, ExportCursor, Fact, GroupRole, OutboxChange, OutboxRows, PendingPage,
    QueueKey, ReplicaStore, Role, RoleRows, RowVisitor,
};
use crivello_agent::storage::DiskError;
use crivello_agent::storage::values::UrlOutcome;
use crivello_common::discard::Discard;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::view::LostArchive;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Debug, Formatter};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

/// State of a page. A later state replaces an earlier one, never the reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// To be fetched.
    Queued,
    /// Fetched, but its links are not acknowledged. Other agents see it as queued.
    Pending,
    /// Finished.
    Fetched,
}

/// The outcome of every page: the simulated web has no contents.
pub const OUTCOME: UrlOutcome = UrlOutcome::Discarded(Discard::Robots, None);

/// Number of facts of one chunk of an export.
const CHUNK: usize = 16;
/// Number of rows that one step of a deletion deletes.
const DELETED_AT_ONCE: usize = 2;

/// Number of shards of a table.
const SHARDS: usize = 64;

/// Table of groups, in shards that copies of the table share until they change: so a commit costs as
/// much with thousands of groups as with a few.
#[derive(Clone)]
pub struct Table<V>(Vec<Arc<BTreeMap<GroupHash, V>>>);

impl<V: Clone + Debug> Debug for Table<V> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<V> Default for Table<V> {
    fn default() -> Self {
        Self((0..SHARDS).map(|_| Arc::default()).collect())
    }
}

impl<V: Clone> Table<V> {
    /// Returns the shard of a group. Shards are in the order of their groups.
    const fn shard(group: GroupHash) -> usize {
        (group.0 >> (u64::BITS - SHARDS.ilog2())) as usize
    }

    pub fn get(&self, group: &GroupHash) -> Option<&V> {
        self.0[Self::shard(*group)].get(group)
    }

    pub fn contains_key(&self, group: &GroupHash) -> bool {
        self.get(group).is_some()
    }

    fn shard_mut(&mut self, group: GroupHash) -> &mut BTreeMap<GroupHash, V> {
        Arc::make_mut(&mut self.0[Self::shard(group)])
    }

    fn insert(&mut self, group: GroupHash, value: V) {
        self.shard_mut(group).insert(group, value);
    }

    fn remove(&mut self, group: &GroupHash) {
        if self.contains_key(group) {
            self.shard_mut(*group).remove(group);
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&GroupHash, &V)> {
        self.0.iter().flat_map(|shard| shard.iter())
    }

    pub fn keys(&self) -> impl Iterator<Item = &GroupHash> {
        self.iter().map(|(group, _)| group)
    }

    pub fn values(&self) -> impl Iterator<Item = &V> {
        self.iter().map(|(_, value)| value)
    }

    /// Returns the entries after that of `group`, or all.
    fn after(&self, group: Option<GroupHash>) -> impl Iterator<Item = (&GroupHash, &V)> {
        let first = group.map_or(0, Self::shard);
        let range = (group.map_or(Unbounded, Excluded), Unbounded);
        self.0[first..].iter().flat_map(move |shard| shard.range(range))
    }
}

/// Roles of the agent by group, and whether its hosts are scheduled.
#[derive(Clone, Debug, Default)]
pub struct Roles {
    roles: Table<GroupRole>,
    open: Table<bool>,
}

impl Roles {
    fn is_open(&self, group: GroupHash) -> bool {
        self.open.get(&group).copied().unwrap_or(true)
    }
}

impl RoleRows for Roles {
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError> {
        Ok(self.roles.get(&group).cloned())
    }

    /// Like that of [`GroupRows`](crivello_agent::crawldb::GroupRows): a group that had no row is
    /// open only if this agent is its authority.
    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) -> Result<(), DiskError> {
        let is_open = role.as_ref().is_none_or(|role| matches!(role.role, Role::Authority { .. }));
        if !self.open.contains_key(&group) {
            self.open.insert(group, is_open);
        }
        match role {
            Some(role) => self.roles.insert(group, role),
            None => self.roles.remove(&group),
        };
        Ok(())
    }

    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError> {
        Ok(self.roles.after(group).take(most).map(|(&group, role)| (group, role.clone())).collect())
    }
}

/// Rows of an outbox, by their keys.
type EncodedRows = BTreeMap<Vec<u8>, Arc<[u8]>>;

/// Rows of the outbox, which copies share until they change.
#[derive(Clone, Debug, Default)]
pub struct OutboxTable(RefCell<Arc<EncodedRows>>);

impl OutboxTable {
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

impl OutboxRows for OutboxTable {
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.0.borrow().get(key).map(|value| value.to_vec()))
    }

    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError> {
        for (key, value) in &**self.0.borrow() {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }

    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError> {
        if changes.is_empty() {
            return Ok(());
        }
        let mut rows = self.0.borrow_mut();
        let rows = Arc::make_mut(&mut rows);
        for (key, value) in changes {
            match value {
                Some(value) => rows.insert(key.clone(), value.as_slice().into()),
                None => rows.remove(key),
            };
        }
        Ok(())
    }
}

#[derive(Clone, Debug, Default)]
struct Tables {
    roles: Roles,
    outbox: OutboxTable,
    pages: Table<BTreeMap<Page, State>>,
    /// Groups that are being deleted.
    deleted: BTreeSet<GroupHash>,
    /// Pages whose records the archive contains, by group.
    archive: Table<BTreeSet<Page>>,
}

/// A simulated disk.
pub struct Store {
    web: Arc<Web>,
    now: Tables,
    /// The state as of the last sync, then as of each commit since.
    commits: Vec<Tables>,
    next_seq: u64,
    /// Groups with a visit in progress, or with a page that is not committed.
    pub busy: BTreeSet<GroupHash>,
}

impl Store {
    pub fn new(web: Arc<Web>) -> Self {
        let (now, commits) = (Tables::default(), vec![Tables::default()]);
        Self { web, now, commits, next_seq: 0, busy: BTreeSet::new() }
    }

    /// Returns the number of commits since the last sync.
    pub const fn n_unsynced(&self) -> usize {
        self.commits.len() - 1
    }

    /// Reverts to the last commit but `n_lost`, which is then on disk.
    pub fn crash(&mut self, n_lost: usize) {
        self.commits.truncate(self.commits.len() - n_lost);
        self.now = self.committed().clone();
        self.busy.clear();
    }

    fn committed(&self) -> &Tables {
        self.commits.last().expect("the state as of the last sync")
    }

    /// Syncs all commits.
    pub fn sync(&mut self) {
        self.commits.drain(..self.commits.len() - 1);
    }

    /// Returns true if a page is on disk, whatever its state, even after a power cut.
    pub fn has_synced(&self, page: Page) -> bool {
        let rows = self.commits[0].pages.get(&self.web.group(page));
        rows.is_some_and(|rows| rows.contains_key(&page))
    }

    /// Returns the pages of a group as of the last commit.
    pub fn committed_pages(&self, group: GroupHash) -> impl Iterator<Item = (Page, State)> {
        let rows = self.committed().pages.get(&group).into_iter().flatten();
        rows.map(|(&page, &state)| (page, state))
    }

    /// Returns the outbox that is on disk even after a power cut.
    pub fn synced_outbox(&self) -> &OutboxTable {
        &self.commits[0].outbox
    }

    /// Returns the pages that are on disk even after a power cut.
    pub fn synced_pages(&self) -> &Table<BTreeMap<Page, State>> {
        &self.commits[0].pages
    }

    /// Returns true if the archive contains the record of a page.
    pub fn is_archived(&self, page: Page) -> bool {
        let pages = self.now.archive.get(&self.web.group(page));
        pages.is_some_and(|pages| pages.contains(&page))
    }

    /// Returns the first queued page of each scheduled group.
    pub fn scheduled(&self) -> Vec<(GroupHash, Page)> {
        let groups = self.now.pages.iter();
        let groups = groups
            .filter(|(group, _)| self.now.roles.is_open(**group) && !self.busy.contains(group));
        groups
            .filter_map(|(&group, rows)| {
                let queued = rows.iter().find(|&(_, &state)| state == State::Queued)?;
                Some((group, *queued.0))
            })
            .collect()
    }

    /// Performs a step of the deletions.
    pub fn step_deletions(&mut self) {
        let Tables { roles, pages, deleted, .. } = &mut self.now;
        deleted.retain(|group| {
            let rows = pages.shard_mut(*group).entry(*group).or_default();
            for _ in 0..DELETED_AT_ONCE {
                let next = rows.iter().min_by_key(|&(page, state)| (*state, *page));
                let Some(page) = next.map(|(&page, _)| page) else { break };
                rows.remove(&page);
            }
            let is_left = !rows.is_empty();
            if !is_left {
                pages.remove(group);
                roles.open.remove(group);
            }
            is_left
        });
    }

    /// Returns true if a group is being deleted.
    pub fn is_deleting(&self) -> bool {
        !self.now.deleted.is_empty()
    }

    pub const fn outbox(&self) -> &OutboxTable {
        &self.now.outbox
    }

    pub const fn all_roles(&self) -> &Table<GroupRole> {
        &self.now.roles.roles
    }

    pub const fn pages(&self) -> &Table<BTreeMap<Page, State>> {
        &self.now.pages
    }

    pub fn state(&self, page: Page) -> Option<State> {
        self.now.pages.get(&self.web.group(page))?.get(&page).copied()
    }

    /// Applies a commit to the rows, like
    /// [`CrawlDb::apply`](crivello_agent::crawldb::CrawlDb::apply).
    pub fn apply(&mut self, commit: &mut Commit) {
        match commit.kind {
            CommitKind::Pages => self.apply_pages(commit),
            CommitKind::Facts | CommitKind::Scan => {
                for fact in &commit.facts {
                    let (page, state) = match fact {
                        Fact::Queued { url, .. } => (self.web.page(url.hash), State::Queued),
                        Fact::Done { url, .. } => (self.web.page(url.url), State::Fetched),
                        Fact::Listed { .. } | Fact::Host { .. } | Fact::Robots { .. } => continue,
                        Fact::Signal(_) | Fact::HostRequest(_) => continue,
                    };
                    if self.merge(page, state) {
                        commit.changes.push(fact.clone());
                    }
                }
            }
        }
    }

    fn apply_pages(&mut self, commit: &mut Commit) {
        for page in &commit.routing.released {
            let page = self.web.page(page.hash);
            if self.state(page) == Some(State::Pending) {
                self.finish(page, &mut commit.changes);
            }
        }
        for (i, (fetched, _)) in commit.pages.iter().enumerate() {
            let page = self.web.page(fetched.row.as_ref().expect("a page, not a robots.txt").hash);
            let group = self.web.group(page);
            self.now.archive.shard_mut(group).entry(group).or_default().insert(page);
            let mut new = false;
            for link in &fetched.links {
                let link = self.web.page(link.hash);
                if self.merge(link, State::Queued) {
                    new = true;
                    commit.changes.push(self.web.queued(link));
                }
            }
            // Otherwise another agent has fetched it, or its group was handed over.
            if self.state(page) != Some(State::Queued) {
                continue;
            }
            let sent = commit.routing.sent_links.get(i).copied().unwrap_or(false);
            if sent || (commit.routing.replicated && new) {
                self.merge(page, State::Pending);
                self.next_seq += 1;
                let queue_key = QueueKey::pending(self.next_seq);
                let hash = KeyedHasher::with_public_key().url(self.web.url(page));
                commit.pending.push(PendingPage {
                    host: self.web.host(page),
                    queue_key,
                    hash,
                    outcome: OUTCOME,
                });
            } else {
                self.finish(page, &mut commit.changes);
            }
        }
        for found in &commit.found {
            let page = self.web.page(found.hash);
            if self.merge(page, State::Queued) {
                commit.changes.push(self.web.queued(page));
            }
        }
    }

    fn finish(&mut self, page: Page, changes: &mut Vec<Fact>) {
        self.merge(page, State::Fetched);
        changes.push(self.web.done(page));
    }

    fn merge(&mut self, page: Page, state: State) -> bool {
        let group = self.web.group(page);
        let is_later = self.state(page).is_none_or(|known| known < state);
        if is_later {
            self.now.pages.shard_mut(group).entry(group).or_default().insert(page, state);
        }
        is_later
    }

    /// Writes everything, including changes of the outbox.
    pub fn commit(&mut self, changes: &[OutboxChange]) {
        self.now.outbox.write_outbox(changes).expect("the store is in memory and cannot fail");
        self.commits.push(self.now.clone());
    }
}

impl ReplicaStore for Store {
    fn roles(&mut self) -> &mut dyn RoleRows {
        &mut self.now.roles
    }

    fn outbox(&self) -> &dyn OutboxRows {
        self.outbox()
    }

    fn open_group(&mut self, group: GroupHash, _: Timestamp) -> Result<(), DiskError> {
        self.now.roles.open.insert(group, true);
        Ok(())
    }

    fn close_group(&mut self, group: GroupHash) -> Result<(), DiskError> {
        self.now.roles.open.insert(group, false);
        Ok(())
    }

    fn delete_group(&mut self, group: GroupHash) {
        self.now.deleted.insert(group);
    }

    fn cancel_deletion(&mut self, group: GroupHash) -> bool {
        self.now.deleted.remove(&group)
    }

    fn rescan_schedule(&mut self) {}

    fn n_jobs(&self) -> usize {
        self.now.deleted.len()
    }

    fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        self.busy.intersection(groups).copied().collect()
    }

    /// Exports the committed rows of a group in small chunks: first the queued and pending pages, as
    /// queued, then the finished ones.
    fn export(
        &self,
        group: GroupHash,
        mut cursor: ExportCursor,
        _: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError> {
        let mut facts = Vec::new();
        for stage in cursor.stage..2 {
            let last = cursor.last.first_chunk().map(|bytes| Page::from_be_bytes(*bytes));
            let is_next = |page: Page, state| {
                last.is_none_or(|last| page > last) && (state == State::Fetched) == (stage == 1)
            };
            for (page, _) in
                self.committed_pages(group).filter(|&(page, state)| is_next(page, state))
            {
                if facts.len() == CHUNK {
                    return Ok((facts, Some(cursor)));
                }
                cursor = ExportCursor { stage, last: page.to_be_bytes().to_vec() };
                facts.push(match stage {
                    0 => self.web.queued(page),
                    _ => self.web.done(page),
                });
            }
            cursor = ExportCursor { stage: stage + 1, last: Vec::new() };
        }
        Ok((facts, None))
    }

    fn is_refetching(&self) -> bool {
        false
    }

    fn set_lost_archives(&mut self, _: &[LostArchive]) {}
}
