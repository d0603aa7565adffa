//! Tests of every reason and its sentence, by the facts that lead to it.

mod case;

use super::*;
use crate::messages::{
    HostClass, IpLeaseState, RobotsRecord, SchedulePlace, SnapshotPhase, VisitInFlight,
};
use case::{HTTP, NOW, case, expect, record, secs};
use crivello_common::config::{DomainDelay, Settings};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::UrlHash;
use crivello_common::politeness::WaitRule;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use crivello_proto::enums::number;
use crivello_proto::v1::{self, HoldKind, RobotsState};
use smallvec::smallvec;
use std::time::Duration;

#[test]
fn what_settles_the_question_comes_first() {
    let nothing = case(|c| (c.row, c.workbench) = (None, None));
    expect(&nothing, "unknown-host", secs(0), &["no URL of this host was ever accepted"]);
    let elsewhere = case(|c| {
        (c.row, c.workbench) = (None, None);
        c.holding.kind = HoldKind::None;
    });
    expect(&elsewhere, "unknown-host", secs(0), &["agent 2 owns its group"]);
    let flying = case(|c| {
        c.crawl.is_paused = true;
        c.workbench().phase = SnapshotPhase::InFlight;
        let urls = smallvec![UrlHash(1), UrlHash(2)];
        c.workbench().flight =
            Some(VisitInFlight { since: NOW - Duration::from_millis(300), urls, taken: 2 });
    });
    expect(&flying, "in-flight", secs(0), &["for 2 URLs", "for 300 ms"]);
    let robots = case(|c| {
        c.workbench().phase = SnapshotPhase::InFlight;
        c.workbench().flight = Some(VisitInFlight { since: NOW, urls: smallvec![], taken: 0 });
    });
    expect(&robots, "in-flight", secs(0), &["for a robots.txt"]);
    let empty = case(|c| c.row().queued = 0);
    expect(&empty, "empty", secs(0), &["nothing is queued; 57 pages fetched"]);
}

#[test]
fn a_closed_or_given_up_host_names_the_limit_or_the_failure() {
    for (by, part) in [
        (Discard::HostLimit, "limits.pages-per-host-max"),
        (Discard::DomainLimit, "limits.pages-per-domain-max"),
        (Discard::AddressDenied, "--allow-network"),
    ] {
        expect(&case(|c| c.row().closed = Some(by)), "closed", secs(0), &[part]);
    }
    let failed = case(|c| {
        c.row().queued = 0;
        (0..5).for_each(|_| c.row().state.failures.count(Failure::ConnectRefused));
    });
    expect(&failed, "given-up", secs(0), &["discarded after 5 connect-refused in a row"]);
}

#[test]
fn a_group_of_another_agent_is_explained_by_its_owner() {
    let replica = case(|c| (c.holding.kind, c.workbench) = (HoldKind::Replica, None));
    expect(&replica, "other-agent", secs(0), &["agent 2 fetches it", "a replica"]);
    let pending = case(|c| (c.holding.kind, c.workbench) = (HoldKind::Pending, None));
    expect(&pending, "handoff-in", secs(0), &["waits until the agents that have rows"]);
    let leaving = case(|c| (c.holding.kind, c.workbench) = (HoldKind::Leaving, None));
    expect(&leaving, "handoff-out", secs(0), &["handed over to agent 2"]);
    let recalled = case(|c| {
        c.holding.kind = HoldKind::Leaving;
        c.workbench().leaves = true;
    });
    expect(&recalled, "handoff-out", secs(0), &["handed over to agent 2"]);
    let not_yet = case(|c| c.holding.kind = HoldKind::Leaving);
    expect(&not_yet, "due", secs(0), &[]);
}

#[test]
fn what_stops_the_whole_agent_comes_before_what_stops_the_host() {
    let explain_with = |change: fn(&mut CrawlFacts)| {
        case(|c| {
            c.waits_by(WaitRule::Delay);
            change(&mut c.crawl);
        })
    };
    let three = secs(3);
    expect(&explain_with(|c| c.is_paused = true), "crawl-paused", three, &["crivello resume"]);
    let used_up = explain_with(|c| c.page_limit = PageLimitState::Reached);
    expect(&used_up, "page-limit", three, &["limits.pages-max is reached"]);
    let no_quota = explain_with(|c| c.page_limit = PageLimitState::QuotaUsed);
    expect(&no_quota, "page-quota", three, &["its share of limits.pages-max"]);
    expect(&explain_with(|c| c.is_stopping = true), "stopping", three, &["stopping"]);
    expect(
        &explain_with(|c| c.fence_is_open = false),
        "lease-expired",
        three,
        &["lease", "cluster.lease"],
    );
    expect(&explain_with(|c| c.disk_is_full = true), "disk-full", three, &["state.disk-free-min"]);
    expect(&explain_with(|c| c.is_offline = true), "offline", three, &["the network"]);
    let from = case(|c| c.crawl.visits_from = NOW + secs(1));
    expect(&from, "after-start", secs(1), &["politeness.ip-delay after a start"]);
}

