//! Tests with two nodes on loopback, with valid and invalid certificates.

use super::{Pem, RejectedBy, Rejection, RejectionKind, Tls, TlsFiles};
use crate::incoming::{Incoming, linger_close};
use crate::reload::StableChange;
use crate::{NodeStream, dial, incoming};
use futures_util::StreamExt as _;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _};
use rustls::{ClientConfig, RootCertStore};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use time::OffsetDateTime;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

const PATIENCE: Duration = Duration::from_secs(20);

/// A certificate authority for nodes at 127.0.0.1.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Authority {
    fn new(name: &str) -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let pem = params.self_signed(&key).unwrap().pem();
        Self { issuer: Issuer::new(params, key), pem }
    }

    fn node(&self) -> Pem {
        self.issue("127.0.0.1", (-1, 1))
    }

    /// Issues a certificate with the given validity, in days from now.
    fn issue(&self, name: &str, days: (i64, i64)) -> Pem {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let now = UnixTime::now().as_secs() as i64;
        let now = OffsetDateTime::from_unix_timestamp(now).unwrap();
        params.not_before = now + time::Duration::days(days.0);
        params.not_after = now + time::Duration::days(days.1);
        let certificate = params.signed_by(&key, &self.issuer).unwrap().pem().into_bytes();
        let (key, ca) = (key.serialize_pem().into_bytes(), self.pem.clone().into_bytes());
        Pem { certificate, key, ca }
    }
}

fn tls(pem: Pem) -> Tls {
    Tls::of(pem).unwrap()
}

/// Performs a handshake and returns the rejections of both sides: the server and the client.
async fn handshake(server: Pem, client: Pem) -> (Option<Rejection>, Option<Rejection>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server_task = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        match incoming::handshake(stream, &tls(server)).await {
            Ok(mut io) => {
                io.write_all(b"welcome").await.unwrap();
                io.flush().await.unwrap();
                None
            }
            Err((reason, stream)) => {
                let _ = linger_close(stream).await;
                Some(reason)
            }
        }
    });
    let stream = TcpStream::connect(at).await.unwrap();
    let to = format!("http://{at}").parse().unwrap();
    let met = dial::handshake(stream, &to, &tls(client)).await;
    let theirs = match met {
        Ok(mut io) => {
            let mut said = [0; 7];
            io.read_exact(&mut said).await.unwrap();
            assert_eq!(&said, b"welcome");
            None
        }
        Err(reason) => Some(reason),
    };
    (server_task.await.unwrap(), theirs)
}

#[tokio::test]
async fn nodes_of_one_authority_connect() {
    let ours = Authority::new("ours");
    assert_eq!(handshake(ours.node(), ours.node()).await, (None, None));
}

#[tokio::test]
async fn both_sides_report_the_reason_of_a_rejection() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    // Two authorities with the same name are different authorities.
    let impostor = Authority::new("ours");
    let trusting = |from: &Authority| Pem { ca: ours.pem.clone().into(), ..from.node() };
    let bad = [
        (
            ours.issue("127.0.0.1", (-3, -2)),
            RejectionKind::Expired,
            "its certificate expired on 20",
            "expired",
        ),
        (
            ours.issue("127.0.0.1", (2, 3)),
            RejectionKind::NotYet,
            "is not valid before 20",
            "is not yet valid",
        ),
        (trusting(&theirs), RejectionKind::Authority, "another authority", "another authority"),
        (trusting(&impostor), RejectionKind::Authority, "another authority", "another authority"),
    ];
    for (invalid, kind, rejecting, rejected) in bad {
        // The invalid node connects: the server rejects it.
        let (server, client) = handshake(ours.node(), invalid.clone()).await;
        let (server, client) = (server.unwrap(), client.unwrap());
        assert_eq!((server.by, server.kind), (RejectedBy::Local, kind), "{server:?}");
        assert!(server.text.contains(rejecting), "{server:?}");
        assert_eq!(client.by, RejectedBy::Remote, "{client:?}");
        assert!(client.text.contains(rejected), "{client:?}");
        // The invalid node is the server: the client rejects it.
        let (server, client) = handshake(invalid, ours.node()).await;
        let (server, client) = (server.unwrap(), client.unwrap());
        assert_eq!((client.by, client.kind), (RejectedBy::Local, kind), "{client:?}");
        assert!(client.text.contains(rejecting), "{client:?}");
        assert_eq!(server.by, RejectedBy::Remote, "{server:?}");
        assert!(server.text.contains(rejected), "{server:?}");
    }
    let elsewhere = ours.issue("elsewhere.example", (-1, 1));
    let (server, client) = handshake(elsewhere, ours.node()).await;
    let expected = "its certificate is for elsewhere.example, not for 127.0.0.1";
    assert_eq!(client.unwrap().text, expected);
    assert!(server.unwrap().text.contains("not for the name"));
}

#[tokio::test]
async fn a_client_without_certificate_is_rejected() {
    let ours = Authority::new("ours");
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(ours.pem.as_bytes()).unwrap()).unwrap();
    let config =
        ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let server_task = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reason, stream) = incoming::handshake(stream, &tls(ours.node())).await.unwrap_err();
        let _ = linger_close(stream).await;
        reason
    });
    let stream = TcpStream::connect(at).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let error = stream.read(&mut [0; 8]).await.unwrap_err();
    drop(stream);
    assert_eq!(server_task.await.unwrap().text, "it has no certificate");
    assert!(Rejection::of_io(&error).text.contains("it requires a certificate"));
}

