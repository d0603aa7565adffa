//! Scripted servers, visits to them, and a sink that records results.

use crate::fetch::{FetchContext, FetchError, Sink, run};
use crate::messages::{
    BlockAndPauseList, FetchOutcome, Fetched, HandedOut, MinHostDelay, QueueKey, Queued, Response,
    RobotsRequest, Verdict, Visit, VisitDeadline, VisitTask,
};
use crivello_common::config::Settings;
use crivello_common::hash::UrlHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use crivello_common::time::Clock;
use crivello_common::url::{CrawlUrl, Origin, Scheme};
use parking_lot::Mutex;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

pub(super) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
pub(super) const HOST: &str = "site.test";

/// Sink that records all results.
#[derive(Default)]
pub(super) struct Recorder {
    pub(super) fetched: Mutex<Vec<Fetched>>,
    pub(super) verdicts: Mutex<Vec<Verdict>>,
    /// Number of results after which it has no room; `None` if unlimited.
    pub(super) room: Option<usize>,
}

impl Sink for Recorder {
    fn fetched(&self, fetched: Fetched) {
        self.fetched.lock().push(fetched);
    }
    fn verdict(&self, verdict: Verdict) {
        self.verdicts.lock().push(verdict);
    }
    fn has_room(&self) -> bool {
        self.room.is_none_or(|room| self.fetched.lock().len() < room)
    }
}

/// Returns settings that allow loopback, with timeouts short enough for a test and long enough for
/// a busy machine.
pub(super) fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.fixed.identity.contact = "crawl@example.org".to_owned();
    settings.fixed.fetch.allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    settings.fixed.fetch.connect_timeout = Duration::from_secs(5);
    settings.fixed.fetch.first_byte_timeout = Duration::from_secs(5);
    settings.fixed.fetch.total_timeout = Duration::from_secs(20);
    settings
}

/// Results of one visit.
pub(super) struct Ended {
    pub(super) fetched: Vec<Fetched>,
    pub(super) verdict: Verdict,
}

impl Ended {
    pub(super) fn of(recorder: &Recorder) -> Self {
        let mut verdicts = std::mem::take(&mut *recorder.verdicts.lock());
        assert_eq!(verdicts.len(), 1, "expected one verdict per visit");
        let fetched = std::mem::take(&mut *recorder.fetched.lock());
        Self { fetched, verdict: verdicts.remove(0) }
    }

    pub(super) fn response(&self, n: usize) -> &Response {
        match &self.fetched[n].outcome {
            FetchOutcome::Response(response) => response,
            other => panic!("no response: {other:?}"),
        }
    }
}

pub(super) fn context(settings: &Settings, recorder: &Arc<Recorder>) -> FetchContext {
    context_of(settings, Arc::clone(recorder) as Arc<dyn Sink>).unwrap()
}

pub(super) fn context_of(
    settings: &Settings,
    sink: Arc<dyn Sink>,
) -> Result<FetchContext, FetchError> {
    let (block_list, min_host_delay) =
        (BlockAndPauseList::of(&settings.live), MinHostDelay::of(&settings.live));
    FetchContext::new(settings, Clock::start(), sink, block_list, min_host_delay)
}

/// Performs a visit and returns its results.
pub(super) async fn carry_out(visit: Visit, settings: &Settings) -> Ended {
    let recorder = Arc::new(Recorder::default());
    let context = context(settings, &recorder);
    run(visit, Arc::new(context), CancellationToken::new()).await;
    Ended::of(&recorder)
}

pub(super) fn origin(port: u16) -> Origin {
    Origin { scheme: Scheme::Http, port }
}

/// Creates a visit to `paths` of [`HOST`] at `server`, with as many requests as paths.
pub(super) fn visit(server: SocketAddr, paths: &[&str]) -> Visit {
    visit_origin(origin(server.port()), HOST, server.ip(), paths)
}

