//! Politeness, by the web's access log and clock: on one agent, there are never two requests to a
//! host or an address closer than the delays or at once, no disallowed path, and no page before its
//! robots.txt.
//!
//! Possible failures: a delay is counted from the start of a request, hosts that share an address
//! do not share its delay, a retry or a redirect does not wait for its turn, a Retry-After applies
//! to the URL and not to the host.

use crivello_tests::{Ended, Scene, seed};
use simweb::pace::Relative;
use simweb::{
    Character, Entry, JudgeLimits, Judgment, Manner, Pace, RetryAfter, Robots, SeedChoice, Spec,
};
use std::collections::HashMap;
use std::time::Duration;

const fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

/// Runs a crawl to its end and has every gap judged.
fn crawl_and_judge(scene: &Scene, pace: Pace) -> (Ended, Judgment) {
    let ended = scene.crawl().succeeded();
    let report = scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    (ended, report)
}

/// Returns a web whose hosts share addresses. They are slow enough that a delay counted from the
/// wrong end is visible.
fn shared(n_hosts: u32, n_ips: u32, pages: u32) -> Spec {
    Spec::new(seed()).size(n_hosts, 1, pages).ips(n_ips).latency_ms(5, 60).seeds(SeedChoice::Hosts)
}

/// Returns the gaps on one host, in microseconds, from the end of a request to the start of the
/// next.
fn gaps(entries: &[Entry], host: &str) -> Vec<u64> {
    let mut own: Vec<&Entry> = entries.iter().filter(|entry| entry.host == host).collect();
    own.sort_by_key(|entry| entry.start);
    own.windows(2).map(|pair| pair[1].start.saturating_sub(pair[0].end)).collect()
}

#[test]
fn a_host_is_left_alone_for_its_delay() {
    for latency in [0, 150] {
        let mut spec = shared(8, 0, 8);
        (spec.latency_ms_min, spec.latency_ms_max) = (latency, latency);
        let scene = Scene::new(spec.with_variety()).delays("200ms", "50ms");
        crawl_and_judge(&scene, Pace::delays(ms(200), ms(50)));
    }
}

/// Two dozen hosts share three addresses, so the address's delay is the limit.
#[test]
fn an_address_is_left_alone_whichever_host_was_visited() {
    let scene = Scene::new(shared(24, 3, 5)).delays("100ms", "60ms");
    crawl_and_judge(&scene, Pace::delays(ms(100), ms(60)));
}

#[test]
fn a_burst_has_one_request_at_a_time_and_the_delay_after_it() {
    let scene = Scene::new(shared(8, 4, 17)).delays("400ms", "60ms").arg("--burst=4");
    let pace = Pace { burst: 4, ..Pace::delays(ms(400), ms(60)) };
    crawl_and_judge(&scene, pace);
    let entries = scene.web.log().entries();
    let within = gaps(&entries, "h0.site0.test").into_iter().filter(|&gap| gap < 400_000).count();
    assert!(within > 0, "no burst was observed");
}

#[test]
fn the_relative_delay_follows_the_time_the_site_took() {
    let scene = Scene::new(shared(10, 5, 6))
        .set("politeness.mode=\"relative\"")
        .set("politeness.relative-factor=8")
        .set("politeness.relative-delay-min=100ms")
        .set("politeness.relative-delay-max=400ms")
        .delays("1h", "20ms");
    let relative = Relative { factor: 8.0, min: ms(100), max: ms(400) };
    crawl_and_judge(&scene, Pace { relative: Some(relative), ..Pace::delays(ms(0), ms(20)) });
}

/// A Crawl-delay shorter than the delay makes no host faster; one longer than the maximum counts as
/// the maximum.
#[test]
fn a_crawl_delay_makes_a_host_slower() {
    let asks = |secs| {
        let robots = Robots::rules(&[(false, "/s2/")], Some(secs));
        Character::named("crawl-delay").robots(robots).pages(5)
    };
    let spec = shared(3, 0, 6)
        .host("short.test", asks(0.01))
        .host("longer.test", asks(0.6))
        .host("absurd.test", asks(86_400.0));
    for burst in [1, 3] {
        let scene = Scene::new(spec.clone())
            .delays("100ms", "20ms")
            .arg(format!("--burst={burst}"))
            .set("politeness.crawl-delay-max=900ms");
        let pace = Pace { burst, crawl_delay_max: ms(900), ..Pace::delays(ms(100), ms(20)) };
        crawl_and_judge(&scene, pace);
        let entries = scene.web.log().entries();
        for (host, delay) in [("longer.test", 600_000), ("absurd.test", 900_000)] {
            let gaps = gaps(&entries, host);
            assert!(gaps.len() >= 3, "{host}: {gaps:?}");
            assert!(gaps[1..].iter().all(|&gap| gap >= delay), "{host}: {gaps:?}");
        }
    }
}