#[test]
fn invalid_files_are_rejected_without_showing_the_key() {
    let ours = Authority::new("ours");
    let (good, other) = (ours.node(), ours.node());
    let half = good.certificate[..good.certificate.len() / 2].to_vec();
    for (bad, word) in [
        (Pem { certificate: b"junk".to_vec(), ..good.clone() }, "contains no certificate"),
        (Pem { certificate: half, ..good.clone() }, "certificate"),
        (Pem { key: b"junk".to_vec(), ..good.clone() }, "no private key"),
        (Pem { key: good.key[..40].to_vec(), ..good.clone() }, "no private key"),
        (Pem { key: other.key, ..good.clone() }, "does not match the certificate"),
        (Pem { key: Vec::new(), ..good.clone() }, "no private key"),
        (Pem { ca: Vec::new(), ..good.clone() }, "authority's file"),
        (Pem { certificate: good.key.clone(), ..good.clone() }, "contains no certificate"),
    ] {
        let error = Tls::of(bad).unwrap_err();
        let shown = format!("{error} {error:?}");
        assert!(shown.contains(word), "{shown}");
        let secret = String::from_utf8(good.key.clone()).unwrap();
        assert!(!secret.lines().any(|line| shown.contains(line)), "{shown}");
    }
    let shown = format!("{:?} {:?}", good, tls(good.clone()));
    assert!(
        shown.starts_with("Pem Tls { config: the TLS files, deny: None, log: RejectionLog "),
        "{shown}"
    );
    let secret = String::from_utf8(good.key).unwrap();
    assert!(!secret.lines().any(|line| shown.contains(line)), "{shown}");
}

#[test]
fn a_stable_change_is_reported_once() {
    let pem = |n: u8| Ok(Pem { certificate: vec![n], key: Vec::new(), ca: Vec::new() });
    let mut change = StableChange::new(pem(0).unwrap());
    let reported: Vec<bool> =
        [0, 0, 1, 2, 2, 2, 2, 0, 0, 0, 3, 0, 0, 2, 2, 2].map(|n| change.is_due(&pem(n))).to_vec();
    let (f, t) = (false, true);
    assert_eq!(reported, [f, f, f, f, t, f, f, f, t, f, f, f, f, f, t, f]);
    let gone = Err("no such file".to_owned());
    assert_eq!([(); 3].map(|()| change.is_due(&gone)), [f, t, f]);
}

/// Starts a node that echoes what it receives.
async fn echo(tls: Tls) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let mut incoming = Incoming::new(listener, Some(tls));
    tokio::spawn(async move {
        while let Some(Ok(mut io)) = incoming.next().await {
            tokio::spawn(async move {
                io.write_all(b"!").await.unwrap();
                let mut received = [0; 1];
                while io.read_exact(&mut received).await.is_ok() {
                    io.write_all(&received).await.unwrap();
                    io.flush().await.unwrap();
                }
            });
        }
    });
    at
}

async fn call(at: SocketAddr, pem: &Pem) -> Result<NodeStream, Rejection> {
    let stream = TcpStream::connect(at).await.unwrap();
    let mut io =
        dial::handshake(stream, &format!("http://{at}").parse().unwrap(), &tls(pem.clone()))
            .await?;
    assert_eq!(io.read_u8().await.unwrap(), b'!');
    Ok(io)
}

async fn is_echoed(io: &mut NodeStream) -> bool {
    io.write_all(b"x").await.is_ok() && io.flush().await.is_ok() && io.read_u8().await.is_ok()
}

fn write(dir: &Path, pem: &Pem) {
    fs::write(dir.join("cert"), &pem.certificate).unwrap();
    fs::write(dir.join("key"), &pem.key).unwrap();
    fs::write(dir.join("ca"), &pem.ca).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_files_apply_to_new_connections_and_old_ones_are_kept() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let (before, after) = (old.node(), new.node());
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &before);
    let [cert, key, ca] = ["cert", "key", "ca"].map(|name| dir.path().join(name));
    let tls = Tls::load(TlsFiles { cert: cert.clone(), key, ca }).unwrap();
    tls.watch();
    let at = echo(tls).await;
    let mut connection = call(at, &before).await.unwrap();

    // A half-written file changes nothing.
    fs::write(&cert, &after.certificate[..100]).unwrap();
    sleep(Duration::from_secs(3)).await;
    assert!(is_echoed(&mut call(at, &before).await.unwrap()).await);

    write(dir.path(), &after);
    let changed = async {
        while call(at, &after).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, changed).await.expect("the new files are in force");
    assert_eq!(call(at, &before).await.unwrap_err().kind, RejectionKind::Authority);
    assert!(is_echoed(&mut connection).await, "an existing connection was closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_silent_connections_do_not_block_others() {
    let ours = Authority::new("ours");
    let at = echo(tls(ours.node())).await;
    let mut silent = Vec::new();
    // Fewer than the bound for one address.
    for _ in 0..60 {
        silent.push(TcpStream::connect(at).await.unwrap());
    }
    let connected = timeout(PATIENCE, call(at, &ours.node())).await.unwrap();
    assert!(is_echoed(&mut connected.unwrap()).await);
    // The silent connections are closed.
    let mut one = silent.pop().unwrap();
    let ended = timeout(PATIENCE, one.read(&mut [0; 1])).await.expect("the connection is closed");
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}
