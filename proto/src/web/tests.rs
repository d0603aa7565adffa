//! Clients that are rude or slow, over real connections, with bounds of a test's size.

use super::{Bounds, serve};
use crate::tls::{Https, HttpsFiles};
use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::{Request, Response};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use std::convert::Infallible;
use std::future::{Ready, pending, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tower::Service;

/// Everything here is over long before.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of the longest answer.
const LONG: usize = 64 << 20;
const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const BOUNDS: Bounds = Bounds {
    connections_max: 4,
    handshake: Duration::from_millis(300),
    head: Duration::from_millis(300),
    answer: Duration::from_millis(300),
    write: Duration::from_millis(300),
};

/// So many bytes that no socket takes them all unread.
struct Long(usize);

impl Body for Long {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        const PART: usize = 64 << 10;
        let n = self.0.min(PART);
        self.0 -= n;
        Poll::Ready((n > 0).then(|| Ok(Frame::data(Bytes::from(vec![b'x'; n])))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0 as u64)
    }
}

/// Answers `/` with a word, and `/long` with a lot; nobody is ever answered at `/never`.
#[derive(Clone)]
struct House;

type Answered = Result<Response<Long>, Infallible>;

impl<B> Service<Request<B>> for House {
    type Response = Response<Long>;
    type Error = Infallible;
    type Future = futures_util::future::Either<Ready<Answered>, std::future::Pending<Answered>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        use futures_util::future::Either::{Left, Right};
        match request.uri().path() {
            "/never" => Right(pending()),
            "/long" => Left(ready(Ok(Response::new(Long(LONG))))),
            _ => Left(ready(Ok(Response::new(Long(5))))),
        }
    }
}

async fn start(https: Option<Https>, bounds: Bounds) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, https, House, bounds));
    at
}

async fn say(at: SocketAddr, words: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(words).await.unwrap();
    stream
}

/// All that comes until the other side closes, which it must.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    // Whether it is closed in order or not.
    let _ = timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("it stays open");
    String::from_utf8_lossy(&rest).into_owned()
}

#[tokio::test]
async fn who_is_silent_or_slow_is_sent_away_and_others_are_served() {
    let at = start(None, BOUNDS).await;
    // All seats are taken by one that says nothing, one that says it slowly, one that is never
    // answered, and one that has been answered and keeps its connection.
    let silent = say(at, b"").await;
    let slow = say(at, b"GET / HTTP/1.1\r\nHo").await;
    let unanswered = say(at, b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let idle = say(at, ASKED).await;
    let mut last = say(at, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(rest(&mut last).await.ends_with("xxxxx"), "it is served when a seat is free");
    for mut stream in [silent, slow, unanswered] {
        let said = rest(&mut stream).await;
        assert!(!said.contains("200"), "{said}");
    }
    let mut idle = idle;
    assert!(rest(&mut idle).await.ends_with("xxxxx"));
}

#[tokio::test]
async fn who_takes_nothing_of_a_long_answer_is_sent_away() {
    let at = start(None, Bounds { connections_max: 1, ..BOUNDS }).await;
    let greedy = say(at, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut next = say(at, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(rest(&mut next).await.ends_with("xxxxx"), "the only seat stays taken");
    drop(greedy);
    // Who does take it gets all of it, however long that takes.
    let at = start(None, BOUNDS).await;
    let asked = b"GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut reader = say(at, asked).await;
    let (mut part, mut n) = (vec![0; 1 << 20], 0);
    loop {
        match timeout(PATIENCE, reader.read(&mut part)).await.unwrap().unwrap() {
            0 => break,
            read => n += read,
        }
    }
    assert!(n > LONG, "{n} bytes");
}

fn write(dir: &std::path::Path) -> (HttpsFiles, CertificateDer<'static>) {
    let names = vec!["localhost".to_owned()];
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
    let files = HttpsFiles { cert: dir.join("a.pem"), key: dir.join("a.key") };
    std::fs::write(&files.cert, cert.pem()).unwrap();
    std::fs::write(&files.key, signing_key.serialize_pem()).unwrap();
    (files, cert.der().clone())
}

/// Whether somebody who trusts this certificate, and shows none, is answered.
async fn is_met(at: SocketAddr, trusted: CertificateDer<'static>) -> bool {
    let mut roots = RootCertStore::empty();
    roots.add(trusted).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(at).await.unwrap();
    let name = ServerName::try_from("localhost").unwrap();
    let met = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let Ok(mut stream) = timeout(PATIENCE, met).await.unwrap() else { return false };
    stream.write_all(ASKED).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    &answer == b"HTTP/1.1 200"
}

#[tokio::test]
async fn over_tls_nobody_is_asked_for_a_certificate_and_ours_may_change() {
    let dir = tempfile::tempdir().unwrap();
    let (files, first) = write(dir.path());
    let https = Https::load(files).unwrap();
    https.keep_fresh();
    let at = start(Some(https), BOUNDS).await;
    assert!(is_met(at, first.clone()).await);
    // Neither who speaks no TLS nor who says nothing keeps a seat.
    let mut plain = say(at, ASKED).await;
    assert!(!rest(&mut plain).await.contains("200"));
    let mut silent = say(at, b"").await;
    assert_eq!(rest(&mut silent).await, "");

    let (_, second) = write(dir.path());
    let changed = async {
        while !is_met(at, second.clone()).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, changed).await.expect("the new one is shown");
    assert!(!is_met(at, first).await, "the old one is still shown");
}

#[test]
fn files_that_cannot_be_used_are_refused_with_the_flag() {
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = write(dir.path());
    let none = HttpsFiles { key: dir.path().join("none"), ..files.clone() };
    let error = Https::load(none).unwrap_err().to_string();
    assert!(error.starts_with("--http-key "), "{error}");
    std::fs::write(&files.key, "junk").unwrap();
    let error = Https::load(files).unwrap_err().to_string();
    assert!(error.contains("no private key"), "{error}");
}
