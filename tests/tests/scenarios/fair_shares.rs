//! Fair shares: what one site sends bounds what it costs, and no site takes what another one needs.
//!
//! Possible failures: names that do not exist, found on strangers' pages, use up the hosts of a
//! domain; its name servers are flooded; one site fills the queues, and the disk; names that point
//! to the address of a site take its turns; links that are costly to parse stop the parsers.

use crivello_common::time::Timestamp;
use crivello_common::url::parse_cost;
use crivello_tests::{Ended, Scene, seed};
use simweb::adversary::{costly_link, dead_names, link_flood, linking, squatter};
use simweb::{Character, Content, Entry, JudgeLimits, Pace, SeedChoice, Spec};
use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);

/// A web with four honest sites.
fn honest() -> Spec {
    Spec::new(seed()).size(4, 1, 6).ips(0).seeds(SeedChoice::Hosts)
}

fn crawl_and_judge(scene: &Scene) -> Ended {
    let ended = scene.crawl().succeeded();
    scene.assert_clean(&scene.judge(JudgeLimits::default(), Pace::delays(DELAY, DELAY)));
    ended
}

fn scene(spec: Spec) -> Scene {
    Scene::new(spec).delays("20ms", "20ms")
}

/// Returns the largest number of `times` within one second.
fn most_in_a_second(times: &[Timestamp]) -> usize {
    let second = Duration::from_secs(1);
    let within =
        |from: Timestamp| times.iter().filter(|&&t| t >= from && t < from + second).count();
    times.iter().map(|&from| within(from)).max().unwrap_or(0)
}

/// Ten pages of evil.test link to 10,000 names of victim.test that do not exist, and are fetched
/// before the only page that links to www.victim.test. Only a seed and its own domain know that
/// host, and that is enough.
#[test]
fn names_that_do_not_exist_lock_no_host_out_and_flood_no_name_server() {
    let way = Content::Foreign(vec!["http://www.victim.test:{port}/".to_owned()]);
    let mut home = Character::named("home").content(way).pages(3);
    home.latency_ms = Some(1_500);
    let mut spec = honest()
        .host("victim.test", home)
        .host("www.victim.test", Character::named("victim").pages(8));
    for i in 0..10 {
        let flood = dead_names("victim.test", 1_000 * i..1_000 * (i + 1));
        spec = spec.host(&format!("h{i}.evil.test"), flood);
    }
    let scene = scene(spec)
        .set("limits.hosts-per-domain-max=100")
        .set("limits.unresolved-hosts-per-domain-max=40")
        .set("dns.lookups-per-domain-max=10");
    let seeds: Vec<String> = scene.web.seeds();
    let first: Vec<&str> =
        seeds.iter().map(String::as_str).filter(|url| !url.contains("www.victim")).collect();
    let scene = scene.seeds(&first);
    let ended = crawl_and_judge(&scene);
    let entries = scene.web.log().entries();
    let is_real = |e: &&Entry| e.host == "www.victim.test" && e.path != "/robots.txt";
    assert_eq!(entries.iter().filter(is_real).count(), 8, "all pages of the real host");
    let queries = scene.web.queries("victim.test");
    println!("{} queries for names of victim.test", queries.len());
    assert!(queries.len() < 200, "{} queries for names of victim.test", queries.len());
    let most = most_in_a_second(&queries);
    // A burst and a second's rate, for each of two lines; a query may be sent twice.
    assert!(most <= 80, "{most} queries in a second");
    assert!(ended.count("skipped/too-many-unresolved-hosts") > 9_000, "{}", ended.report);
}

/// Pages of one domain link to 8,000 long URLs of it. It queues what its share allows; what was
/// refused leaves no trace on disk, and the other sites are fetched whole.
#[test]
fn a_flood_of_links_fills_the_share_of_its_site_and_no_disk() {
    let mut spec = honest();
    for i in 0..20 {
        let host = format!("h{i}.evil.test");
        spec = spec.host(&host, link_flood(&host, 400 * i..400 * (i + 1), 1_500));
    }
    let scene = scene(spec)
        .set("limits.queued-bytes-per-host-max=32KiB")
        .set("limits.queued-bytes-per-domain-max=256KiB");
    let ended = crawl_and_judge(&scene);
    let entries = scene.web.log().entries();
    let evil = entries.iter().filter(|e| e.host.ends_with("evil.test")).count();
    println!("{evil} requests to evil.test, {} bytes of state", state_bytes(&scene.out()));
    // 20 hosts with a robots.txt, a first page and 22 URLs each.
    assert!(evil < 20 * 26, "{evil} requests to evil.test");
    let refused = ended.count("skipped/host-queue-full") + ended.count("skipped/domain-queue-full");
    assert!(refused > 7_000, "{}", ended.report);
    let bytes = state_bytes(&scene.out());
    assert!(bytes < 3 << 20, "{bytes} bytes of state for 12 MB of links");
}

