//! Tests of robots.txt: its requests, the hosts they wait for, and hosts without an answer.

use super::fixture::{Fixture, HTTP, HTTPS, ip, key, ms, open, pages, request, secs, url, urls};
use crate::messages::{DueHost, RobotsOutcome, RobotsRecord, ToFrontier, Verdict, VisitTask};
use crivello_common::config::{LinkRule, RobotsExemption};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::{ROBOTS_TRIES_MAX, VisitSignal};
use crivello_common::robots::{Rules, TdmRule};
use crivello_common::url::{CrawlUrl, Origin};
use std::sync::Arc;

fn to(url: &str) -> RobotsOutcome {
    RobotsOutcome::Redirect(CrawlUrl::parse(url).unwrap())
}

fn rules() -> RobotsOutcome {
    RobotsOutcome::Rules(Arc::default())
}

#[test]
fn an_origin_is_asked_before_anything_else_and_that_counts_for_the_delay() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("a.example", vec![url(HTTP, 0), url(HTTPS, 1)]), ip(1));
    let visit = fixture.visit();
    assert_eq!(request(&visit).url.as_str(), "http://a.example/robots.txt");
    fixture.found(&visit, rules());
    let notes = fixture.notes();
    match &notes[..] {
        [ToFrontier::Robots { origin: HTTP, record, .. }, ToFrontier::HostState { .. }] => {
            assert_eq!(*record, open(fixture.now));
        }
        notes => panic!("{notes:?}"),
    }
    fixture.none_for(secs(10));
    let visit = fixture.visit();
    assert_eq!(pages(&visit), [0]);
    fixture.done(&visit);
    fixture.wait(secs(10));
    let visit = fixture.visit();
    assert_eq!(request(&visit).url.as_str(), "https://a.example/robots.txt");
    fixture.found(&visit, RobotsOutcome::Missing);
    fixture.wait(secs(10));
    assert_eq!(pages(&fixture.visit()), [1]);
}

#[test]
fn old_rules_are_asked_for_again_and_a_day_is_the_most() {
    for (age_max, stale_after) in [(secs(3_600), secs(3_600)), (secs(1_000_000), secs(86_400))] {
        let mut fixture = Fixture::new(|s| s.live.politeness.robots_age_max = age_max);
        let fetched = fixture.now - (stale_after - ms(10_000));
        let robots = vec![(HTTP, open(fetched))];
        let mut due = DueHost { robots, ..fixture.host("a.example", urls(2)) };
        due.state.last_ended = fixture.now - secs(60);
        fixture.enter(due, ip(1));
        let visit = fixture.visit();
        fixture.done(&visit);
        fixture.none_for(secs(10));
        request(&fixture.visit());
    }
}

#[test]
fn rules_that_disallow_all_urls_are_asked_for_again_after_a_visit_without_a_request() {
    let mut fixture = Fixture::new(|s| s.live.politeness.robots_age_max = secs(60));
    fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
    let visit = fixture.visit();
    fixture.found(&visit, rules());
    fixture.wait(secs(100));
    // However old they are, they serve for one visit.
    let visit = fixture.visit();
    assert_eq!(pages(&visit), [0]);
    let _ = fixture.notes();
    fixture.release(Verdict { requests: 0, pages: 0, ..fixture.verdict(&visit) });
    let state = fixture.notes().into_iter().find_map(|note| match note {
        ToFrontier::Leave { state, .. } => Some(state),
        _ => None,
    });
    let robots = vec![(HTTP, open(fixture.now - secs(100)))];
    let state = state.expect("the state of the host is stored");
    fixture.enter(DueHost { robots, state, ..fixture.host("a.example", urls(1)) }, ip(1));
    request(&fixture.visit());
}

#[test]
fn an_agreed_host_is_not_asked() {
    let exemption = RobotsExemption { host: "a.example".into(), reason: "ours".into() };
    let mut fixture = Fixture::new(|s| s.live.politeness.robots_exempt = vec![exemption]);
    fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
    pages(&fixture.visit());
    fixture.enter(fixture.stranger("www.a.example", urls(1)), ip(2));
    request(&fixture.visit());
}

