//! A cluster that is left in peace.

use super::{alone, cluster, finish, web};
use crivello_tests::{Cluster, Scene, is_page};
use simweb::{Character, Robots, Seeds};
use std::collections::{BTreeMap, BTreeSet};

/// Which agents have fetched pages of each host.
fn visitors(cluster: &Cluster) -> BTreeMap<String, BTreeSet<String>> {
    let mut visitors: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in cluster.web.log().entries().iter().filter(|entry| is_page(entry)) {
        if let Some(name) = cluster.name_of(entry) {
            visitors.entry(entry.host.clone()).or_default().insert(name.to_owned());
        }
    }
    visitors
}

/// Most hosts are found by links only, so by other agents than their own.
#[test]
fn three_agents_fetch_what_one_would_and_each_host_has_one_visitor() {
    let _alone = alone();
    let mut cluster = cluster(web(10).links(14).seeds(Seeds::First(4))).start(3);
    cluster.seed();
    finish(&mut cluster, 0);
    for (host, names) in visitors(&cluster) {
        assert_eq!(names.len(), 1, "{host} was visited by {names:?}");
    }
    for name in ["a", "b", "c"] {
        assert!(!cluster.hosts_of(name).is_empty(), "{name} fetched nothing");
    }
}

/// Redirects to other agents' hosts, sitemaps, every way to mark a robots.txt.
#[test]
fn a_varied_web_is_fetched_by_a_cluster_as_by_one() {
    let _alone = alone();
    let robots = |name: &str, robots| Character::named(name).robots(robots);
    let mut web = web(10).with_variety().links(12).seeds(Seeds::First(6)).tls(0.3);
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

/// One agent alone is a cluster as well, and holds no copies.
#[test]
fn a_cluster_of_one_is_a_cluster() {
    let _alone = alone();
    let mut cluster = cluster(web(6)).start(1);
    cluster.seed();
    finish(&mut cluster, 0);
}

/// The witness's own eyes: of a crawler that is watched, hardly a request is nobody's.
#[test]
fn the_web_knows_whose_request_it_was() {
    let _alone = alone();
    let scene = Scene::new(web(5)).delays("20ms", "0ms");
    let child = scene.start();
    let process = child.id();
    scene.web.callers().add(process);
    assert_eq!(scene.end(child).code, Some(0));
    let log = scene.web.log().entries();
    let known = log.iter().filter(|entry| entry.process == Some(process)).count();
    assert!(log.len() > 200 && known * 100 >= log.len() * 95, "{known} of {}", log.len());
    assert!(log.iter().all(|entry| entry.process.is_none_or(|p| p == process)));
}
