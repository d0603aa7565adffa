//! Goal: TLS in all its states (correct, unverifiable, broken); HTTP/2 if both sides support it.

use super::kit::{
    Recorder, Step, carry_out, context, context_of, ok, send, serve, settings, visit_origin,
};
use crate::fetch::body_budget::{BodyBudget, Reservation};
use crate::fetch::run;
use crate::limits::BODY_FREE;
use crate::messages::{FetchOutcome, Visit};
use bytes::Bytes;
use crivello_common::certificate::CertificateStatus;
use crivello_common::failure::Failure;
use crivello_common::url::{Origin, Scheme};
use http::Version;
use hyper::body::{Body, Frame};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use rustls::HandshakeKind;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

fn https(server: SocketAddr, paths: &[&str]) -> Visit {
    let origin = Origin { scheme: Scheme::Https, port: server.port() };
    visit_origin(origin, "site.test", server.ip(), paths)
}

/// Creates a TLS acceptor with a self-signed certificate.
fn acceptor(protocols: &[&[u8]]) -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certified = rcgen::generate_simple_self_signed(["site.test".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der());
    let mut config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key.unwrap())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    config.ticketer = rustls::crypto::ring::Ticketer::new().unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Starts a server with the same response on each connection. Also returns the number of
/// connections that resumed an earlier session.
async fn tls_server() -> (SocketAddr, Arc<AtomicUsize>) {
    let acceptor = acceptor(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let resumed = Arc::<AtomicUsize>::default();
    let seen = Arc::clone(&resumed);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let kind = stream.get_ref().1.handshake_kind();
                seen.fetch_add((kind == Some(HandshakeKind::Resumed)).into(), SeqCst);
                let _ = stream.read(&mut [0; 4_096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntls").await;
                let _ = stream.shutdown().await;
            }
        }
    });
    (address, resumed)
}