#[test]
fn a_redirect_on_the_same_host_is_its_next_visit() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
    let visit = fixture.visit();
    fixture.found(&visit, to("https://a.example/robots.txt"));
    fixture.none_for(secs(10));
    let visit = fixture.visit();
    assert_eq!((request(&visit).hops, request(&visit).for_origin), (1, HTTP));
    assert_eq!(request(&visit).url.as_str(), "https://a.example/robots.txt");
    fixture.found(&visit, rules());
    fixture.wait(secs(10));
    pages(&fixture.visit());
}

/// Another host that redirects to the same URL later is served by that answer, and the other way
/// round.
#[test]
fn the_answer_to_a_redirect_on_the_same_host_serves_others() {
    let mut fixture = Fixture::new(|_| {});
    let hop = || to("https://a.example/robots.txt");
    for (n, name) in ["a.example", "b.example", "c.example"].into_iter().enumerate() {
        fixture.enter(fixture.stranger(name, urls(1)), ip(u8::try_from(n).unwrap()));
        let visit = fixture.visit();
        fixture.found(&visit, hop());
        fixture.wait(secs(10));
        let visit = fixture.visit();
        if n == 0 {
            assert_eq!(request(&visit).url.as_str(), "https://a.example/robots.txt");
            fixture.found(&visit, rules());
            fixture.wait(secs(10));
            pages(&fixture.visit());
        } else {
            pages(&visit);
        }
    }
}

/// Two files that redirect to each other: each is requested once more at most, also for another
/// host that redirects there.
#[test]
fn a_circle_of_redirects_is_requested_once_and_is_a_missing_file() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
    for next in ["http://a.example/r", "http://a.example/robots.txt", "http://a.example/r"] {
        let visit = fixture.visit();
        request(&visit);
        fixture.found(&visit, to(next));
        fixture.wait(secs(10));
    }
    pages(&fixture.visit());
    fixture.enter(fixture.stranger("b.example", urls(1)), ip(2));
    let visit = fixture.visit();
    fixture.found(&visit, to("http://a.example/robots.txt"));
    fixture.wait(secs(10));
    pages(&fixture.visit());
}

#[test]
fn more_than_five_redirects_are_a_missing_file() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
    for hops in 0..=5 {
        let visit = fixture.visit();
        assert_eq!(request(&visit).hops, hops);
        fixture.found(&visit, to(&format!("http://a.example/{hops}")));
        fixture.wait(secs(10));
    }
    pages(&fixture.visit());
}

#[test]
fn a_redirect_to_a_host_in_memory_waits_for_a_visit_to_it() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("www.example.com", urls(3)), ip(1));
    let own = fixture.visit();
    fixture.enter(fixture.stranger("example.com", urls(1)), ip(2));
    let visit = fixture.visit();
    fixture.found(&visit, to("http://www.example.com/robots.txt"));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    assert_eq!(fixture.workbench.stats(fixture.now).away, 1);
    fixture.done(&own);
    fixture.wait(secs(10));
    let visit = fixture.visit();
    assert_eq!((visit.host, visit.address), (key("www.example.com"), ip(1)));
    assert_eq!((request(&visit).for_host, request(&visit).hops), (key("example.com"), 1));
    fixture.found(&visit, rules());
    pages(&fixture.visit());
    assert!(
        fixture.workbench.acquire(fixture.now).is_none(),
        "the other host was visited before its delay"
    );
}

#[test]
fn a_redirect_to_a_host_on_disk_requests_it_with_its_state() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("example.com", urls(1)), ip(2));
    let visit = fixture.visit();
    fixture.notes();
    fixture.found(&visit, to("http://www.example.com/robots.txt"));
    let notes = fixture.notes();
    let requested = notes.iter().any(
        |n| matches!(n, ToFrontier::RequestHost { host, .. } if *host == key("www.example.com")),
    );
    assert!(requested, "{notes:?}");
    let mut due = fixture.stranger("www.example.com", Vec::new());
    due.state.next = fixture.now + secs(20);
    fixture.due(due);
    fixture.wait(secs(15));
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    fixture.answer("www.example.com", ip(1));
    fixture.none_for(secs(5));
    let visit = fixture.visit();
    assert_eq!(visit.host, key("www.example.com"));
    fixture.notes();
    fixture.found(&visit, RobotsOutcome::Missing);
    let notes = fixture.notes();
    let leaves = |n: &ToFrontier| {
        matches!(n, ToFrontier::Leave { host, state, .. }
            if *host == key("www.example.com") && state.next == fixture.now + secs(10))
    };
    assert!(notes.iter().any(leaves), "{notes:?}");
    pages(&fixture.visit());
}

