//! Tests of commands that query agents: fake agents with a status chosen by the test, the real
//! coordinator and the real program.

use crate::program::{Coordinator, crivello, expect, fresh};
use crivello_agent::api::{
    self, AgentApi, HostArcsApi, HostsQuery, IndexApi, QueryError, QueryFuture, SeedAnswer,
    SeedBatch, Subject, TailSource,
};
use crivello_agent::messages::{Ack, ArchivedPages, RobotsOutcome};
use crivello_agent::peers::{
    Body, ExtraServices, LeaseBatch, PacketOrigin, PeerHandler, PeerServer, PeerTrust, PublishedSet,
};
use crivello_agent::storage::ranks::RankStore;
use crivello_agent::storage::values::ContentRow;
use crivello_common::discard::Discard;
use crivello_common::hash::ContentDigest;
use crivello_common::time::Clock;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, LostArchive};
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{FORMAT_VERSION, v1};
use futures_util::FutureExt;
use futures_util::future::ready;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::write;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{oneshot, watch};
use tonic::codegen::Bytes;
use tonic::service::Routes;
use tonic::transport::Channel;

/// A fake agent: its status, and the seeds it received.
#[derive(Default)]
struct FakeAgent {
    status: Mutex<v1::StatusResponse>,
    seeds: Mutex<BTreeSet<String>>,
    /// True if the agent accepts no seeds.
    busy: bool,
}

impl AgentApi for FakeAgent {
    fn archive(&self) -> Option<TailSource> {
        None
    }

    fn host_arcs(&self) -> Option<Arc<dyn HostArcsApi>> {
        None
    }

    fn ranks(&self) -> Option<RankStore> {
        None
    }

    fn index(&self) -> Option<Arc<dyn IndexApi>> {
        None
    }

    fn cluster_view(&self) -> QueryFuture<v1::ClusterView> {
        ready(Err(QueryError::NotNow)).boxed()
    }

    fn explain(&self, _: Subject, _: Option<u32>) -> QueryFuture<v1::ExplainResponse> {
        ready(Err(QueryError::NotNow)).boxed()
    }

    fn hosts(&self, _: HostsQuery) -> QueryFuture<v1::HostsResponse> {
        ready(Err(QueryError::NotNow)).boxed()
    }

    fn fetches(&self, _: usize, _: bool) -> Vec<v1::FetchSummary> {
        Vec::new()
    }

    fn traces(&self, _: Option<u128>, _: usize) -> Vec<v1::Span> {
        Vec::new()
    }

    fn blocks(&self) -> Vec<crivello_agent::messages::BlockCount> {
        Vec::new()
    }

    fn archived(&self, lost: LostArchive, answer: oneshot::Sender<Option<ArchivedPages>>) {
        let pages = ArchivedPages { lost: lost.agent.0.into(), safe: lost.safe_files.into() };
        let _ = answer.send(Some(pages));
    }

    fn details(&self) -> Option<v1::DetailsResponse> {
        None
    }

    fn status(&self) -> v1::StatusResponse {
        self.status.lock().expect("the mutex is not poisoned").clone()
    }

    /// Treats hosts that begin with `x` as out of scope.
    fn seed(&self, batch: SeedBatch, answer: oneshot::Sender<SeedAnswer>) {
        let urls = batch.urls;
        if self.busy {
            return;
        }
        let (mut seeds, mut refused) =
            (self.seeds.lock().expect("the mutex is not poisoned"), Vec::new());
        for (i, url) in urls.iter().enumerate() {
            if url.host().starts_with('x') {
                refused.push((i, Discard::OutOfScope));
            } else {
                seeds.insert(url.to_string());
            }
        }
        let _ = answer.send(SeedAnswer::Safe { refused });
    }
}

/// Peer handler of an agent without peers.
struct NoPeers;

impl PeerHandler for NoPeers {
    fn on_packet(&self, _: PacketOrigin, _: u64, _: Body, _: oneshot::Sender<Ack>) -> bool {
        true
    }
    fn on_ip_leases(&self, _: AgentId, _: u64, _: LeaseBatch, _: oneshot::Sender<Ack>) {}
    fn fetch_robots(&self, _: CrawlUrl, _: oneshot::Sender<RobotsOutcome>) {}
    fn host_ranks(&self, _: &str) -> Option<PathBuf> {
        None
    }

    fn payload_sets(&self) -> Vec<PublishedSet> {
        Vec::new()
    }

    fn payload_set(&self, _: u64) -> Option<Bytes> {
        None
    }

    fn find_payload(&self, _: ContentDigest, _: oneshot::Sender<Option<ContentRow>>) {}
    fn renew_peer_lease(&self, _: AgentId, _: u64, _: oneshot::Sender<Ack>) {}
}

