//! The simulated disk and the crawl database give the same answers to the same operations: what the
//! schedules show for the one holds for the other.

use super::store::{State, Store};
use super::world::{Page, Rng, Web};
use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{
    Commit, ExportCursor, Fact, GroupRole, OutboxChange, OutboxRows, ReplicaStore, Role,
};
use crivello_agent::storage::{Database, Family};
use crivello_common::config::Settings;
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::view::AgentId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use tempfile::TempDir;
use test_size::sized;

const ME: AgentId = AgentId(1);
const OPERATIONS: u64 = 60;
/// Bytes of a chunk of an export.
const CHUNK_BYTES: usize = 300;

struct Pair {
    web: Web,
    simulated: Store,
    real: CrawlDb,
    disk: Arc<Database>,
    settings: Settings,
    now: Timestamp,
    rng: Rng,
    /// The operations so far, printed if the stores differ.
    trace: Vec<String>,
    _dir: TempDir,
}

impl Pair {
    fn new(seed: u64) -> Self {
        let mut rng = Rng(seed ^ 0x57E9);
        let web = Web::new(seed, &mut rng);
        let dir = tempfile::tempdir().expect("a directory");
        let settings = Settings::default();
        let disk = Database::open(dir.path(), true, &settings.fixed.state).expect("it opens");
        let disk = Arc::new(disk);
        Self {
            simulated: Store::new(Arc::new(Web::new(seed, &mut Rng(seed ^ 0x57E9)))),
            web,
            real: open(&disk, &settings),
            disk,
            settings,
            now: Timestamp::from_secs(1_000),
            rng,
            trace: Vec::new(),
            _dir: dir,
        }
    }

    fn page(&mut self) -> Page {
        self.rng.below(u64::from(self.web.n_pages())) as Page
    }

    fn group(&mut self) -> GroupHash {
        let page = self.page();
        self.web.group(page)
    }

    /// Performs a random operation on both.
    fn operate(&mut self) {
        match self.rng.below(9) {
            0..=2 => self.merge(),
            3 => self.find(),
            4 | 5 => self.set_role(),
            6 => self.delete(),
            7 => self.change_outbox(),
            _ => {
                self.trace.push("crash".to_owned());
                self.simulated.crash(0);
                self.real = open(&self.disk, &self.settings);
            }
        }
        if self.rng.chance(3) {
            self.finish_jobs();
        }
    }

    /// Merges facts of other agents.
    fn merge(&mut self) {
        let n = 1 + self.rng.below(5);
        let facts: Vec<Fact> = (0..n)
            .map(|_| match (self.page(), self.rng.chance(3)) {
                (page, true) => self.web.done(page),
                (page, false) => self.web.queued(page),
            })
            .collect();
        let groups: BTreeSet<GroupHash> = facts.iter().map(Fact::group).collect();
        self.trace.push(format!("merge {:?}", self.states(facts.clone())));
        self.receive(&groups);
        self.apply(&|commit| {
            facts.iter().for_each(|fact| commit.add_fact(fact.clone(), None));
        });
    }

    /// Adds URLs of seeds.
    fn find(&mut self) {
        let page = self.page();
        self.trace.push(format!("find {page} of {:?}", self.web.group(page)));
        self.receive(&BTreeSet::from([self.web.group(page)]));
        let found = self.web.found(page);
        self.apply_to(Commit::default, &|commit| commit.found.push(found.clone()));
    }

    /// Prepares groups for rows, as the engine does: their deletions end, and a group without a role
    /// gets one before any row.
    fn receive(&mut self, groups: &BTreeSet<GroupHash>) {
        self.cancel_deletions(groups);
        for &group in groups {
            if !self.simulated.all_roles().contains_key(&group) {
                let opens = self.rng.chance(2);
                self.become_holder(group, opens, 1);
            }
        }
        self.commit();
    }

    fn cancel_deletions(&mut self, groups: &BTreeSet<GroupHash>) {
        for &group in groups {
            let was_deleted = self.simulated.cancel_deletion(group);
            assert_eq!(self.real.cancel_deletion(group), was_deleted, "{group:?}");
        }
    }

    /// Sets the role of a group, and opens or closes it, as the engine does.
    fn set_role(&mut self) {
        let (group, opens, epoch) = (self.group(), self.rng.chance(2), self.rng.below(9));
        self.cancel_deletions(&BTreeSet::from([group]));
        self.become_holder(group, opens, epoch);
        self.commit();
    }

    fn become_holder(&mut self, group: GroupHash, opens: bool, epoch: u64) {
        self.trace.push(format!("set the role of {group:?}: opens {opens}"));
        let role = match opens {
            true => Role::Authority { in_sync: vec![(AgentId(2), epoch)] },
            false => Role::Replica { from: vec![AgentId(3)] },
        };
        let (role, now) = (Some(GroupRole { epoch, role }), self.now);
        for store in self.both() {
            store.roles().set_role(group, role.clone()).expect("set");
            match opens {
                true => store.open_group(group, now).expect("opened"),
                false => store.close_group(group).expect("closed"),
            }
        }
    }

    /// Deletes a group, which the engine closes before.
    fn delete(&mut self) {
        let group = self.group();
        self.trace.push(format!("delete {group:?}"));
        self.cancel_deletions(&BTreeSet::from([group]));
        self.become_holder(group, false, 1);
        if self.rng.chance(2) {
            self.finish_jobs();
        }
        for store in self.both() {
            store.roles().set_role(group, None).expect("set");
            store.delete_group(group);
        }
        self.commit();
    }

