//! Hostile sites: slow, dead, endless, lying and hostile sites do not slow down others and break
//! nothing, on one agent.
//!
//! Possible failures: a fetcher, a slot of the resolver or a parser waits for a host that never
//! answers; a body, a head or an unpacked stream exhausts memory; a trap fills the frontier; a page
//! is discarded without a reason.

use crivello_tests::{Ended, Scene, seed};
use simweb::{
    Character, Content, DnsWay, Entry, JudgeLimits, Manner, Pace, Robots, SeedChoice, Spec,
};
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(100);

/// Maximum peak memory of a crawl with these caches, whatever the sites send.
const MEMORY_MAX: u64 = 320 << 20;

/// Returns a crawl with timeouts of about a second and small caches.
fn impatient(spec: Spec) -> Scene {
    Scene::new(spec)
        .set("politeness.backoff-first=300ms")
        .set("fetch.connect-timeout=1s")
        .set("fetch.first-byte-timeout=1s")
        .set("fetch.total-timeout=3s")
        .set("dns.timeout=500ms")
        .set("dns.error-ttl=200ms")
        .set("state.block-cache=8MiB")
        .set("state.write-buffers=8MiB")
        .set("state.sieve-cache=1MiB")
}

fn healthy(domains: u32, pages: u32) -> Spec {
    Spec::new(seed()).size(domains, 1, pages).ips(0).seeds(SeedChoice::Hosts)
}

fn crawl_and_judge(scene: &Scene, limits: JudgeLimits) -> Ended {
    let ended = scene.crawl().succeeded();
    scene.assert_clean(&scene.judge(limits, Pace::delays(DELAY, Duration::from_millis(10))));
    ended
}

fn is_healthy(entry: &Entry) -> bool {
    entry.host.starts_with("h0.site")
}

/// Adds many hosts of every kind that never succeeds, on names that do or do not resolve.
fn beset(mut spec: Spec) -> Spec {
    let manners = [
        Manner::Silent,
        Manner::SilentAfterHead,
        Manner::Drip { bytes_per_second: 50 },
        Manner::DripHead { bytes_per_second: 5 },
        Manner::Reset,
        Manner::ResetInBody,
        Manner::LengthTooLong,
        Manner::Malformed,
        Manner::EndlessHead,
        Manner::EndlessBody,
    ];
    for (i, manner) in manners.into_iter().cycle().take(40).enumerate() {
        let hostile = Character::named("hostile").manner(manner).pages(3);
        spec = spec.host(&format!("hostile{i}.test"), hostile);
    }
    for i in 0..40 {
        let way = if i % 4 == 0 { DnsWay::ServFail } else { DnsWay::Silent };
        spec = spec.host(&format!("lost{i}.test"), Character::named("lost").dns(way));
        let mute = Character::named("mute").robots(Robots::Silent);
        spec = spec.host(&format!("mute{i}.test"), mute);
    }
    spec
}

/// Checks an order, not times: when the last healthy page is requested, a third of the requests to
/// hostile hosts is still to come. The seed of each healthy host is behind all hostile ones.
#[test]
fn hostile_hosts_slow_nobody_else() {
    let scene = impatient(beset(healthy(6, 5))).delays("100ms", "10ms");
    let seeds = scene.web.seeds();
    let (own, others): (Vec<&str>, Vec<&str>) =
        seeds.iter().map(String::as_str).partition(|url| url.contains("//h0.site"));
    let scene = scene.seeds(&[others, own].concat()).allow_log_line("the network seems to be down");
    let ended = crawl_and_judge(&scene, JudgeLimits::default());
    let entries = scene.web.log().entries();
    let (healthy, hostile): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| is_healthy(entry));
    let last = healthy.iter().map(|entry| entry.start).max().expect("requests to healthy hosts");
    let (before, tried) = (hostile.iter().filter(|e| e.start < last).count(), hostile.len());
    println!("{before} of {tried} requests to hostile hosts before the last to a healthy one");
    assert!(3 * before < 2 * tried, "the healthy hosts waited for the hostile ones");
    assert!(tried > 100, "the hostile hosts were tried {tried} times");
    for kind in ["dns-unavailable", "first-byte-timeout", "disconnected", "bad-response"] {
        assert!(ended.count(&format!("errors/{kind}")) > 0, "{kind}: {}", ended.report);
    }
    assert!(ended.count("errors/head-too-large") > 0, "{}", ended.report);
    assert!(ended.count("skipped/gave-up") > 40, "{}", ended.report);
    assert!(ended.count("skipped/robots-unreachable") > 0, "{}", ended.report);
    assert!(ended.count("totals/truncated") > 0, "{}", ended.report);
}

