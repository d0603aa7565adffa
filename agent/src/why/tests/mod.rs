//! Every reason, by the facts that lead to it.

mod case;

use super::*;
use crate::messages::{IpLeaseState, SnapshotPhase, VisitInFlight};
use case::{HTTP, NOW, case, expect, record, secs};
use crivello_common::config::{DomainDelay, Settings};
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::hash::UrlHash;
use crivello_common::politeness::WaitRule;
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use crivello_proto::v1::{HoldKind, WaitReason};
use smallvec::smallvec;
use std::time::Duration;

#[test]
fn what_settles_the_question_is_said_first() {
    let nothing = case(|c| (c.row, c.bench) = (None, None));
    expect(&nothing, WaitReason::UnknownHost, secs(0), &["no URL of it was ever let in"]);
    let elsewhere = case(|c| {
        (c.row, c.bench) = (None, None);
        c.hold.kind = HoldKind::None;
    });
    expect(&elsewhere, WaitReason::UnknownHost, secs(0), &["agent 2 owns its group"]);
    let flying = case(|c| {
        c.crawl.is_paused = true;
        c.bench().phase = SnapshotPhase::InFlight;
        let urls = smallvec![UrlHash(1), UrlHash(2)];
        c.bench().flight =
            Some(VisitInFlight { since: NOW - Duration::from_millis(300), urls, taken: 2 });
    });
    expect(&flying, WaitReason::InFlight, secs(0), &["for 2 URLs", "since 300 ms"]);
    let robots = case(|c| {
        c.bench().phase = SnapshotPhase::InFlight;
        c.bench().flight = Some(VisitInFlight { since: NOW, urls: smallvec![], taken: 0 });
    });
    expect(&robots, WaitReason::InFlight, secs(0), &["for a robots.txt"]);
    let empty = case(|c| c.row().queued = 0);
    expect(&empty, WaitReason::Empty, secs(0), &["nothing is queued; 57 pages fetched"]);
}

#[test]
fn a_host_of_which_nothing_more_is_fetched_says_by_which_limit_or_failure() {
    for (by, reason, word) in [
        (Discard::HostLimit, WaitReason::Limit, "limits.pages-per-host-max"),
        (Discard::DomainLimit, WaitReason::Limit, "limits.pages-per-domain-max"),
        (Discard::AddressDenied, WaitReason::GivenUp, "--allow-network"),
    ] {
        expect(&case(|c| c.row().closed = Some(by)), reason, secs(0), &[word]);
    }
    let failed = case(|c| {
        c.row().queued = 0;
        (0..5).for_each(|_| c.row().state.failures.count(Failure::ConnectRefused));
    });
    expect(&failed, WaitReason::GivenUp, secs(0), &["set aside after 5 connect-refused"]);
}

#[test]
fn a_group_that_is_not_this_agents_says_whose_it_is() {
    let copy = case(|c| (c.hold.kind, c.bench) = (HoldKind::Copy, None));
    expect(&copy, WaitReason::OtherAgent, secs(0), &["agent 2 has it", "a copy"]);
    let pending = case(|c| (c.hold.kind, c.bench) = (HoldKind::Pending, None));
    expect(&pending, WaitReason::Handoff, secs(0), &["waits until those who have rows"]);
    let leaving = case(|c| (c.hold.kind, c.bench) = (HoldKind::Leaving, None));
    expect(&leaving, WaitReason::Handoff, secs(0), &["handed over to agent 2"]);
    let recalled = case(|c| {
        c.hold.kind = HoldKind::Leaving;
        c.bench().leaves = true;
    });
    expect(&recalled, WaitReason::Handoff, secs(0), &["handed over to agent 2"]);
    let not_yet = case(|c| c.hold.kind = HoldKind::Leaving);
    expect(&not_yet, WaitReason::Due, secs(0), &[]);
}

