//! Behavior of the simulated web on the wire, seen by a client that is a bare socket: each manner
//! does what its name says, and the log records it correctly.

#![expect(clippy::unwrap_used, reason = "test helpers panic like tests")]

use simweb::serve::{Ready, ServeOptions, serve};
use simweb::{Character, DnsWay, Entry, Manner, Robots, SimWeb, Spec};
use std::io;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

const SOON: Duration = Duration::from_millis(400);
const PATIENCE: Duration = Duration::from_secs(20);

async fn connect(web: &SimWeb, host: &str, path: &str) -> TcpStream {
    let ip = web.world().names().ip(web.world().host(host).unwrap().id);
    let mut stream = TcpStream::connect((ip, web.port())).await.unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}:{}\r\nUser-Agent: bare\r\nConnection: close\r\n\r\n",
        web.port()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

/// Returns everything received until the end, and the result of the last read.
async fn get(web: &SimWeb, host: &str, path: &str) -> (String, io::Result<usize>) {
    let mut stream = connect(web, host, path).await;
    let mut bytes = Vec::new();
    let end = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("an end");
    (String::from_utf8_lossy(&bytes).into_owned(), end)
}

async fn start(manner: Manner) -> SimWeb {
    let character = Character::named("x").manner(manner).pages(2);
    SimWeb::start(Spec::new(3).host("x.test", character)).await.unwrap()
}

async fn the_entry(web: SimWeb) -> Entry {
    let mut log = web.shutdown().await;
    assert_eq!(log.len(), 1, "{log:?}");
    log.remove(0)
}

fn content_length(response: &str) -> usize {
    let (_, rest) = response.split_once("Content-Length: ").expect("a length");
    rest.split("\r\n").next().unwrap().parse().unwrap()
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").map_or("", |(_, body)| body)
}

#[tokio::test]
async fn a_well_behaved_host_answers_what_the_spec_says() {
    let web = start(Manner::Well).await;
    let (response, _) = get(&web, "x.test", "/").await;
    assert!(response.starts_with("HTTP/1.1 200 OK\r\n"), "{response}");
    assert_eq!(content_length(&response), body(&response).len());
    let at = web.world().find(&format!("http://x.test:{}/", web.port())).unwrap();
    assert_eq!(body(&response), simweb::page::html(web.world(), at));
    let ip = web.world().names().ip(at.host.id);
    let entry = the_entry(web).await;
    assert_eq!((entry.host.as_str(), entry.path.as_str(), entry.ip), ("x.test", "/", Some(ip)));
    assert_eq!((entry.status, entry.complete, entry.user_agent.as_str()), (200, true, "bare"));
    assert_eq!(entry.bytes, response.len() as u64);
    assert!(entry.start <= entry.end);
}

#[tokio::test]
async fn connections_are_kept_and_counted() {
    let web = start(Manner::Well).await;
    let ip = web.world().names().ip(0);
    let mut stream = TcpStream::connect((ip, web.port())).await.unwrap();
    for path in ["/", "/s1/p1.html", "/nowhere"] {
        let head = format!("GET {path} HTTP/1.1\r\nHost: h0.site0.test\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        loop {
            stream.read_buf(&mut bytes).await.unwrap();
            let text = String::from_utf8_lossy(&bytes);
            if text.contains("\r\n\r\n") && body(&text).len() >= content_length(&text) {
                break;
            }
        }
    }
    drop(stream);
    let log = web.shutdown().await;
    assert_eq!(log.iter().map(|e| e.status).collect::<Vec<_>>(), [200, 200, 404]);
    assert!(log.iter().all(|e| e.connection == log[0].connection && e.complete));
}

#[tokio::test]
async fn silence_is_silence() {
    for (manner, min, max) in [(Manner::Silent, 0, 0), (Manner::SilentAfterHead, 50, 400)] {
        let web = start(manner).await;
        let mut stream = connect(&web, "x.test", "/").await;
        let mut bytes = Vec::new();
        assert!(timeout(SOON, stream.read_to_end(&mut bytes)).await.is_err());
        assert!((min..=max).contains(&bytes.len()), "{}", bytes.len());
        drop(stream);
        assert!(!the_entry(web).await.complete);
    }
}

#[tokio::test]
async fn resets_are_resets() {
    for manner in [Manner::Reset, Manner::ResetInHead, Manner::ResetInBody] {
        let web = start(manner.clone()).await;
        let (response, end) = get(&web, "x.test", "/").await;
        assert_eq!(end.unwrap_err().kind(), io::ErrorKind::ConnectionReset, "{manner:?}");
        match manner {
            Manner::Reset => assert_eq!(response, ""),
            Manner::ResetInHead => assert!(!response.contains("\r\n\r\n")),
            _ => {}
        }
        assert!(!the_entry(web).await.complete);
    }
}

#[tokio::test]
async fn lengths_lie() {
    let web = start(Manner::LengthTooLong).await;
    let (response, end) = get(&web, "x.test", "/").await;
    assert!(end.is_ok() && content_length(&response) == body(&response).len() + 1_000);
    assert!(!the_entry(web).await.complete);
    let web = start(Manner::LengthTooShort).await;
    let (response, _) = get(&web, "x.test", "/").await;
    assert_eq!(content_length(&response), body(&response).len() / 2);
    assert!(the_entry(web).await.complete);
}

