//! Two nodes on loopback, with certificates as they should be and as they should not.

use super::{Files, Kind, Pem, Reason, Refuser, Tls};
use crate::fresh::Looks;
use crate::incoming::{Incoming, farewell};
use crate::{Io, dial, incoming};
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

/// Who vouches for nodes at 127.0.0.1.
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

    fn member(&self) -> Pem {
        self.vouch("127.0.0.1", (-1, 1))
    }

    /// Valid from so many days on until so many days on.
    fn vouch(&self, name: &str, days: (i64, i64)) -> Pem {
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

/// What both say of each other: the one who is called, the one who calls.
async fn meet(called: Pem, calls: Pem) -> (Option<Reason>, Option<Reason>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let door = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        match incoming::meet(stream, &tls(called)).await {
            Ok(mut io) => {
                io.write_all(b"welcome").await.unwrap();
                io.flush().await.unwrap();
                None
            }
            Err((reason, stream)) => {
                let _ = farewell(stream).await;
                Some(reason)
            }
        }
    });
    let stream = TcpStream::connect(at).await.unwrap();
    let to = format!("http://{at}").parse().unwrap();
    let met = dial::meet(stream, &to, &tls(calls)).await;
    let theirs = match met {
        Ok(mut io) => {
            let mut said = [0; 7];
            io.read_exact(&mut said).await.unwrap();
            assert_eq!(&said, b"welcome");
            None
        }
        Err(reason) => Some(reason),
    };
    (door.await.unwrap(), theirs)
}

#[tokio::test]
async fn members_of_one_authority_meet() {
    let ours = Authority::new("ours");
    assert_eq!(meet(ours.member(), ours.member()).await, (None, None));
}

#[tokio::test]
async fn whoever_is_refused_and_whoever_refuses_both_know_why() {
    let (ours, theirs) = (Authority::new("ours"), Authority::new("theirs"));
    // Names prove nothing.
    let impostor = Authority::new("ours");
    let trusting = |from: &Authority| Pem { ca: ours.pem.clone().into(), ..from.member() };
    let bad = [
        (
            ours.vouch("127.0.0.1", (-3, -2)),
            Kind::Expired,
            "its certificate expired on 20",
            "expired",
        ),
        (ours.vouch("127.0.0.1", (2, 3)), Kind::NotYet, "counts from 20", "does not count yet"),
        (trusting(&theirs), Kind::Authority, "another authority", "another authority"),
        (trusting(&impostor), Kind::Authority, "another authority", "another authority"),
    ];
    for (stranger, kind, by_us, by_them) in bad {
        // The stranger calls: the door refuses it.
        let (door, caller) = meet(ours.member(), stranger.clone()).await;
        let (door, caller) = (door.unwrap(), caller.unwrap());
        assert_eq!((door.by, door.kind), (Refuser::Us, kind), "{door:?}");
        assert!(door.text.contains(by_us), "{door:?}");
        assert_eq!(caller.by, Refuser::Them, "{caller:?}");
        assert!(caller.text.contains(by_them), "{caller:?}");
        // The stranger is called: the caller refuses it.
        let (door, caller) = meet(stranger, ours.member()).await;
        let (door, caller) = (door.unwrap(), caller.unwrap());
        assert_eq!((caller.by, caller.kind), (Refuser::Us, kind), "{caller:?}");
        assert!(caller.text.contains(by_us), "{caller:?}");
        assert_eq!(door.by, Refuser::Them, "{door:?}");
        assert!(door.text.contains(by_them), "{door:?}");
    }
    let elsewhere = ours.vouch("elsewhere.example", (-1, 1));
    let (door, caller) = meet(elsewhere, ours.member()).await;
    let expected = "its certificate is for elsewhere.example, and not for 127.0.0.1";
    assert_eq!(caller.unwrap().text, expected);
    assert!(door.unwrap().text.contains("not for the name"));
}

#[tokio::test]
async fn who_shows_no_certificate_is_refused() {
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
    let door = tokio::spawn(async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (reason, stream) = incoming::meet(stream, &tls(ours.member())).await.unwrap_err();
        let _ = farewell(stream).await;
        reason
    });
    let stream = TcpStream::connect(at).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
    let error = stream.read(&mut [0; 8]).await.unwrap_err();
    drop(stream);
    assert_eq!(door.await.unwrap().text, "it shows no certificate");
    assert!(Reason::of_io(&error).text.contains("it needs a certificate"));
}