#[test]
fn what_holds_the_whole_agent_is_said_before_what_holds_the_host() {
    let stands = |change: fn(&mut Crawl)| {
        case(|c| {
            c.rests(WaitRule::Delay);
            change(&mut c.crawl);
        })
    };
    let three = secs(3);
    expect(&stands(|c| c.is_paused = true), WaitReason::Paused, three, &["crivello resume"]);
    let used_up = stands(|c| c.pages_left = PagesLeft::None);
    expect(&used_up, WaitReason::Limit, three, &["limits.pages-max is reached"]);
    let no_portion = stands(|c| c.pages_left = PagesLeft::NoneHere);
    expect(&no_portion, WaitReason::Limit, three, &["its portion of limits.pages-max"]);
    expect(&stands(|c| c.is_stopping = true), WaitReason::Agent, three, &["stopping"]);
    expect(
        &stands(|c| c.fence_is_open = false),
        WaitReason::Agent,
        three,
        &["lease", "cluster.lease"],
    );
    expect(&stands(|c| c.disk_is_full = true), WaitReason::Agent, three, &["state.disk-free-min"]);
    expect(&stands(|c| c.is_offline = true), WaitReason::Agent, three, &["the network"]);
    let from = case(|c| c.crawl.visits_from = NOW + secs(1));
    expect(&from, WaitReason::Rule, secs(1), &["politeness.ip-delay after a start"]);
}

#[test]
fn a_crawl_that_is_not_running_says_so_and_what_would_be() {
    let rests = case(|c| {
        c.crawl.is_running = false;
        c.bench = None;
        c.row().state.next = NOW + secs(3);
        c.row().state.rule = WaitRule::Delay;
    });
    let parts = ["not running; when it is: the delay of 5 s"];
    expect(&rests, WaitReason::Agent, secs(3), &parts);
    let due = case(|c| (c.crawl.is_running, c.bench) = (false, None));
    expect(&due, WaitReason::Agent, secs(0), &["the crawl in this directory is not running"]);
    let empty = case(|c| {
        c.crawl.is_running = false;
        c.row().queued = 0;
    });
    expect(&empty, WaitReason::Empty, secs(0), &[]);
}

#[test]
fn every_rule_that_can_set_a_hosts_next_time_is_named_with_its_setting() {
    let cases: [(WaitRule, &[&str]); 9] = [
        (WaitRule::Delay, &["the delay of 5 s after the last request (politeness.delay)"]),
        (WaitRule::CrawlDelay, &["Crawl-delay", "5 s"]),
        (WaitRule::Relative, &["10 times", "politeness.relative-factor"]),
        (WaitRule::RetryAfter, &["Retry-After", "twice in a row"]),
        (
            WaitRule::Backoff,
            &["without a Retry-After", "twice in a row", "politeness.backoff-first"],
        ),
        (WaitRule::RobotsUnreachable, &["robots.txt is out of reach"]),
        (WaitRule::StartUp, &["the last run was killed"]),
        (WaitRule::AddressChange, &["another address", "fetch.keep-alive"]),
        (WaitRule::Nothing, &["held back"]),
    ];
    for (rule, parts) in cases {
        let rests = case(|c| {
            (0..2).for_each(|_| c.bench().state.failures.count(Failure::SlowDown));
            c.rests(rule);
        });
        expect(&rests, WaitReason::Rule, secs(3), parts);
    }
    for kind in Failure::ALL {
        let rests = case(|c| c.rests(WaitRule::Failure(kind)));
        let name = format!("backoff after {}, once in a row", kind.name());
        expect(&rests, WaitReason::Rule, secs(3), &[&name]);
    }
    let refused = case(|c| {
        (0..3).for_each(|_| c.bench().state.failures.count(Failure::ConnectRefused));
        c.rests(WaitRule::Failure(Failure::ConnectRefused));
    });
    let parts = ["connect-refused, 3 times in a row", "; 2 more and the host is given up"];
    expect(&refused, WaitReason::Rule, secs(3), &parts);
}

