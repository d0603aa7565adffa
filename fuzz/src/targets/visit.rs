//! Visits of the real fetcher to a server on loopback that sends the input.

use crivello_agent::fetch::{FetchContext, Sink, run};
use crivello_agent::messages::{
    BlockAndPauseList, FetchOutcome, Fetched, Finder, HandedOut, LinkKind, MinHostDelay, QueueKey,
    Queued, Response, RobotsRequest, Verdict, Visit, VisitDeadline, VisitTask,
};
use crivello_archive::{Capture, CaptureNotes, Digests, RecordBuilder};
use crivello_common::config::Settings;
use crivello_common::hash::UrlHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use crivello_common::time::Clock;
use crivello_common::units::ByteSize;
use crivello_common::url::{CrawlUrl, Origin, Scheme};
use parking_lot::Mutex;
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::PrivateKeyDer;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

const HOST: &str = "site.test";
const ADDRESS: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
/// Bytes of a body that are read: few, so that the bound shows.
const BODY_MAX: usize = 64 << 10;
/// Bytes of a head that are read.
const HEAD_MAX: usize = 32 << 10;
/// Pages of a visit.
const PAGES: usize = 2;
/// Time for all of a visit. A server that has sent its input closes the connection, so an ordinary
/// visit takes some milliseconds.
const VISIT_MAX: Duration = Duration::from_secs(10);

/// Fetcher and server of one thread.
pub struct VisitStage {
    runtime: Runtime,
    context: Arc<FetchContext>,
    results: Arc<Results>,
    listener: TcpListener,
    scheme: Scheme,
    acceptor: Option<TlsAcceptor>,
    settings: Settings,
}

/// Sink that keeps results.
#[derive(Default)]
struct Results {
    fetched: Mutex<Vec<Fetched>>,
    verdicts: Mutex<Vec<Verdict>>,
}

impl Sink for Results {
    fn fetched(&self, fetched: Fetched) {
        self.fetched.lock().push(fetched);
    }
    fn verdict(&self, verdict: Verdict) {
        self.verdicts.lock().push(verdict);
    }
}

#[expect(clippy::expect_used, reason = "without a server nothing can be tried")]
impl VisitStage {
    /// Creates a stage of plain HTTP/1.1, or with `http2` one of HTTP/2 over TLS.
    pub fn new(http2: bool) -> Self {
        let mut settings = Settings::default();
        settings.fixed.identity.contact = "crawl@example.org".to_owned();
        let fetch = &mut settings.fixed.fetch;
        fetch.allow_networks = vec!["127.0.0.0/8".parse().expect("a network")];
        fetch.body_size_max = ByteSize(BODY_MAX as u64);
        fetch.head_size_max = ByteSize(HEAD_MAX as u64);
        fetch.first_byte_timeout = Duration::from_secs(2);
        fetch.total_timeout = Duration::from_secs(4);
        settings.live.politeness.delay = Duration::ZERO;
        let results = Arc::new(Results::default());
        let (block_list, min_host_delay) =
            (BlockAndPauseList::of(&settings.live), MinHostDelay::of(&settings.live));
        let sink: Arc<dyn Sink> = results.clone();
        let context =
            FetchContext::new(&settings, Clock::start(), sink, block_list, min_host_delay);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.expect("a runtime");
        let listener = runtime.block_on(TcpListener::bind((ADDRESS, 0))).expect("a port");
        Self {
            context: Arc::new(context.expect("a fetcher")),
            scheme: if http2 { Scheme::Https } else { Scheme::Http },
            acceptor: http2.then(acceptor),
            runtime,
            results,
            listener,
            settings,
        }
    }

    /// Performs a visit to pages, and one to robots.txt, to a server that answers the first request
    /// of each connection with `bytes`, then closes the connection.
    pub fn visit(&self, bytes: &[u8]) {
        for task in [self.pages(), self.robots()] {
            let is_robots = matches!(task, VisitTask::Robots(_));
            let visit = Visit {
                host: KeyedHasher::with_public_key().host_key(HOST),
                name: HOST.into(),
                address: ADDRESS,
                deadline: VisitDeadline::default(),
                handed_out: HandedOut::default(),
                task,
            };
            let visit = run(visit, self.context.clone(), CancellationToken::new());
            let ended = self.runtime.block_on(async {
                tokio::select! {
                    biased;
                    ended = tokio::time::timeout(VISIT_MAX, visit) => ended,
                    () = self.serve(bytes) => unreachable!("the server has no end"),
                }
            });
            assert!(ended.is_ok(), "the visit did not end within {VISIT_MAX:?}");
            self.check(is_robots);
        }
    }

