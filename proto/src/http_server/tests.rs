//! Tests with hostile and slow clients over real connections, with short limits.

use super::{HttpLimits, serve};
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

/// Much longer than any test needs.
const PATIENCE: Duration = Duration::from_secs(30);
/// Size of the largest response, in bytes.
const LONG: usize = 64 << 20;
const ASKED: &[u8] = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const LIMITS: HttpLimits = HttpLimits {
    connections_max: 4,
    handshake: Duration::from_millis(300),
    head: Duration::from_millis(300),
    response: Duration::from_millis(300),
    write: Duration::from_millis(300),
};

/// A body larger than any socket buffer.
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

/// A service that responds to `/` with few bytes and to `/long` with many, and never to `/never`.
#[derive(Clone)]
struct TestService;

type Answered = Result<Response<Long>, Infallible>;

impl<B> Service<Request<B>> for TestService {
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

async fn start(https: Option<Https>, limits: HttpLimits) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    tokio::spawn(serve(listener, https, TestService, limits));
    at
}

async fn send(at: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// Returns everything received until the other side closes the connection, which it must.
async fn rest(stream: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    // A reset also counts as closed.
    let _ =
        timeout(PATIENCE, stream.read_to_end(&mut rest)).await.expect("the connection is closed");
    String::from_utf8_lossy(&rest).into_owned()
}

#[tokio::test]
async fn silent_and_slow_clients_are_disconnected_and_others_are_served() {
    let at = start(None, LIMITS).await;
    // All connections are in use: by a silent client, a slow one, one without a response, and one
    // that is idle after its response.
    let silent = send(at, b"").await;
    let slow = send(at, b"GET / HTTP/1.1\r\nHo").await;
    let unanswered = send(at, b"GET /never HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let idle = send(at, ASKED).await;
    let mut last = send(at, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(
        rest(&mut last).await.ends_with("xxxxx"),
        "expected a response once a connection is free"
    );
    for mut stream in [silent, slow, unanswered] {
        let received = rest(&mut stream).await;
        assert!(!received.contains("200"), "{received}");
    }
    let mut idle = idle;
    assert!(rest(&mut idle).await.ends_with("xxxxx"));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_disconnected() {
    let at = start(None, HttpLimits { connections_max: 1, ..LIMITS }).await;
    let greedy = send(at, b"GET /long HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let mut next = send(at, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await;
    assert!(rest(&mut next).await.ends_with("xxxxx"), "expected a response to the next client");
    drop(greedy);
    // A client that reads receives everything, even if it takes long.
    let at = start(None, LIMITS).await;
    let asked = b"GET /long HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let mut reader = send(at, asked).await;
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

/// Returns true if a client that trusts this certificate, and has none itself, gets a response.
async fn is_served(at: SocketAddr, trusted: CertificateDer<'static>) -> bool {
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
    let connecting = TlsConnector::from(Arc::new(config)).connect(name, stream);
    let Ok(mut stream) = timeout(PATIENCE, connecting).await.unwrap() else { return false };
    stream.write_all(ASKED).await.unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).await.unwrap();
    &answer == b"HTTP/1.1 200"
}

#[tokio::test]
async fn tls_needs_no_client_certificate_and_ours_can_be_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (files, first) = write(dir.path());
    let https = Https::load(files).unwrap();
    https.watch();
    let at = start(Some(https), LIMITS).await;
    assert!(is_served(at, first.clone()).await);
    // A client without TLS and a silent one are disconnected.
    let mut plain = send(at, ASKED).await;
    assert!(!rest(&mut plain).await.contains("200"));
    let mut silent = send(at, b"").await;
    assert_eq!(rest(&mut silent).await, "");

    let (_, second) = write(dir.path());
    let changed = async {
        while !is_served(at, second.clone()).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    timeout(PATIENCE, changed).await.expect("the new certificate is used");
    assert!(!is_served(at, first).await, "the old certificate is still used");
}

#[test]
fn an_error_in_the_files_names_the_flag() {
    let dir = tempfile::tempdir().unwrap();
    let (files, _) = write(dir.path());
    let none = HttpsFiles { key: dir.path().join("none"), ..files.clone() };
    let error = Https::load(none).unwrap_err().to_string();
    assert!(error.starts_with("--http-key "), "{error}");
    std::fs::write(&files.key, "junk").unwrap();
    let error = Https::load(files).unwrap_err().to_string();
    assert!(error.contains("no private key"), "{error}");
}