#[test]
fn hosts_that_send_theirs_to_one_place_share_one_request() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("www.example.com", urls(9)), ip(1));
    let own = fixture.visit();
    for n in 0..3 {
        fixture.enter(fixture.stranger(&format!("{n}.example.com"), urls(1)), ip(10 + n));
        let visit = fixture.visit();
        fixture.found(&visit, to("http://www.example.com/robots.txt"));
    }
    fixture.done(&own);
    fixture.wait(secs(10));
    let visit = fixture.visit();
    request(&visit);
    fixture.found(&visit, rules());
    for _ in 0..3 {
        pages(&fixture.visit());
    }
    fixture.enter(fixture.stranger("late.example.com", urls(1)), ip(20));
    let visit = fixture.visit();
    fixture.found(&visit, to("http://www.example.com/robots.txt"));
    fixture.wait(secs(10));
    let (a, b) = (fixture.visit(), fixture.visit());
    assert!(pages(&a).len() == 1 && pages(&b).len() == 1, "the last robots.txt is still valid");
}

#[test]
fn a_hosts_own_pages_alternate_with_requests_for_others() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.host("www.example.com", urls(9)), ip(1));
    let own = fixture.visit();
    for n in 0..2 {
        fixture.enter(fixture.stranger(&format!("{n}.example.com"), urls(1)), ip(10 + n));
        let visit = fixture.visit();
        fixture.found(
            &visit,
            to(&format!("http://www.example.com:{}/robots.txt", 8_080 + u16::from(n))),
        );
    }
    fixture.done(&own);
    fixture.wait(secs(10));
    let visit = fixture.visit();
    request(&visit);
    fixture.found(&visit, RobotsOutcome::Unreachable);
    fixture.wait(secs(10));
    let visit = fixture.visit();
    assert_eq!((visit.host, pages(&visit).len()), (key("www.example.com"), 1));
    fixture.done(&visit);
    fixture.wait(secs(10));
    request(&fixture.visit());
}

#[test]
fn no_host_waits_for_another_forever() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("example.com", urls(1)), ip(2));
    let visit = fixture.visit();
    fixture.found(&visit, to("http://www.example.com/robots.txt"));
    fixture.none_for(secs(600));
    fixture.notes();
    assert!(fixture.workbench.acquire(fixture.now).is_none());
    let notes = fixture.notes();
    let [ToFrontier::Robots { record, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!((record.failures, record.rules.is_none()), (1, true));
    fixture.none_for(secs(60));
    request(&fixture.visit());
}

#[test]
fn two_hosts_that_wait_for_each_other_both_go_on() {
    let mut fixture = Fixture::new(|_| {});
    for (n, name) in ["a.example", "b.example"].into_iter().enumerate() {
        fixture.enter(fixture.stranger(name, urls(1)), ip(n as u8));
    }
    let (a, b) = (fixture.visit(), fixture.visit());
    fixture.found(&a, to("http://b.example:8080/robots.txt"));
    fixture.found(&b, to("http://a.example:8080/robots.txt"));
    fixture.wait(secs(10));
    let (a, b) = (fixture.visit(), fixture.visit());
    fixture.found(&a, RobotsOutcome::Missing);
    fixture.found(&b, RobotsOutcome::Missing);
    fixture.wait(secs(10));
    pages(&fixture.visit());
    pages(&fixture.visit());
}

#[test]
fn known_rules_apply_while_robots_txt_is_unreachable() {
    let mut fixture = Fixture::new(|_| {});
    let mut record = open(fixture.now - secs(90_000));
    record.fetched = record.asked;
    let robots = vec![(HTTP, record)];
    fixture.enter(DueHost { robots, ..fixture.host("a.example", urls(1)) }, ip(1));
    let visit = fixture.visit();
    fixture.found(&visit, RobotsOutcome::Unreachable);
    fixture.wait(secs(10));
    pages(&fixture.visit());
}

#[test]
fn an_unreachable_robots_txt_rests_the_host_and_then_gives_it_up() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("a.example", urls(2)), ip(1));
    for rest in [60, 120, 240] {
        let visit = fixture.visit();
        fixture.found(&visit, RobotsOutcome::Unreachable);
        fixture.none_for(secs(rest));
    }
    let visit = fixture.visit();
    fixture.notes();
    fixture.found(&visit, RobotsOutcome::Unreachable);
    let notes = fixture.notes();
    let [ToFrontier::Robots { record, .. }, ToFrontier::Leave { state, unused, .. }] = &notes[..]
    else {
        panic!("{notes:?}")
    };
    assert_eq!((state.next, unused.len(), record.failures), (fixture.now + secs(480), 2, 4));
    fixture.wait(secs(480));
    let robots = vec![(HTTP, record.clone())];
    fixture.enter(
        DueHost { state: state.clone(), robots, ..fixture.host("a.example", urls(2)) },
        ip(1),
    );
    let visit = fixture.visit();
    fixture.found(&visit, RobotsOutcome::Unreachable);
    let notes = fixture.notes();
    let dropped = |n: &ToFrontier| {
        let reason = Discard::RobotsUnreachable;
        matches!(n, ToFrontier::Drop { reason: r, forever: false, .. } if *r == reason)
    };
    assert!(notes.iter().any(dropped), "{notes:?}");
}

