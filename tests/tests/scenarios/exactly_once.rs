//! Exactly-once fetching: on a finite web, one agent fetches exactly the pages that are allowed and
//! reachable within the limits, each once.
//!
//! Possible failures: a link is lost between two stages; a page is fetched twice; a limit is
//! exceeded by the visits in flight, or not reached because reserved quota is never released.

use crivello_tests::{Ended, Scene, seed};
use simweb::{Character, Content, Entry, JudgeLimits, Manner, Pace, PageKind, RetryAfter, Robots};
use simweb::{SeedChoice, Spec};
use std::collections::BTreeMap;
use std::time::Duration;
use test_size::sized;

/// Delay that costs no time; the test is about the set of pages, not about timing.
const DELAY: Duration = Duration::from_millis(2);

fn brisk(spec: Spec) -> Scene {
    Scene::new(spec).delays("2ms", "0s").set("politeness.backoff-first=100ms")
}

fn pace() -> Pace {
    Pace::delays(DELAY, Duration::ZERO)
}

/// Runs a crawl to its end. The judge must find no missing, repeated or unexpected pages.
fn crawl_and_judge(scene: &Scene, limits: JudgeLimits) -> Ended {
    let ended = scene.crawl().succeeded();
    let report = scene.assert_clean(&scene.judge(limits, pace()));
    assert!(report.n_expected > 0, "nothing to fetch");
    assert_eq!(ended.count("totals/urls_queued"), 0, "URLs are still queued");
    ended
}

/// Returns a web with every kind of page and of robots.txt, on hosts that all answer eventually.
fn varied(seed: u64) -> Spec {
    let robots = |name: &str, robots| Character::named(name).robots(robots);
    let mut spec = Spec::new(seed).size(12, 2, 12).ips(0).links(12).with_variety();
    spec.pages_spread = 0.8;
    let agent = spec.agent.clone();
    let away = Robots::Redirects { hops: 3, to: Some("h0.site0.test".to_owned()) };
    let busy = Manner::SlowDown { code: 503, retry_after: RetryAfter::Absent, refusals: 2 };
    spec.share(0.15, robots("rules", Robots::standard()))
        .share(0.08, robots("no-robots", Robots::Status(404)))
        .share(0.06, robots("empty-robots", Robots::Empty))
        .share(0.06, robots("for-agent", Robots::for_agent(&agent)))
        .share(0.06, robots("sitemaps", Robots::Sitemaps(60)))
        .share(0.06, robots("gzipped", Robots::GzippedSitemaps(60)))
        .share(0.06, robots("moved", Robots::Redirects { hops: 2, to: None }))
        .share(0.04, robots("marked", Robots::ByteOrderMark))
        .share(0.04, robots("garbage", Robots::Garbage))
        .share(0.04, robots("huge", Robots::Huge))
        .share(0.06, robots("recovering", Robots::Recovering { code: 500, times: 2 }))
        .share(0.05, Character { keep_alive: Some(false), ..Character::named("closing") })
        .host("closed.test", robots("closed", Robots::rules(&[(false, "/")], None)))
        .host("away.test", robots("away", away))
        .host("busy.test", Character::named("busy").manner(busy))
        .host("loop.test", Character::named("loop").content(Content::Loop(3)))
        .host("chain.test", Character::named("chain").content(Content::Chain(8)))
        .host("segments.test", Character::named("segments").content(Content::Segments))
        .host("short.test", Character::named("short").manner(Manner::LengthTooShort).pages(3))
}

/// Returns a web of plain pages, all reachable, with a seed on every host.
fn plain(seed: u64, domains: u32, hosts_per_domain: u32, pages_per_host: u32) -> Spec {
    Spec::new(seed).size(domains, hosts_per_domain, pages_per_host).ips(0).seeds(SeedChoice::Hosts)
}

/// Returns the number of fetched pages by group, where `name` maps a host to its group.
fn pages_by(scene: &Scene, name: impl Fn(&str) -> String) -> BTreeMap<String, u64> {
    let mut pages = BTreeMap::new();
    for entry in scene.web.log().entries().iter().filter(|entry| is_page(entry)) {
        *pages.entry(name(&entry.host)).or_default() += 1;
    }
    pages
}

/// Returns whether it is a page that counts against limits: one answered with success.
fn is_page(entry: &Entry) -> bool {
    entry.complete && entry.path != "/robots.txt" && (200..300).contains(&entry.status)
}

fn domain(host: &str) -> String {
    host.rsplitn(3, '.').take(2).collect::<Vec<_>>().join(".")
}

#[test]
fn every_page_of_a_varied_web_is_fetched_once() {
    let first = seed();
    for seed in (0..sized(2, 4)).map(|i| first.wrapping_add(i)) {
        let scene = brisk(varied(seed));
        let ended = crawl_and_judge(&scene, JudgeLimits::default());
        assert!(ended.count("skipped/robots") > 0, "{}", ended.report);
        assert!(ended.count("skipped/nofollow") > 0, "{}", ended.report);
        assert!(ended.count("skipped/repeated-segments") > 0, "{}", ended.report);
        assert!(ended.count("errors/slow-down") > 0, "{}", ended.report);
    }
}

