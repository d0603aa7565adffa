//! An agent that is made up. The browser's tests (`tests/tests/dashboard.rs`) use it as well.

use crivello_proto::v1::control_server::Control;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::v1::{self, HoldKind, UrlFate, WaitReason};
use futures_util::stream::{Empty, empty};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::sleep;
use tonic::transport::Channel;
use tonic::{Request, Response, Status, Streaming};

/// Between two heartbeats.
const BEAT: Duration = Duration::from_millis(100);

/// The first that joins holds, the second owns.
const HOLDER: u32 = 1;
/// A file of the holder's archive: its number and its name.
const FILE: (u32, &str) = (4, "crivello-four.warc.gz");

/// What it can answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Everything; it owns all.
    Owner,
    /// Everything; it holds copies.
    Holder,
    /// Everything, but its counts end when the test says so. It has heartbeats: the others are dead
    /// once their lease is over.
    Slow,
    /// How it stands, and no more: it is of an older version.
    Old,
}

/// What a test does with agents, and sees of them.
#[derive(Debug, Default)]
pub(super) struct Life {
    /// The view that they go by.
    pub(super) epoch: AtomicU64,
    /// Counts that somebody waits for.
    pub(super) counting: AtomicU32,
    /// Ends one.
    pub(super) finish: Notify,
}

impl Life {
    /// Has the coordinator hear of `agent`, for ever.
    pub(super) async fn beat(&self, mut client: CoordinatorClient<Channel>, agent: (u32, u64)) {
        let (id, process) = agent;
        loop {
            let epoch = self.epoch.load(Relaxed);
            let beat = v1::HeartbeatRequest { id, process, epoch, settled: true, pages: None };
            if let Ok(answer) = client.heartbeat(beat).await {
                self.epoch.store(answer.into_inner().epoch, Relaxed);
            }
            sleep(BEAT).await;
        }
    }
}

/// Counted for as long as it lives.
struct Counting<'a>(&'a AtomicU32);

impl Drop for Counting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}

#[derive(Clone, Debug)]
pub(super) struct Fake {
    pub(super) id: u32,
    pub(super) crawl: String,
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) life: Arc<Life>,
}

type Answer<T> = Result<Response<T>, Status>;

impl Fake {
    fn known<T>(&self, answer: T) -> Answer<T> {
        match self.kind {
            Kind::Old => Err(Status::unimplemented("not yet")),
            _ => Ok(Response::new(answer)),
        }
    }

    fn host(&self) -> v1::HostStory {
        let is_owner = self.kind == Kind::Owner;
        let reason = if is_owner { WaitReason::Rule } else { WaitReason::OtherAgent };
        v1::HostStory {
            name: "www.a.test".into(),
            is_known: true,
            on_workbench: is_owner,
            reason: reason.into(),
            detail: "Crawl-delay of robots.txt".into(),
            next: 5_000_000,
            queued: if is_owner { 12 } else { 99 },
            failures: [("connect-refused".to_owned(), 2)].into(),
            robots: vec![v1::OriginRobots {
                origin: "https://www.a.test".into(),
                ..Default::default()
            }],
            fetches: vec![self.fetch()],
            ..v1::HostStory::default()
        }
    }

    /// Nothing special about it.
    fn quiet_host(&self, i: u32) -> v1::HostStory {
        v1::HostStory {
            name: format!("host{i}.shop.b.test"),
            is_known: true,
            reason: WaitReason::Empty.into(),
            pages: u64::from(i) * 1_234,
            address: "192.0.2.7".into(),
            ..v1::HostStory::default()
        }
    }

    /// The way of a URL, in steps of a millisecond; earlier than all else.
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

    fn fetch(&self) -> v1::FetchStory {
        let url = format!("https://www.a.test/<{}>", self.name);
        v1::FetchStory {
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
impl Control for Fake {
    type SeedStream = Empty<Result<v1::SeedResponse, Status>>;

    async fn status(&self, _: Request<v1::StatusRequest>) -> Answer<v1::StatusResponse> {
        let progress = v1::Progress { pages: 100, urls_queued: 7, ..Default::default() };
        Ok(Response::new(v1::StatusResponse {
            id: self.id,
            name: self.name.clone(),
            crawl_id: self.crawl.clone(),
            process: 1,
            epoch: self.life.epoch.load(Relaxed),
            fence_open: true,
            progress: Some(progress),
            ..v1::StatusResponse::default()
        }))
    }

    async fn seed(&self, _: Request<Streaming<v1::SeedRequest>>) -> Answer<Self::SeedStream> {
        Ok(Response::new(empty()))
    }

    async fn archived(&self, _: Request<v1::ArchivedRequest>) -> Answer<v1::ArchivedResponse> {
        let Life { counting, finish, .. } = &*self.life;
        counting.fetch_add(1, Relaxed);
        let _counting = Counting(counting);
        if self.kind == Kind::Slow {
            finish.notified().await;
        }
        Ok(Response::new(v1::ArchivedResponse { pages: 3 }))
    }

    async fn why(&self, request: Request<v1::WhyRequest>) -> Answer<v1::WhyResponse> {
        let v1::WhyRequest { text, archive_file } = request.into_inner();
        if text == "!" {
            return Err(Status::invalid_argument("\"!\" is neither a host nor a URL"));
        }
        let is_owner = self.kind == Kind::Owner;
        let hold = if is_owner { HoldKind::Authority } else { HoldKind::Copy };
        let url = text.starts_with("http").then(|| match text.ends_with("/stored") {
            // The holder has archived it: what the file is called is its to know.
            true => v1::UrlStory {
                url: text.clone(),
                fate: UrlFate::Fetched.into(),
                archived_by: Some(HOLDER),
                file_serial: Some(FILE.0),
                offset: 77,
                ..Default::default()
            },
            false => v1::UrlStory {
                url: text.clone(),
                fate: UrlFate::NotLetIn.into(),
                reason: "robots".into(),
                ..Default::default()
            },
        });
        let asked = archive_file == Some(FILE.0) && self.kind == Kind::Holder;
        let file = if asked { FILE.1 } else { "" };
        self.known(v1::WhyResponse {
            agent: self.id,
            now: 4_000_000,
            group: 0xabc,
            group_name: "a.test".into(),
            owner: Some(2),
            hold: hold.into(),
            host: Some(self.host()),
            url,
            archive_file: file.to_owned(),
        })
    }

    async fn hosts(&self, request: Request<v1::HostsRequest>) -> Answer<v1::HostsResponse> {
        let v1::HostsRequest { contains, .. } = request.into_inner();
        let mut hosts = vec![self.host()];
        hosts.extend((0..8).map(|i| self.quiet_host(i)));
        let hosts = hosts.into_iter().filter(|host| host.name.contains(&contains));
        self.known(v1::HostsResponse { hosts: hosts.collect(), truncated: false, now: 4_000_000 })
    }

    async fn fetches(&self, request: Request<v1::FetchesRequest>) -> Answer<v1::FetchesResponse> {
        let wanted = request.into_inner();
        assert!(wanted.limit > 0, "nobody asks for nothing");
        self.known(v1::FetchesResponse { fetches: vec![self.fetch()] })
    }

    async fn blocks(&self, _: Request<v1::BlocksRequest>) -> Answer<v1::BlocksResponse> {
        let done = self.kind == Kind::Owner;
        let block = v1::Block { what: "b.test".into(), done, hosts: 1, urls: 10 };
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