#[test]
fn an_origin_that_never_answers_does_not_take_the_others_with_it() {
    let mut fixture = Fixture::new(|s| s.live.politeness.backoff_first = secs(15));
    let queue = vec![url(HTTP, 0), url(HTTPS, 1), url(HTTPS, 2), url(HTTP, 3)];
    fixture.enter(fixture.stranger("a.example", queue), ip(1));
    let signal = VisitSignal::Failed(Failure::ConnectRefused);
    let mut seen = Vec::new();
    for _ in 0..20 {
        if fixture.workbench.stats(fixture.now).hosts == 0 {
            break;
        }
        let Some(at) = fixture.workbench.next_time() else { panic!("the workbench waits forever") };
        fixture.now = fixture.now.max(at);
        let Some(visit) = fixture.workbench.acquire(fixture.now) else {
            fixture.answer("a.example", ip(1));
            continue;
        };
        let verdict = fixture.verdict(&visit);
        match &visit.task {
            VisitTask::Robots(request) if request.for_origin == HTTP => {
                let found = RobotsOutcome::Unreachable;
                let answer = crate::messages::RobotsAnswer {
                    request: request.clone(),
                    found,
                    verified: false,
                };
                let robots = Some(answer);
                fixture.release(Verdict { signal, robots, pages: 0, ..verdict });
            }
            VisitTask::Robots(_) => fixture.found(&visit, rules()),
            VisitTask::Pages { .. } => {
                seen.extend(pages(&visit));
                fixture.release(verdict);
            }
        }
    }
    assert_eq!(seen, [1, 2]);
    let refused: Vec<u64> = (fixture.notes().into_iter())
        .filter_map(
            |n| if let ToFrontier::DiscardUrls { urls, .. } = n { Some(urls) } else { None },
        )
        .flatten()
        .map(|url| url.queue_key.seq)
        .collect();
    assert_eq!(refused, [0, 3]);
}

#[test]
fn a_given_up_origin_is_asked_again_after_a_day() {
    let mut fixture = Fixture::new(|_| {});
    let record = RobotsRecord {
        asked: fixture.now - secs(86_400),
        fetched: crivello_common::time::Timestamp::ZERO,
        unreachable_since: Some(fixture.now - secs(90_000)),
        failures: ROBOTS_TRIES_MAX,
        rules: None,
    };
    let robots = vec![(HTTP, record)];
    fixture.enter(DueHost { robots, ..fixture.host("a.example", urls(1)) }, ip(1));
    request(&fixture.visit());
}

