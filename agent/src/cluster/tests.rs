//! Tests of the engine with a crawl database on disk: faults that need a rare combination, without the other
//! events of a schedule in which the simulator finds them.

use super::*;
use crate::crawldb::{CrawlDb, GroupRows};
use crate::messages::{
    ChangeSignal, Commit, Fact, Finder, Found, GroupRole, HostRequest, LinkKind, PRIORITY_DEFAULT,
    Page, PageEnd, ReplicaStore as _, RobotsRecord, Role, SignalSource, ToFrontier, ToWorkbench,
    TransferKind,
};
use crate::peers::{Body, PacketOrigin, Rejected};
use crate::storage::{Database, Family, facts};
use crate::url_tracing::Tracer;
use crivello_common::config::{Cluster, Settings, Telemetry};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::failure::Failure;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
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
        let group = url.host.group;
        self.receive_packet(from, Body::Rows { group, facts: rows, kind, last: true });
    }

    fn receive_packet(&mut self, from: AgentId, body: Body) {
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
    Arc::new(View { epoch: 1, run: RunState::default(), agents, lost_archives: Vec::new() })
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

/// Sitemaps of other hosts list URLs of a host whose robots.txt permits it, but is still to be handed over.
#[test]
fn a_listed_url_waits_for_the_robots_txt_of_a_group_that_is_handed_over() {
    let mut agent = TestAgent::new(3);
    let hosts = (0..).map(|n| found(&format!("http://site-{n}.example/first")));
    let owner = |url: &Found| agent.engine.ownership().owner(url.host.group);
    let first = hosts.into_iter().find(|url| owner(url) == Some(ME)).unwrap();
    let (host, name): (_, Arc<str>) = (first.host, first.url.host().into());
    let listed = |path: &str, sitemap: &str| Found {
        listed_by: Some(sitemap.into()),
        ..found(&format!("http://{name}{path}"))
    };
    let sitemap = "http://elsewhere.example/sitemap.xml";
    // One that another agent sends, one of a page here, and one without permission.
    let sent = [listed("/a", sitemap), listed("/c", "http://elsewhere.example/other.xml")];
    let sent = sent.iter().map(|url| Bytes::from(facts::encode_found(url))).collect();
    agent.receive_packet(AgentId(2), Body::Facts(sent));
    let page = Page {
        host: found("http://elsewhere.example/").host,
        name: "elsewhere.example".into(),
        row: None,
        at: T,
        took: Duration::ZERO,
        end: PageEnd::Failed(Failure::Tls),
        records: Vec::new(),
        links: vec![listed("/b", sitemap)],
        signals: Vec::new(),
        discards: DiscardTally::default(),
        traced: None,
        fingerprint: None,
        original: None,
        revisit_data: None,
    };
    agent.pages.pages.push((page, None));
    let commit = std::mem::take(&mut agent.pages);
    agent.commit(commit);
    let _ = agent.turn();
    assert_eq!(agent.crawldb.totals().queued, 0);

    let origin = first.url.origin();
    let rules = Rules::parse(format!("Sitemap: {sitemap}\n").as_bytes(), "x");
    let rules = Some(rules.with_foreign_sitemaps(&name).shared());
    let (unreachable_since, failures) = (None, 0);
    let record = RobotsRecord { asked: T, fetched: T, unreachable_since, failures, rules };
    let robots = Fact::Robots { host, name: name.clone(), origin, record };
    let rows = vec![Bytes::from(facts::encode(&robots)), facts::encode_found(&first).into()];
    let (group, kind) = (host.group, TransferKind::Handoff { authority: true, keeps: false });
    agent.receive_packet(AgentId(2), Body::Rows { group, facts: rows, kind, last: true });
    for _ in 0..3 {
        let _ = agent.turn();
    }
    let totals = agent.crawldb.totals();
    assert_eq!((totals.queued, totals.discards.get(Discard::ForeignInSitemap)), (3, 1));
}

/// The request of a person for a page is sent to the replica of its group, because due times are not. It makes
/// no group known.
#[test]
fn requests_of_people_are_copied() {
    let mut agent = TestAgent::new(3);
    let hosts = (0..).map(|n| found(&format!("http://site-{n}.example/first")));
    let of = |n| {
        move |agent: &TestAgent, url: &Found| {
            agent.engine.ownership().replica_set(url.host.group)[n]
        }
    };
    let known = hosts.clone().find(|url| of(0)(&agent, url) == ME).unwrap();
    let unknown = hosts.skip(1_000).find(|url| of(0)(&agent, url) == ME).unwrap();
    let replica = of(1)(&agent, &known);
    agent.set_role(&known, Role::Authority { in_sync: vec![(replica, 1)] });
    let signal = |url: &Found, source| ChangeSignal { url: url.key(), source };
    let (here, there) =
        (signal(&known, SignalSource::Person), signal(&unknown, SignalSource::Person));
    let of_list = signal(&known, SignalSource::List { modified: T });
    let name = known.url.host().into();
    let host = HostRequest { host: known.host, name, at: T };
    let sent = [Fact::Signal(here), Fact::Signal(there), Fact::HostRequest(host.clone())];
    let sent = sent.iter().map(|fact| Bytes::from(facts::encode(fact))).collect();
    agent.receive_packet(AgentId(2), Body::Facts(sent));
    agent.commit(Commit {
        signals: vec![here, there, of_list],
        host_requests: vec![host.clone()],
        ..Commit::default()
    });
    let packets = agent.turn();
    let copies: Vec<&Bytes> = packets
        .iter()
        .filter(|(to, _)| *to == replica)
        .filter_map(
            |(_, body)| if let Body::ReplicaFacts(facts) = body { Some(facts) } else { None },
        )
        .flatten()
        .collect();
    let wanted = [Fact::Signal(here), Fact::HostRequest(host)].map(|fact| facts::encode(&fact));
    for fact in &wanted {
        assert_eq!(copies.iter().filter(|copy| **copy == fact).count(), 2, "{copies:?}");
    }
    assert_eq!(copies.len(), 4);

    // The replica of a group that is known there takes it, and of no other.
    let mut agent = TestAgent::new(3);
    agent.set_role(&known, Role::Replica { from: vec![AgentId(2)] });
    let sent = [here, there].map(|signal| Bytes::from(facts::encode(&Fact::Signal(signal))));
    agent.receive_packet(AgentId(2), Body::ReplicaFacts(sent.to_vec()));
    assert_eq!(agent.facts.facts, [Fact::Signal(here)]);
    assert_eq!(agent.crawldb.roles().role(unknown.host.group).unwrap(), None);
}
