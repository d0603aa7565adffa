//! The replication engine on a state with many groups: another agent is declared dead, and its groups
//! are taken over and copied. The engine, the crawl database and its batches on disk are real; the
//! third agent acknowledges each packet at once.
//!
//! `CRIVELLO_BENCH_GROUPS` sets the number of groups in this agent's state (default one million), each
//! with one host and one URL; `CRIVELLO_BENCH_DIR` the directory.
//!
//! Each step must be short, because heartbeats, commits and leases wait for it; the groups of the dead
//! agent are taken over before they are copied.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints its results and measures time"
)]

mod memory;

use crivello_agent::cluster::{
    ClusterStatus, InboundMsg, OpenCommits, Outbox, PacketQueue, ReplicationEngine,
};
use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{
    Commit, Finder, Found, GroupRole, LinkKind, OwnershipMessage, PRIORITY_DEFAULT,
    ReplicaStore as _, Role,
};
use crivello_agent::peers::{Body, PacketOrigin, PeerEvent, Rejected};
use crivello_agent::storage::{Database, Family};
use crivello_agent::url_tracing::Tracer;
use crivello_common::config::{Cluster, Settings, Telemetry};
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{Agent, AgentId, AgentState, RunState, View};
use memory::memory;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

const ME: AgentId = AgentId(1);
const DEAD: AgentId = AgentId(2);
const OTHER: AgentId = AgentId(3);
/// Groups of one commit while the state is filled.
const GROUPS_AT_ONCE: usize = 20_000;
/// Groups of the dead agent that are looked at to see how far the take-over is.
const SAMPLES: usize = 1_000;
/// Time between two lines on the progress.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);

fn main() {
    let wanted = std::env::var("CRIVELLO_BENCH_GROUPS").ok().and_then(|n| n.parse().ok());
    let n_groups: usize = wanted.unwrap_or(1_000_000);
    let dir = match std::env::var_os("CRIVELLO_BENCH_DIR") {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    }
    .expect("a directory");
    let mut agent = Bench::new(dir.path());
    agent.enter(view(1, AgentState::Active));
    let samples = agent.fill(n_groups);
    println!("{n_groups} groups, peak memory {} MiB", memory("VmHWM:") >> 20);
    agent.enter(view(2, AgentState::Dead));
    agent.run(&samples);
}

/// Returns a view of three agents, of which the second has this state.
fn view(epoch: u64, second: AgentState) -> Arc<View> {
    let agent = |id: AgentId, state| Agent {
        id,
        name: format!("agent-{id}"),
        address: format!("agent-{id}:1"),
        slot: id.0 as u16 - 1,
        weight: 1,
        state,
        joined_epoch: 1,
        disk_id: u64::from(id.0),
        unreplicated: false,
        certificates: Vec::new(),
    };
    let agents = [(ME, AgentState::Active), (DEAD, second), (OTHER, AgentState::Active)];
    let agents = agents.map(|(id, state)| agent(id, state)).to_vec();
    Arc::new(View { epoch, run: RunState::default(), agents, lost_archives: Vec::new() })
}

/// Packets to the third agent, which stores each at once.
#[derive(Default)]
struct Packets {
    last: u64,
    bytes: u64,
    stored: VecDeque<InboundMsg>,
}

impl PacketQueue for Packets {
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        self.last += 1;
        if let Body::Rows { facts, .. } | Body::Facts(facts) | Body::ReplicaFacts(facts) = &body {
            self.bytes += facts.iter().map(|fact| fact.len() as u64).sum::<u64>();
        }
        self.stored.push_back(InboundMsg::Peer(PeerEvent::Stored { by: to, id: self.last }));
        Ok(self.last)
    }
}

/// The longest and the total time of one kind of work, and when the longest ended.
#[derive(Default)]
struct Work {
    n: u32,
    longest: Duration,
    total: Duration,
    longest_ended: Option<Instant>,
}

impl Work {
    fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = work();
        let took = begun.elapsed();
        (self.n, self.total) = (self.n + 1, self.total + took);
        if took > self.longest {
            (self.longest, self.longest_ended) = (took, Some(Instant::now()));
        }
        result
    }
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} in {:.1?}, the longest {:.1?}", self.n, self.total, self.longest)
    }
}

/// Prints how far the bench is, from time to time.
struct Progress(Instant);