#[test]
fn a_redirect_to_a_host_of_another_agent_is_asked_for_there() {
    let robots = "http://www.other.example/robots.txt";
    for found in [rules(), to("http://third.example/robots.txt")] {
        let mut fixture = Fixture::new(|_| {}).with_ip_leases();
        for (n, name) in ["a.example", "b.example"].into_iter().enumerate() {
            fixture.enter(fixture.stranger(name, urls(1)), ip(n as u8));
            let visit = fixture.visit();
            fixture.found(&visit, to(robots));
            fixture.elsewhere("www.other.example");
        }
        assert_eq!(
            fixture.workbench.take_remote_requests(),
            [CrawlUrl::parse(robots).unwrap()],
            "expected one request for both hosts"
        );
        let asked = CrawlUrl::parse(robots).unwrap();
        fixture.workbench.on_remote_robots(&asked, &found, fixture.now);
        if matches!(found, RobotsOutcome::Redirect(_)) {
            fixture.elsewhere("third.example");
            let next = CrawlUrl::parse("http://third.example/robots.txt").unwrap();
            assert!(fixture.workbench.take_remote_requests().contains(&next));
            fixture.workbench.on_remote_robots(&next, &RobotsOutcome::Missing, fixture.now);
        }
        fixture.wait(secs(10));
        for _ in 0..2 {
            assert_eq!(pages(&fixture.visit()).len(), 1);
        }
    }
}

#[test]
fn a_request_of_another_agent_waits_for_a_visit_to_the_host() {
    let robots = CrawlUrl::parse("http://www.example.com/robots.txt").unwrap();
    let mut fixture = Fixture::new(|_| {}).with_ip_leases();
    fixture.enter(fixture.host("www.example.com", urls(3)), ip(1));
    let own = fixture.visit();
    fixture.workbench.request_for_peer(robots.clone(), fixture.now);
    fixture.done(&own);
    assert!(
        fixture.workbench.acquire(fixture.now).is_none(),
        "the host was visited before its delay"
    );
    fixture.wait(secs(10));
    let visit = fixture.visit();
    assert_eq!(request(&visit).url, robots);
    fixture.found(&visit, rules());
    let answers = fixture.workbench.take_peer_replies();
    assert!(matches!(&answers[..], [(url, RobotsOutcome::Rules(_))] if *url == robots));
    fixture.wait(secs(10));
    pages(&fixture.visit());
    // A request for a host of a third agent is not forwarded.
    let strange = CrawlUrl::parse("http://strange.example/robots.txt").unwrap();
    fixture.workbench.request_for_peer(strange.clone(), fixture.now);
    fixture.elsewhere("strange.example");
    assert!(fixture.workbench.take_remote_requests().is_empty());
    let answers = fixture.workbench.take_peer_replies();
    assert!(matches!(&answers[..], [(url, RobotsOutcome::Unreachable)] if *url == strange));
}

/// Another agent may be captured: it must not make this one request any page.
#[test]
fn a_request_of_another_agent_for_anything_else_is_refused_and_counted() {
    let mut fixture = Fixture::new(|s| {
        s.live.links.blocked = vec!["blocked.example".parse().unwrap()];
        s.live.links.exclude = vec![LinkRule {
            host_suffix: Some("outside.example".to_owned()),
            path_prefix: None,
            regex: None,
        }];
    })
    .with_ip_leases();
    for url in [
        "http://www.example.com/",
        "http://www.example.com/private?id=7",
        "http://www.example.com:25/robots.txt",
        "http://blocked.example/robots.txt",
        "http://outside.example/robots.txt",
    ] {
        let url = CrawlUrl::parse(url).unwrap();
        fixture.workbench.request_for_peer(url.clone(), fixture.now);
        let answers = fixture.workbench.take_peer_replies();
        assert!(matches!(&answers[..], [(u, RobotsOutcome::Unreachable)] if *u == url), "{url}");
        let notes = fixture.notes();
        assert!(matches!(&notes[..], [ToFrontier::RobotsRedirectRefused]), "{url}: {notes:?}");
    }
    // The host itself may say that its file is elsewhere on it.
    let [first, second] = ["http://www.example.com/robots.txt", "http://www.example.com/r?x=1"];
    fixture.enter(fixture.host("www.example.com", urls(3)), ip(1));
    let fetch = |fixture: &mut Fixture, asked: &str, found: RobotsOutcome| {
        let visit = fixture.visit();
        assert_eq!(request(&visit).url.as_str(), asked);
        fixture.found(&visit, found);
        assert_eq!(fixture.workbench.take_peer_replies()[0].0.as_str(), asked);
        fixture.wait(secs(10));
    };
    fixture.workbench.request_for_peer(CrawlUrl::parse(first).unwrap(), fixture.now);
    fetch(&mut fixture, first, to(second));
    fixture.workbench.request_for_peer(CrawlUrl::parse(second).unwrap(), fixture.now);
    // Requests of others alternate with the host's own pages.
    let own = fixture.visit();
    fixture.done(&own);
    fixture.wait(secs(10));
    fetch(&mut fixture, second, rules());
}

