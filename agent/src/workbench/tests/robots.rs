//! Tests of robots.txt: its requests, the hosts they wait for, and hosts without an answer.

use super::desk::{Desk, HTTP, HTTPS, ip, key, ms, open, pages, request, secs, url, urls};
use crate::messages::{DueHost, RobotsOutcome, RobotsRecord, Signal, ToFrontier, Verdict};
use crivello_common::config::RobotsExemption;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::politeness::ROBOTS_TRIES_MAX;
use crivello_common::url::CrawlUrl;
use std::sync::Arc;

fn to(url: &str) -> RobotsOutcome {
    RobotsOutcome::Redirect(CrawlUrl::parse(url).unwrap())
}

fn rules() -> RobotsOutcome {
    RobotsOutcome::Rules(Arc::default())
}

#[test]
fn an_origin_is_asked_before_anything_else_and_that_counts_for_the_delay() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.stranger("a.example", vec![url(HTTP, 0), url(HTTPS, 1)]), ip(1));
    let visit = desk.visit();
    assert_eq!(request(&visit).url.as_str(), "http://a.example/robots.txt");
    desk.found(&visit, rules());
    let notes = desk.notes();
    match &notes[..] {
        [ToFrontier::Robots { origin: HTTP, record, .. }, ToFrontier::HostState { .. }] => {
            assert_eq!(*record, open(desk.now));
        }
        notes => panic!("{notes:?}"),
    }
    desk.none_for(secs(10));
    let visit = desk.visit();
    assert_eq!(pages(&visit), [0]);
    desk.done(&visit);
    desk.wait(secs(10));
    let visit = desk.visit();
    assert_eq!(request(&visit).url.as_str(), "https://a.example/robots.txt");
    desk.found(&visit, RobotsOutcome::Missing);
    desk.wait(secs(10));
    assert_eq!(pages(&desk.visit()), [1]);
}

#[test]
fn old_rules_are_asked_for_again_and_a_day_is_the_most() {
    for (age_max, stale_after) in [(secs(3_600), secs(3_600)), (secs(1_000_000), secs(86_400))] {
        let mut desk = Desk::new(|s| s.live.politeness.robots_age_max = age_max);
        let fetched = desk.now - (stale_after - ms(10_000));
        let robots = vec![(HTTP, open(fetched))];
        let mut due = DueHost { robots, ..desk.host("a.example", urls(2)) };
        due.state.last_ended = desk.now - secs(60);
        desk.enter(due, ip(1));
        let visit = desk.visit();
        desk.done(&visit);
        desk.none_for(secs(10));
        request(&desk.visit());
    }
}

#[test]
fn an_agreed_host_is_not_asked() {
    let exemption = RobotsExemption { host: "a.example".into(), reason: "ours".into() };
    let mut desk = Desk::new(|s| s.live.politeness.robots_exempt = vec![exemption]);
    desk.enter(desk.stranger("a.example", urls(1)), ip(1));
    pages(&desk.visit());
    desk.enter(desk.stranger("www.a.example", urls(1)), ip(2));
    request(&desk.visit());
}

#[test]
fn a_redirect_on_the_same_host_is_its_next_visit() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.stranger("a.example", urls(1)), ip(1));
    let visit = desk.visit();
    desk.found(&visit, to("https://a.example/robots.txt"));
    desk.none_for(secs(10));
    let visit = desk.visit();
    assert_eq!((request(&visit).hops, request(&visit).for_origin), (1, HTTP));
    assert_eq!(request(&visit).url.as_str(), "https://a.example/robots.txt");
    desk.found(&visit, rules());
    desk.wait(secs(10));
    pages(&desk.visit());
}

#[test]
fn more_than_five_redirects_are_a_missing_file() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.stranger("a.example", urls(1)), ip(1));
    for hops in 0..=5 {
        let visit = desk.visit();
        assert_eq!(request(&visit).hops, hops);
        desk.found(&visit, to(&format!("http://a.example/{hops}")));
        desk.wait(secs(10));
    }
    pages(&desk.visit());
}