#[test]
fn rules_with_more_to_them_say_it() {
    let domain = case(|c| {
        let delay = DomainDelay { suffix: "test".to_owned(), delay: secs(5) };
        c.settings.politeness.domains = vec![delay];
        c.rests(WaitRule::Delay);
    });
    expect(
        &domain,
        WaitReason::Rule,
        secs(3),
        &["the delay of its domain, 5 s", "politeness.domains"],
    );
    let asked = |delay: &str| record(Some(&format!("User-agent: *\nCrawl-delay: {delay}")), 0);
    let short = case(|c| {
        c.knows(asked("7"));
        c.rests(WaitRule::CrawlDelay);
    });
    expect(&short, WaitReason::Rule, secs(3), &["its robots.txt asks for 7 s between requests"]);
    let long = case(|c| {
        c.knows(asked("3600"));
        c.rests(WaitRule::CrawlDelay);
    });
    let parts = ["asks for 1 h, which counts as 5 min (politeness.crawl-delay-max)"];
    expect(&long, WaitReason::Rule, secs(3), &parts);
    let silent = case(|c| {
        c.knows(record(None, 3));
        c.rests(WaitRule::RobotsUnreachable);
    });
    expect(&silent, WaitReason::Rule, secs(3), &["http://a.test/robots.txt", "3 times in a row:"]);
    let refused = case(|c| {
        c.knows(record(None, 1));
        c.bench().state.failures.count(Failure::ConnectRefused);
        c.rests(WaitRule::RobotsUnreachable);
    });
    let parts = ["out of reach, once in a row (connect-refused): nothing is fetched without it"];
    expect(&refused, WaitReason::Rule, secs(3), &parts);
    let promised = case(|c| {
        c.settings.limits.pages_per_domain_max = Some(9);
        c.rests(WaitRule::Nothing);
    });
    expect(&promised, WaitReason::Rule, secs(3), &["limits.pages-per-domain-max"]);
    let aged = case(|c| {
        c.knows(record(Some("User-agent: *\nDisallow: /x"), 0));
        c.rests(WaitRule::Delay);
        c.bench().asks_robots = Some(HTTP);
    });
    let parts = ["; then http://a.test/robots.txt is asked for first", "robots-age-max"];
    expect(&aged, WaitReason::Rule, secs(3), &parts);
    let new = case(|c| c.bench().asks_robots = Some(HTTP));
    expect(&new, WaitReason::Due, secs(0), &["is asked for first, which is not known"]);
    let came = case(|c| {
        c.bench = None;
        c.row().scheduled = Some(NOW + secs(7));
    });
    expect(&came, WaitReason::Rule, secs(7), &["has just come to this agent"]);
}

#[test]
fn what_happens_at_the_address_is_told_with_the_other_host() {
    let rests = |last: Option<&str>| {
        case(|c| {
            c.at().next = NOW + secs(1);
            c.at().last = last.map(Into::into);
        })
    };
    let parts = ["b.test, another host of its address 192.0.2.7", "politeness.ip-delay"];
    expect(&rests(Some("b.test")), WaitReason::Address, secs(1), &parts);
    expect(&rests(Some("a.test")), WaitReason::Address, secs(1), &["rests for 2 s after each"]);
    expect(&rests(None), WaitReason::Address, secs(1), &["by an earlier run or another agent"]);
    let both = case(|c| {
        c.rests(WaitRule::Delay);
        c.at().next = NOW + secs(1);
    });
    expect(&both, WaitReason::Rule, secs(3), &["politeness.delay"]);
    let busy = case(|c| c.at().visited = Some("b.test".into()));
    expect(&busy, WaitReason::Address, secs(0), &["b.test", "is being visited"]);
    let behind = case(|c| c.at().before = 3);
    expect(&behind, WaitReason::Address, secs(0), &["3 other hosts of its address"]);
}

#[test]
fn turns_names_and_roundabout_robots_are_waited_for() {
    let asked = case(|c| {
        c.lender = Some(AgentId(3));
        c.at().turn = IpLeaseState::Asked(NOW - Duration::from_millis(400));
    });
    expect(&asked, WaitReason::Turn, secs(0), &["192.0.2.7", "asked of agent 3", "400 ms ago"]);
    let own = case(|c| c.at().turn = IpLeaseState::NotAsked);
    expect(&own, WaitReason::Turn, secs(0), &["about to be asked", "this agent itself"]);
    expect(&case(|c| c.at().turn = IpLeaseState::Here), WaitReason::Due, secs(0), &[]);
    let resolving = case(|c| {
        c.bench().phase = SnapshotPhase::Resolving;
        c.bench().address = None;
    });
    expect(&resolving, WaitReason::Resolving, secs(0), &["its name is being resolved"]);
    let away = case(|c| {
        let (at, deadline) = (Some("b.test".into()), NOW + secs(30));
        c.bench().phase = SnapshotPhase::Away { origin: HTTP, at, deadline };
    });
    let parts = ["http://a.test/robots.txt leads to b.test", "out of reach after 30 s"];
    expect(&away, WaitReason::Robots, secs(0), &parts);
}