#[test]
fn a_redirect_to_a_page_of_another_host_is_refused_and_counted() {
    for (target, follows) in [
        ("http://victim.example/robots.txt", true),
        ("http://victim.example/", false),
        ("http://victim.example/private?id=7", false),
        ("http://victim.example/robots.txt?x", false),
        ("http://victim.example:25/robots.txt", false),
        ("http://blocked.example/robots.txt", false),
    ] {
        let mut fixture = Fixture::new(|s| {
            s.live.links.blocked = vec!["blocked.example".parse().unwrap()];
        });
        fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
        let visit = fixture.visit();
        fixture.found(&visit, to(target));
        let notes = fixture.notes();
        let refused = notes.iter().any(|n| matches!(n, ToFrontier::RobotsRedirectRefused));
        let requested = notes.iter().any(|n| matches!(n, ToFrontier::RequestHost { .. }));
        assert_eq!((refused, requested), (!follows, follows), "{target}: {notes:?}");
        let failed = notes.iter().any(|n| {
            matches!(n, ToFrontier::Robots { record, .. } if record.unreachable_since.is_some())
        });
        assert_eq!(failed, !follows, "{target}: {notes:?}");
    }
}

/// Returns the rules in force for the first origin of a host, as the crawl database receives them.
fn record(fixture: &mut Fixture) -> RobotsRecord {
    let notes = fixture.notes().into_iter().rev();
    let mut records = notes.filter_map(|n| {
        if let ToFrontier::Robots { record, .. } = n { Some(record) } else { None }
    });
    records.next().expect("a record")
}

/// Ends a visit for robots.txt with these rules, over a connection with a valid certificate or not.
fn answer(fixture: &mut Fixture, found: RobotsOutcome, verified: bool) -> RobotsRecord {
    let visit = fixture.visit();
    let answer =
        crate::messages::RobotsAnswer { request: request(&visit).clone(), found, verified };
    let verdict = fixture.verdict(&visit);
    let verdict = Verdict { robots: Some(answer), pages: 0, certified: verified, ..verdict };
    fixture.release(verdict);
    record(fixture)
}

#[test]
fn once_a_certificate_was_valid_an_unverified_robots_txt_lifts_nothing() {
    let file = |text: &str| RobotsOutcome::Rules(Rules::parse(text.as_bytes(), "x").shared());
    let closes = |path: &str| file(&format!("User-agent: *\nDisallow: {path}\n"));
    let allows = |record: &RobotsRecord, path: &str| record.rules.as_ref().unwrap().allows(path);
    let age = secs(3_600);
    let start = |origin: Origin| {
        let mut fixture = Fixture::new(|s| s.live.politeness.robots_age_max = age);
        let queued = (0..9).map(|seq| url(origin, seq)).collect();
        fixture.enter(fixture.stranger("a.example", queued), ip(1));
        fixture
    };
    let again = |fixture: &mut Fixture| {
        fixture.wait(secs(10));
        let visit = fixture.visit();
        fixture.done(&visit);
        fixture.wait(age);
        fixture.answer_if_asked("a.example", ip(1));
    };
    let mut fixture = start(HTTPS);
    assert!(!allows(&answer(&mut fixture, closes("/a"), true), "/a"));
    again(&mut fixture);
    let record = answer(&mut fixture, closes("/b"), false);
    assert!(!allows(&record, "/a") && !allows(&record, "/b") && allows(&record, "/c"));
    again(&mut fixture);
    let record = answer(&mut fixture, RobotsOutcome::Missing, false);
    assert!(!allows(&record, "/a") && allows(&record, "/b"));
    again(&mut fixture);
    let record = answer(&mut fixture, RobotsOutcome::Missing, true);
    assert!(allows(&record, "/a"));
    // Nothing was ever verified, or the origin has no certificate.
    for (origin, verified) in [(HTTPS, false), (HTTP, true)] {
        let mut fixture = start(origin);
        assert!(!allows(&answer(&mut fixture, closes("/a"), verified), "/a"));
        again(&mut fixture);
        assert!(allows(&answer(&mut fixture, closes("/b"), false), "/a"), "{origin:?}");
    }
}

