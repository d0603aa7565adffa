//! Goal: the pages of a visit are fetched one after another over one connection, and recorded as
//! the server sent them, with the request as sent.

use super::kit::{
    LOOPBACK, Step, carry_out, ok, origin, send, serve, settings, visit, visit_origin,
};
use crate::messages::{FetchOutcome, Visit, VisitTask};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::Rules;
use std::sync::Arc;
use std::time::Duration;

fn with_requests_max(mut visit: Visit, n: u32) -> Visit {
    if let VisitTask::Pages { requests_max, .. } = &mut visit.task {
        *requests_max = n;
    }
    visit
}

#[tokio::test(flavor = "multi_thread")]
async fn a_burst_uses_one_connection_and_ends_at_its_limit() {
    let script: Vec<Step> = (0..3).flat_map(|_| [Step::Read, ok("page")]).collect();
    let server = serve(script).await;
    let visit = with_requests_max(visit(server.address, &["/a", "/b?x=1", "/c"]), 2);
    let ended = carry_out(visit, &settings()).await;
    assert_eq!(*server.connections.lock(), 1);
    assert_eq!((ended.verdict.requests, ended.verdict.pages), (2, 2));
    assert_eq!(&*ended.verdict.returned[0].path, "/c");
    assert_eq!(ended.verdict.signal, VisitSignal::Healthy);
    let ends = ended.fetched.iter().map(|fetched| fetched.at + fetched.took);
    assert_eq!(ends.max(), Some(ended.verdict.ended));
    let served: Duration = ended.fetched.iter().map(|fetched| fetched.took).sum();
    assert_eq!(served, ended.verdict.served);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_robots_txt_disallows_is_discarded_without_a_request() {
    let script: Vec<Step> = (0..2).flat_map(|_| [Step::Read, ok("page")]).collect();
    let server = serve(script).await;
    let paths = ["/no/1", "/a", "/no/2?x", "/b", "/no/3", "/c"];
    let mut visit = with_requests_max(visit(server.address, &paths), 2);
    if let VisitTask::Pages { rules, .. } = &mut visit.task {
        *rules = Arc::new(Rules::parse(b"User-agent: crivello\nDisallow: /no/", "crivello"));
    }
    let ended = carry_out(visit, &settings()).await;
    let shown: Vec<_> = ended
        .fetched
        .iter()
        .map(|fetched| match fetched.outcome {
            FetchOutcome::Response(_) => "page",
            FetchOutcome::Discarded(Discard::Robots) => "robots",
            _ => "?",
        })
        .collect();
    assert_eq!(shown, ["robots", "page", "robots", "page"]);
    let returned: Vec<_> = ended.verdict.returned.iter().map(|row| &*row.path).collect();
    assert_eq!(returned, ["/no/3", "/c"]);
    assert_eq!(server.heads.lock().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_request_head_is_what_went_over_the_wire() {
    for (accept_language, delay) in [("", 10), ("de, en;q=0.5", 10), ("en", 60)] {
        let server = serve([vec![Step::Read, ok("a")], vec![Step::Read, ok("b")]].concat()).await;
        let mut settings = settings();
        settings.fixed.fetch.accept_language = accept_language.to_owned();
        settings.live.politeness.delay = Duration::from_secs(delay);
        let ended = carry_out(visit(server.address, &["/a?q=%C3%A9", "/b"]), &settings).await;
        let sent = server.heads.lock().clone();
        assert_eq!(sent.len(), 2);
        for (n, sent) in sent.iter().enumerate() {
            let head = String::from_utf8_lossy(&ended.response(n).request_head).into_owned();
            assert_eq!(head, String::from_utf8_lossy(sent));
            assert!(head.contains("\r\nuser-agent: crivello/"), "{head}");
            assert!(head.contains(" (+crawl@example.org)\r\n"), "{head}");
            assert!(head.contains("\r\nfrom: crawl@example.org\r\n"), "{head}");
            assert!(head.contains("\r\naccept-encoding: gzip, deflate, br, zstd\r\n"), "{head}");
            assert_eq!(head.contains("accept-language"), !accept_language.is_empty(), "{head}");
            let is_last = n == 1;
            assert_eq!(head.contains("connection: close"), is_last && delay == 60, "{head}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_body_is_kept_as_it_came_and_redirects_are_not_followed() {
    let moved = "HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Encoding: gzip\r\n\
                 Content-Length: 3\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n\r\n\u{1f}zz";
    let server = serve(vec![Step::Read, send(moved)]).await;
    let ended = carry_out(visit(server.address, &["/a"]), &settings()).await;
    let response = ended.response(0);
    assert_eq!((response.status, &response.body[..]), (301, &b"\x1fzz"[..]));
    assert_eq!(response.headers["content-encoding"], "gzip");
    assert_eq!(response.headers.get_all("set-cookie").iter().count(), 2);
    assert_eq!(response.address, server.address);
    assert_eq!(*server.connections.lock(), 1);
    assert_eq!(ended.fetched[0].url.path(), "/a");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unanswering_end_of_the_connection_ends_the_visit() {
    for head in ["HTTP/1.1 200 OK\r\nConnection: Keep-Alive, Close", "HTTP/1.0 200 OK"] {
        let response = format!("{head}\r\nContent-Length: 1\r\n\r\nx");
        let server = serve(vec![Step::Read, send(response)]).await;
        let ended = carry_out(visit(server.address, &["/a", "/b"]), &settings()).await;
        assert_eq!(ended.response(0).truncated, None);
        assert_eq!((ended.verdict.requests, ended.verdict.returned.len()), (1, 1), "{head}");
        assert_eq!(ended.verdict.signal, VisitSignal::Healthy);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_asks_to_slow_down_is_left_alone() {
    for (head, expected) in [
        ("429 Too Many\r\nRetry-After: 17", Some(17)),
        ("503 Busy\r\nRetry-After: -17", None),
        ("503 Busy", None),
        (
            "503 Busy\r\nDate: Fri, 20 Nov 2026 10:00:00 GMT\r\n\
             Retry-After: Fri, 20 Nov 2026 10:01:00 GMT",
            Some(60),
        ),
    ] {
        // The body never arrives: the status alone must be sufficient.
        let response = format!("HTTP/1.1 {head}\r\nContent-Length: 9\r\n\r\n");
        let server = serve(vec![Step::Read, send(response)]).await;
        let ended = carry_out(visit(server.address, &["/a", "/b"]), &settings()).await;
        let wait = expected.map(Duration::from_secs);
        assert_eq!(ended.verdict.signal, VisitSignal::SlowDown(wait), "{head}");
        assert!(
            matches!(ended.fetched[0].outcome, FetchOutcome::Failed(Failure::SlowDown)),
            "{head}"
        );
        assert_eq!((ended.verdict.pages, ended.verdict.returned.len()), (0, 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ip_literal_is_visited_at_itself() {
    for literal in ["127.0.0.1", "[::ffff:7f00:1]"] {
        let server = serve(vec![Step::Read, ok("x")]).await;
        let visit = visit_origin(origin(server.address.port()), literal, LOOPBACK, &["/"]);
        let ended = carry_out(visit, &settings()).await;
        assert_eq!(&ended.response(0).body[..], b"x", "{literal}");
        assert_eq!(ended.response(0).address, server.address, "{literal}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_url_that_cannot_be_sent_is_discarded_and_not_counted() {
    let server = serve(vec![Step::Read, ok("x")]).await;
    let long = format!("/{}", "a".repeat(70_000));
    let ended = carry_out(visit(server.address, &[&long, "/b"]), &settings()).await;
    assert!(matches!(ended.fetched[0].outcome, FetchOutcome::Discarded(Discard::Unparsable)));
    assert_eq!(&ended.response(1).body[..], b"x");
    assert_eq!(ended.verdict.requests, 1);
}