#[test]
fn a_redirect_to_a_host_in_memory_waits_for_its_turn() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("www.example.com", urls(3)), ip(1));
    let own = desk.visit();
    desk.enter(desk.stranger("example.com", urls(1)), ip(2));
    let visit = desk.visit();
    desk.found(&visit, to("http://www.example.com/robots.txt"));
    assert!(desk.workbench.acquire(desk.now).is_none());
    assert_eq!(desk.workbench.stats(desk.now).away, 1);
    desk.done(&own);
    desk.wait(secs(10));
    let visit = desk.visit();
    assert_eq!((visit.host, visit.address), (key("www.example.com"), ip(1)));
    assert_eq!((request(&visit).for_host, request(&visit).hops), (key("example.com"), 1));
    desk.found(&visit, rules());
    pages(&desk.visit());
    assert!(
        desk.workbench.acquire(desk.now).is_none(),
        "the other host was visited before its delay"
    );
}

#[test]
fn a_redirect_to_a_host_on_disk_calls_it_with_its_state() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.stranger("example.com", urls(1)), ip(2));
    let visit = desk.visit();
    desk.notes();
    desk.found(&visit, to("http://www.example.com/robots.txt"));
    let notes = desk.notes();
    let called = notes.iter().any(
        |n| matches!(n, ToFrontier::RequestHost { host, .. } if *host == key("www.example.com")),
    );
    assert!(called, "{notes:?}");
    let mut due = desk.stranger("www.example.com", Vec::new());
    due.state.next = desk.now + secs(20);
    desk.due(due);
    desk.wait(secs(15));
    assert!(desk.workbench.acquire(desk.now).is_none());
    desk.answer("www.example.com", ip(1));
    desk.none_for(secs(5));
    let visit = desk.visit();
    assert_eq!(visit.host, key("www.example.com"));
    desk.notes();
    desk.found(&visit, RobotsOutcome::Missing);
    let notes = desk.notes();
    let leaves = |n: &ToFrontier| {
        matches!(n, ToFrontier::Leave { host, state, .. }
            if *host == key("www.example.com") && state.next == desk.now + secs(10))
    };
    assert!(notes.iter().any(leaves), "{notes:?}");
    pages(&desk.visit());
}

#[test]
fn hosts_that_send_theirs_to_one_place_share_one_request() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("www.example.com", urls(9)), ip(1));
    let own = desk.visit();
    for n in 0..3 {
        desk.enter(desk.stranger(&format!("{n}.example.com"), urls(1)), ip(10 + n));
        let visit = desk.visit();
        desk.found(&visit, to("http://www.example.com/robots.txt"));
    }
    desk.done(&own);
    desk.wait(secs(10));
    let visit = desk.visit();
    request(&visit);
    desk.found(&visit, rules());
    for _ in 0..3 {
        pages(&desk.visit());
    }
    desk.enter(desk.stranger("late.example.com", urls(1)), ip(20));
    let visit = desk.visit();
    desk.found(&visit, to("http://www.example.com/robots.txt"));
    desk.wait(secs(10));
    let (a, b) = (desk.visit(), desk.visit());
    assert!(pages(&a).len() == 1 && pages(&b).len() == 1, "the last robots.txt is still valid");
}

#[test]
fn a_hosts_own_pages_go_on_between_errands_for_others() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.host("www.example.com", urls(9)), ip(1));
    let own = desk.visit();
    for n in 0..2 {
        desk.enter(desk.stranger(&format!("{n}.example.com"), urls(1)), ip(10 + n));
        let visit = desk.visit();
        desk.found(&visit, to(&format!("http://www.example.com/{n}.txt")));
    }
    desk.done(&own);
    desk.wait(secs(10));
    let visit = desk.visit();
    request(&visit);
    desk.found(&visit, RobotsOutcome::Unreachable);
    desk.wait(secs(10));
    let visit = desk.visit();
    assert_eq!((visit.host, pages(&visit).len()), (key("www.example.com"), 1));
    desk.done(&visit);
    desk.wait(secs(10));
    request(&desk.visit());
}