#[test]
fn a_redirect_over_an_unverified_connection_is_not_verified() {
    let mut fixture = Fixture::new(|_| {});
    fixture.enter(fixture.stranger("a.example", vec![url(HTTPS, 1)]), ip(1));
    let visit = fixture.visit();
    fixture.found(&visit, to("https://a.example/there"));
    fixture.wait(secs(10));
    let visit = fixture.visit();
    assert!(!request(&visit).verified);
}

/// Returns the rules of a robots.txt.
fn rules_of(text: &str) -> Arc<Rules> {
    Rules::parse(text.as_bytes(), "crivello").shared()
}

#[test]
fn the_tdm_file_is_the_visit_after_a_robots_txt_that_allows_it() {
    let rules = rules_of("User-agent: *\nDisallow: /x\n");
    let rule = TdmRule { location: "/", reservation: true, policy: None };
    let with_file = rules.with_tdm_rules(std::iter::once(rule)).shared();
    // Only a file that was read changes the rules, and no redirect is followed.
    for (answer, wanted) in [
        (RobotsOutcome::Rules(Arc::clone(&with_file)), &with_file),
        (RobotsOutcome::Missing, &rules),
        (RobotsOutcome::Unreachable, &rules),
        (to("http://b.example/tdmrep.json"), &rules),
    ] {
        let mut fixture = Fixture::new(|s| s.fixed.fetch.tdmrep = true);
        fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
        let visit = fixture.visit();
        fixture.found(&visit, RobotsOutcome::Rules(Arc::clone(&rules)));
        assert!(!fixture.notes().iter().any(|note| matches!(note, ToFrontier::Robots { .. })));
        fixture.none_for(secs(10));
        let visit = fixture.visit();
        assert_eq!(request(&visit).url.as_str(), "http://a.example/.well-known/tdmrep.json");
        fixture.found(&visit, answer);
        let notes = fixture.notes();
        let learned = notes.iter().find_map(|note| match note {
            ToFrontier::Robots { record, .. } => record.rules.clone(),
            _ => None,
        });
        assert_eq!(learned.as_ref(), Some(wanted));
        fixture.none_for(secs(10));
        pages(&fixture.visit());
    }
}

#[test]
fn a_tdm_file_that_is_off_or_disallowed_is_not_requested() {
    let all = rules_of("User-agent: *\nDisallow: /.well-known/\n");
    for (is_on, answer, pages_follow) in [
        (false, rules(), true),
        (true, RobotsOutcome::Rules(all), true),
        (true, RobotsOutcome::Unreachable, false),
        (true, RobotsOutcome::Missing, false),
    ] {
        let mut fixture = Fixture::new(|s| s.fixed.fetch.tdmrep = is_on);
        fixture.enter(fixture.stranger("a.example", urls(1)), ip(1));
        let visit = fixture.visit();
        fixture.found(&visit, answer.clone());
        if matches!(answer, RobotsOutcome::Unreachable) {
            continue;
        }
        fixture.wait(secs(10));
        let visit = fixture.visit();
        let is_pages = matches!(visit.task, VisitTask::Pages { .. });
        assert_eq!(is_pages, pages_follow, "{answer:?}");
    }
}