#[test]
fn nofollow_is_followed_when_it_is_not_respected() {
    let scene = brisk(varied(seed())).set("links.respect-nofollow=false");
    crawl_and_judge(&scene, JudgeLimits { respect_nofollow: false, ..JudgeLimits::default() });
}

#[test]
fn sitemaps_are_left_alone_when_they_are_not_wanted() {
    let scene = brisk(varied(seed())).set("links.sitemaps=false");
    crawl_and_judge(&scene, JudgeLimits { sitemaps: false, ..JudgeLimits::default() });
}

/// A host may have its pages listed by a sitemap of another host, and nobody else's are.
#[test]
fn a_sitemap_lists_pages_of_the_hosts_whose_robots_txt_names_it() {
    let listed = |name: &str| {
        let host = "maps.test".to_owned();
        Character::named(name).robots(Robots::SitemapOn { host, pages: 30 })
    };
    let spec = plain(seed(), 4, 2, 5)
        .host("maps.test", Character::named("maps").pages(2))
        .host("first.test", listed("first").pages(3))
        .host("second.test", listed("second").pages(3));
    let scene = brisk(spec);
    let ended = crawl_and_judge(&scene, JudgeLimits::default());
    assert_eq!(ended.count("skipped/foreign-in-sitemap"), 2, "{}", ended.report);
    let entries = scene.web.log().entries();
    let n_listed = entries.iter().filter(|entry| entry.path.starts_with("/hidden/")).count();
    assert_eq!(n_listed, 60);
}

/// The assignment of hosts to groups does not change the fetched pages.
#[test]
fn groups_of_one_host_make_no_difference() {
    let scene = brisk(varied(seed()))
        .set("identity.assign-by=\"host\"")
        .set("limits.hosts-per-domain-max=none");
    crawl_and_judge(&scene, JudgeLimits::default());
}

#[test]
fn https_hosts_are_crawled_by_both_versions_of_http() {
    let seed = seed();
    for http2 in [true, false] {
        let scene = brisk(varied(seed).tls(0.5)).set(&format!("fetch.http2={http2}"));
        crawl_and_judge(&scene, JudgeLimits::default());
        let entries = scene.web.log().entries();
        let secure = entries.iter().filter(|entry| entry.tls);
        let (by_2, by_1): (Vec<_>, Vec<_>) = secure.partition(|entry| entry.http2);
        assert_eq!(!by_2.is_empty(), http2, "{} requests by HTTP/2", by_2.len());
        assert_eq!(by_1.is_empty(), http2, "{} https requests by HTTP/1.1", by_1.len());
    }
}

#[test]
fn a_crawl_of_so_many_pages_fetches_exactly_so_many() {
    for n_pages in [1, 7, 100, 239] {
        let scene = brisk(plain(seed(), 12, 1, 20)).arg(format!("--max-pages={n_pages}"));
        let ended = scene.crawl().succeeded();
        assert_eq!(ended.report["ended"], "limit");
        let limits = JudgeLimits { pages_max: Some(n_pages), ..JudgeLimits::default() };
        let report = scene.assert_clean(&scene.judge(limits, pace()));
        assert_eq!(report.n_pages, n_pages, "{report}");
        assert_eq!(ended.count("totals/pages"), n_pages, "{}", ended.report);
    }
}

/// Pages that fail or that robots.txt disallows do not count towards the limit.
#[test]
fn what_was_not_fetched_does_not_count_against_the_limit() {
    let reset = Character::named("reset").manner(Manner::Reset).pages(3);
    let mut spec = plain(seed(), 10, 1, 20).robots(Robots::standard());
    for i in 0..6 {
        spec = spec.host(&format!("reset{i}.test"), reset.clone());
    }
    let scene = brisk(spec).set("politeness.backoff-first=20ms").arg("--max-pages=100");
    let ended = scene.crawl().succeeded();
    assert_eq!(ended.count("totals/pages"), 100, "{}", ended.report);
    let answered = scene.web.log().entries().iter().filter(|entry| is_page(entry)).count();
    assert_eq!(answered, 100);
}