/// Returns the status of a certificate that no root certificate of this machine has signed.
fn of_own_authority() -> CertificateStatus {
    match rustls_native_certs::load_native_certs().certs.is_empty() {
        true => CertificateStatus::NotVerified,
        false => CertificateStatus::UnknownIssuer,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_certificate_counts_only_when_certificates_are_verified() {
    let (server, _) = tls_server().await;
    let mut settings = settings();
    let ended = carry_out(https(server, &["/"]), &settings).await;
    assert_eq!(&ended.response(0).body[..], b"tls");
    assert_eq!(ended.response(0).certificate, Some(of_own_authority()));
    assert!(!ended.verdict.certified);
    settings.fixed.fetch.verify_certificates = true;
    if context_of(&settings, Arc::new(Recorder::default())).is_err() {
        return; // a machine without root certificates cannot verify any
    }
    let ended = carry_out(https(server, &["/"]), &settings).await;
    let outcome = &ended.fetched[0].outcome;
    assert!(matches!(outcome, FetchOutcome::Failed(Failure::Tls)), "{outcome:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_takes_up_the_session_of_the_one_before_whatever_came_between() {
    const HOSTS: usize = 300;
    let (server, resumed) = tls_server().await;
    let origin = Origin { scheme: Scheme::Https, port: server.port() };
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(context(&settings(), &recorder));
    for expected in [0, HOSTS] {
        for n in 0..HOSTS {
            let visit = visit_origin(origin, &format!("h{n}.test"), server.ip(), &["/"]);
            run(visit, Arc::clone(&context), CancellationToken::new()).await;
        }
        assert_eq!(resumed.load(SeqCst), expected);
    }
    // A resumed session has the status of its first handshake.
    let fetched = recorder.fetched.lock();
    assert_eq!(fetched.len(), 2 * HOSTS);
    for fetched in &*fetched {
        let FetchOutcome::Response(response) = &fetched.outcome else { panic!("{fetched:?}") };
        assert_eq!(response.certificate, Some(of_own_authority()), "{}", fetched.url);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn broken_handshakes_are_tls_failures() {
    for (name, script, expected) in [
        ("plain HTTP", vec![ok("x")], Failure::Tls),
        ("garbage", vec![send(vec![7; 300])], Failure::Tls),
        ("closed", vec![], Failure::Tls),
        ("an alert", vec![send(vec![21, 3, 3, 0, 2, 2, 40])], Failure::Tls),
        ("reset", vec![Step::Reset], Failure::Disconnected),
    ] {
        // `ReadSome` receives the ClientHello before the script continues.
        let server = serve([vec![Step::ReadSome], script].concat()).await;
        let ended = carry_out(https(server.address, &["/"]), &settings()).await;
        let outcome = &ended.fetched[0].outcome;
        assert!(
            matches!(outcome, FetchOutcome::Failed(f) if *f == expected),
            "{name}: {outcome:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_where_both_sides_offer_it_and_the_connection_may_be_kept() {
    for (offered, delay, expected) in
        [(true, 10, Version::HTTP_2), (true, 60, Version::HTTP_11), (false, 10, Version::HTTP_11)]
    {
        let server = http_server("hyper", 1).await;
        let mut settings = settings();
        settings.fixed.fetch.http2 = offered;
        settings.live.politeness.delay = Duration::from_secs(delay);
        let ended = carry_out(https(server.address, &["/a", "/b"]), &settings).await;
        for n in 0..2 {
            assert_eq!(&ended.response(n).body[..], b"hyper");
            assert_eq!(ended.response(n).version, expected);
            let head = String::from_utf8_lossy(&ended.response(n).request_head);
            let closes = n == 1 && delay == 60;
            assert_eq!(head.contains("\r\nconnection: close\r\n"), closes, "request head: {head}");
        }
        assert_eq!(ended.response(0).address, server.address);
        let head = String::from_utf8_lossy(&ended.response(0).request_head);
        assert!(head.starts_with("GET /a HTTP/1.1\r\n"), "{head}");
        assert_eq!(server.accepted.load(SeqCst), 1, "expected one connection for both requests");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_may_not_be_kept_is_closed_whatever_it_speaks() {
    let mut settings = settings();
    settings.live.politeness.delay = Duration::from_secs(60);
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(context(&settings, &recorder));
    for paths in [&["/a"][..], &["/a", "/b"]] {
        let server = http_server("hyper", 1).await;
        run(https(server.address, paths), Arc::clone(&context), CancellationToken::new()).await;
        let closed = async {
            while server.closed.load(SeqCst) < 1 {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        // We close it at the end of the visit, earlier than idle connections are closed.
        let patience = settings.fixed.fetch.keep_alive - Duration::from_secs(3);
        tokio::time::timeout(patience, closed)
            .await
            .expect("the connection is closed at the end of the visit");
        assert_eq!(server.accepted.load(SeqCst), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_reads_stays_with_the_server() {
    let server = http_server(vec![b'x'; 4_096], 1_000).await;
    let recorder = Arc::new(Recorder::default());
    let mut context = context(&settings(), &recorder);
    context.body_budget = BodyBudget::with_units(1);
    let mut held = [Reservation::default(), Reservation::default()];
    for held in &mut held {
        context.body_budget.grow(held, 1).await;
    }
    let context = Arc::new(context);
    let stop = CancellationToken::new();
    let task = tokio::spawn(run(https(server.address, &["/"]), context.clone(), stop.clone()));
    while !context.body_budget.is_short() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The server sends as much as the window allows, then nothing.
    let mut sent = 0;
    while server.sent.load(SeqCst) > sent {
        sent = server.sent.load(SeqCst);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The sum of the free bytes, the chunk that exceeds them, and one window.
    assert!(sent < 3 * BODY_FREE, "{sent} bytes were sent");
    stop.cancel();
    task.await.unwrap();
}

/// Server that supports both versions of HTTP, with its counters.
#[derive(Clone)]
struct HttpServer {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    closed: Arc<AtomicUsize>,
    /// Bytes of bodies that it produced.
    sent: Arc<AtomicUsize>,
}

/// Body of identical frames.
struct Frames {
    frame: Bytes,
    left: usize,
    sent: Arc<AtomicUsize>,
}

impl Body for Frames {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        self.left -= 1;
        self.sent.fetch_add(self.frame.len(), SeqCst);
        Poll::Ready(Some(Ok(Frame::data(self.frame.clone()))))
    }
}

async fn http_server(frame: impl Into<Bytes>, n_frames: usize) -> HttpServer {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let server = HttpServer {
        address: listener.local_addr().unwrap(),
        accepted: Arc::default(),
        closed: Arc::default(),
        sent: Arc::default(),
    };
    let seen = server.clone();
    let (acceptor, frame) = (acceptor(&[b"h2", b"http/1.1"]), frame.into());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, frame, seen) = (acceptor.clone(), frame.clone(), seen.clone());
            seen.accepted.fetch_add(1, SeqCst);
            tokio::spawn(async move {
                let stream = TokioIo::new(acceptor.accept(stream).await.unwrap());
                let service = service_fn(|_| {
                    let (frame, sent) = (frame.clone(), seen.sent.clone());
                    let body = Frames { frame, left: n_frames, sent };
                    async { Ok::<_, Infallible>(hyper::Response::new(body)) }
                });
                let _ = Builder::new(TokioExecutor::new()).serve_connection(stream, service).await;
                seen.closed.fetch_add(1, SeqCst);
            });
        }
    });
    server
}