struct TestCluster {
    runtime: Runtime,
    coordinator: Coordinator,
    client: CoordinatorClient<Channel>,
    joined: u64,
    /// Servers, each with its runtime. Both are dropped to simulate a killed process.
    servers: Vec<(PeerServer, Runtime)>,
}

impl TestCluster {
    fn new(dir: &Path) -> Self {
        let coordinator = Coordinator::start(dir, &["--contact", "me@a.example"]);
        let runtime = Runtime::new().expect("a runtime");
        let connected = CoordinatorClient::connect(coordinator.url.clone());
        let client = runtime.block_on(connected).expect("a connection");
        Self { runtime, coordinator, client, joined: 0, servers: Vec::new() }
    }

    /// Adds an agent with this status.
    fn join(&mut self, name: &str, status: v1::StatusResponse, busy: bool) -> Arc<FakeAgent> {
        let agent = Arc::new(FakeAgent { busy, ..FakeAgent::default() });
        let (_, views) = watch::channel(None);
        let routes = Routes::new(api::service(agent.clone()));
        let beside = ExtraServices { routes, names: &[api::NAME] };
        let runtime = Runtime::new().expect("a runtime");
        let server = runtime.block_on(async {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
            let server = PeerServer::start(
                listener,
                PeerTrust::default(),
                views,
                Arc::new(NoPeers),
                beside,
                Clock::start(),
            );
            server.await.expect("served")
        });
        self.joined += 1;
        let join = v1::JoinRequest {
            format_version: FORMAT_VERSION,
            process: 1,
            name: name.into(),
            weight: 1,
            address: server.address().to_string(),
            disk_id: self.joined,
            ..v1::JoinRequest::default()
        };
        self.servers.push((server, runtime));
        let joined = self
            .runtime
            .block_on(self.client.join(join))
            .expect("the coordinator accepts the agent")
            .into_inner();
        let (id, name, crawl_id) = (joined.id, name.to_owned(), joined.crawl_id);
        *agent.status.lock().expect("the mutex is not poisoned") =
            v1::StatusResponse { id, name, crawl_id, ..status };
        agent
    }

    /// Makes agents idle in the view in force.
    fn make_idle(&mut self, agents: &[&Arc<FakeAgent>]) {
        let listed = self.runtime.block_on(self.client.list_agents(v1::ListAgentsRequest {}));
        let epoch = listed.expect("a list").into_inner().view.expect("a view").epoch;
        for agent in agents {
            let mut status = agent.status.lock().expect("the mutex is not poisoned");
            (status.epoch, status.idle) = (epoch, true);
        }
    }

    /// Runs the program for this crawl.
    #[track_caller]
    fn ask(&self, dir: &Path, words: &[&str], code: i32) -> (String, String) {
        expect(dir, &[words, &["--coordinator", &self.coordinator.url]].concat(), code)
    }
}

fn status(pages: u64) -> v1::StatusResponse {
    let progress = Some(v1::Progress { pages, urls_queued: 3, ..v1::Progress::default() });
    v1::StatusResponse { process: 9, fence_open: true, replication: 2, progress, ..<_>::default() }
}

#[test]
fn status_and_wait_report_progress_and_completion() {
    let dir = fresh("completion");
    let mut cluster = TestCluster::new(&dir);
    let (_, stderr) = cluster.ask(&dir, &["wait", "--timeout", "100ms"], 75);
    assert!(stderr.contains("not done in time: no agent is running"), "{stderr}");
    let first = cluster.join("first", status(40), false);
    let second = cluster.join("second", status(2), false);
    let (table, _) = cluster.ask(&dir, &["status"], 0);
    for part in ["running, epoch 3\nNAME", "first ", "second ", "(all) ", "  42 ", "  6 "] {
        assert!(table.contains(part), "no {part:?} in {table}");
    }
    let wait = ["wait", "--timeout", "1s"];
    let (_, stderr) = cluster.ask(&dir, &wait, 75);
    assert!(stderr.contains("first does not use the current view yet"), "{stderr}");
    cluster.make_idle(&[&first, &second]);
    second.status.lock().expect("the mutex is not poisoned").idle = false;
    let (_, stderr) = cluster.ask(&dir, &wait, 75);
    assert!(stderr.contains("1 agent has work"), "{stderr}");
    assert!(stderr.contains("the crawl is open: second has work ("), "{stderr}");
    second.status.lock().expect("the mutex is not poisoned").idle = true;
    let (_, stderr) = cluster.ask(&dir, &["wait"], 0);
    assert!(stderr.contains("done: 42 pages, 2 agents"), "{stderr}");

    // One agent belongs to another crawl, and one has ended.
    second.status.lock().expect("the mutex is not poisoned").crawl_id = "another".into();
    drop(cluster.servers.remove(0));
    let (json, _) = cluster.ask(&dir, &["status", "--json"], 0);
    let json: Value = serde_json::from_str(&json).unwrap();
    let why = |n: usize| json["agents"][n]["unreachable"].as_str().unwrap().to_owned();
    assert!(why(0).contains("cannot be reached"), "{json}");
    assert!(why(1).contains("another agent responds"), "{json}");
    assert_eq!(json["totals"]["pages"], 0);
    let (_, stderr) = cluster.ask(&dir, &wait, 75);
    assert!(stderr.contains("first cannot be reached"), "{stderr}");
    cluster.ask(&dir, &["stop"], 0);
    let (_, stderr) = cluster.ask(&dir, &["wait"], 130);
    assert!(stderr.contains("crivello resume"), "{stderr}");
}