#[test]
fn nobody_waits_for_another_hosts_turn_for_ever() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.stranger("example.com", urls(1)), ip(2));
    let visit = desk.visit();
    desk.found(&visit, to("http://www.example.com/robots.txt"));
    desk.none_for(secs(600));
    desk.notes();
    assert!(desk.workbench.acquire(desk.now).is_none());
    let notes = desk.notes();
    let [ToFrontier::Robots { record, .. }] = &notes[..] else { panic!("{notes:?}") };
    assert_eq!((record.failures, record.rules.is_none()), (1, true));
    desk.none_for(secs(60));
    request(&desk.visit());
}

#[test]
fn two_hosts_that_wait_for_each_other_both_go_on() {
    let mut desk = Desk::new(|_| {});
    for (n, name) in ["a.example", "b.example"].into_iter().enumerate() {
        desk.enter(desk.stranger(name, urls(1)), ip(n as u8));
    }
    let (a, b) = (desk.visit(), desk.visit());
    desk.found(&a, to("http://b.example/x"));
    desk.found(&b, to("http://a.example/x"));
    desk.wait(secs(10));
    let (a, b) = (desk.visit(), desk.visit());
    desk.found(&a, RobotsOutcome::Missing);
    desk.found(&b, RobotsOutcome::Missing);
    desk.wait(secs(10));
    pages(&desk.visit());
    pages(&desk.visit());
}

#[test]
fn known_rules_hold_while_robots_txt_is_unreachable() {
    let mut desk = Desk::new(|_| {});
    let mut record = open(desk.now - secs(90_000));
    record.fetched = record.asked;
    let robots = vec![(HTTP, record)];
    desk.enter(DueHost { robots, ..desk.host("a.example", urls(1)) }, ip(1));
    let visit = desk.visit();
    desk.found(&visit, RobotsOutcome::Unreachable);
    desk.wait(secs(10));
    pages(&desk.visit());
}

#[test]
fn an_unreachable_robots_txt_rests_the_host_and_then_gives_it_up() {
    let mut desk = Desk::new(|_| {});
    desk.enter(desk.stranger("a.example", urls(2)), ip(1));
    for rest in [60, 120, 240] {
        let visit = desk.visit();
        desk.found(&visit, RobotsOutcome::Unreachable);
        desk.none_for(secs(rest));
    }
    let visit = desk.visit();
    desk.notes();
    desk.found(&visit, RobotsOutcome::Unreachable);
    let notes = desk.notes();
    let [ToFrontier::Robots { record, .. }, ToFrontier::Leave { state, unused, .. }] = &notes[..]
    else {
        panic!("{notes:?}")
    };
    assert_eq!((state.next, unused.len(), record.failures), (desk.now + secs(480), 2, 4));
    desk.wait(secs(480));
    let robots = vec![(HTTP, record.clone())];
    desk.enter(DueHost { state: state.clone(), robots, ..desk.host("a.example", urls(2)) }, ip(1));
    let visit = desk.visit();
    desk.found(&visit, RobotsOutcome::Unreachable);
    let notes = desk.notes();
    let dropped = |n: &ToFrontier| {
        let reason = Discard::RobotsUnreachable;
        matches!(n, ToFrontier::Drop { reason: r, forever: false, .. } if *r == reason)
    };
    assert!(notes.iter().any(dropped), "{notes:?}");
}