/// Even if most fetchers are blocked, the others serve all hosts.
#[test]
fn one_host_of_every_hostile_kind_breaks_nothing() {
    let spec = healthy(8, 6).with_hostile_hosts();
    let scene = impatient(spec).delays("100ms", "10ms");
    let ended = crawl_and_judge(&scene, JudgeLimits::default());
    for reason in ["address-denied", "gave-up", "repeated-segments", "robots-unreachable"] {
        assert!(ended.count(&format!("skipped/{reason}")) > 0, "{reason}: {}", ended.report);
    }
    for kind in ["dns-no-such-name", "connect-refused", "head-too-large", "slow-down"] {
        assert!(ended.count(&format!("errors/{kind}")) > 0, "{kind}: {}", ended.report);
    }
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
}

fn many(mut spec: Spec, n: u32, what: &Character) -> Spec {
    for i in 0..n {
        spec = spec.host(&format!("{}{i}.test", what.name), what.clone());
    }
    spec
}

/// 48 pages of 256 MiB each, sent as a quarter of a MiB.
#[test]
fn gzip_bombs_do_not_go_off() {
    let bomb = Character::named("bomb").manner(Manner::GzipBomb { bytes: 256 << 20 }).pages(1);
    let scene = impatient(many(healthy(4, 6), 48, &bomb)).delays("100ms", "10ms");
    let ended = crawl_and_judge(&scene, JudgeLimits::default());
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
    assert_eq!(ended.count("totals/pages"), 48 + 24, "{}", ended.report);
}

#[test]
fn heads_and_bodies_without_end_are_cut_off() {
    let head = Character::named("head").manner(Manner::EndlessHead).pages(1);
    let huge = Character::named("huge").manner(Manner::HugeHead { bytes: 8 << 20 }).pages(1);
    let body = Character::named("body").manner(Manner::EndlessBody).pages(1);
    let spec = many(many(many(healthy(4, 6), 24, &head), 24, &huge), 48, &body);
    let scene = impatient(spec).delays("100ms", "10ms").set("fetch.body-size-max=1MiB");
    let ended = crawl_and_judge(&scene, JudgeLimits::default());
    assert_eq!(ended.count("errors/head-too-large"), 48, "{}", ended.report);
    assert_eq!(ended.count("totals/truncated"), 48, "{}", ended.report);
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
}

/// A calendar, a growing path and a domain of endless names each get what the limits allow.
#[test]
fn spaces_without_end_end_at_the_limits() {
    let spec = healthy(6, 8)
        .with_endless_hosts()
        .host("segments.test", Character::named("segments").content(Content::Segments).pages(3));
    let scene = impatient(spec)
        .delays("5ms", "0s")
        .arg("--max-pages-per-host=20")
        .set("limits.hosts-per-domain-max=6");
    let ended = scene.crawl().succeeded();
    let limits = JudgeLimits { pages_per_host_max: Some(20), ..JudgeLimits::default() };
    let pace = Pace::delays(Duration::from_millis(5), Duration::ZERO);
    scene.assert_clean(&scene.judge(limits, pace));
    let entries = scene.web.log().entries();
    let days = entries.iter().filter(|e| e.host == "calendar.test" && e.path != "/robots.txt");
    assert_eq!(days.count(), 20);
    for reason in ["host-limit", "too-many-hosts", "repeated-segments"] {
        assert!(ended.count(&format!("skipped/{reason}")) > 0, "{reason}: {}", ended.report);
    }
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
}