/// Strangers link to more pages of a site than its queue holds, before its first page arrives. The
/// pages that it links to itself are fetched all the same.
#[test]
fn strangers_do_not_fill_the_queue_of_a_site() {
    let mut victim = Character::named("victim").pages(15);
    victim.latency_ms = Some(400);
    let mut spec = honest().host("www.victim.test", victim);
    for i in 0..8 {
        let flood = link_flood("www.victim.test", 1_000 * i..1_000 * (i + 1), 60);
        spec = spec.host(&format!("www.evil{i}.test"), flood);
    }
    let scene = scene(spec)
        .set("limits.queued-urls-per-host-max=40")
        .set("limits.queued-urls-per-domain-max=400");
    let ended = crawl_and_judge(&scene);
    let entries = scene.web.log().entries();
    let junk = entries.iter().filter(|e| e.host == "www.victim.test" && e.status == 404).count();
    println!("{junk} pages that do not exist were requested");
    assert!((1..=40).contains(&junk), "{junk} pages that do not exist were requested");
    let refused = ended.count("skipped/host-queue-full") + ended.count("skipped/domain-queue-full");
    assert!(refused > 7_500, "{}", ended.report);
}

/// Sixty names of evil.test point to the address of a site, which answers them with 404. The site
/// keeps at least half of its turns.
#[test]
fn names_at_the_address_of_a_site_take_one_share_together() {
    let address = Ipv4Addr::new(127, 77, 7, 7);
    let victim = Character { ip: Some(address), ..Character::named("victim").pages(60) };
    let names = 60;
    let links = (0..names).flat_map(|i| {
        (0..5).map(move |page| format!("http://h{i}.evil.test:{{port}}/page-{page}"))
    });
    let mut spec = honest().host("www.evil.test", linking("links", links));
    for i in 0..names {
        spec = spec.host(&format!("h{i}.evil.test"), squatter(address));
    }
    let spec = spec.host("victim.test", victim);
    let scene = scene(spec);
    let ended = crawl_and_judge(&scene);
    let mut there: Vec<Entry> = scene.web.log().entries();
    there.retain(|e| e.ip == Some(address));
    there.sort_by_key(|e| e.start);
    let is_page = |e: &Entry| e.host == "victim.test" && e.path != "/robots.txt";
    let first = there.iter().position(is_page).expect("the site was visited");
    let last = there.iter().rposition(is_page).expect("the site was visited");
    let turns = &there[first..=last];
    let own = turns.iter().filter(|e| e.host == "victim.test").count();
    println!("{own} of {} turns at the address, {} in all", turns.len(), there.len());
    assert!(there.len() > 300, "the names at the address were visited {} times", there.len());
    assert!(2 * own >= turns.len(), "{own} of {} turns: {}", turns.len(), ended.report);
}

/// A page with links to names that are costly to convert has its budget, and no link of it is
/// converted for nothing.
#[test]
fn costly_links_are_counted_before_they_are_parsed() {
    let too_long = (0..500).map(|n| format!("//{n}{}.test/", "\u{4e2d}".repeat(1_000)));
    let long_label = (0..500).map(|n| costly_link(1, 64).replace(".test", &format!("{n}.test")));
    let costly = costly_link(4, 30);
    let cost = parse_cost(&costly).expect("a name that may exist");
    let work_max = 20 * cost;
    let many = (0..500).map(|n| format!("{costly}{n}"));
    let spec = honest()
        .host("long.test", linking("long", too_long))
        .host("label.test", linking("label", long_label))
        .host("costly.test", linking("costly", many));
    let scene = scene(spec).set(&format!("links.work-per-page-max={work_max}"));
    let ended = crawl_and_judge(&scene);
    assert_eq!(ended.count("skipped/authority"), 1_000, "{}", ended.report);
    let refused = ended.count("skipped/too-much-work");
    assert!((480..500).contains(&refused), "{refused} refused: {}", ended.report);
}

fn state_bytes(out: &Path) -> u64 {
    let files = std::fs::read_dir(out.join("state")).expect("the state");
    files.map(|file| file.and_then(|file| file.metadata()).map_or(0, |data| data.len())).sum()
}