#[tokio::test]
async fn heads_are_huge_or_endless_or_nonsense() {
    let web = start(Manner::HugeHead { bytes: 300_000 }).await;
    let (response, _) = get(&web, "x.test", "/").await;
    assert!(response.find("\r\n\r\n").unwrap() > 300_000);
    let web = start(Manner::Malformed).await;
    assert!(!get(&web, "x.test", "/").await.0.starts_with("HTTP"));
    for manner in [Manner::EndlessHead, Manner::EndlessBody] {
        let web = start(manner).await;
        let mut stream = connect(&web, "x.test", "/").await;
        let mut bytes = vec![0; 4 << 20];
        timeout(PATIENCE, stream.read_exact(&mut bytes)).await.unwrap().unwrap();
        drop(stream);
        assert!(!the_entry(web).await.complete);
    }
}

#[tokio::test]
async fn bodies_and_heads_drip() {
    let web = start(Manner::Drip { bytes_per_second: 100 }).await;
    let mut stream = connect(&web, "x.test", "/").await;
    let mut bytes = Vec::new();
    assert!(timeout(SOON, stream.read_to_end(&mut bytes)).await.is_err());
    let text = String::from_utf8_lossy(&bytes);
    assert!((1..200).contains(&body(&text).len()), "{text}");
    drop(stream);
    assert!(!the_entry(web).await.complete);
    let web = start(Manner::DripHead { bytes_per_second: 10 }).await;
    let mut stream = connect(&web, "x.test", "/").await;
    let mut bytes = Vec::new();
    assert!(timeout(SOON, stream.read_to_end(&mut bytes)).await.is_err());
    assert!((1..20).contains(&bytes.len()));
}

#[tokio::test]
async fn robots_are_told_as_they_are_decided() {
    let away = Robots::Redirects { hops: 2, to: Some("h0.site0.test".to_owned()) };
    let spec = Spec::new(3)
        .host("moved.test", Character::named("m").robots(away))
        .host("huge.test", Character::named("h").robots(Robots::Huge));
    let web = SimWeb::start(spec).await.unwrap();
    let location = |response: &str| {
        let (_, rest) = response.split_once("Location: ").expect("a location");
        rest.split("\r\n").next().unwrap().to_owned()
    };
    let port = web.port();
    let (first, _) = get(&web, "moved.test", "/robots.txt").await;
    assert_eq!(location(&first), format!("http://moved.test:{port}/robots-hop-1.txt"));
    let (second, _) = get(&web, "moved.test", "/robots-hop-1.txt").await;
    assert_eq!(location(&second), format!("http://h0.site0.test:{port}/robots.txt"));
    let (third, _) = get(&web, "h0.site0.test", "/robots.txt").await;
    assert!(third.contains("User-agent: *"), "{third}");
    assert!(get(&web, "huge.test", "/robots.txt").await.0.len() > 500 * 1024);
}

#[tokio::test]
async fn names_are_answered_over_udp_and_tcp() {
    let spec = Spec::new(3).host("mute.test", Character::named("m").dns(DnsWay::Silent));
    let web = SimWeb::start(spec).await.unwrap();
    let query = |name: &str| {
        let labels = name.split('.').flat_map(|l| [&[l.len() as u8][..], l.as_bytes()].concat());
        let mut query = vec![7, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        query.extend(labels);
        query.extend([0, 0, 1, 0, 1]);
        query
    };
    let wanted = web.world().names().ip(0).octets();
    let udp = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    let mut answer = [0; 512];
    udp.send_to(&query("mute.test"), web.dns()).await.unwrap();
    udp.send_to(&query("h0.site0.test"), web.dns()).await.unwrap();
    let n = timeout(PATIENCE, udp.recv(&mut answer)).await.unwrap().unwrap();
    assert!(answer[..n].ends_with(&wanted));
    let mut tcp = TcpStream::connect(web.dns()).await.unwrap();
    let asked = query("h0.site0.test");
    tcp.write_u16(asked.len() as u16).await.unwrap();
    tcp.write_all(&asked).await.unwrap();
    let n = usize::from(tcp.read_u16().await.unwrap());
    tcp.read_exact(&mut answer[..n]).await.unwrap();
    assert!(answer[..n].ends_with(&wanted));
}

#[tokio::test]
async fn two_webs_of_one_spec_are_the_same_web() {
    let first = SimWeb::start(Spec::new(9)).await.unwrap();
    let spec = first.spec().clone();
    let (a, _) = get(&first, "h1.site3.test", "/s2/p9.html").await;
    first.shutdown().await;
    let second = SimWeb::start(Spec { dns_port: 0, ..spec }).await.unwrap();
    let (b, _) = get(&second, "h1.site3.test", "/s2/p9.html").await;
    assert_eq!(a, b);
}

#[tokio::test]
async fn a_process_says_in_one_line_that_it_is_ready() {
    let dir = tempfile::tempdir().unwrap();
    let log = dir.path().join("log");
    let args = ServeOptions { spec: Spec::new(9), log: Some(log.clone()), until_stdin_ends: false };
    let mut line = Vec::new();
    assert!(
        timeout(SOON, serve(args, &mut line)).await.is_err(),
        "the server ended before it was stopped"
    );
    assert_eq!(line.iter().filter(|&&b| b == b'\n').count(), 1);
    let ready: Ready = serde_json::from_slice(&line).unwrap();
    assert_eq!((ready.spec.port, ready.seeds.len()), (ready.port, 4));
    assert_eq!(ready.seeds[0], format!("http://h0.site0.test:{}/", ready.port));
    assert_eq!(ready.networks, ["127.1.0.0/16"]);
    assert!(log.exists());
}
