//! Tests of the engine with a crawl database on disk: faults that need a rare combination, without the other
//! events of a schedule in which the simulator finds them.

use super::*;
use crate::crawldb::{CrawlDb, GroupRows};
use crate::messages::{
    Commit, Finder, Found, GroupRole, LinkKind, PRIORITY_DEFAULT, ReplicaStore as _, Role,
    ToFrontier, ToWorkbench, TransferKind,
};
use crate::peers::{Body, PacketOrigin, Rejected};
use crate::storage::{Database, Family, facts};
use crate::url_tracing::Tracer;
use crivello_common::config::{Cluster, Settings, Telemetry};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{Agent, AgentState, RunState, View};
use std::sync::Arc;
use std::time::Duration;

const ME: AgentId = AgentId(1);
const T: Timestamp = Timestamp::from_secs(1_000);

/// Packets by their receiver.
#[derive(Default)]
struct Packets(Vec<(AgentId, Body)>);

impl PacketQueue for Packets {
    fn offer(&mut self, to: AgentId, body: Body) -> Result<u64, Rejected> {
        self.0.push((to, body));
        Ok(self.0.len() as u64)
    }
}

struct TestAgent {
    _dir: tempfile::TempDir,
    disk: Arc<Database>,
    crawldb: CrawlDb,
    engine: ReplicationEngine,
    pages: Commit,
    facts: Commit,
    now: Timestamp,
}

impl TestAgent {
    /// Enters a view of `n_agents`, of which this is the first.
    fn new(n_agents: u32) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let settings = Settings::default();
        let hasher = KeyedHasher::with_public_key();
        let disk = Arc::new(Database::open(dir.path(), true, &settings.fixed.state).unwrap());
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).unwrap().sharing(ME);
        let tracer = Tracer::new("engine", hasher, &Telemetry::default(), T).into();
        let cluster = Cluster { replication: 2, ..settings.fixed.cluster };
        let outbox = Outbox::open(&*disk).unwrap();
        let status = Arc::new(ClusterStatus::default());
        let engine = ReplicationEngine::new((ME, hasher), &cluster, tracer, status, outbox, T);
        let (pages, facts) = (Commit::default(), Commit::of_facts());
        let mut agent = Self { _dir: dir, disk, crawldb, engine, pages, facts, now: T };
        agent.receive(InboundMsg::View(view(n_agents)));
        let view = agent.engine.take_view().unwrap();
        let mut open = OpenCommits { pages: &mut agent.pages, facts: &mut agent.facts };
        agent.engine.begin_epoch(&view, &mut open, &mut agent.crawldb, T).unwrap();
        agent.engine.ownership.fence.leased(T + Duration::from_secs(1_000));
        agent
    }

    fn receive(&mut self, message: InboundMsg) {
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        self.engine.on_message(message, &mut open, &mut self.crawldb, self.now).unwrap();
    }

    /// Receives the last rows of a group from its former owner, or from another agent that has some.
    fn receive_rows(&mut self, from: AgentId, url: &Found, keeps: bool) {
        let kind = TransferKind::Handoff { authority: keeps, keeps };
        let rows = vec![Bytes::from(facts::encode_found(url))];
        let body = Body::Rows { group: url.host.group, facts: rows, kind, last: true };
        let (answer, _) = tokio::sync::oneshot::channel();
        let from = PacketOrigin { id: from, behind_us: 0 };
        self.receive(InboundMsg::Packet { from, epoch: 1, body, answer });
    }

    fn commit(&mut self, mut commit: Commit) {
        let Self { disk, crawldb, engine, now, .. } = self;
        engine.route(&mut commit, crawldb, *now).unwrap();
        crawldb.apply(&mut commit, *now).unwrap();
        for (key, value) in engine.enqueue(&mut commit, crawldb).unwrap() {
            commit.batch.change(Family::Outbox, &key, value.as_deref());
        }
        disk.commit(&commit.batch).unwrap();
        engine.on_committed(&mut commit);
        disk.sync().unwrap();
        engine.on_synced();
    }

    /// Runs a turn of the writer, and returns the packets that it sends.
    fn turn(&mut self) -> Vec<(AgentId, Body)> {
        let mut open = OpenCommits { pages: &mut self.pages, facts: &mut self.facts };
        let now = self.now;
        self.engine.step(&mut open, &mut self.crawldb, now, &|| now).unwrap();
        let facts = std::mem::replace(&mut self.facts, Commit::of_facts());
        self.commit(facts);
        while let Some(mut commit) = self.crawldb.step_job(now).unwrap() {
            self.disk.commit(&std::mem::take(&mut commit.batch)).unwrap();
        }
        let mut packets = Packets::default();
        self.engine.send(&self.crawldb, &mut packets, &|| now).unwrap();
        packets.0
    }

    fn set_role(&mut self, url: &Found, role: Role) {
        let role = Some(GroupRole { epoch: 1, role });
        self.crawldb.roles().set_role(url.host.group, role).unwrap();
    }

    /// Returns the number of hosts that are handed to the workbench, once those that were taken over have
    /// rested.
    fn n_served(&mut self) -> usize {
        let now = self.now + Duration::from_secs(60);
        self.crawldb.on_workbench(ToFrontier::WantHosts { hosts: 10 });
        let (engine, mut out) = (&mut self.engine, Vec::new());
        let mut may_fetch = |group, rows: &mut GroupRows| engine.may_fetch(group, rows, now);
        self.crawldb.serve(now, &mut may_fetch, &mut out).unwrap();
        out.iter().filter(|note| matches!(note, ToWorkbench::Due(_))).count()
    }
}