#[test]
fn a_domain_may_have_a_delay_of_its_own() {
    let mut spec = shared(4, 0, 5);
    spec.hosts_per_domain = 2;
    let scene = Scene::new(spec).delays("150ms", "10ms").set(
        "politeness.domains=[{ suffix = \"site1.test\", delay = \"600ms\" }, \
         { suffix = \"h1.site2.test\", delay = \"20ms\" }]",
    );
    let domains = vec![("site1.test".to_owned(), ms(600)), ("h1.site2.test".to_owned(), ms(20))];
    crawl_and_judge(&scene, Pace { domains, ..Pace::delays(ms(150), ms(10)) });
    let quick = gaps(&scene.web.log().entries(), "h1.site2.test");
    assert!(quick.iter().any(|&gap| gap < 150_000), "the shorter delay was not used: {quick:?}");
}

/// A refusal applies to the host, not to the URL: no request to that host before its time.
#[test]
fn a_host_that_asks_to_slow_down_is_left_alone() {
    let busy = |code, retry_after, refusals| {
        Character::named("busy").manner(Manner::SlowDown { code, retry_after, refusals }).pages(4)
    };
    let spec = shared(3, 0, 5)
        .host("seconds.test", busy(429, RetryAfter::Seconds(1), 2))
        .host("seconds503.test", busy(503, RetryAfter::Seconds(2), 1))
        .host("date.test", busy(503, RetryAfter::Date(2), 2))
        .host("vague.test", busy(429, RetryAfter::Absent, 3))
        .host("vague503.test", busy(503, RetryAfter::Absent, 4));
    let scene = Scene::new(spec)
        .delays("50ms", "10ms")
        .arg("--burst=3")
        .set("politeness.backoff-first=300ms");
    let pace = Pace { burst: 3, backoff_first: ms(300), ..Pace::delays(ms(50), ms(10)) };
    let (ended, _) = crawl_and_judge(&scene, pace);
    assert_eq!(ended.count("errors/slow-down"), 12, "{}", ended.report);
}

#[test]
fn without_any_delay_there_is_still_one_request_at_a_time() {
    let scene = Scene::new(shared(12, 4, 30)).delays("0s", "0s");
    let pace = Pace { burst: u32::MAX, ..Pace::delays(ms(0), ms(0)) };
    crawl_and_judge(&scene, pace);
}

#[test]
fn robots_txt_of_every_kind_is_read_first_and_obeyed() {
    let robots = |name: &str, robots| Character::named(name).robots(robots).pages(8);
    let at = |hops, to: &str| Robots::Redirects { hops, to: Some(to.to_owned()) };
    let agent = Spec::default().agent;
    let spec = shared(4, 2, 8)
        .robots(Robots::standard())
        .host("missing.test", robots("missing", Robots::Status(404)))
        .host("forbidden.test", robots("forbidden", Robots::Status(403)))
        .host("empty.test", robots("empty", Robots::Empty))
        .host("closed.test", robots("closed", Robots::rules(&[(false, "/")], None)))
        .host("agent.test", robots("agent", Robots::for_agent(&agent)))
        .host("marked.test", robots("marked", Robots::ByteOrderMark))
        .host("garbage.test", robots("garbage", Robots::Garbage))
        .host("huge.test", robots("huge", Robots::Huge))
        .host("maps.test", robots("maps", Robots::Sitemaps(12)))
        .host("moved1.test", robots("moved1", Robots::Redirects { hops: 1, to: None }))
        .host("moved5.test", robots("moved5", Robots::Redirects { hops: 5, to: None }))
        .host("moved6.test", robots("moved6", Robots::Redirects { hops: 6, to: None }))
        .host("away1.test", robots("away1", at(1, "h0.site0.test")))
        .host("away4.test", robots("away4", at(4, "h0.site1.test")))
        .host("a.test", robots("a", at(1, "b.test")))
        .host("b.test", robots("b", at(2, "a.test")))
        .host("away-nowhere.test", robots("away-nowhere", at(1, "a.test")));
    let scene = Scene::new(spec).delays("60ms", "15ms");
    let (ended, report) = crawl_and_judge(&scene, Pace::delays(ms(60), ms(15)));
    assert!(report.n_robots > 20 + 5, "{report}");
    assert!(ended.count("skipped/robots") > 0, "{}", ended.report);
}

