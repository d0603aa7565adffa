//! Pages with many links come first with `url.inlinks`, by the web's log.
//!
//! Possible failures: links to known URLs are not counted, or are dropped before they reach their owner; queued URLs stay
//! where they are; a URL that moves is lost or fetched twice.

use crivello_tests::{Cluster, Scene, seed};
use simweb::adversary::linking;
use simweb::{Character, Entry, Robots, SimWeb, Spec};
use std::time::Duration;

const N_LINKERS: u32 = 12;
const N_PAGES: u32 = 48;
const TARGET: &str = "www.target.test";
/// The host whose robots.txt is in force for the pages. It answers late, so that all links are counted before the first
/// page is requested, also on a slow machine.
const RULES: &str = "www.rules.test";
const RULES_LATENCY_MS: u32 = 6_000;
/// In the order of appearance the lead is -32, and in that of links it is 32. The pages in memory when links are counted
/// come first, and on a slow machine some more.
const LEAD_MIN: f64 = -8.0;
/// URLs in memory: those of all linkers, and few pages.
const WINDOW: &str = "state.window-urls-max=24";
const DELAY: Duration = Duration::from_millis(250);

/// Hosts of many domains that link to pages of one host. The first one lists the other hosts, and all pages after them. The
/// last pages have a link from each host, the first ones only this. The pages do not exist, so only these links lead to
/// them.
fn web() -> Spec {
    let name = |i| format!("h0.linker{i}.test");
    let spec = Spec::new(seed()).size(1, 1, 1).ips(0).latency_ms(0, 5);
    let spec = (0..N_LINKERS).fold(spec, |spec, i| {
        let pages = (0..N_PAGES).filter(|page| page * N_LINKERS / N_PAGES >= i);
        let links = pages.map(|page| format!("http://{TARGET}:{{port}}/linked-{page}"));
        let others = (1..N_LINKERS).filter(|_| i == 0);
        let others = others.map(|i| format!("http://{}:{{port}}/", name(i)));
        spec.host(&name(i), linking("linker", others.chain(links)))
    });
    let rules = Character { latency_ms: Some(RULES_LATENCY_MS), ..Character::named("rules") };
    let target = Character::named("target").pages(1);
    let target = target.robots(Robots::Redirects { hops: 1, to: Some(RULES.to_owned()) });
    spec.host(RULES, rules).host(TARGET, target)
}

/// The URL of the first page of the host that lists all pages.
fn first(web: &SimWeb) -> String {
    web.seeds()
        .into_iter()
        .find(|url| url.contains("//h0.linker0.test:"))
        .expect("the first linker")
}

/// The pages in the order in which they were requested.
fn order(mut entries: Vec<Entry>) -> Vec<u32> {
    entries.sort_by_key(|entry| entry.start);
    let number = |entry: &Entry| entry.path.strip_prefix("/linked-")?.parse().ok();
    let order: Vec<u32> = entries.iter().filter_map(number).collect();
    let mut all = order.clone();
    all.sort_unstable();
    assert_eq!(all, (0..N_PAGES).collect::<Vec<_>>(), "not each page once");
    order
}

/// Returns how many places pages with many links come before those with few, on average.
fn lead(order: &[u32]) -> f64 {
    let mean = |is_meant: fn(u32) -> bool| {
        let places = order.iter().enumerate().filter(|(_, page)| is_meant(**page));
        let places: Vec<f64> = places.map(|(place, _)| place as f64).collect();
        places.iter().sum::<f64>() / places.len() as f64
    };
    mean(|page| page < N_PAGES / 3) - mean(|page| page >= N_PAGES / 3 * 2)
}

#[test]
fn pages_with_many_links_come_first() {
    let order_with = |priority: &str| {
        let scene = Scene::new(web()).delays("250ms", "0ms").set(WINDOW);
        let seed = first(&scene.web);
        let scene = scene.seeds(&[&seed]);
        let scene = scene.set(&format!("links.priority={priority}"));
        let _ = scene.crawl().succeeded();
        order(scene.web.log().entries())
    };
    let plain = order_with("");
    assert!(lead(&plain) < -20.0, "in the order of appearance: {plain:?}");
    let by_links = order_with("most-linked-first");
    println!("{by_links:?}");
    assert!(lead(&by_links) > LEAD_MIN, "{by_links:?}");
}

/// The linkers belong to three agents, and the target to one of them, which counts the links of all.
#[test]
fn links_are_counted_by_the_owner_of_a_url() {
    let cluster = Cluster::new(web()).delays(DELAY, Duration::ZERO).set(WINDOW);
    let mut cluster = cluster.set("links.priority=most-linked-first").start(3);
    let seeds = cluster.dir().join("first.txt");
    std::fs::write(&seeds, first(&cluster.web)).expect("the seed is written");
    cluster.run_ok(&["seed", &seeds.display().to_string()]);
    let n_linked = |cluster: &Cluster| {
        let entries = cluster.web.log().entries();
        entries.iter().filter(|entry| entry.path.starts_with("/linked-")).count()
    };
    cluster.until("all pages are requested", |cluster| n_linked(cluster) >= N_PAGES as usize);
    let n_finders = ["a", "b", "c"]
        .iter()
        .filter(|name| cluster.hosts_of(name).iter().any(|h| h.contains("linker")));
    assert!(n_finders.count() > 1, "one agent has all linkers");
    let order = order(cluster.web.log().entries());
    println!("{order:?}");
    assert!(lead(&order) > LEAD_MIN, "{order:?}");
}