#[test]
fn a_stopped_crawl_is_named_with_the_reason_once_it_runs() {
    let rests = case(|c| {
        c.crawl.is_running = false;
        c.workbench = None;
        c.row().state.next = NOW + secs(3);
        c.row().state.rule = WaitRule::Delay;
    });
    let parts = ["not running; when it runs: the delay of 5 s", "(and not before 3 s have passed)"];
    expect(&rests, "delay", secs(3), &parts);
    let due = case(|c| (c.crawl.is_running, c.workbench) = (false, None));
    expect(&due, "due", secs(0), &["the crawl in this directory is not running"]);
    let empty = case(|c| {
        c.crawl.is_running = false;
        c.row().queued = 0;
    });
    expect(&empty, "empty", secs(0), &["nothing is queued"]);
}

#[test]
fn every_rule_that_can_set_a_hosts_next_time_is_named_with_its_setting() {
    let cases: [(WaitRule, &str, &[&str]); 10] = [
        (WaitRule::Delay, "delay", &["the delay of 5 s after the last request (politeness.delay)"]),
        (WaitRule::CrawlDelay, "crawl-delay", &["Crawl-delay", "5 s"]),
        (WaitRule::Relative, "relative-delay", &["10 times", "politeness.relative-factor"]),
        (WaitRule::RetryAfter, "retry-after", &["Retry-After", "twice in a row"]),
        (
            WaitRule::Backoff,
            "slow-down",
            &["without a Retry-After", "twice in a row", "politeness.backoff-first"],
        ),
        (WaitRule::RobotsUnreachable, "robots-unreachable", &["robots.txt is unreachable"]),
        (WaitRule::TakeOver, "group-moved", &["its group has just moved to this agent"]),
        (WaitRule::StartUp, "after-kill", &["the last run was killed"]),
        (WaitRule::AddressChange, "address-changed", &["another address", "fetch.keep-alive"]),
        (WaitRule::Nothing, "held-back", &["held back"]),
    ];
    for (rule, reason, parts) in cases {
        let rests = case(|c| {
            (0..2).for_each(|_| c.workbench().state.failures.count(Failure::SlowDown));
            c.waits_by(rule);
        });
        expect(&rests, reason, secs(3), parts);
    }
    for kind in Failure::ALL {
        let rests = case(|c| c.waits_by(WaitRule::Failure(kind)));
        let name = format!("backoff after {}, once in a row", kind.name());
        expect(&rests, "failed", secs(3), &[&name]);
    }
    let refused = case(|c| {
        (0..3).for_each(|_| c.workbench().state.failures.count(Failure::ConnectRefused));
        c.waits_by(WaitRule::Failure(Failure::ConnectRefused));
    });
    let parts = ["connect-refused, 3 times in a row", "; 2 more and the host is given up"];
    expect(&refused, "failed", secs(3), &parts);
}