#[test]
fn what_cannot_be_used_is_refused_and_says_nothing_of_the_key() {
    let ours = Authority::new("ours");
    let (good, other) = (ours.member(), ours.member());
    let half = good.certificate[..good.certificate.len() / 2].to_vec();
    for (bad, word) in [
        (Pem { certificate: b"junk".to_vec(), ..good.clone() }, "holds no certificate"),
        (Pem { certificate: half, ..good.clone() }, "certificate"),
        (Pem { key: b"junk".to_vec(), ..good.clone() }, "no private key"),
        (Pem { key: good.key[..40].to_vec(), ..good.clone() }, "no private key"),
        (Pem { key: other.key, ..good.clone() }, "not that of the certificate"),
        (Pem { key: Vec::new(), ..good.clone() }, "no private key"),
        (Pem { ca: Vec::new(), ..good.clone() }, "authority's file"),
        (Pem { certificate: good.key.clone(), ..good.clone() }, "holds no certificate"),
    ] {
        let error = Tls::of(bad).unwrap_err();
        let said = format!("{error} {error:?}");
        assert!(said.contains(word), "{said}");
        let secret = String::from_utf8(good.key.clone()).unwrap();
        assert!(!secret.lines().any(|line| said.contains(line)), "{said}");
    }
    let shown = format!("{:?} {:?}", good, tls(good.clone()));
    assert_eq!(shown, "Pem Tls");
}

#[test]
fn what_rests_is_judged_once() {
    let pem = |n: u8| Ok(Pem { certificate: vec![n], key: Vec::new(), ca: Vec::new() });
    let mut looks = Looks::new(pem(0).unwrap());
    let judged: Vec<bool> =
        [0, 0, 1, 2, 2, 2, 2, 0, 0, 0, 3, 0, 0, 2, 2, 2].map(|n| looks.is_due(&pem(n))).to_vec();
    let (f, t) = (false, true);
    assert_eq!(judged, [f, f, f, f, t, f, f, f, t, f, f, f, f, f, t, f]);
    let gone = Err("no such file".to_owned());
    assert_eq!([(); 3].map(|()| looks.is_due(&gone)), [f, t, f]);
}

/// A node that repeats what it hears.
async fn echo(tls: Tls) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let at = listener.local_addr().unwrap();
    let mut incoming = Incoming::new(listener, Some(tls));
    tokio::spawn(async move {
        while let Some(Ok(mut io)) = incoming.next().await {
            tokio::spawn(async move {
                io.write_all(b"!").await.unwrap();
                let mut heard = [0; 1];
                while io.read_exact(&mut heard).await.is_ok() {
                    io.write_all(&heard).await.unwrap();
                    io.flush().await.unwrap();
                }
            });
        }
    });
    at
}

async fn call(at: SocketAddr, pem: &Pem) -> Result<Io, Reason> {
    let stream = TcpStream::connect(at).await.unwrap();
    let mut io =
        dial::meet(stream, &format!("http://{at}").parse().unwrap(), &tls(pem.clone())).await?;
    assert_eq!(io.read_u8().await.unwrap(), b'!');
    Ok(io)
}

async fn is_heard(io: &mut Io) -> bool {
    io.write_all(b"x").await.is_ok() && io.flush().await.is_ok() && io.read_u8().await.is_ok()
}

fn write(dir: &Path, pem: &Pem) {
    fs::write(dir.join("cert"), &pem.certificate).unwrap();
    fs::write(dir.join("key"), &pem.key).unwrap();
    fs::write(dir.join("ca"), &pem.ca).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn new_files_count_for_new_connections_and_old_ones_go_on() {
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let (before, after) = (old.member(), new.member());
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), &before);
    let [cert, key, ca] = ["cert", "key", "ca"].map(|name| dir.path().join(name));
    let tls = Tls::load(Files { cert: cert.clone(), key, ca }).unwrap();
    tls.keep_fresh();
    let at = echo(tls).await;
    let mut connection = call(at, &before).await.unwrap();

    // What is half written changes nothing.
    fs::write(&cert, &after.certificate[..100]).unwrap();
    sleep(Duration::from_secs(3)).await;
    assert!(is_heard(&mut call(at, &before).await.unwrap()).await);

    write(dir.path(), &after);
    let changed = async {
        while call(at, &after).await.is_err() {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, changed).await.expect("the new files are in force");
    assert_eq!(call(at, &before).await.unwrap_err().kind, Kind::Authority);
    assert!(is_heard(&mut connection).await, "a connection that was there is kept");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_say_nothing_keep_nobody_out() {
    let ours = Authority::new("ours");
    let at = echo(tls(ours.member())).await;
    let mut silent = Vec::new();
    for _ in 0..200 {
        silent.push(TcpStream::connect(at).await.unwrap());
    }
    let met = timeout(PATIENCE, call(at, &ours.member())).await.unwrap();
    assert!(is_heard(&mut met.unwrap()).await);
    // They are sent away.
    let mut one = silent.pop().unwrap();
    let ended = timeout(PATIENCE, one.read(&mut [0; 1])).await.expect("it ends");
    assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
}
