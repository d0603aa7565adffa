//! Cost of the fetch stage over bare reqwest: CPU time of the thread that fetches, per page, the same
//! pages on kept-alive connections from the same server (on threads of its own).
//!
//! `cargo bench -p crivello-agent --bench fetch`
#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a benchmark prints its results and may panic"
)]

use crivello_agent::fetch::{FetchContext, Sink, run};
use crivello_agent::messages::{
    BlockAndPauseList, FetchOutcome, Fetched, Finder, HandedOut, LinkKind, MinHostDelay, QueueKey,
    Queued, Verdict, Visit, VisitDeadline, VisitTask,
};
use crivello_common::config::Settings;
use crivello_common::hash::UrlHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::robots::Rules;
use crivello_common::time::Clock;
use crivello_common::url::{Origin, Scheme};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

const BODY: usize = 17_000;
const PAGES: u32 = 20_000;
const BURST: u32 = 32;

#[derive(Default)]
struct Counter(AtomicU64);

impl Sink for Counter {
    fn fetched(&self, fetched: Fetched) {
        if let FetchOutcome::Response(response) = fetched.outcome {
            self.0.fetch_add(response.body.len() as u64, Relaxed);
        }
    }
    fn verdict(&self, _: Verdict) {}
}

fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = serve();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    for round in 0..4 {
        let bare = cpu(|| runtime.block_on(bare(server)));
        let room = cpu(|| runtime.block_on(room(server)));
        println!("round {round}: bare client {bare:.2} us, fetch stage {room:.2} us per page");
    }
}

/// CPU microseconds a page on this thread.
fn cpu(work: impl FnOnce()) -> f64 {
    let before = thread_ns();
    work();
    (thread_ns() - before) as f64 / 1_000.0 / f64::from(PAGES)
}

fn thread_ns() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    stat.split(' ').next().and_then(|ns| ns.parse().ok()).unwrap()
}

async fn bare(server: SocketAddr) {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut bytes = 0;
    for n in 0..PAGES {
        let url = format!("http://{server}/page/{n}");
        let mut response = client.get(url).send().await.unwrap();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.unwrap() {
            body.extend_from_slice(&chunk);
        }
        bytes += body.len();
    }
    assert_eq!(bytes, BODY * PAGES as usize);
}

async fn room(server: SocketAddr) {
    let mut settings = Settings::default();
    settings.fixed.identity.contact = "bench@example.org".to_owned();
    settings.live.politeness.delay = std::time::Duration::ZERO;
    settings.fixed.fetch.allow_networks = vec!["127.0.0.0/8".parse().unwrap()];
    let counter = Arc::new(Counter::default());
    let sink = Arc::clone(&counter) as Arc<dyn Sink>;
    let (block_list, min_host_delay) =
        (BlockAndPauseList::of(&settings.live), MinHostDelay::of(&settings.live));
    let context =
        FetchContext::new(&settings, Clock::start(), sink, block_list, min_host_delay).unwrap();
    let context = Arc::new(context);
    for first in (0..PAGES).step_by(BURST as usize) {
        let visit = visit(server, first..(first + BURST).min(PAGES));
        run(visit, Arc::clone(&context), CancellationToken::new()).await;
    }
    assert_eq!(counter.0.load(Relaxed), BODY as u64 * u64::from(PAGES));
}

fn visit(server: SocketAddr, pages: std::ops::Range<u32>) -> Visit {
    let origin = Origin { scheme: Scheme::Http, port: server.port() };
    let urls = pages.map(|n| Queued {
        queue_key: QueueKey { priority: 0, seq: u64::from(n), ..QueueKey::default() },
        hash: UrlHash(u64::from(n)),
        origin,
        path: format!("/page/{n}").into(),
        depth: 0,
        redirects: 0,
        attempts: 0,
        revisit: None,
        kind: LinkKind::Page,
        finder: Finder::SEED,
    });
    Visit {
        host: KeyedHasher::with_public_key().host_key("site.test"),
        name: "site.test".into(),
        address: server.ip(),
        deadline: VisitDeadline::default(),
        handed_out: HandedOut::default(),
        task: VisitTask::Pages {
            origin,
            rules: Arc::new(Rules::default()),
            urls: urls.collect(),
            requests_max: BURST,
        },
    }
}

/// Answers every request with the same page, from a thread of its own.
fn serve() -> SocketAddr {
    let (address_sender, address) = std::sync::mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
            address_sender.send(listener.local_addr().unwrap()).unwrap();
            while let Ok((mut stream, _)) = listener.accept().await {
                tokio::spawn(async move {
                    let head = format!(
                        "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\
                         Server: bench\r\nContent-Length: {BODY}\r\n\r\n"
                    );
                    let response = [head.into_bytes(), vec![b'x'; BODY]].concat();
                    let mut request = [0; 4_096];
                    while stream.read(&mut request).await.is_ok_and(|n| n > 0) {
                        if stream.write_all(&response).await.is_err() {
                            return;
                        }
                    }
                });
            }
        });
    });
    address.recv().unwrap()
}