    fn origin(&self) -> Origin {
        Origin { scheme: self.scheme, port: self.listener.local_addr().expect("a port").port() }
    }

    fn pages(&self) -> VisitTask {
        let origin = self.origin();
        let queued = |seq: usize| Queued {
            queue_key: QueueKey { seq: seq as u64, ..QueueKey::default() },
            hash: UrlHash(seq as u64),
            origin,
            path: format!("/{seq}").into(),
            depth: 0,
            redirects: 0,
            attempts: 0,
            revisit: None,
            kind: LinkKind::Page,
            finder: Finder::SEED,
        };
        VisitTask::Pages {
            origin,
            rules: Arc::new(Rules::default()),
            urls: (0..PAGES).map(queued).collect(),
            requests_max: PAGES as u32,
        }
    }

    fn robots(&self) -> VisitTask {
        let origin = self.origin();
        VisitTask::Robots(RobotsRequest {
            for_host: KeyedHasher::with_public_key().host_key(HOST),
            for_name: HOST.into(),
            for_origin: origin,
            url: CrawlUrl::from_parts(origin, HOST, "/robots.txt"),
            hops: 0,
            verified: true,
            found: None,
        })
    }

    async fn serve(&self, bytes: &[u8]) {
        loop {
            let Ok((stream, _)) = self.listener.accept().await else { continue };
            match &self.acceptor {
                None => answer(stream, bytes).await,
                Some(acceptor) => {
                    if let Ok(stream) = acceptor.accept(stream).await {
                        answer(stream, bytes).await;
                    }
                }
            }
        }
    }

    /// Checks what the fetcher made of the input.
    fn check(&self, is_robots: bool) {
        let fetched = std::mem::take(&mut *self.results.fetched.lock());
        let verdicts = std::mem::take(&mut *self.results.verdicts.lock());
        let [verdict] = &*verdicts else { panic!("{} verdicts of a visit", verdicts.len()) };
        assert_eq!(verdict.robots.is_some(), is_robots);
        if !is_robots {
            let n_urls = fetched.len() + verdict.returned.len();
            assert_eq!(n_urls, PAGES, "each URL is fetched or returned, and none twice");
        }
        for fetched in &fetched {
            if let FetchOutcome::Response(response) = &fetched.outcome {
                assert!(is_robots || response.body.len() <= BODY_MAX, "the body is too long");
                assert!(head_size(response) <= HEAD_MAX, "the head is too long");
                self.archive(fetched, response);
            }
        }
    }

    /// Builds the records of a response.
    fn archive(&self, fetched: &Fetched, response: &Response) {
        let settings = &self.settings.fixed.store;
        let capture = Capture {
            url: &fetched.url,
            at: fetched.at,
            took: fetched.took,
            ip: response.address.ip(),
            status: response.status,
            version: response.version,
            headers: &response.headers,
            request_head: &response.request_head,
            body: &response.body,
            truncated: response.truncated,
            certificate: response.certificate,
        };
        let digests = Digests::of(&capture, settings.digest);
        let records = RecordBuilder::new(settings).build(
            &capture,
            &digests,
            None,
            std::iter::empty(),
            CaptureNotes::default(),
        );
        for entry in records.iter().filter_map(|record| record.index.as_ref()) {
            let fields = [&entry.surt, &entry.timestamp, &entry.url, &entry.mime, &entry.digest];
            for field in fields {
                assert!(!field.contains(['\n', '\r']), "a field of the index has a line break");
            }
        }
    }
}

fn head_size(response: &Response) -> usize {
    response.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// Sends `bytes` after the first bytes of the client, then closes the connection.
async fn answer(mut stream: impl AsyncRead + AsyncWrite + Unpin, bytes: &[u8]) {
    let mut request = vec![0; 16_384];
    if stream.read(&mut request).await.is_ok_and(|n| n > 0) {
        let _ = stream.write_all(bytes).await;
    }
    let _ = stream.shutdown().await;
}

#[expect(clippy::expect_used, reason = "without a certificate nothing can be tried")]
fn acceptor() -> TlsAcceptor {
    let _ = ring::default_provider().install_default();
    let certified = rcgen::generate_simple_self_signed([HOST.to_owned()]).expect("a certificate");
    let key = PrivateKeyDer::try_from(certified.signing_key.serialize_der()).expect("a key");
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a configuration");
    config.alpn_protocols = vec![b"h2".to_vec()];
    TlsAcceptor::from(Arc::new(config))
}