#[test]
fn the_limit_of_a_host_is_met_exactly() {
    for burst in [1, 5] {
        // More than nine pages of each host are no redirects, whatever the seed.
        let spec = plain(seed(), 10, 2, 30).portion(0.1, PageKind::Redirect(302));
        let scene = brisk(spec).arg("--max-pages-per-host=9").arg(format!("--burst={burst}"));
        let ended = scene.crawl().succeeded();
        let limits = JudgeLimits { pages_per_host_max: Some(9), ..JudgeLimits::default() };
        scene.assert_clean(&scene.judge(limits, Pace { burst, ..pace() }));
        let hosts = pages_by(&scene, str::to_owned);
        assert_eq!(hosts.len(), 20);
        let log = scene.web.log().entries();
        for (host, n) in &hosts {
            let requests = log.iter().filter(|entry| entry.host == *host);
            let requests: Vec<_> = requests.map(|entry| (&entry.path, entry.status)).collect();
            assert_eq!(*n, 9, "{host}: {requests:?}\n{}", ended.report);
        }
        let redirects = log.iter().filter(|entry| entry.complete && entry.status == 302).count();
        assert_eq!(ended.count("totals/pages"), 180 + redirects as u64);
        assert!(ended.count("skipped/host-limit") > 0, "{}", ended.report);
    }
}

#[test]
fn the_limit_of_a_domain_is_met_exactly() {
    for burst in [1, 6] {
        let scene = brisk(plain(seed(), 8, 4, 10))
            .set("limits.pages-per-domain-max=25")
            .arg(format!("--burst={burst}"));
        let ended = scene.crawl().succeeded();
        let domains = pages_by(&scene, domain);
        assert_eq!(domains.len(), 8);
        assert!(domains.values().all(|&n| n == 25), "{domains:?}");
        let limits = JudgeLimits { pages_per_domain_max: Some(25), ..JudgeLimits::default() };
        scene.assert_clean(&scene.judge(limits, Pace { burst, ..pace() }));
        assert!(ended.count("skipped/domain-limit") > 0, "{}", ended.report);
    }
}

/// Hosts without a delay fall due again before their pages are committed.
#[test]
fn the_limit_of_a_domain_is_met_exactly_without_a_delay() {
    let scene = Scene::new(plain(seed(), 6, 8, 60))
        .delays("0s", "0s")
        .set("limits.pages-per-domain-max=300");
    let _ = scene.crawl().succeeded();
    let domains = pages_by(&scene, domain);
    assert!(domains.len() == 6 && domains.values().all(|&n| n == 300), "{domains:?}");
}

/// A URL that robots.txt disallows needs no request, so one long visit reports many URLs at once.
#[test]
fn a_long_burst_over_disallowed_pages_ends() {
    let closed = Robots::rules(&[(false, "/s1/"), (false, "/s2/"), (false, "/s3/")], None);
    let spec = plain(seed(), 80, 1, 300).links(150).robots(closed);
    let scene = Scene::new(spec)
        .delays("1ms", "0s")
        .set("fetch.visits-max=80")
        .set("state.parser-threads=1")
        .arg("--burst=300");
    let ended = scene.crawl().succeeded();
    let pace = Pace { burst: 300, ..Pace::delays(Duration::from_millis(1), Duration::ZERO) };
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    assert_eq!(ended.count("totals/urls_queued"), 0, "URLs are still queued");
    assert!(ended.count("skipped/robots") > 10_000, "{}", ended.report);
}

/// Without links beyond the tree there is one path to each page, so its depth is certain.
#[test]
fn links_are_followed_so_far_and_no_further() {
    for depth in 0..4_u32 {
        let spec = Spec::new(seed()).size(5, 3, 40).ips(0).links(0);
        let scene = brisk(spec).arg(format!("--max-depth={depth}"));
        let limits = JudgeLimits { depth_max: Some(depth), ..JudgeLimits::default() };
        let ended = crawl_and_judge(&scene, limits);
        assert!(ended.count("skipped/depth") > 0, "{}", ended.report);
    }
}

#[test]
fn a_crawl_stays_within_its_scope() {
    let scene = brisk(varied(seed()))
        .set("links.include=[{ host-suffix = \"site0.test\" }, { host-suffix = \"site3.test\" }]")
        .set("links.exclude=[{ path-prefix = \"/s2/\" }]");
    let suffixes = ["site0.test", "site3.test"].map(str::to_owned).to_vec();
    let limits = JudgeLimits {
        host_suffixes: suffixes,
        path_prefixes_excluded: vec!["/s2/".to_owned()],
        ..JudgeLimits::default()
    };
    let ended = crawl_and_judge(&scene, limits);
    assert!(ended.count("skipped/out-of-scope") > 0, "{}", ended.report);
}

/// A domain whose pages each link to three new hosts does not exceed its limit, and does not reduce
/// the share of others.
#[test]
fn endless_subdomains_end() {
    let trap = Character::named("subdomains").content(Content::Subdomains).pages(3);
    let spec = varied(seed()).host("trap.test", trap);
    let scene = brisk(spec).set("limits.hosts-per-domain-max=7");
    let ended = crawl_and_judge(&scene, JudgeLimits::default());
    let hosts = pages_by(&scene, str::to_owned);
    let below = hosts.keys().filter(|host| host.ends_with("trap.test")).count();
    assert_eq!(below, 7, "{hosts:?}");
    assert!(ended.count("skipped/too-many-hosts") > 0, "{}", ended.report);
}
