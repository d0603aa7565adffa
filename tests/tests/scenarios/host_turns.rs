//! Which hosts come first if more are due than can be visited, by the web's log.
//!
//! Possible failures: hosts with errors take as many turns as hosts with pages; a host with a long queue
//! keeps its place in memory until its end; a host with errors waits for ever.

use crivello_tests::{Scene, seed};
use simweb::adversary::link_flood;
use simweb::{JudgeLimits, Pace, SeedChoice, Spec};
use std::time::Duration;

const N_HOSTS: u32 = 12;
const N_PAGES: u32 = 80;

/// As many hosts have pages as have links to pages that do not exist. Four of them have a place in memory.
#[test]
fn hosts_with_pages_come_before_those_with_errors() {
    let good = Spec::new(seed()).size(N_HOSTS, 1, N_PAGES).ips(0).latency_ms(0, 5);
    let spec = (0..N_HOSTS).fold(good.seeds(SeedChoice::Hosts), |spec, i| {
        let name = format!("h0.flood{i}.test");
        spec.host(&name, link_flood(&name, 0..N_PAGES, 12))
    });
    let scene = Scene::new(spec)
        .delays("50ms", "0ms")
        .set("fetch.visits-max=2")
        .set("state.hosts-max=4")
        .set("state.window-urls-max=32");
    let ended = scene.crawl().succeeded();
    let judge = scene
        .judge(JudgeLimits::default(), Pace::delays(Duration::from_millis(50), Duration::ZERO));
    scene.assert_clean(&judge);
    let mut entries = scene.web.log().entries();
    entries.retain(|entry| entry.path != "/robots.txt");
    entries.sort_by_key(|entry| entry.start);
    let is_good = |at: &usize| !entries[*at].host.contains("flood");
    let (good, bad): (Vec<usize>, Vec<usize>) = (0..entries.len()).partition(is_good);
    assert!(good.len() > 800 && bad.len() > 800, "{} and {}", good.len(), bad.len());
    let last_good = good[good.len() - 1];
    let n_before = bad.iter().filter(|at| **at < last_good).count();
    println!("{n_before} of {} errors before the last of {} pages", bad.len(), good.len());
    // With the same turns for all there would be as many errors as pages.
    assert!(n_before < good.len() * 6 / 10, "{n_before} errors came first: {}", ended.report);
    let late = good[good.len() * 3 / 4]..last_good;
    assert!(bad.iter().any(|at| late.contains(at)), "hosts with errors have no turn");
}