#[test]
fn wait_names_every_ten_seconds_who_has_work() {
    let dir = fresh("working");
    let mut cluster = TestCluster::new(&dir);
    let first = cluster.join("first", status(40), false);
    cluster.make_idle(&[&first]);
    first.status.lock().expect("the mutex is not poisoned").idle = false;
    let (_, stderr) = cluster.ask(&dir, &["wait", "--timeout", "11s"], 75);
    let said = "the crawl is open: first has work (";
    assert_eq!(stderr.matches(said).count(), 2, "{stderr}");
}

#[test]
fn seeds_go_to_an_agent_that_accepts_them_and_rejected_lines_are_named() {
    let dir = fresh("seeding");
    let mut cluster = TestCluster::new(&dir);
    let busy = cluster.join("busy", status(0), true);
    let free = cluster.join("free", status(0), false);
    let mut text =
        "# where to begin\nhttp://a.example/\nnonsense\n\nhttp://x.example/\n".to_owned();
    text.extend((0..5_000).map(|n| format!("http://h{n}.example/\n")));
    write(dir.join("urls.txt"), text).unwrap();
    let (_, stderr) = cluster.ask(&dir, &["seed", "http://b.example/", "urls.txt"], 0);
    assert!(stderr.contains("urls.txt:3: refused: \"nonsense\""), "{stderr}");
    let line = "urls.txt:5: refused: \"http://x.example/\": not included, or excluded";
    assert!(stderr.contains(line), "{stderr}");
    assert!(stderr.contains("5,002 seeds stored, 2 rejected"), "{stderr}");
    assert_eq!(free.seeds.lock().expect("the mutex is not poisoned").len(), 5_002);
    assert!(busy.seeds.lock().expect("the mutex is not poisoned").is_empty());
    let (_, stderr) = cluster.ask(&dir, &["seed", "http://c.example/"], 0);
    assert!(stderr.contains("1 seed stored"), "{stderr}");
    let (_, stderr) = cluster.ask(&dir, &["seed", "http://x.example/"], 64);
    assert!(stderr.contains("argument 1: refused"), "{stderr}");
    let (_, stderr) = cluster.ask(&dir, &["seed", "urls.txt", "-"], 64);
    assert!(stderr.contains("only one file can be given"), "{stderr}");
}

#[test]
fn an_unknown_agent_is_not_declared_dead() {
    let dir = fresh("unknown-dead");
    let mut cluster = TestCluster::new(&dir);
    let _agent = cluster.join("agent", status(0), false);
    let (_, stderr) = cluster.ask(&dir, &["declare-dead", "nobody"], 64);
    assert!(stderr.contains("there is no agent nobody"), "{stderr}");
    let (_, stderr) = cluster.ask(&dir, &["declare-dead", "agent"], 64);
    assert!(stderr.contains("First make sure that its process does not run"), "{stderr}");
}

#[test]
fn seeds_are_stored_as_they_arrive() {
    let dir = fresh("trickling");
    let mut cluster = TestCluster::new(&dir);
    let agent = cluster.join("agent", status(0), false);
    let mut child = crivello(&dir, &["seed", "-", "--coordinator", &cluster.coordinator.url])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    writeln!(stdin, "http://a.example/").unwrap();
    // Standard input stays open.
    while agent.seeds.lock().expect("the mutex is not poisoned").is_empty() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    // The agent ends, so the next seeds go to another agent.
    cluster.servers.clear();
    writeln!(stdin, "http://b.example/").unwrap();
    let other = cluster.join("other", status(0), false);
    drop(stdin);
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "{stderr}");
    assert!(stderr.contains("2 seeds stored"), "{stderr}");
    assert_eq!(
        *other.seeds.lock().expect("the mutex is not poisoned"),
        BTreeSet::from(["http://b.example/".to_owned()])
    );
}
