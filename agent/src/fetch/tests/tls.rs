//! Goal: TLS in all its states: fine, unverifiable, broken; HTTP/2 where both sides speak it.

use super::kit::{Recorder, Step, carry_out, ok, send, serve, settings, visit_origin};
use crate::fetch::FetchContext;
use crate::flow::{Outcome, Visit};
use crivello_common::failure::Failure;
use crivello_common::time::Clock;
use crivello_common::url::{Origin, Scheme};
use http::Version;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

fn https(server: SocketAddr, paths: &[&str]) -> Visit {
    let origin = Origin { scheme: Scheme::Https, port: server.port() };
    visit_origin(origin, "site.test", server.ip(), paths)
}

/// TLS with a certificate nobody signed.
fn acceptor(protocols: &[&[u8]]) -> TlsAcceptor {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let certified = rcgen::generate_simple_self_signed(["site.test".to_owned()]).unwrap();
    let key = rustls::pki_types::PrivateKeyDer::try_from(certified.signing_key.serialize_der());
    let mut config = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key.unwrap())
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

/// A server that answers each connection the same.
async fn tls_server() -> SocketAddr {
    let acceptor = acceptor(&[]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = stream.read(&mut [0; 4_096]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntls").await;
                let _ = stream.shutdown().await;
            }
        }
    });
    address
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unknown_certificate_counts_only_when_certificates_are_verified() {
    let server = tls_server().await;
    let mut settings = settings();
    let ended = carry_out(https(server, &["/"]), &settings).await;
    assert_eq!(&ended.response(0).body[..], b"tls");
    settings.fetch.verify_certificates = true;
    if FetchContext::new(&settings, Clock::start(), Arc::new(Recorder::default())).is_err() {
        return; // a machine without root certificates cannot verify any
    }
    let ended = carry_out(https(server, &["/"]), &settings).await;
    let outcome = &ended.fetched[0].outcome;
    assert!(matches!(outcome, Outcome::Failed(Failure::Tls)), "{outcome:?}");
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
        // The hello is long enough to be there before the script goes on.
        let server = serve([vec![Step::ReadSome], script].concat()).await;
        let ended = carry_out(https(server.address, &["/"]), &settings()).await;
        let outcome = &ended.fetched[0].outcome;
        assert!(matches!(outcome, Outcome::Failed(f) if *f == expected), "{name}: {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn http2_is_spoken_where_both_sides_offer_it() {
    for (offered, expected) in [(true, Version::HTTP_2), (false, Version::HTTP_11)] {
        let server = http_server().await;
        let mut settings = settings();
        settings.fetch.http2 = offered;
        settings.politeness.delay = Duration::from_secs(60);
        let ended = carry_out(https(server, &["/a", "/b"]), &settings).await;
        for n in 0..2 {
            assert_eq!(&ended.response(n).body[..], b"hyper");
            assert_eq!(ended.response(n).version, expected);
        }
        assert_eq!(ended.response(0).address, server);
        let head = String::from_utf8_lossy(&ended.response(0).request_head);
        assert!(head.starts_with("GET /a HTTP/1.1\r\n"), "{head}");
    }
}

/// A server that speaks both versions.
async fn http_server() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let acceptor = acceptor(&[b"h2", b"http/1.1"]);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let stream = TokioIo::new(acceptor.accept(stream).await.unwrap());
                let service = service_fn(|_| async {
                    Ok::<_, Infallible>(hyper::Response::new("hyper".to_owned()))
                });
                Builder::new(TokioExecutor::new()).serve_connection(stream, service).await
            });
        }
    });
    address
}