pub(super) fn visit_origin(origin: Origin, name: &str, address: IpAddr, paths: &[&str]) -> Visit {
    let queued = |(seq, path): (usize, &&str)| Queued {
        queue_key: QueueKey { seq: seq as u64, ..QueueKey::default() },
        hash: UrlHash(seq as u64),
        origin,
        path: (*path).into(),
        depth: 0,
        redirects: 0,
        attempts: 0,
        revisit: None,
        kind: crate::messages::LinkKind::Page,
        finder: crate::messages::Finder::SEED,
    };
    Visit {
        host: KeyedHasher::with_public_key().host_key(name),
        name: name.into(),
        address,
        deadline: VisitDeadline::default(),
        handed_out: HandedOut::default(),
        task: VisitTask::Pages {
            origin,
            rules: Arc::new(Rules::default()),
            urls: paths.iter().enumerate().map(queued).collect(),
            requests_max: paths.len() as u32,
        },
    }
}

pub(super) fn robots_visit(server: SocketAddr) -> Visit {
    let origin = origin(server.port());
    let host = KeyedHasher::with_public_key().host_key(HOST);
    Visit {
        host,
        name: HOST.into(),
        address: server.ip(),
        deadline: VisitDeadline::default(),
        handed_out: HandedOut::default(),
        task: VisitTask::Robots(RobotsRequest {
            for_host: host,
            for_name: HOST.into(),
            for_origin: origin,
            url: CrawlUrl::from_parts(origin, HOST, "/robots.txt"),
            hops: 0,
            verified: true,
            found: None,
        }),
    }
}

/// Step of a scripted server, performed in order on every connection.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Reads one request head and records it in [`Server::heads`].
    Read,
    /// Reads once, up to 16 KiB.
    ReadSome,
    Send(Vec<u8>),
    /// Sends this repeatedly until the client closes the connection.
    SendForEver(Vec<u8>),
    /// Sends a byte every five milliseconds until the client closes the connection.
    Drip,
    /// Sends nothing for this time.
    Pause(Duration),
    /// Waits until the client closes the connection.
    Silence,
    /// Closes the connection with a reset.
    Reset,
}

pub(super) fn send(text: impl Into<Vec<u8>>) -> Step {
    Step::Send(text.into())
}

/// Sends a 200 response with its length.
pub(super) fn ok(body: &str) -> Step {
    send(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()))
}

/// Server that performs the same script on each connection, then closes it.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    pub(super) heads: Arc<Mutex<Vec<Vec<u8>>>>,
    pub(super) connections: Arc<Mutex<u32>>,
}

pub(super) async fn serve(script: Vec<Step>) -> Server {
    let listener = TcpListener::bind((LOOPBACK, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let connections = Arc::new(Mutex::new(0));
    let server = Server { address, heads: heads.clone(), connections: connections.clone() };
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            *connections.lock() += 1;
            tokio::spawn(play(stream, script.clone(), heads.clone()));
        }
    });
    server
}

async fn play(mut stream: TcpStream, script: Vec<Step>, heads: Arc<Mutex<Vec<Vec<u8>>>>) {
    for step in script {
        let gone = match step {
            Step::Read => {
                let head = read_head(&mut stream).await;
                let gone = head.is_empty();
                if !gone {
                    heads.lock().push(head);
                }
                gone
            }
            Step::ReadSome => stream.read(&mut [0; 16_384]).await.is_err(),
            Step::Send(bytes) => stream.write_all(&bytes).await.is_err(),
            Step::SendForEver(bytes) => {
                while stream.write_all(&bytes).await.is_ok() {}
                true
            }
            Step::Drip => {
                while stream.write_all(b"x").await.is_ok() {
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
                true
            }
            Step::Pause(time) => {
                tokio::time::sleep(time).await;
                false
            }
            Step::Silence => {
                while stream.read(&mut [0; 1_024]).await.is_ok_and(|n| n > 0) {}
                true
            }
            Step::Reset => {
                stream.set_zero_linger().unwrap();
                true
            }
        };
        if gone {
            return;
        }
    }
}

async fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return Vec::new(),
        }
    }
    head
}
