//! Adversaries: what their victims lose, by the web's own log. `docs/evidence.md` lists all of them;
//! those of shares are in `fair_shares.rs`, those of addresses and ports in `private_addresses.rs`,
//! slow and endless hosts in `hostile.rs`, and the secrecy of identities in `identity.rs`.
//!
//! Possible failures: frames of HTTP/2 that carry nothing keep a visit busy for ever, or fill memory;
//! a robots.txt that redirects makes the crawler request a forbidden page of another site, or takes
//! its turns; a page or a host is taken for one that was forged, and is never fetched.

use crivello_tests::{Ended, Load, Permits, Scene, is_page, seed};
use simweb::adversary::{FORGED_HOSTS, FORGED_URL, linking};
use simweb::{Character, Entry, Http2Flood, JudgeLimits, Manner, Pace, Robots, SeedChoice, Spec};
use std::collections::BTreeMap;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(50);
/// Maximum peak memory of a crawl with these caches, whatever the sites send.
const MEMORY_MAX: u64 = 320 << 20;

/// Returns a web of four honest sites of six pages.
fn honest() -> Spec {
    Spec::new(seed()).size(4, 1, 6).ips(0).seeds(SeedChoice::Hosts)
}

/// Returns a crawl with timeouts of some seconds and small caches.
fn scene(spec: Spec) -> Scene {
    Scene::new(spec)
        .delays("50ms", "10ms")
        .set("politeness.backoff-first=300ms")
        .set("fetch.connect-timeout=1s")
        .set("fetch.first-byte-timeout=3s")
        .set("fetch.total-timeout=5s")
        .set("fetch.keep-alive=2s")
        .set("state.block-cache=8MiB")
        .set("state.write-buffers=8MiB")
        .set("state.sieve-cache=1MiB")
}

fn crawl_and_judge(scene: &Scene) -> Ended {
    let ended = scene.crawl().succeeded();
    let pace = Pace::delays(DELAY, Duration::from_millis(10));
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    ended
}

fn is_honest(entry: &Entry) -> bool {
    entry.host.starts_with("h0.site")
}

/// Returns the scene with the seeds of honest hosts behind all others.
fn honest_last(scene: Scene) -> Scene {
    let seeds = scene.web.seeds();
    let (own, others): (Vec<&str>, Vec<&str>) =
        seeds.iter().map(String::as_str).partition(|url| url.contains("//h0.site"));
    let seeds = [others, own].concat();
    scene.seeds(&seeds)
}

/// Two hosts of each kind of flood. The honest sites, whose seeds come last, are fetched whole, most
/// of their pages while floods are in flight. Each flooded connection ends soon: at once if the frames
/// break the protocol's bounds, otherwise when it was idle for long enough after the request failed.
#[test]
fn floods_of_http2_frames_slow_nobody_else() {
    let _permits = Permits::take(Load::All);
    let scene = honest_last(scene(honest().with_http2_floods(2)));
    let ended = crawl_and_judge(&scene);
    let entries = scene.web.log().entries();
    let (honest, floods): (Vec<_>, Vec<_>) = entries.iter().partition(|entry| is_honest(entry));
    let floods: Vec<_> = floods.into_iter().filter(|e| e.path != "/robots.txt").collect();
    let is_beside = |page: &&&Entry| {
        floods.iter().any(|flood| flood.start < page.start && page.end < flood.end)
    };
    let beside = honest.iter().filter(is_beside).count();
    println!("{beside} of {} honest requests while floods were in flight", honest.len());
    assert!(2 * beside > honest.len(), "the honest sites waited for the floods");

    let mut by_kind = BTreeMap::<&str, (u64, Duration)>::new();
    for entry in &floods {
        assert!(entry.http2, "{} was not requested over HTTP/2", entry.url());
        let kind = entry.host.split('-').next().unwrap_or_default();
        let took = Duration::from_micros(entry.end - entry.start);
        let (bytes, longest) = by_kind.entry(kind).or_default();
        (*bytes, *longest) = ((*bytes).max(entry.bytes), (*longest).max(took));
    }
    assert_eq!(by_kind.len(), Http2Flood::all().len(), "{by_kind:?}");
    for (kind, flood) in Http2Flood::all().iter().enumerate() {
        let (bytes, longest) = by_kind[&*format!("flood{kind}")];
        println!("{flood:?}: at most {bytes} bytes and {longest:?} a request");
        // The time limit of the request, two checks of idle connections, and what a loaded machine
        // adds.
        assert!(longest < Duration::from_secs(12), "{flood:?} kept a request for {longest:?}");
    }
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
}

