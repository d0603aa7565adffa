//! Goal: the outcome of a robots.txt request is the one that RFC 9309 requires.

use super::kit::{Ended, HOST, Step, carry_out, ok, robots_visit, send, serve, settings};
use crate::limits::ROBOTS_SIZE_MAX;
use crate::messages::{FetchOutcome, RobotsOutcome, VisitTask};
use crivello_common::failure::Failure;
use crivello_common::politeness::VisitSignal;
use crivello_common::robots::Rules;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::time::Duration;

async fn ask(steps: Vec<Step>) -> Ended {
    let server = serve([vec![Step::Read], steps].concat()).await;
    let ended = carry_out(robots_visit(server.address), &settings()).await;
    let heads = server.heads.lock();
    let head = String::from_utf8_lossy(&heads[0]);
    assert!(head.contains("\r\naccept-encoding: identity\r\n"), "{head}");
    ended
}

fn found(ended: &Ended) -> &RobotsOutcome {
    let answer = ended.verdict.robots.as_ref().unwrap();
    assert_eq!(answer.request.hops, 0);
    &answer.found
}

fn status(line: &str) -> Vec<Step> {
    vec![send(format!("HTTP/1.1 {line}\r\nContent-Length: 0\r\n\r\n"))]
}

#[tokio::test(flavor = "multi_thread")]
async fn statuses_mean_what_the_rfc_says() {
    for (line, expected, signal) in [
        ("404 Not Found", "Missing", VisitSignal::Healthy),
        ("401 Unauthorized", "Missing", VisitSignal::Healthy),
        ("410 Gone", "Missing", VisitSignal::Healthy),
        ("500 Oops", "Unreachable", VisitSignal::Healthy),
        ("599 Odd", "Unreachable", VisitSignal::Healthy),
        ("503 Busy", "Unreachable", VisitSignal::SlowDown(None)),
        (
            "429 Slow\r\nRetry-After: 5",
            "Unreachable",
            VisitSignal::SlowDown(Some(Duration::from_secs(5))),
        ),
        ("302 Found", "Unreachable", VisitSignal::Healthy),
        ("302 Found\r\nLocation: ftp://x/", "Unreachable", VisitSignal::Healthy),
        ("302 Found\r\nLocation: http://", "Unreachable", VisitSignal::Healthy),
        ("300 Choices", "Unreachable", VisitSignal::Healthy),
        ("304 Not Modified", "Unreachable", VisitSignal::Healthy),
        ("304 Not Modified\r\nLocation: /there", "Unreachable", VisitSignal::Healthy),
        ("302 Found\r\nLocation: /there", "Redirect", VisitSignal::Healthy),
        ("204 No Content", "Rules", VisitSignal::Healthy),
    ] {
        let ended = ask(status(line)).await;
        let shown = format!("{:?}", found(&ended));
        assert!(shown.starts_with(expected), "{line}: {shown}");
        assert_eq!(ended.verdict.signal, signal, "{line}");
        assert_eq!((ended.verdict.requests, ended.verdict.pages), (1, 0), "{line}");
        assert_eq!(ended.fetched.len(), 1, "{line}");
        assert!(ended.fetched[0].row.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rules_are_those_for_our_name() {
    let body = "User-agent: *\nDisallow: /\n\nUser-agent: Crivello\nDisallow: /no\n\
        Sitemap: http://HOST/map.xml\nSitemap: http://maps.example/map.xml\n";
    let body = &body.replace("HOST", HOST);
    for padding in [0, 100_000] {
        let ended = ask(vec![ok(&format!("#{}\n{body}", "x".repeat(padding)))]).await;
        let RobotsOutcome::Rules(rules) = found(&ended) else { panic!("{:?}", found(&ended)) };
        assert!(rules.allows("/yes") && !rules.allows("/no/1"));
        let sitemaps: Vec<&str> = rules.sitemaps().iter().map(|line| &**line).collect();
        assert_eq!(sitemaps, ["http://maps.example/map.xml"], "only those of other hosts are kept");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_handed_back_in_normal_form() {
    for (location, expected) in [
        ("https://WWW.Example.com:443/r.txt#x", "https://www.example.com/r.txt"),
        ("//other.test/robots.txt", "http://other.test/robots.txt"),
    ] {
        let ended = ask(status(&format!("301 Moved\r\nLocation: {location}"))).await;
        let RobotsOutcome::Redirect(url) = found(&ended) else { panic!("{:?}", found(&ended)) };
        assert_eq!(url.as_str(), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_file_is_used_as_far_as_it_is_read() {
    let line = b"Disallow: /x\n".repeat(1_000);
    let head = send("HTTP/1.1 200 OK\r\n\r\n");
    let ended = ask(vec![head, Step::SendForEver(line)]).await;
    assert!(matches!(found(&ended), RobotsOutcome::Rules(_)), "{:?}", found(&ended));
    assert_eq!(ended.response(0).body.len(), ROBOTS_SIZE_MAX);
    assert_eq!(ended.verdict.signal, VisitSignal::Healthy);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_broke_off_is_no_file() {
    let ended = ask(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nUser-agent: *")]).await;
    assert!(matches!(found(&ended), RobotsOutcome::Unreachable));
    assert_eq!(ended.verdict.signal, VisitSignal::Failed(Failure::Disconnected));
    let ended = ask(vec![Step::Reset]).await;
    assert!(matches!(found(&ended), RobotsOutcome::Unreachable));
    let [fetched] = &ended.fetched[..] else { panic!("expected one result: {:?}", ended.fetched) };
    assert!(matches!(fetched.outcome, FetchOutcome::Failed(Failure::Disconnected)), "{fetched:?}");
    assert!(fetched.row.is_none());
}

const RULES: &str = "User-agent: *\nDisallow: /no\n";

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

/// Requests a file from a server that responds with these headers and this body.
async fn ask_body(headers: &str, body: impl Into<Vec<u8>>) -> Ended {
    let body = body.into();
    let head = format!("HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\n\r\n", body.len());
    ask(vec![send(head), Step::Send(body)]).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_gzipped_unasked_is_read_under_the_cap() {
    for repeat in [1, 100_000] {
        let body = gzip(RULES.repeat(repeat).as_bytes());
        let ended = ask_body("Content-Encoding: GZip\r\n", body.clone()).await;
        let RobotsOutcome::Rules(read) = found(&ended) else { panic!("{:?}", found(&ended)) };
        assert!(!read.allows("/no") && read.heap_size() <= 2 * ROBOTS_SIZE_MAX);
        assert_eq!(ended.response(0).body, body, "the body was not archived as received");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_say_whether_they_are_gzip() {
    let two = [gzip(b"User-agent: *\n"), gzip(b"Disallow: /no\n"), vec![0; 9]].concat();
    for (headers, body) in [
        ("Content-Encoding: gzip\r\n", RULES.as_bytes().to_vec()),
        ("Content-Encoding: x-gzip\r\n", RULES.as_bytes().to_vec()),
        ("", gzip(RULES.as_bytes())),
        ("Content-Encoding: identity\r\n", gzip(RULES.as_bytes())),
        ("Content-Encoding: gzip\r\n", two),
    ] {
        let ended = ask_body(headers, body).await;
        let RobotsOutcome::Rules(read) = found(&ended) else { panic!("{:?}", found(&ended)) };
        assert!(!read.allows("/no") && read.allows("/yes"), "{headers}");
    }
    let ended = ask_body("Content-Encoding: gzip\r\n", "").await;
    assert!(matches!(found(&ended), RobotsOutcome::Rules(_)), "an empty file allows everything");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_decoded_is_no_file() {
    let whole = gzip(RULES.as_bytes());
    let mut wrong_sum = whole.clone();
    let sum = wrong_sum.len() - 8;
    wrong_sum[sum] ^= 1;
    let corrupt = [&whole[..10], &[0xff; 30]].concat();
    let half_a_second = [&whole[..], &whole[..20]].concat();
    for (headers, body) in [
        ("Content-Encoding: gzip\r\n", whole[..whole.len() / 2].to_vec()),
        ("Content-Encoding: gzip\r\n", whole[..2].to_vec()),
        ("Content-Encoding: gzip\r\n", wrong_sum),
        ("Content-Encoding: gzip\r\n", corrupt),
        ("Content-Encoding: gzip\r\n", half_a_second),
        ("Content-Encoding: compress\r\n", b"x".to_vec()),
        ("Content-Encoding: gzip\r\nContent-Encoding: br\r\n", whole),
    ] {
        let ended = ask_body(headers, body.clone()).await;
        let shown = format!("{headers}{}: {:?}", body.escape_ascii(), found(&ended));
        assert!(matches!(found(&ended), RobotsOutcome::Unreachable), "{shown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_gzip_is_used_as_far_as_it_is_read() {
    // The text is hard to compress, so that the compressed body itself exceeds the limit.
    let mut seed = 1_u32;
    let noise = std::iter::repeat_with(|| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        format!("#{seed:08x}{:08x}\n", seed.rotate_left(13) ^ 0x5bd1_e995)
    });
    let text = RULES.to_owned() + &noise.take(100_000).collect::<String>();
    let body = gzip(text.as_bytes());
    assert!(body.len() > ROBOTS_SIZE_MAX, "{} bytes", body.len());
    let ended = ask_body("Content-Encoding: gzip\r\n", body).await;
    let RobotsOutcome::Rules(read) = found(&ended) else { panic!("{:?}", found(&ended)) };
    assert_eq!(ended.response(0).body.len(), ROBOTS_SIZE_MAX);
    assert!(!read.allows("/no") && read.allows("/yes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_may_not_be_kept_is_not_kept_for_robots_txt_either() {
    for (delay, closes) in [(10, false), (60, true)] {
        let server = serve(vec![Step::Read, ok("")]).await;
        let mut settings = settings();
        settings.live.politeness.delay = Duration::from_secs(delay);
        carry_out(robots_visit(server.address), &settings).await;
        let head = String::from_utf8_lossy(&server.heads.lock()[0]).into_owned();
        assert_eq!(head.contains("\r\nconnection: close\r\n"), closes, "{head}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tdm_file_adds_its_rules_to_those_that_were_found() {
    let body = r#"[{"location": "/", "tdm-reservation": 1, "tdm-policy": "/p.json"}]"#;
    let before = Rules::parse(b"User-agent: *\nDisallow: /x\n", "crivello").shared();
    for (status, body, has_file) in [
        ("200 OK", body, true),
        ("404 Not Found", body, false),
        ("302 Found\r\nLocation: /there", body, false),
        ("200 OK", "<html>", false),
    ] {
        let length = body.len();
        let head = format!("HTTP/1.1 {status}\r\nContent-Length: {length}\r\n\r\n{body}");
        let server = serve(vec![Step::Read, send(head)]).await;
        let mut visit = robots_visit(server.address);
        if let VisitTask::Robots(request) = &mut visit.task {
            request.found = Some(before.clone());
        }
        let ended = carry_out(visit, &settings()).await;
        match found(&ended) {
            RobotsOutcome::Rules(rules) if has_file => {
                assert!(!rules.allows("/x") && rules.signals().is_some());
            }
            RobotsOutcome::Missing if !has_file => {}
            other => panic!("{status}: {other:?}"),
        }
    }
}
