//! Goal: every misbehavior of a server results in one named failure or truncation, without delay.

use super::kit::{
    Ended, LOOPBACK, Recorder, Step, carry_out, context, ok, origin, send, serve, settings, visit,
    visit_origin,
};
use crate::fetch::run;
use crate::messages::{FetchOutcome, Truncation};
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::units::ByteSize;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

fn failure(ended: &Ended) -> Failure {
    assert_eq!(ended.fetched.len(), 1);
    let FetchOutcome::Failed(failure) = ended.fetched[0].outcome else {
        panic!("{:?}", ended.fetched[0].outcome);
    };
    assert_eq!(ended.verdict.signal, VisitSignal::Failed(failure));
    assert_eq!((ended.verdict.requests, ended.verdict.pages), (1, 0));
    failure
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_are_wrong() {
    let long_header =
        format!("HTTP/1.1 200 OK\r\nx: {}\r\nContent-Length: 0\r\n\r\n", "y".repeat(90_000));
    let many: String = (0..300).map(|n| format!("x{n}: y\r\n")).collect();
    let many_headers = format!("HTTP/1.1 200 OK\r\n{many}Content-Length: 0\r\n\r\n");
    for (name, script, expected) in [
        ("closed at once", vec![Step::Read], Failure::Disconnected),
        ("reset", vec![Step::Read, Step::Reset], Failure::Disconnected),
        (
            "closed mid head",
            vec![Step::Read, send("HTTP/1.1 200 OK\r\nContent-")],
            Failure::Disconnected,
        ),
        (
            "reset mid head",
            vec![Step::Read, send("HTTP/1.1 200 OK\r\nContent-"), Step::Reset],
            Failure::Disconnected,
        ),
        ("garbage", vec![Step::Read, send("\u{1}\u{2}garbage\r\n\r\n")], Failure::BadResponse),
        ("ssh", vec![Step::Read, send("SSH-2.0-OpenSSH_9.2\r\n\r\n")], Failure::BadResponse),
        ("bad status", vec![Step::Read, send("HTTP/1.1 xyz OK\r\n\r\n")], Failure::BadResponse),
        ("a long header", vec![Step::Read, send(long_header)], Failure::HeadTooLarge),
        ("many headers", vec![Step::Read, send(many_headers)], Failure::HeadTooLarge),
        (
            "endless head",
            vec![Step::Read, send("HTTP/1.1 200 OK\r\nx: "), Step::SendForEver(vec![b'y'; 4_096])],
            Failure::HeadTooLarge,
        ),
    ] {
        let server = serve(script).await;
        let ended = carry_out(visit(server.address, &["/"]), &settings()).await;
        assert_eq!(failure(&ended), expected, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_wrong() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    for (name, script, expected) in [
        ("empty instead of the declared length", vec![send(head)], Err(Failure::Disconnected)),
        ("reset before a byte", vec![send(head), Step::Reset], Err(Failure::Disconnected)),
        ("no chunk", vec![send(format!("{chunked}zz\r\n"))], Err(Failure::BadResponse)),
        (
            "shorter than declared",
            vec![send(format!("{head}abc"))],
            Ok((&b"abc"[..], Some(Truncation::Disconnect))),
        ),
        (
            "a chunk missing",
            vec![send(format!("{chunked}3\r\nabc\r\n"))],
            Ok((b"abc", Some(Truncation::Disconnect))),
        ),
        ("no length, closed", vec![send("HTTP/1.0 200 OK\r\n\r\nabc")], Ok((b"abc", None))),
        (
            "longer than declared",
            vec![send("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef")],
            Ok((b"abc", None)),
        ),
        (
            "garbage after the last chunk",
            vec![send(format!("{chunked}3\r\nabc\r\n0\r\n\r\nrest"))],
            Ok((b"abc", None)),
        ),
        (
            "spaces and folds in the head",
            vec![send("HTTP/1.1 200 OK\r\nX : a\r\n b\r\nContent-Length: 3\r\n\r\nabc")],
            Ok((b"abc", None)),
        ),
    ] {
        let script = [vec![Step::Read], script].concat();
        let server = serve(script).await;
        let ended = carry_out(visit(server.address, &["/"]), &settings()).await;
        match expected {
            Err(expected) => assert_eq!(failure(&ended), expected, "{name}"),
            Ok((body, truncated)) => {
                let response = ended.response(0);
                assert_eq!((&response.body[..], response.truncated), (body, truncated), "{name}");
                assert_eq!(
                    (ended.verdict.signal, ended.verdict.pages),
                    (VisitSignal::Healthy, 1),
                    "{name}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endless_body_is_cut_at_the_cap_and_its_connection_closed() {
    let endless = Step::SendForEver(vec![b'x'; 8_192]);
    let server = serve(vec![Step::Read, send("HTTP/1.1 200 OK\r\n\r\n"), endless]).await;
    let mut settings = settings();
    settings.fixed.fetch.body_size_max = ByteSize(100_000);
    let ended = carry_out(visit(server.address, &["/a", "/b"]), &settings).await;
    let response = ended.response(0);
    assert_eq!(response.body.len(), 100_000);
    assert_eq!(response.truncated, Some(Truncation::Length));
    assert_eq!(ended.verdict.returned.len(), 1, "a second request was sent on a closed connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_of_exactly_the_cap_is_complete() {
    let server = serve(vec![Step::Read, ok("0123456789")]).await;
    let mut settings = settings();
    settings.fixed.fetch.body_size_max = ByteSize(10);
    let ended = carry_out(visit(server.address, &["/"]), &settings).await;
    assert_eq!(ended.response(0).truncated, None);
    assert_eq!(&ended.response(0).body[..], b"0123456789");
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_is_a_first_byte_timeout() {
    let server = serve(vec![Step::Read, Step::Silence]).await;
    let mut settings = settings();
    settings.fixed.fetch.first_byte_timeout = Duration::from_millis(100);
    let ended = carry_out(visit(server.address, &["/"]), &settings).await;
    assert_eq!(failure(&ended), Failure::FirstByteTimeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn time_runs_out_in_the_body() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    let mut settings = settings();
    settings.fixed.fetch.total_timeout = Duration::from_millis(300);
    let server = serve(vec![Step::Read, send(head), Step::Silence]).await;
    let ended = carry_out(visit(server.address, &["/"]), &settings).await;
    assert_eq!(failure(&ended), Failure::TotalTimeout);

    let server = serve(vec![Step::Read, send(format!("{head}x")), Step::Drip]).await;
    let ended = carry_out(visit(server.address, &["/"]), &settings).await;
    assert_eq!(ended.response(0).truncated, Some(Truncation::Time));
    assert!(!ended.response(0).body.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_below_the_minimum_rate_is_given_up() {
    let head = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n";
    let mut settings = settings();
    settings.fixed.fetch.rate_min = ByteSize(100_000);
    for (start, step, expected) in
        [("", Step::Silence, Err(Failure::TooSlow)), ("x", Step::Drip, Ok(Truncation::Time))]
    {
        let server = serve(vec![Step::Read, send(format!("{head}{start}")), step]).await;
        let recorder = Arc::new(Recorder::default());
        let mut context = context(&settings, &recorder);
        context.caps.rate_grace = Duration::from_millis(100);
        let stop = CancellationToken::new();
        run(visit(server.address, &["/"]), Arc::new(context), stop).await;
        let ended = Ended::of(&recorder);
        match expected {
            Err(expected) => assert_eq!(failure(&ended), expected),
            Ok(truncation) => assert_eq!(ended.response(0).truncated, Some(truncation)),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_listens() {
    // The socket is bound, so that no other process gets the port, but does not listen.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((LOOPBACK, 0).into()).unwrap();
    let address = socket.local_addr().unwrap();
    let ended = carry_out(visit(address, &["/a", "/b"]), &settings()).await;
    assert_eq!(failure(&ended), Failure::ConnectRefused);
    assert_eq!(ended.verdict.returned.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_accepts() {
    // A listener whose queue is full ignores the handshake, so the connection hangs. A queue of
    // length one holds two connections; the other attempts take any place that becomes free.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind((LOOPBACK, 0).into()).unwrap();
    let listener = socket.listen(1).unwrap();
    let address = listener.local_addr().unwrap();
    let mut waiting: JoinSet<_> = (0..16).map(|_| TcpStream::connect(address)).collect();
    let mut queued = Vec::new();
    while queued.len() < 2 {
        queued.push(waiting.join_next().await.unwrap().unwrap().unwrap());
    }
    let mut settings = settings();
    settings.fixed.fetch.connect_timeout = Duration::from_millis(200);
    let ended = carry_out(visit(address, &["/"]), &settings).await;
    assert_eq!(failure(&ended), Failure::ConnectTimeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_outside_the_allowed_networks_is_not_contacted() {
    let server = serve(vec![Step::Read, ok("x")]).await;
    let port = origin(server.address.port());
    let elsewhere = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1));
    let mut closed = settings();
    closed.fixed.fetch.allow_networks = Vec::new();
    for (visit, settings) in [
        (visit(server.address, &["/a", "/b"]), &closed),
        (visit_origin(port, "127.0.0.1", LOOPBACK, &["/a", "/b"]), &closed),
        // The name is an IP literal other than the address of the visit.
        (visit_origin(port, "127.0.0.1", "127.0.0.2".parse().unwrap(), &["/a", "/b"]), &settings()),
        (visit_origin(port, "site.test", elsewhere, &["/a", "/b"]), &settings()),
    ] {
        let ended = carry_out(visit, settings).await;
        assert_eq!(ended.verdict.requests, 0);
        assert_eq!(ended.fetched.len(), 2);
        for fetched in &ended.fetched {
            let reason = crivello_common::discard::Discard::AddressDenied;
            assert!(matches!(fetched.outcome, FetchOutcome::Discarded(r) if r == reason));
        }
    }
    assert_eq!(*server.connections.lock(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_moved_is_not_met_through_its_old_connection() {
    let server = serve([vec![Step::Read, ok("a")], vec![Step::Read, ok("b")]].concat()).await;
    let recorder = Arc::new(Recorder::default());
    let context = Arc::new(context(&settings(), &recorder));
    let moved: IpAddr = "127.0.0.2".parse().unwrap();
    let clients = &context.clients;
    let name = (0..)
        .map(|n| format!("site{n}.test"))
        .find(|name| clients.shard(name, LOOPBACK) == clients.shard(name, moved))
        .unwrap();
    let port = origin(server.address.port());
    for (address, expected) in [(LOOPBACK, None), (moved, Some(Failure::AddressChanged))] {
        let visit = visit_origin(port, &name, address, &["/"]);
        run(visit, Arc::clone(&context), CancellationToken::new()).await;
        let ended = Ended::of(&recorder);
        match expected {
            Some(expected) => assert_eq!(failure(&ended), expected),
            None => assert_eq!(&ended.response(0).body[..], b"a"),
        }
        // The connection returns to the client's pool a moment after the body's end.
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    assert_eq!(*server.connections.lock(), 1);
}
