//! The disk of a simulated agent: rows, roles and the outbox, with the state of the last commit and
//! the current one. A crash reverts it to the last commit.

use super::world::{Page, Web};
use crivello_agent::cluster::{OutboxRows, ReplicaStore, RoleRows, RowVisitor};
use crivello_agent::crawldb::ExportCursor;
use crivello_agent::messages::{
    Commit, CommitKind, Fact, GroupRole, OutboxChange, PRIORITY_PENDING, PendingPage, QueueKey,
};
use crivello_agent::storage::DiskError;
use crivello_agent::storage::values::UrlOutcome;
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, UrlKey};
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
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
pub const OUTCOME: UrlOutcome = UrlOutcome::Discarded(Discard::Robots);

/// Roles of the agent, by group.
#[derive(Clone, Debug, Default)]
pub struct Roles(pub BTreeMap<GroupHash, GroupRole>);

impl RoleRows for Roles {
    fn role(&self, group: GroupHash) -> Result<Option<GroupRole>, DiskError> {
        Ok(self.0.get(&group).cloned())
    }

    fn set_role(&mut self, group: GroupHash, role: Option<GroupRole>) -> Result<(), DiskError> {
        match role {
            Some(role) => self.0.insert(group, role),
            None => self.0.remove(&group),
        };
        Ok(())
    }

    fn roles_after(
        &self,
        group: Option<GroupHash>,
        most: usize,
    ) -> Result<Vec<(GroupHash, GroupRole)>, DiskError> {
        let after = self.0.range((group.map_or(Unbounded, Excluded), Unbounded));
        Ok(after.take(most).map(|(&group, role)| (group, role.clone())).collect())
    }
}

/// Rows of the outbox.
#[derive(Clone, Debug, Default)]
pub struct OutboxTable(RefCell<BTreeMap<Vec<u8>, Vec<u8>>>);

impl OutboxTable {
    pub fn is_empty(&self) -> bool {
        self.0.borrow().is_empty()
    }
}

impl OutboxRows for OutboxTable {
    fn outbox_row(&self, key: &[u8]) -> Result<Option<Vec<u8>>, DiskError> {
        Ok(self.0.borrow().get(key).cloned())
    }

    fn visit_outbox(&self, visit: &mut RowVisitor<'_>) -> Result<(), DiskError> {
        for (key, value) in &*self.0.borrow() {
            if !visit(key, value)? {
                break;
            }
        }
        Ok(())
    }

    fn write_outbox(&self, changes: &[OutboxChange]) -> Result<(), DiskError> {
        let mut rows = self.0.borrow_mut();
        for (key, value) in changes {
            match value {
                Some(value) => rows.insert(key.clone(), value.clone()),
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
    pages: BTreeMap<GroupHash, BTreeMap<Page, State>>,
}

/// A simulated disk.
pub struct Store {
    web: Arc<Web>,
    now: Tables,
    durable: Tables,
    next_seq: u64,
    /// Groups with a visit in progress, or with a page that is not committed.
    pub busy: BTreeSet<GroupHash>,
}

impl Store {
    pub fn new(web: Arc<Web>) -> Self {
        let (now, durable) = (Tables::default(), Tables::default());
        Self { web, now, durable, next_seq: 0, busy: BTreeSet::new() }
    }

    pub fn crash(&mut self) {
        self.now = self.durable.clone();
        self.busy.clear();
    }

    pub const fn all_roles(&self) -> &BTreeMap<GroupHash, GroupRole> {
        &self.now.roles.0
    }

    pub const fn pages(&self) -> &BTreeMap<GroupHash, BTreeMap<Page, State>> {
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
                        Fact::Host { .. } | Fact::Robots { .. } => continue,
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
                let queue_key = QueueKey { priority: PRIORITY_PENDING, seq: self.next_seq };
                let hash = self.web.url(page).hash();
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
        let url = UrlKey { group: self.web.group(page), url: self.web.url(page).hash() };
        changes.push(Fact::Done { url, outcome: OUTCOME });
    }

    fn merge(&mut self, page: Page, state: State) -> bool {
        let rows = self.now.pages.entry(self.web.group(page)).or_default();
        let is_later = rows.get(&page).is_none_or(|&known| known < state);
        if is_later {
            rows.insert(page, state);
        }
        is_later
    }

    /// Makes everything durable, including changes of the outbox.
    pub fn commit(&mut self, changes: &[OutboxChange]) {
        self.now.outbox.write_outbox(changes).expect("the store is in memory and cannot fail");
        self.durable = self.now.clone();
    }
}

impl ReplicaStore for Store {
    type Roles = Roles;
    type Outbox = OutboxTable;

    fn roles(&mut self) -> &mut Roles {
        &mut self.now.roles
    }

    fn outbox(&self) -> &OutboxTable {
        &self.now.outbox
    }

    fn open_group(&mut self, _: GroupHash, _: Timestamp) -> Result<(), DiskError> {
        Ok(())
    }

    fn close_group(&mut self, _: GroupHash) -> Result<(), DiskError> {
        Ok(())
    }

    fn delete_group(&mut self, group: GroupHash) {
        self.now.pages.remove(&group);
        self.now.roles.0.remove(&group);
    }

    fn rescan_schedule(&mut self) {}

    fn busy(&self, groups: &BTreeSet<GroupHash>) -> BTreeSet<GroupHash> {
        self.busy.intersection(groups).copied().collect()
    }

    /// Exports the durable rows of a group in one chunk. Pending pages are exported as queued.
    fn export(
        &self,
        group: GroupHash,
        _: ExportCursor,
        _: usize,
    ) -> Result<(Vec<Fact>, Option<ExportCursor>), DiskError> {
        let rows = self.durable.pages.get(&group).into_iter().flatten();
        let facts = rows.flat_map(|(&page, &state)| {
            let url = UrlKey { group, url: self.web.url(page).hash() };
            let done = Fact::Done { url, outcome: OUTCOME };
            [
                (state < State::Fetched).then(|| self.web.queued(page)),
                (state == State::Fetched).then_some(done),
            ]
        });
        Ok((facts.flatten().collect(), None))
    }

    fn is_refetching(&self) -> bool {
        false
    }

    fn set_lost_archives(&mut self, _: &[AgentId]) {}
}