/// While robots.txt is not available, nothing is fetched. Once it is, its rules apply. If it never
/// is, the host is given up and the report counts that.
#[test]
fn without_a_robots_txt_nothing_is_fetched() {
    let robots = |name: &str, robots| Character::named(name).robots(robots).pages(6);
    let spec = shared(2, 0, 5)
        .host("back500.test", robots("back", Robots::Recovering { code: 500, times: 3 }))
        .host("back503.test", robots("back", Robots::Recovering { code: 503, times: 2 }))
        .host("back429.test", robots("back", Robots::Recovering { code: 429, times: 1 }))
        .host("never.test", robots("never", Robots::Status(500)))
        .host("silent.test", robots("silent", Robots::Silent))
        .host("reset.test", robots("reset", Robots::Reset));
    let scene = Scene::new(spec)
        .delays("40ms", "10ms")
        .set("fetch.first-byte-timeout=300ms")
        .set("politeness.backoff-first=150ms");
    let (ended, _) = crawl_and_judge(&scene, Pace::delays(ms(40), ms(10)));
    let mut asked: HashMap<String, usize> = HashMap::new();
    for entry in scene.web.log().entries() {
        *asked.entry(entry.host).or_default() += 1;
    }
    for host in ["never.test", "silent.test", "reset.test"] {
        assert!((2..=10).contains(&asked[host]), "{host} was requested {} times", asked[host]);
    }
    let given_up = ended.count("skipped/robots-unreachable") + ended.count("skipped/gave-up");
    assert_eq!(given_up, 3, "{}", ended.report);
}

/// Hosts whose robots.txt redirect to pages of another host, which disallows them. That host is asked
/// for its robots.txt at most; in a crawl of other hosts only, for nothing.
#[test]
fn a_robots_txt_that_redirects_to_a_page_of_another_host_is_not_followed() {
    for in_scope in [true, false] {
        let spec = shared(2, 0, 4).with_robots_deputies("victim.test");
        let mut scene = Scene::new(spec)
            .delays("40ms", "10ms")
            .set("politeness.backoff-first=100ms")
            .set("politeness.robots-age-max=1s");
        let mut limits = JudgeLimits::default();
        if !in_scope {
            scene = scene.set("links.exclude=[{ host-suffix = \"victim.test\" }]");
            let out: Vec<String> = scene.web.seeds();
            let kept: Vec<&str> =
                out.iter().map(String::as_str).filter(|url| !url.contains("victim")).collect();
            scene = scene.seeds(&kept);
            limits.host_suffixes = ["site0.test", "site1.test"].map(str::to_owned).to_vec();
        }
        let ended = scene.crawl().succeeded();
        scene.assert_clean(&scene.judge(limits, Pace::delays(ms(40), ms(10))));
        let log = scene.web.log().entries();
        let at_victim: Vec<&str> =
            log.iter().filter(|e| e.host == "victim.test").map(|e| e.path.as_str()).collect();
        let wanted: &[&str] = if in_scope { &["/robots.txt"] } else { &[] };
        assert_eq!(at_victim, wanted, "in scope: {in_scope}");
        let asked = log.iter().filter(|e| e.host == "deputy1.test").count();
        assert!(asked > 1, "the robots.txt of the deputies were not requested again");
        assert!(ended.count("skipped/robots-redirect") >= 5, "{}", ended.report);
        let no_rules = ended.count("skipped/robots-unreachable") + ended.count("skipped/gave-up");
        assert_eq!(no_rules, 5, "{}", ended.report);
    }
}
