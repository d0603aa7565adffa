//! Clusters without faults.

use super::{cluster, finish, web};
use crivello_tests::{Cluster, Scene, is_page, seed};
use simweb::{Character, Robots, SeedChoice, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

/// Returns the agents that have fetched pages of each host.
fn visitors(cluster: &Cluster) -> BTreeMap<String, BTreeSet<String>> {
    let mut visitors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in cluster.web.log().entries().iter().filter(|entry| is_page(entry)) {
        if let Some(name) = cluster.name_of(entry) {
            visitors.entry(entry.host.clone()).or_default().insert(name.to_owned());
        }
    }
    visitors
}

/// Most hosts are found only by links, and therefore by agents that do not own them.
#[test]
fn three_agents_fetch_what_one_would_and_each_host_has_one_visitor() {
    let mut cluster = cluster(web(10).links(14).seeds(SeedChoice::First(4))).start(3);
    cluster.seed();
    finish(&mut cluster, 0);
    for (host, names) in visitors(&cluster) {
        assert_eq!(names.len(), 1, "{host} was visited by {names:?}");
    }
    for name in ["a", "b", "c"] {
        assert!(!cluster.hosts_of(name).is_empty(), "{name} fetched nothing");
    }
}

/// Redirects to hosts of other agents, sitemaps, and robots.txt of several kinds.
#[test]
fn a_varied_web_is_fetched_by_a_cluster_as_by_one() {
    let robots = |name: &str, robots| Character::named(name).robots(robots);
    let mut web = web(10).with_variety().links(12).seeds(SeedChoice::First(6)).tls(0.3);
    let agent = web.agent.clone();
    web.pages_spread = 0.8;
    web = web
        .share(0.1, robots("no-robots", Robots::Status(404)))
        .share(0.1, robots("for-agent", Robots::for_agent(&agent)))
        .share(0.1, robots("sitemaps", Robots::Sitemaps(40)))
        .share(0.05, robots("marked", Robots::ByteOrderMark))
        .share(0.05, robots("recovering", Robots::Recovering { code: 500, times: 2 }));
    let mut cluster = cluster(web).set("politeness.backoff-first=100ms").start(3);
    cluster.seed();
    finish(&mut cluster, 0);
}

/// The robots.txt of most hosts redirect to one host, which belongs to one agent.
#[test]
fn a_robots_txt_on_another_agents_host_is_asked_for_there() {
    let to = Some("h0.site0.test".to_owned());
    let moved = Character::named("moved").robots(Robots::Redirects { hops: 2, to });
    let mut cluster = cluster(web(8).share(0.7, moved).seeds(SeedChoice::Hosts)).start(3);
    cluster.seed();
    finish(&mut cluster, 0);
}

/// A sitemap lists pages of hosts of three agents, and the owner of each host permits it. The hosts that
/// do not are only linked to by pages.
#[test]
fn a_sitemap_lists_pages_of_hosts_of_other_agents() {
    const N_HOSTS: usize = 9;
    let listed = |name: &str| {
        let host = "maps.test".to_owned();
        Character::named(name).robots(Robots::SitemapOn { host, pages: 10 })
    };
    let mut web = web(3).host("maps.test", Character::named("maps").pages(2));
    for n in 0..N_HOSTS {
        let name = format!("listed{n}");
        web = web.host(&format!("{name}.test"), listed(&name).pages(2));
    }
    let mut cluster = cluster(web.seeds(SeedChoice::Hosts)).start(3);
    cluster.seed();
    finish(&mut cluster, 0);
    let entries = cluster.web.log().entries();
    let hidden = || entries.iter().filter(|entry| entry.path.starts_with("/hidden/"));
    assert_eq!(hidden().count(), 10 * N_HOSTS);
    let owners: BTreeSet<_> = hidden().filter_map(|entry| cluster.name_of(entry)).collect();
    assert!(owners.len() > 1, "all hosts have one owner");
}

/// Three addresses for the hosts of three agents, which alternate there.
#[test]
fn an_address_is_spared_by_the_cluster_as_a_whole() {
    let web = Spec::new(seed()).size(36, 1, 6).ips(3).latency_ms(0, 20).seeds(SeedChoice::Hosts);
    let mut cluster = cluster(web).start(3);
    cluster.seed();
    finish(&mut cluster, 0);
    let mut visitors: BTreeMap<Ipv4Addr, BTreeSet<&str>> = BTreeMap::new();
    let log = cluster.web.log().entries();
    for entry in &log {
        if let Some(ip) = entry.ip {
            visitors.entry(ip).or_default().extend(cluster.name_of(entry));
        }
    }
    let shared = visitors.values().filter(|names| names.len() == 3).count();
    assert_eq!(shared, 3, "some address was not visited by all agents: {visitors:?}");
}

/// The limit is divided into quotas, and the unused quota of an agent that leaves is granted again.
/// All agents together fetch exactly that many pages.
#[test]
fn a_page_limit_is_that_of_the_cluster() {
    let mut cluster = cluster(web(8)).set("limits.pages-max=150").start_until(3, 0.2);
    cluster.drain("c");
    cluster.run_ok(&["wait", "--timeout", "60s"]);
    let _ = cluster.stop();
    let log = cluster.web.log().entries();
    let pages = log.iter().filter(|entry| is_page(entry)).count();
    assert_eq!(pages, 150);
    assert!(["a", "b", "c"].iter().all(|name| !cluster.hosts_of(name).is_empty()));
}

/// A single agent is a cluster as well, without replicas.
#[test]
fn a_cluster_of_one_is_a_cluster() {
    let mut cluster = cluster(web(6)).start(1);
    cluster.seed();
    finish(&mut cluster, 0);
}

/// Checks the identification of clients by the web: nearly every request of a watched crawler is
/// identified.
#[test]
fn the_web_knows_whose_request_it_was() {
    let scene = Scene::new(web(5)).delays("20ms", "0ms");
    let child = scene.start();
    let process = child.id();
    scene.web.callers().add(process);
    assert_eq!(scene.end(child).code, Some(0));
    let log = scene.web.log().entries();
    let known = log.iter().filter(|entry| entry.process == Some(process)).count();
    assert!(
        log.len() > 200 && known * 100 >= log.len() * 95,
        "only {known} of {} requests have a known sender",
        log.len()
    );
    assert!(log.iter().all(|entry| entry.process.is_none_or(|p| p == process)));
}