#[test]
fn rules_are_explained_with_their_parameters() {
    let domain = case(|c| {
        let delay = DomainDelay { suffix: "test".to_owned(), delay: secs(5) };
        c.settings.live.politeness.domains = vec![delay];
        c.waits_by(WaitRule::Delay);
    });
    expect(&domain, "delay", secs(3), &["the delay of its domain, 5 s", "politeness.domains"]);
    let asked = |delay: &str| record(Some(&format!("User-agent: *\nCrawl-delay: {delay}")), 0);
    let short = case(|c| {
        c.knows(asked("7"));
        c.waits_by(WaitRule::CrawlDelay);
    });
    expect(&short, "crawl-delay", secs(3), &["its robots.txt asks for 7 s between requests"]);
    let long = case(|c| {
        c.knows(asked("3600"));
        c.waits_by(WaitRule::CrawlDelay);
    });
    let parts = ["asks for 1 h, which is capped at 5 min (politeness.crawl-delay-max)"];
    expect(&long, "crawl-delay", secs(3), &parts);
    let silent = case(|c| {
        c.knows(record(None, 3));
        c.waits_by(WaitRule::RobotsUnreachable);
    });
    expect(
        &silent,
        "robots-unreachable",
        secs(3),
        &["http://a.test/robots.txt", "3 times in a row:"],
    );
    let refused = case(|c| {
        c.knows(record(None, 1));
        c.workbench().state.failures.count(Failure::ConnectRefused);
        c.waits_by(WaitRule::RobotsUnreachable);
    });
    let parts = ["unreachable, once in a row (connect-refused): nothing is fetched without it"];
    expect(&refused, "robots-unreachable", secs(3), &parts);
    let reserved = case(|c| {
        c.settings.live.limits.pages_per_domain_max = Some(9);
        c.waits_by(WaitRule::Nothing);
    });
    expect(&reserved, "domain-reserved", secs(3), &["limits.pages-per-domain-max"]);
    let aged = case(|c| {
        c.knows(record(Some("User-agent: *\nDisallow: /x"), 0));
        c.waits_by(WaitRule::Delay);
        c.workbench().asks_robots = Some(HTTP);
    });
    let parts = ["; then http://a.test/robots.txt is requested first", "robots-age-max"];
    expect(&aged, "delay", secs(3), &parts);
    let new = case(|c| c.workbench().asks_robots = Some(HTTP));
    expect(&new, "due", secs(0), &["is requested first: it is not known yet"]);
    let moved = case(|c| {
        c.workbench = None;
        c.row().scheduled = Some(SchedulePlace { class: HostClass::First, at: NOW + secs(7) });
    });
    expect(&moved, "group-moved", secs(7), &["has just moved to this agent"]);
}

#[test]
fn waits_at_the_address_name_the_other_host() {
    let rests = |last: Option<&str>| {
        case(|c| {
            c.at().next = NOW + secs(1);
            c.at().last = last.map(Into::into);
        })
    };
    let parts = ["b.test, another host at its address 192.0.2.7", "politeness.ip-delay"];
    expect(&rests(Some("b.test")), "address-resting", secs(1), &parts);
    expect(&rests(Some("a.test")), "address-resting", secs(1), &["rests for 2 s after each"]);
    expect(&rests(None), "address-resting", secs(1), &["by an earlier run or another agent"]);
    let both = case(|c| {
        c.waits_by(WaitRule::Delay);
        c.at().next = NOW + secs(1);
    });
    expect(&both, "delay", secs(3), &["politeness.delay"]);
    let busy = case(|c| c.at().visited = Some("b.test".into()));
    expect(&busy, "address-visited", secs(0), &["b.test", "is being visited"]);
    let behind = case(|c| c.at().before = 3);
    expect(&behind, "address-queue", secs(0), &["3 other hosts at its address 192.0.2.7 come"]);
}

#[test]
fn ip_leases_names_and_redirected_robots_are_reasons() {
    let requested = case(|c| {
        c.lessor = Some(AgentId(3));
        c.at().lease = IpLeaseState::Asked(NOW - Duration::from_millis(400));
    });
    expect(&requested, "ip-lease", secs(0), &["192.0.2.7", "requested 400 ms ago from agent 3"]);
    let own = case(|c| c.at().lease = IpLeaseState::NotAsked);
    expect(&own, "ip-lease", secs(0), &["about to be requested", "this agent itself"]);
    expect(&case(|c| c.at().lease = IpLeaseState::Here), "due", secs(0), &[]);
    let resolving = case(|c| {
        c.workbench().phase = SnapshotPhase::Resolving;
        c.workbench().address = None;
    });
    expect(&resolving, "resolving", secs(0), &["its name is being resolved"]);
    let away = case(|c| {
        let (at, deadline) = (Some("b.test".into()), NOW + secs(30));
        c.workbench().phase = SnapshotPhase::Away { origin: HTTP, at, deadline };
    });
    let parts = ["http://a.test/robots.txt redirects to b.test", "unreachable after 30 s"];
    expect(&away, "robots-redirect", secs(0), &parts);
}