#[test]
fn an_origin_that_never_answers_does_not_take_the_others_with_it() {
    let mut desk = Desk::new(|s| s.live.politeness.backoff_first = secs(15));
    let queue = vec![url(HTTP, 0), url(HTTPS, 1), url(HTTPS, 2), url(HTTP, 3)];
    desk.enter(desk.stranger("a.example", queue), ip(1));
    let signal = Signal::Failed(Failure::ConnectRefused);
    let mut seen = Vec::new();
    for _ in 0..20 {
        if desk.workbench.stats(desk.now).hosts == 0 {
            break;
        }
        let Some(at) = desk.workbench.next_time() else { panic!("the workbench waits forever") };
        desk.now = desk.now.max(at);
        let Some(visit) = desk.workbench.acquire(desk.now) else {
            desk.answer("a.example", ip(1));
            continue;
        };
        let verdict = desk.verdict(&visit);
        match &visit.task {
            crate::messages::VisitTask::Robots(request) if request.for_origin == HTTP => {
                let found = RobotsOutcome::Unreachable;
                let robots =
                    Some(crate::messages::RobotsAnswer { request: request.clone(), found });
                desk.release(Verdict { signal, robots, pages: 0, ..verdict });
            }
            crate::messages::VisitTask::Robots(_) => desk.found(&visit, rules()),
            crate::messages::VisitTask::Pages { .. } => {
                seen.extend(pages(&visit));
                desk.release(verdict);
            }
        }
    }
    assert_eq!(seen, [1, 2]);
    let refused: Vec<u64> = (desk.notes().into_iter())
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
    let mut desk = Desk::new(|_| {});
    let record = RobotsRecord {
        asked: desk.now - secs(86_400),
        fetched: crivello_common::time::Timestamp::ZERO,
        unreachable_since: Some(desk.now - secs(90_000)),
        failures: ROBOTS_TRIES_MAX,
        rules: None,
    };
    let robots = vec![(HTTP, record)];
    desk.enter(DueHost { robots, ..desk.host("a.example", urls(1)) }, ip(1));
    request(&desk.visit());
}

#[test]
fn a_redirect_to_a_host_of_another_agent_is_asked_for_there() {
    let robots = "http://www.other.example/robots.txt";
    for found in [rules(), to("http://third.example/robots.txt")] {
        let mut desk = Desk::new(|_| {}).among_others();
        for (n, name) in ["a.example", "b.example"].into_iter().enumerate() {
            desk.enter(desk.stranger(name, urls(1)), ip(n as u8));
            let visit = desk.visit();
            desk.found(&visit, to(robots));
            desk.elsewhere("www.other.example");
        }
        assert_eq!(
            desk.workbench.take_remote_requests(),
            [CrawlUrl::parse(robots).unwrap()],
            "expected one request for both hosts"
        );
        let asked = CrawlUrl::parse(robots).unwrap();
        desk.workbench.on_remote_robots(&asked, &found, desk.now);
        if matches!(found, RobotsOutcome::Redirect(_)) {
            desk.elsewhere("third.example");
            let next = CrawlUrl::parse("http://third.example/robots.txt").unwrap();
            assert!(desk.workbench.take_remote_requests().contains(&next));
            desk.workbench.on_remote_robots(&next, &RobotsOutcome::Missing, desk.now);
        }
        desk.wait(secs(10));
        for _ in 0..2 {
            assert_eq!(pages(&desk.visit()).len(), 1);
        }
    }
}

#[test]
fn what_another_agent_wants_is_asked_in_the_hosts_turn() {
    let robots = CrawlUrl::parse("http://www.example.com/robots.txt").unwrap();
    let mut desk = Desk::new(|_| {}).among_others();
    desk.enter(desk.host("www.example.com", urls(3)), ip(1));
    let own = desk.visit();
    desk.workbench.request_for_peer(robots.clone(), desk.now);
    desk.done(&own);
    assert!(desk.workbench.acquire(desk.now).is_none(), "the host was visited before its delay");
    desk.wait(secs(10));
    let visit = desk.visit();
    assert_eq!(request(&visit).url, robots);
    desk.found(&visit, rules());
    let answers = desk.workbench.take_peer_replies();
    assert!(matches!(&answers[..], [(url, RobotsOutcome::Rules(_))] if *url == robots));
    desk.wait(secs(10));
    pages(&desk.visit());
    // A request for a host of a third agent is not forwarded.
    let strange = CrawlUrl::parse("http://strange.example/robots.txt").unwrap();
    desk.workbench.request_for_peer(strange.clone(), desk.now);
    desk.elsewhere("strange.example");
    assert!(desk.workbench.take_remote_requests().is_empty());
    let answers = desk.workbench.take_peer_replies();
    assert!(matches!(&answers[..], [(url, RobotsOutcome::Unreachable)] if *url == strange));
}