/// Interim responses without end, over HTTP/1.1.
#[test]
fn interim_responses_without_end_are_cut_off() {
    let _permits = Permits::take(Load::All);
    let endless = Character::named("interim").manner(Manner::EndlessInterim).pages(1);
    let spec = (0..4).fold(honest(), |spec, i| spec.host(&format!("i{i}.test"), endless.clone()));
    let scene = honest_last(scene(spec));
    let ended = crawl_and_judge(&scene);
    assert!(ended.count("errors/first-byte-timeout") >= 4, "{}", ended.report);
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
}

/// Sixty robots.txt redirect to another site: half of them to a page that it forbids, half to its
/// robots.txt. No such page is requested; the others share the rules that are known, so the site pays
/// with a few requests at its own delay, and is fetched whole.
#[test]
fn a_robots_txt_that_redirects_makes_no_site_fetch_for_another() {
    let n_deputies = 30;
    let mut spec = honest().host("victim.test", Character::named("victim").pages(20));
    for i in 0..n_deputies {
        let page = format!("http://victim.test:{{port}}/private/delete?id={i}");
        let spy = Character::named("spy").robots(Robots::RedirectTo(page)).pages(1);
        let to = Some("victim.test".to_owned());
        let deputy = Character::named("deputy").robots(Robots::Redirects { hops: 1, to }).pages(1);
        spec = spec.host(&format!("spy{i}.test"), spy).host(&format!("deputy{i}.test"), deputy);
    }
    let scene = scene(spec);
    let ended = crawl_and_judge(&scene);
    let entries = scene.web.log().entries();
    let at_victim: Vec<_> = entries.iter().filter(|e| e.host == "victim.test").collect();
    let private = at_victim.iter().filter(|e| e.path.starts_with("/private")).count();
    assert_eq!(private, 0, "pages of another site were requested");
    let robots = at_victim.iter().filter(|e| e.path == "/robots.txt").count();
    println!("{robots} requests for the site's robots.txt, {} in all", at_victim.len());
    assert!(robots <= 10, "{robots} requests for the site's robots.txt");
    assert!(ended.count("skipped/robots-redirect") > 0, "{}", ended.report);
}

/// The adversary knows the URLs of its victims, all code, and the hashes of the versions without a
/// key, but not the key of the crawl. It links to a URL and to a name that do not exist, and that had
/// the hashes of a page and of a host, before the crawler finds those. A second forged name is that of
/// a host that exists: it and the host for whose hash it was made are both fetched.
#[test]
fn what_is_forged_for_hashes_without_a_key_takes_no_page() {
    let [(host, no_host), (shop, other)] = FORGED_HOSTS;
    let (page, no_page) = FORGED_URL;
    let mut report = Character::named("report").pages(6);
    report.latency_ms = Some(1_000);
    let mut home = linking("home", std::iter::once(format!("http://{host}:{{port}}/")));
    home.latency_ms = Some(1_000);
    let links = [no_page.to_owned(), format!("http://{no_host}:{{port}}/")];
    let spec = honest()
        .host("www.evil.test", linking("forger", links.into_iter()))
        .host("www.report.test", report)
        .host("victim.test", home)
        .host(host, Character::named("victim").pages(8))
        .host(shop, Character::named("shop").pages(5))
        .host(other, Character::named("other").pages(5));
    let scene = scene(spec);
    assert!(scene.web.port() >= 10_000, "the forged URL is for a port of five digits");
    // Only a page of its own domain knows the host.
    let (seeds, of_host) = (scene.web.seeds(), format!("http://{host}:"));
    let first = seeds.iter().map(String::as_str).filter(|url| !url.starts_with(&of_host));
    let scene = scene.seeds(&first.collect::<Vec<_>>());
    let ended = crawl_and_judge(&scene);

    let entries = scene.web.log().entries();
    let requests = |location: &str| {
        let url = scene.web.world().with_port(location);
        entries.iter().filter(|entry| entry.url() == url).count()
    };
    assert_eq!((requests(page), requests(no_page)), (1, 1), "{}", ended.report);
    for (name, n_pages) in [(host, 8), (shop, 5), (other, 5)] {
        let n = entries.iter().filter(|entry| entry.host == name && is_page(entry)).count();
        assert_eq!(n, n_pages, "pages of {name}: {}", ended.report);
    }

    // The forged ones were found first.
    let looked_up = |name: &str| scene.web.queries(name).first().copied().expect("a query");
    assert!(looked_up(no_host) < looked_up(host), "{host} was found first");
    let answers = |host: &str| {
        let pages = entries.iter().filter(|entry| entry.host == host && is_page(entry));
        pages.map(|entry| entry.end).min().expect("a page")
    };
    assert!(answers("www.evil.test") < answers("www.report.test"), "{page} was found first");
    assert_eq!(ended.count("skipped/host-key-taken"), 0, "{}", ended.report);
}