impl Progress {
    fn print(&mut self, text: impl FnOnce() -> String) {
        if self.0.elapsed() >= PROGRESS_EVERY {
            self.0 = Instant::now();
            println!("{}", text());
        }
    }
}

struct Bench {
    begun: Instant,
    disk: Arc<Database>,
    crawldb: CrawlDb,
    engine: ReplicationEngine,
    hasher: KeyedHasher,
    packets: Packets,
    facts: Commit,
    pages: Commit,
    commits: Work,
}

impl Bench {
    fn new(dir: &Path) -> Self {
        let settings = Settings::default();
        let hasher = KeyedHasher::with_public_key();
        let disk = Database::open(dir, true, &settings.fixed.state).expect("the database opens");
        let disk = Arc::new(disk);
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).expect("it opens");
        let now = Timestamp::from_secs(1);
        let tracer = Tracer::new("groups", hasher, &Telemetry::default(), now).into();
        let status = Arc::new(ClusterStatus::default());
        let cluster = Cluster { replication: 2, ..settings.fixed.cluster };
        let outbox = Outbox::open(&*disk).expect("the outbox is empty");
        let engine = ReplicationEngine::new((ME, hasher), &cluster, tracer, status, outbox, now);
        Self {
            begun: Instant::now(),
            disk,
            crawldb,
            engine,
            hasher,
            packets: Packets::default(),
            facts: Commit::of_facts(),
            pages: Commit::default(),
            commits: Work::default(),
        }
    }

    /// Returns the time, long after the peer leases of an earlier process.
    fn now(&self) -> Timestamp {
        Timestamp::from_secs(1_000) + self.begun.elapsed()
    }

    fn receive(&mut self, message: InboundMsg) {
        let now = self.now();
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        let taken = self.engine.on_message(message, &mut open, &mut self.crawldb, now);
        taken.expect("the message is handled");
    }

    fn enter(&mut self, view: Arc<View>) {
        self.receive(InboundMsg::View(view));
        let view = self.engine.take_view().expect("a view");
        let now = self.now();
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        let entered = self.engine.begin_epoch(&view, &mut open, &mut self.crawldb, now);
        entered.expect("the epoch begins");
        let _ = self.engine.take_effects();
    }

    /// Stores the groups that this agent holds in the first view, as their owner or as a replica.
    /// Returns some of those that the second agent owns.
    fn fill(&mut self, n_groups: usize) -> Vec<GroupHash> {
        let (mut n_held, mut site) = (0, 0_u64);
        let mut samples = Vec::new();
        let mut progress = Progress(Instant::now());
        while n_held < n_groups {
            progress.print(|| format!("{n_held} of {n_groups} groups are stored"));
            let mut found = Vec::new();
            while found.len() < GROUPS_AT_ONCE && n_held < n_groups {
                site += 1;
                let text = format!("http://www.site-{site}.example/");
                let url = CrawlUrl::parse(&text).expect("a URL");
                let (host, hash) = (self.hasher.host_key(url.host()), self.hasher.url(&url));
                let replicas = self.engine.ownership().replica_set(host.group);
                if !replicas.contains(&ME) {
                    continue;
                }
                let role = match replicas[0] == ME {
                    true => Role::Authority { in_sync: vec![(replicas[1], 1)] },
                    false => Role::Replica { from: vec![replicas[0]] },
                };
                if replicas[0] == DEAD && samples.len() < SAMPLES {
                    samples.push(host.group);
                }
                let role = Some(GroupRole { epoch: 1, role });
                self.crawldb.roles().set_role(host.group, role).expect("the role is set");
                let (kind, finder) = (LinkKind::Page, Finder::SEED);
                found.push(Found {
                    url,
                    host,
                    hash,
                    depth: 0,
                    redirects: 0,
                    kind,
                    finder,
                    priority: PRIORITY_DEFAULT,
                    listed_by: None,
                });
                n_held += 1;
            }
            let mut commit = Commit { found, ..Commit::default() };
            self.crawldb.apply(&mut commit, self.now()).expect("the commit is applied");
            self.disk.commit(&commit.batch).expect("the batch is written");
        }
        self.disk.sync().expect("the state is synced");
        samples
    }

    /// Returns true if this agent has taken the authority over a group in the second view.
    fn has_taken(&mut self, group: GroupHash) -> bool {
        let role = self.crawldb.roles().role(group).expect("the role is read");
        role.is_some_and(|tag| tag.epoch == 2 && matches!(tag.role, Role::Authority { .. }))
    }

    fn commit(&mut self, mut commit: Commit) {
        let now = self.now();
        let Self { engine, crawldb, disk, commits, .. } = self;
        commits.time(|| {
            engine.route(&mut commit, crawldb, now).expect("the commit is routed");
            crawldb.apply(&mut commit, now).expect("the commit is applied");
            Self::write(engine, crawldb, disk, commit);
        });
    }

    fn write(
        engine: &mut ReplicationEngine,
        crawldb: &mut CrawlDb,
        disk: &Database,
        mut commit: Commit,
    ) {
        let changes = engine.enqueue(&mut commit, crawldb).expect("the changes are enqueued");
        for (key, value) in changes {
            commit.batch.change(Family::Outbox, &key, value.as_deref());
        }
        disk.commit(&commit.batch).expect("the batch is written");
        engine.on_committed(&mut commit);
    }

    /// Runs until everything is taken over and copied.
    fn run(&mut self, samples: &[GroupHash]) {
        let begun = Instant::now();
        let (mut steps, mut jobs, mut sends) = (Work::default(), Work::default(), Work::default());
        self.commits = Work::default();
        let (mut has_scanned, mut n_open) = (false, 0);
        let mut longest_turn = Duration::ZERO;
        let mut progress = Progress(begun);
        loop {
            progress.print(|| {
                let taken = samples.iter().filter(|group| self.has_taken(**group)).count();
                let (taken, sent) = (taken * 100 / samples.len().max(1), self.packets.last);
                format!("{:.0?}: {taken} % taken over, {sent} packets sent", begun.elapsed())
            });
            let turn = Instant::now();
            let now = self.now();
            let base = self.begun;
            let clock = move || Timestamp::from_secs(1_000) + base.elapsed();
            let Self { engine, crawldb, pages, facts, .. } = self;
            let mut open = OpenCommits { pages, facts };
            steps.time(|| engine.step(&mut open, crawldb, now, &clock)).expect("a step");
            let _ = self.engine.take_effects();
            let facts = std::mem::replace(&mut self.facts, Commit::of_facts());
            self.commit(facts);
            if self.crawldb.has_jobs() {
                let commit = jobs.time(|| self.crawldb.step_job(now)).expect("a step of the jobs");
                if let Some(commit) = commit {
                    let Self { engine, crawldb, disk, .. } = self;
                    jobs.time(|| Self::write(engine, crawldb, disk, commit));
                }
            }
            self.disk.sync().expect("the state is synced");
            self.engine.on_synced();
            let _ = self.engine.take_effects();
            let Self { engine, crawldb, packets, .. } = self;
            sends.time(|| engine.send(crawldb, packets, &clock)).expect("packets are sent");
            longest_turn = longest_turn.max(turn.elapsed());
            while let Some(stored) = self.packets.stored.pop_front() {
                self.receive(stored);
            }
            if !has_scanned && self.engine.ownership().has_scanned() {
                has_scanned = true;
                println!("all roles are scanned after {:.1?}", begun.elapsed());
                for message in [OwnershipMessage::ScanDone, OwnershipMessage::HandoffDone] {
                    let (answer, _) = oneshot::channel();
                    let body = Body::Ownership(message);
                    let from = PacketOrigin { id: OTHER, behind_us: 0 };
                    self.receive(InboundMsg::Packet { from, epoch: 2, body, answer });
                }
            }
            let n_before = n_open;
            n_open += samples[n_open..].iter().take_while(|group| self.has_taken(**group)).count();
            if n_open == samples.len() && n_before < n_open {
                println!("the dead agent's groups are taken over after {:.1?}", begun.elapsed());
            }
            if has_scanned
                && self.engine.is_settled()
                && !self.engine.has_more()
                && !self.crawldb.has_jobs()
            {
                break;
            }
        }
        println!("all groups are copied after {:.1?}", begun.elapsed());
        println!("{} MiB of rows sent in {} packets", self.packets.bytes >> 20, self.packets.last);
        let ended = steps.longest_ended.map_or(Duration::ZERO, |at| at - begun);
        println!("steps of the engine: {steps}, which ended after {ended:.1?}");
        println!("commits: {}", self.commits);
        println!("jobs on groups: {jobs}");
        println!("sending: {sends}");
        println!("longest turn without the handling of acknowledgements: {longest_turn:.1?}");
        println!("peak memory {} MiB", memory("VmHWM:") >> 20);
    }
}