#[test]
fn a_host_that_is_due_names_the_step_it_waits_for() {
    expect(
        &case(|c| c.workbench().phase = SnapshotPhase::Dry),
        "due",
        secs(0),
        &["the next URLs of"],
    );
    let asleep = case(|c| c.workbench().phase = SnapshotPhase::Asleep);
    expect(&asleep, "due", secs(0), &["about to be resolved"]);
    let full = case(|c| c.crawl.pipeline_is_full = true);
    expect(&full, "due", secs(0), &["faster than they are parsed"]);
    let busy = case(|c| c.crawl.visits = 1_000);
    expect(&busy, "due", secs(0), &["all 1,000 visits", "fetch.visits-max"]);
    expect(&case(|_| ()), "due", secs(0), &["the next free fetcher"]);
    let on_disk = case(|c| {
        c.workbench = None;
        c.row().state.next = NOW - secs(4);
        c.row().scheduled = Some(SchedulePlace { class: HostClass::Third, at: NOW - secs(4) });
        c.crawl.hosts_in_memory = 7;
    });
    expect(
        &on_disk,
        "due",
        secs(0),
        &["due for 4 s, on disk", "the 7 hosts in memory", "fewer than half of its fetches"],
    );
}

#[test]
fn classes_of_hosts_have_the_numbers_of_their_names() {
    for class in HostClass::ALL {
        let on_wire = v1::HostClass::try_from(number(class.code())).expect("a value of the wire");
        let name = format!("HOST_CLASS_{}", class.name().to_uppercase());
        assert_eq!(on_wire.as_str_name(), name);
    }
}

#[test]
fn a_status_takes_each_fact_from_where_it_is_current() {
    let known = case(|c| {
        c.waits_by(WaitRule::Delay);
        c.row().state.next = NOW - secs(60); // The row on disk is older.
        c.workbench().state.failures.count(Failure::Tls);
        c.workbench().state.requests = 61;
        c.knows(record(Some("User-agent: *\nCrawl-delay: 2\nDisallow: /x"), 0));
    });
    let status = host_status(&known.facts());
    assert_eq!(
        (status.queued, status.queued_in_memory, status.pages, status.requests),
        (5, 5, 57, 61)
    );
    assert_eq!((status.wait.unwrap().next, &*status.address), ((NOW + secs(3)).0, "192.0.2.7"));
    assert_eq!(status.failures.into_iter().collect::<Vec<_>>(), [("tls".to_owned(), 1)]);
    assert_eq!(
        (&*status.robots[0].origin, status.robots[0].state()),
        ("http://a.test", RobotsState::Rules)
    );
    assert_eq!(status.robots[0].crawl_delay_ms, Some(2_000));
}

#[test]
fn the_state_of_a_robots_txt_follows_from_its_last_answers() {
    let state = |record| {
        let known = case(|c| c.knows(record));
        let robots = host_status(&known.facts()).robots.remove(0);
        (robots.state(), robots.failures)
    };
    assert_eq!(state(record(Some(""), 0)), (RobotsState::AllAllowed, 0));
    let disallowed = || record(Some("User-agent: *\nDisallow: /"), 2);
    assert_eq!(state(disallowed()), (RobotsState::LastRules, 2));
    assert_eq!(state(record(None, 1)), (RobotsState::Unreachable, 1));
    assert_eq!(state(record(None, 5)), (RobotsState::GivenUp, 5));
    assert_eq!(state(RobotsRecord { failures: 0, ..record(None, 0) }), (RobotsState::Requested, 0));
}

#[test]
fn the_line_that_disallows_a_url_is_found() {
    let text = "User-agent: *\nAllow: /x/ok\nDisallow: /x";
    let known = case(|c| c.knows(record(Some(text), 0)));
    let line = |url: &str| {
        let rule = disallowing_rule(&known.robots, &CrawlUrl::parse(url).unwrap())?;
        Some((rule.line, rule.text))
    };
    assert_eq!(line("http://a.test/x/1"), Some((3, "Disallow: /x".to_owned())));
    assert_eq!(line("http://a.test/x/ok"), None);
    assert_eq!(line("https://a.test/x/1"), None, "nothing is known of that origin");
}

#[test]
fn paused_and_blocked_hosts_are_explained() {
    let set = |typed: &str| {
        case(|c| {
            c.waits_by(WaitRule::Delay);
            c.settings = Settings::from_toml("typed", typed).unwrap();
        })
    };
    let three = secs(3);
    let paused = set("[politeness]\npaused = [\"a.test\"]");
    expect(&paused, "host-paused", three, &["crivello resume HOST"]);
    for block in ["a.test", "*.test", "192.0.2.0/24"] {
        let blocked = set(&format!("[links]\nblocked = [\"{block}\"]"));
        expect(&blocked, "blocked", three, &[block, "crivello unblock"]);
    }
}
