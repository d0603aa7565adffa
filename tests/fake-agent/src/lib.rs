//! An agent with invented answers. It joins a coordinator and serves `Control`, so that tests of
//! the dashboard see every kind of answer without a crawl.

use crivello_proto::FORMAT_VERSION;
use crivello_proto::v1::control_server::{Control, ControlServer};
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::v1::wait::{self, Reason};
use crivello_proto::v1::{self, HoldKind, UrlFate};
use futures_util::stream::{Empty, empty};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tonic::transport::Channel;
use tonic::transport::server::{Server, TcpIncoming};
use tonic::{Request, Response, Status, Streaming};

/// Pause between two heartbeats.
const HEARTBEAT_INTERVAL: Duration = Duration::from_millis(100);

/// Id of the agent that archived the page: the first that joins.
const HOLDER: u32 = 1;
/// An archive file of the agent [`HOLDER`]: serial and name.
const FILE: (u32, &str) = (4, "crivello-four.warc.gz");

/// The answers that a fake agent gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakeKind {
    /// All of them; the agent owns every group.
    Owner,
    /// All of them; the agent holds replicas.
    Holder,
    /// All of them, but `count_archived` returns only after [`FakeState::finish`]. Sends
    /// heartbeats; the other kinds send none and are dead when their lease ends.
    Slow,
    /// Only `status`, like an agent of an older version.
    Old,
}

/// State shared between a test and its fake agents.
#[derive(Debug, Default)]
pub struct FakeState {
    /// Epoch of the view in force.
    pub epoch: AtomicU64,
    /// Number of `count_archived` requests in progress.
    pub counting: AtomicU32,
    /// Finishes one `count_archived` request.
    pub finish: Notify,
}

impl FakeState {
    /// Sends heartbeats of `agent` (id and process) forever.
    async fn send_heartbeats(&self, mut client: CoordinatorClient<Channel>, agent: (u32, u64)) {
        let (id, process) = agent;
        loop {
            let epoch = self.epoch.load(Relaxed);
            let request = v1::HeartbeatRequest {
                id,
                process,
                epoch,
                scanned: true,
                settled_epoch: epoch,
                ..v1::HeartbeatRequest::default()
            };
            if let Ok(answer) = client.heartbeat(request).await {
                self.epoch.store(answer.into_inner().epoch, Relaxed);
            }
            sleep(HEARTBEAT_INTERVAL).await;
        }
    }
}

/// Counts one request during its lifetime.
struct Counting<'a>(&'a AtomicU32);

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[derive(Clone, Debug)]
struct FakeAgent {
    id: u32,
    crawl: String,
    name: String,
    kind: FakeKind,
    state: Arc<FakeState>,
}

/// Joins the coordinator at `url` under `name` and serves as long as `tasks` exists. Returns the
/// id.
///
/// # Panics
/// Panics if the coordinator cannot be reached or refuses the agent.
pub async fn join(
    tasks: &mut JoinSet<()>,
    url: &str,
    name: &str,
    kind: FakeKind,
    state: &Arc<FakeState>,
) -> u32 {
    static PROCESSES: AtomicU64 = AtomicU64::new(1);
    let process = PROCESSES.fetch_add(1, Relaxed);
    // The coordinator probes the address while it handles the join.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a free port");
    let address = listener.local_addr().expect("bound").to_string();
    let mut client = CoordinatorClient::connect(url.to_owned()).await.expect("a connection");
    let join = v1::JoinRequest {
        format_version: FORMAT_VERSION,
        process,
        name: name.to_owned(),
        weight: 1,
        address,
        disk_id: process,
        ..v1::JoinRequest::default()
    };
    let joined = client.join(join).await.expect("the coordinator accepts the agent").into_inner();
    if kind == FakeKind::Slow {
        let (state, id) = (Arc::clone(state), joined.id);
        tasks.spawn(async move { state.send_heartbeats(client, (id, process)).await });
    }
    let (crawl, state) = (joined.crawl_id, Arc::clone(state));
    let agent = FakeAgent { id: joined.id, crawl, name: name.to_owned(), kind, state };
    let service = Server::builder().add_service(ControlServer::new(agent));
    tasks.spawn(async move {
        let _ = service.serve_with_incoming(TcpIncoming::from(listener)).await;
    });
    joined.id
}

type Answer<T> = Result<Response<T>, Status>;

impl FakeAgent {
    fn known<T>(&self, answer: T) -> Answer<T> {
        match self.kind {
            FakeKind::Old => Err(Status::unimplemented("not yet")),
            _ => Ok(Response::new(answer)),
        }
    }