fn view(n_agents: u32) -> Arc<View> {
    let agent = |id: u32| Agent {
        id: AgentId(id),
        name: format!("agent-{id}"),
        address: format!("agent-{id}:1"),
        slot: id as u16 - 1,
        weight: 1,
        state: AgentState::Active,
        joined_epoch: 1,
        disk_id: u64::from(id),
        unreplicated: false,
        certificates: Vec::new(),
    };
    let agents = (1..=n_agents).map(agent).collect();
    Arc::new(View { epoch: 1, run: RunState::default(), agents, refetched: Vec::new() })
}

fn found(url: &str) -> Found {
    let url = CrawlUrl::parse(url).unwrap();
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    let (kind, finder) = (LinkKind::Page, Finder::SEED);
    Found {
        url,
        host,
        hash,
        depth: 1,
        redirects: 0,
        kind,
        finder,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}

/// Rows of two agents arrive in one commit. What the second one brings goes to the first, too, although
/// that one keeps all rows that it sent.
#[test]
fn rows_of_one_agent_are_copied_to_another_that_sent_rows_of_the_same_group() {
    let mut agent = TestAgent::new(3);
    let hosts = (0..).map(|n| found(&format!("http://site-{n}.example/first")));
    let holders = |agent: &TestAgent, url: &Found| {
        agent.engine.ownership().replica_set(url.host.group).to_vec()
    };
    let first = hosts.into_iter().find(|url| holders(&agent, url)[0] == ME).unwrap();
    let replica = holders(&agent, &first)[1];
    let other = AgentId(5 - replica.0);
    let second = found(&format!("http://{}/second", first.url.host()));
    agent.set_role(&first, Role::Authority { in_sync: vec![(replica, 1)] });
    agent.receive_rows(replica, &first, true);
    agent.receive_rows(other, &second, false);
    let packets = agent.turn();
    let row = facts::encode_found(&second);
    let is_sent = |(to, body): &(AgentId, Body)| match body {
        Body::ReplicaFacts(facts) => *to == replica && facts.iter().any(|fact| *fact == row),
        _ => false,
    };
    assert!(packets.iter().any(is_sent), "{packets:?}");
}

/// A robots.txt redirects to a host of a group whose rows are still awaited. The answer takes the group
/// over, and its hosts are then scheduled like those of any other group.
#[test]
fn a_group_that_is_taken_over_on_demand_is_opened() {
    let mut agent = TestAgent::new(1);
    let url = found("http://site.example/");
    // Peer leases of an earlier process have expired, and all roles are scanned.
    agent.now = T + Duration::from_secs(60);
    for _ in 0..10 {
        let _ = agent.turn();
    }
    // As after a handoff of which the last rows are missing.
    agent.commit(Commit { found: vec![url.clone()], ..Commit::default() });
    agent.set_role(&url, Role::Pending { new: false });
    agent.crawldb.close_group(url.host.group).unwrap();
    let _ = agent.turn();
    let may = agent.engine.may_fetch(url.host.group, agent.crawldb.roles(), agent.now).unwrap();
    assert!(!may, "before the group is opened");
    let _ = agent.turn();
    let _ = agent.turn();
    assert_eq!(agent.n_served(), 1, "the group stays closed");
}