    fn change_outbox(&mut self) {
        let change = |rng: &mut Rng| {
            let key = vec![rng.below(20) as u8];
            (key, (!rng.chance(3)).then(|| vec![rng.below(256) as u8]))
        };
        let changes: Vec<OutboxChange> = (0..3).map(|_| change(&mut self.rng)).collect();
        match self.rng.chance(2) {
            // Without a commit, as long outboxes are redirected.
            true => {
                let written = self.disk.write_outbox(&changes);
                written.expect("written");
                self.simulated.outbox().write_outbox(&changes).expect("in memory");
                self.simulated.commit(&[]);
            }
            false => {
                self.simulated.commit(&changes);
                let mut commit = Commit::of_facts();
                for (key, value) in changes {
                    commit.batch.change(Family::Outbox, &key, value.as_deref());
                }
                self.disk.commit(&commit.batch).expect("written");
            }
        }
    }

    fn both(&mut self) -> [&mut dyn ReplicaStore; 2] {
        [&mut self.simulated, &mut self.real]
    }

    fn commit(&mut self) {
        self.apply(&|_| {});
    }

    fn apply(&mut self, fill: &dyn Fn(&mut Commit)) {
        self.apply_to(Commit::of_facts, fill);
    }

    /// Applies the same commit to both, and compares the rows that it changes.
    fn apply_to(&mut self, new: impl Fn() -> Commit, fill: &dyn Fn(&mut Commit)) {
        let mut commits = [new(), new()];
        commits.iter_mut().for_each(fill);
        let [simulated, real] = &mut commits;
        self.simulated.apply(simulated);
        self.simulated.commit(&[]);
        self.real.apply(real, self.now).expect("applied");
        self.disk.commit(&real.batch).expect("written");
        let [simulated, real] = commits.map(|commit| self.states(commit.changes));
        assert_eq!(real, simulated, "the changes of a commit differ");
    }

    fn finish_jobs(&mut self) {
        self.trace.push("finish jobs".to_owned());
        while self.simulated.is_deleting() {
            self.simulated.step_deletions();
            self.simulated.commit(&[]);
        }
        while let Some(commit) = self.real.step_job(self.now).expect("a step") {
            self.disk.commit(&commit.batch).expect("written");
        }
        self.commit();
        let is_scheduled = !self.simulated.scheduled().is_empty();
        assert_eq!(self.real.has_queue().expect("read"), is_scheduled, "what is scheduled differs");
    }

    /// Returns the states of the pages in facts.
    fn states(&self, facts: Vec<Fact>) -> BTreeMap<Page, State> {
        let mut states = BTreeMap::new();
        for fact in facts {
            let (page, state) = match fact {
                Fact::Queued { url, .. } => (self.web.page(url.hash), State::Queued),
                Fact::Done { url, .. } => (self.web.page(url.url), State::Fetched),
                Fact::Listed { .. } | Fact::Host { .. } | Fact::Robots { .. } => continue,
                Fact::Signal(_) | Fact::HostRequest(_) => continue,
            };
            let known = states.entry(page).or_insert(state);
            *known = state.max(*known);
        }
        states
    }

    /// Compares the roles, the outbox, and the rows of all groups that are not being deleted.
    fn compare(&mut self) {
        let roles = self.both().map(|store| store.roles().roles_after(None, 1_000).expect("read"));
        assert_eq!(roles[1], roles[0]);
        let outboxes = [self.simulated.outbox() as &dyn OutboxRows, &*self.disk];
        let [simulated, real] = outboxes.map(|rows| {
            let mut all = Vec::new();
            let mut visit = |key: &[u8], value: &[u8]| {
                all.push((key.to_vec(), value.to_vec()));
                Ok(true)
            };
            rows.visit_outbox(&mut visit).expect("read");
            all
        });
        assert_eq!(real, simulated);
        self.finish_jobs();
        let groups: BTreeSet<GroupHash> =
            (0..self.web.n_pages()).map(|page| self.web.group(page)).collect();
        for group in groups {
            let exports = self.both().map(|store| {
                let (mut all, mut cursor) = (Vec::new(), Some(ExportCursor::default()));
                while let Some(from) = cursor {
                    let (facts, next) = store.export(group, from, CHUNK_BYTES).expect("read");
                    all.extend(facts);
                    cursor = next;
                }
                all
            });
            let [simulated, real] = exports.map(|facts| self.states(facts));
            assert_eq!(real, simulated, "rows of {group:?}");
        }
    }
}

fn open(disk: &Arc<Database>, settings: &Settings) -> CrawlDb {
    let hasher = KeyedHasher::with_public_key();
    CrawlDb::open(disk.clone(), settings, hasher).expect("it opens").sharing(ME)
}

#[test]
fn the_simulated_disk_and_the_crawl_database_agree() {
    let n = sized(10, 60);
    let only = std::env::var("CRIVELLO_TEST_SEED").ok().and_then(|seed| seed.parse().ok());
    for seed in only.map_or(0..n, |seed: u64| seed..seed + 1) {
        let mut pair = Pair::new(seed);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            for _ in 0..OPERATIONS {
                pair.operate();
            }
            pair.compare();
        }));
        if let Err(panic) = outcome {
            println!("CRIVELLO_TEST_SEED={seed}: {:#?}", pair.trace);
            std::panic::resume_unwind(panic);
        }
    }
}