    fn host(&self) -> v1::HostStatus {
        let is_owner = self.kind == FakeKind::Owner;
        let reason = match is_owner {
            true => Reason::CrawlDelay(wait::CrawlDelay { asked_ms: Some(7_000), kept_ms: 7_000 }),
            false => Reason::OtherAgent(wait::OtherAgent { owner: Some(2), replica: true }),
        };
        v1::HostStatus {
            name: "www.a.test".into(),
            on_disk: true,
            in_memory: is_owner,
            wait: Some(v1::Wait { next: 5_000_000, reason: Some(reason), ..v1::Wait::default() }),
            queued: if is_owner { 12 } else { 99 },
            failures: [("connect-refused".to_owned(), 2)].into(),
            robots: vec![v1::RobotsStatus {
                origin: "https://www.a.test".into(),
                ..Default::default()
            }],
            fetches: vec![self.fetch()],
            is_owned: is_owner,
            ..v1::HostStatus::default()
        }
    }

    /// Returns a host with an empty queue.
    fn empty_host(&self, i: u32) -> v1::HostStatus {
        let reason = Some(Reason::Empty(wait::Empty {}));
        v1::HostStatus {
            name: format!("host{i}.shop.b.test"),
            on_disk: true,
            wait: Some(v1::Wait { reason, ..v1::Wait::default() }),
            pages: u64::from(i) * 1_234,
            address: "192.0.2.7".into(),
            ..v1::HostStatus::default()
        }
    }

    /// Returns the trace of a URL, in steps of a millisecond, earlier than everything else.
    fn way(&self) -> Vec<v1::Span> {
        let steps = ["found", "sieved", "waited", "resolved", "fetched", "parsed", "stored"];
        let span = |(i, name): (u64, &&str)| v1::Span {
            trace_id: vec![8; 16].into(),
            span_id: i + 1,
            parent_id: u64::from(i > 0),
            name: (*name).to_owned(),
            begin_ns: 1_000_000 * i,
            end_ns: 1_000_000 * (i + 1) + 200_000,
            attributes: [("url".to_owned(), "https://www.a.test/way".to_owned())].into(),
            is_error: *name == "fetched",
            agent: self.id,
        };
        (0..).zip(&steps).map(span).collect()
    }

    fn fetch(&self) -> v1::FetchSummary {
        let url = format!("https://www.a.test/<{}>", self.name);
        v1::FetchSummary {
            at: 1_000_000 * u64::from(self.id),
            url,
            status: 503,
            took_us: 1_500,
            agent: self.id,
            ..Default::default()
        }
    }
}

#[tonic::async_trait]
impl Control for FakeAgent {
    async fn get_cluster_view(
        &self,
        _: Request<v1::GetClusterViewRequest>,
    ) -> Result<Response<v1::ClusterView>, Status> {
        Err(Status::unimplemented("an agent of an older version"))
    }

    type SeedStream = Empty<Result<v1::SeedResponse, Status>>;
    type TailStream = Empty<Result<v1::TailResponse, Status>>;
    type HostArcsStream = Empty<Result<v1::HostArcsResponse, Status>>;

    async fn host_arcs(&self, _: Request<v1::HostArcsRequest>) -> Answer<Self::HostArcsStream> {
        Err(Status::unimplemented("an agent without an archive"))
    }

    async fn tail(&self, _: Request<v1::TailRequest>) -> Answer<Self::TailStream> {
        Err(Status::unimplemented("an agent without an archive"))
    }

    async fn status(&self, _: Request<v1::StatusRequest>) -> Answer<v1::StatusResponse> {
        let progress = v1::Progress { pages: 100, urls_queued: 7, ..Default::default() };
        Ok(Response::new(v1::StatusResponse {
            id: self.id,
            name: self.name.clone(),
            crawl_id: self.crawl.clone(),
            process: 1,
            epoch: self.state.epoch.load(Relaxed),
            fence_open: true,
            progress: Some(progress),
            ..v1::StatusResponse::default()
        }))
    }

    async fn seed(&self, _: Request<Streaming<v1::SeedRequest>>) -> Answer<Self::SeedStream> {
        Ok(Response::new(empty()))
    }

    async fn count_archived(
        &self,
        _: Request<v1::CountArchivedRequest>,
    ) -> Answer<v1::CountArchivedResponse> {
        let FakeState { counting, finish, .. } = &*self.state;
        counting.fetch_add(1, Relaxed);
        let _counting = Counting(counting);
        if self.kind == FakeKind::Slow {
            finish.notified().await;
        }
        Ok(Response::new(v1::CountArchivedResponse { pages: 3, safe_pages: 0 }))
    }

    async fn explain(&self, request: Request<v1::ExplainRequest>) -> Answer<v1::ExplainResponse> {
        let v1::ExplainRequest { subject, archive_file } = request.into_inner();
        if subject == "!" {
            return Err(Status::invalid_argument("\"!\" is neither a host nor a URL"));
        }
        let is_owner = self.kind == FakeKind::Owner;
        let holding = if is_owner { HoldKind::Authority } else { HoldKind::Replica };
        let url = subject.starts_with("http").then(|| match subject.ends_with("/stored") {
            // The holder has archived the URL, and knows the name of the file.
            true => v1::UrlStatus {
                url: subject.clone(),
                fate: UrlFate::Fetched.into(),
                archived_by: Some(HOLDER),
                file_serial: Some(FILE.0),
                offset: 77,
                ..Default::default()
            },
            false => v1::UrlStatus {
                url: subject.clone(),
                fate: UrlFate::Rejected.into(),
                discard: "robots".into(),
                ..Default::default()
            },
        });
        let asked = archive_file == Some(FILE.0) && self.kind == FakeKind::Holder;
        let file = if asked { FILE.1 } else { "" };
        self.known(v1::ExplainResponse {
            agent: self.id,
            now: 4_000_000,
            group: 0xabc,
            group_name: "a.test".into(),
            owner: Some(2),
            holding: holding.into(),
            host: Some(self.host()),
            url,
            archive_file: file.to_owned(),
        })
    }