#[test]
fn a_host_that_is_due_says_what_it_waits_for_all_the_same() {
    expect(
        &case(|c| c.bench().phase = SnapshotPhase::Dry),
        WaitReason::Due,
        secs(0),
        &["the next of"],
    );
    let asleep = case(|c| c.bench().phase = SnapshotPhase::Asleep);
    expect(&asleep, WaitReason::Due, secs(0), &["about to be resolved"]);
    let full = case(|c| c.crawl.pipeline_is_full = true);
    expect(&full, WaitReason::Due, secs(0), &["faster than they are parsed"]);
    let busy = case(|c| c.crawl.visits = 1_000);
    expect(&busy, WaitReason::Due, secs(0), &["all 1000 visits", "fetch.visits-max"]);
    expect(&case(|_| ()), WaitReason::Due, secs(0), &["next to a fetcher"]);
    let on_disk = case(|c| {
        c.bench = None;
        c.row().state.next = NOW - secs(4);
        c.crawl.hosts_in_memory = 7;
    });
    expect(
        &on_disk,
        WaitReason::Due,
        secs(0),
        &["due since 4 s, on disk", "the 7 hosts in memory"],
    );
}

#[test]
fn a_story_takes_each_fact_from_where_it_is_right() {
    let told = case(|c| {
        c.rests(WaitRule::Delay);
        c.row().state.next = NOW - secs(60); // The disk is behind.
        c.bench().state.failures.count(Failure::Tls);
        c.bench().state.requests = 61;
        c.knows(record(Some("User-agent: *\nCrawl-delay: 2\nDisallow: /x"), 0));
    });
    let story = host_story(&told.facts());
    assert_eq!((story.queued, story.in_window, story.pages, story.requests), (5, 5, 57, 61));
    assert_eq!((story.next, &*story.address), ((NOW + secs(3)).0, "192.0.2.7"));
    assert_eq!(story.failures.into_iter().collect::<Vec<_>>(), [("tls".to_owned(), 1)]);
    assert_eq!(
        (&*story.robots[0].origin, &*story.robots[0].state),
        ("http://a.test", "rules known")
    );
    assert_eq!(story.robots[0].crawl_delay_ms, Some(2_000));
}

#[test]
fn a_robots_txt_is_described_by_its_last_answers() {
    let state = |record| {
        let told = case(|c| c.knows(record));
        host_story(&told.facts()).robots[0].state.clone()
    };
    assert_eq!(state(record(Some(""), 0)), "all is allowed");
    assert!(state(record(Some("User-agent: *\nDisallow: /"), 2)).contains("go on to hold"));
    assert!(state(record(None, 1)).starts_with("out of reach, once in a row: nothing is allowed"));
    assert!(state(record(None, 5)).contains("given up"));
}

#[test]
fn the_line_that_disallows_a_url_is_found() {
    let text = "User-agent: *\nAllow: /x/ok\nDisallow: /x";
    let known = case(|c| c.knows(record(Some(text), 0)));
    let line = |url: &str| decisive(&known.robots, &CrawlUrl::parse(url).unwrap());
    assert_eq!(line("http://a.test/x/1").as_deref(), Some("line 3: Disallow: /x"));
    assert_eq!(line("http://a.test/x/ok"), None);
    assert_eq!(line("https://a.test/x/1"), None, "nothing is known of that origin");
}

#[test]
fn what_people_have_said_of_a_host_is_told() {
    let set = |typed: &str| {
        case(|c| {
            c.rests(WaitRule::Delay);
            c.settings = Settings::from_toml("typed", typed).unwrap();
        })
    };
    let three = secs(3);
    let paused = set("[politeness]\npaused = [\"a.test\"]");
    expect(&paused, WaitReason::HostPaused, three, &["crivello resume HOST"]);
    for block in ["a.test", "*.test", "192.0.2.0/24"] {
        let blocked = set(&format!("[links]\nblocked = [\"{block}\"]"));
        expect(&blocked, WaitReason::Blocked, three, &[block, "crivello unblock"]);
    }
}