    async fn put_host_ranks(
        &self,
        _: Request<Streaming<v1::PutHostRanksRequest>>,
    ) -> Answer<v1::PutHostRanksResponse> {
        Err(Status::unimplemented("an agent of an older version"))
    }

    async fn search_statistics(
        &self,
        request: Request<v1::SearchStatisticsRequest>,
    ) -> Answer<v1::SearchStatisticsResponse> {
        if request.into_inner().query.unwrap_or_default().query == "(" {
            return Err(Status::invalid_argument("a parenthesis is open, at character 1"));
        }
        let statistics =
            v1::SearchStatisticsResponse { generation: 1, documents: 2, ..<_>::default() };
        self.known(statistics)
    }

    /// Answers with a page, and with one by which an archived site attacks who searches.
    async fn search(&self, _: Request<v1::SearchRequest>) -> Answer<v1::SearchResponse> {
        let hit = |url: &str, title: &str, score, matches: &[(u32, u32)]| v1::SearchHit {
            url: url.to_owned(),
            title: title.to_owned(),
            score,
            snippet: "The <b>sieve</b> lets each URL through once.".to_owned(),
            matches: matches.iter().map(|&(start, end)| v1::ByteRange { start, end }).collect(),
            ..v1::SearchHit::default()
        };
        let page = hit(&format!("https://a.test/{}", self.id), "A sieve", 2.0, &[(7, 12)]);
        let script = "<img src=x onerror=document.title='attacked'>";
        let attack = hit("javascript:document.title='attacked'", script, 1.0, &[(90, 99)]);
        self.known(v1::SearchResponse { hits: vec![page, attack], found: 2, ..<_>::default() })
    }

    async fn stored_page(
        &self,
        _: Request<v1::StoredPageRequest>,
    ) -> Answer<v1::StoredPageResponse> {
        let text = "<script>document.title='attacked'</script>".to_owned();
        self.known(v1::StoredPageResponse { title: "A sieve".to_owned(), text, date: 0 })
    }

    async fn hosts(&self, request: Request<v1::HostsRequest>) -> Answer<v1::HostsResponse> {
        let v1::HostsRequest { contains, .. } = request.into_inner();
        let mut hosts = vec![self.host()];
        hosts.extend((0..8).map(|i| self.empty_host(i)));
        let hosts = hosts.into_iter().filter(|host| host.name.contains(&contains));
        self.known(v1::HostsResponse { hosts: hosts.collect(), truncated: false, now: 4_000_000 })
    }

    async fn fetches(&self, request: Request<v1::FetchesRequest>) -> Answer<v1::FetchesResponse> {
        let wanted = request.into_inner();
        assert!(wanted.limit > 0, "a request with limit 0");
        self.known(v1::FetchesResponse { fetches: vec![self.fetch()] })
    }

    async fn blocks(&self, _: Request<v1::BlocksRequest>) -> Answer<v1::BlocksResponse> {
        let done = self.kind == FakeKind::Owner;
        let block = v1::BlockProgress { entry: "b.test".into(), done, hosts: 1, urls: 10 };
        self.known(v1::BlocksResponse { blocks: vec![block] })
    }

    async fn traces(&self, _: Request<v1::TracesRequest>) -> Answer<v1::TracesResponse> {
        let span = v1::Span {
            trace_id: vec![7; 16].into(),
            span_id: u64::from(self.id),
            parent_id: u64::from(self.id - 1),
            name: "fetched".into(),
            begin_ns: 1_000_000 * u64::from(self.id),
            end_ns: 9_000_000,
            agent: self.id,
            ..v1::Span::default()
        };
        let mut spans = self.way();
        spans.push(span);
        self.known(v1::TracesResponse { spans })
    }

    async fn set_log_level(
        &self,
        _: Request<v1::SetLogLevelRequest>,
    ) -> Answer<v1::SetLogLevelResponse> {
        self.known(v1::SetLogLevelResponse::default())
    }

    async fn details(&self, _: Request<v1::DetailsRequest>) -> Answer<v1::DetailsResponse> {
        self.known(v1::DetailsResponse {
            discards: [("robots".to_owned(), 5)].into(),
            failures: [("connect-refused".to_owned(), 2)].into(),
            resident_bytes: 1 << 20,
            ..v1::DetailsResponse::default()
        })
    }
}
