//! Metrics of a cluster: every node serves all of its metrics, and they are right.
//!
//! Possible failures: pages are counted twice or not at all; Prometheus cannot parse a page; a
//! described family is never served; labels grow with the crawl; an agent that has left is still
//! listed; anybody can read the metrics.

use crivello_common::metrics::FamilyInfo;
use crivello_tests::cluster::COORDINATOR;
use crivello_tests::metrics::{Page, get, parse};
use crivello_tests::{Cluster, is_page, metrics_address, seed};
use simweb::{PageKind, Robots, Spec};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::time::Duration;

/// Returns the address of a member's metrics.
fn address(cluster: &mut Cluster, name: &str) -> SocketAddr {
    let said = cluster.process(name).log();
    metrics_address(&said).unwrap_or_else(|| panic!("{name}: {said}"))
}

fn scrape(cluster: &mut Cluster, name: &str) -> Page {
    let (status, text) = get(address(cluster, name), "/metrics");
    assert_eq!(status, 200, "{name}: {text}");
    parse(&text).unwrap_or_else(|why| panic!("{name}: {why}\n{text}"))
}

/// Returns the described metrics without samples.
fn absent(page: &Page, described: impl Iterator<Item = FamilyInfo>) -> Vec<&'static str> {
    let is_told = |name: &str| page.family(name).is_some_and(|told| !told.samples.is_empty());
    described.map(|metric| metric.name).filter(|name| !is_told(name)).collect()
}

fn pages(page: &Page) -> u64 {
    page.sum("crivello_pages_fetched_total", &[]) as u64
}

fn peers(page: &Page) -> BTreeSet<&str> {
    let labels = page.samples().filter_map(|sample| sample.labels.get("peer"));
    labels.map(String::as_str).collect()
}

#[test]
fn the_numbers_of_a_cluster_are_those_of_the_web() {
    let web = Spec::new(seed())
        .size(30, 1, 12)
        .ips(15)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.05, PageKind::Duplicate)
        .portion(0.05, PageKind::Redirect(302))
        .portion(0.05, PageKind::Status(404));
    let mut cluster = Cluster::new(web)
        .delays(Duration::from_millis(200), Duration::from_millis(40))
        // No agent is declared dead here, however busy the machine is.
        .set("cluster.lease=15s")
        // A limit, so that its metrics exist, too.
        .set("limits.pages-max=1000000")
        .with(&["--http", "127.0.0.1:0"])
        .with_dashboard()
        .start(3);
    let names = ["a", "b", "c"];
    cluster.seed();
    let at = address(&mut cluster, "a");
    assert_eq!(get(at, "/healthz"), (200, "ok\n".to_owned()));
    assert_eq!(get(at, "/").0, 404);

    cluster.wait_for_share(0.1);
    let early = names.map(|name| scrape(&mut cluster, name));
    for (name, page) in names.iter().zip(&early) {
        let mut absent = absent(page, crivello_agent::metrics::described());
        // Those of a crawl that comes back to its pages.
        absent.retain(|metric| !metric.starts_with("crivello_recrawl_"));
        assert_eq!(absent, [""; 0], "{name}");
        let others: BTreeSet<&str> = names.into_iter().filter(|other| other != name).collect();
        assert_eq!(peers(page), others, "{name}");
        assert!(page.sum("crivello_resident_bytes", &[]) > 1e6, "{name}");
    }
    let coordinator = scrape(&mut cluster, COORDINATOR);
    assert_eq!(absent(&coordinator, crivello_coordinator::metrics::described()), [""; 0]);
    assert_eq!(coordinator.sum("crivello_coordinator_agents", &[("state", "active")]), 3.0);

    cluster.wait_for_share(0.5);
    for (name, before) in names.iter().zip(&early) {
        let now = scrape(&mut cluster, name);
        assert!(pages(&now) >= pages(before), "{name}: a counter fell");
        // The crawl adds and removes no series.
        assert_eq!(now.series(), before.series(), "{name}");
    }

    cluster.wait();
    let late = names.map(|name| scrape(&mut cluster, name));
    let log = cluster.web.log().entries();
    let answered = log.iter().filter(|entry| is_page(entry) && entry.complete).count();
    let counted: Vec<u64> = late.iter().map(pages).collect();
    assert_eq!(counted.iter().sum::<u64>(), answered as u64, "{counted:?}");
    for (name, page) in names.iter().zip(&late) {
        agrees_with_itself(name, page);
        let of_it = cluster.requests_of(name);
        let of_it = of_it.iter().filter(|entry| is_page(entry) && entry.complete).count();
        assert!(pages(page).abs_diff(of_it as u64) * 20 <= answered as u64, "{name}");
    }

    cluster.drain("c");
    cluster.until("c is removed from the peers of a", |cluster| {
        !peers(&scrape(cluster, "a")).contains("c")
    });
    let _ = cluster.stop();
    let _ = cluster.assert_clean(0);
}

/// Checks metrics that describe the same quantity against each other.
fn agrees_with_itself(name: &str, page: &Page) {
    let sum = |metric: &str| page.sum(metric, &[]);
    assert_eq!(sum("crivello_responses_total"), sum("crivello_pages_fetched_total"), "{name}");
    assert_eq!(sum("crivello_urls_queued"), 0.0, "{name}: URLs are still queued");
    assert_eq!(sum("crivello_visits"), 0.0, "{name}");
    assert_eq!(sum("crivello_queue_items"), 0.0, "{name}");
    assert_eq!(sum("crivello_idle"), 1.0, "{name}");
    let offered = sum("crivello_sieve_offered_total");
    assert!(offered >= sum("crivello_sieve_recent_total") + sum("crivello_sieve_fresh_total"));
    let answered = sum("crivello_pages_fetched_total") + sum("crivello_robots_fetched_total");
    assert_eq!(sum("crivello_parse_duration_seconds_count"), answered, "{name}");
    let unresolved = ["dns-no-such-name", "dns-unavailable"];
    let unresolved = unresolved.map(|kind| page.sum("crivello_failures_total", &[("kind", kind)]));
    let failed = sum("crivello_failures_total") - unresolved.iter().sum::<f64>();
    let requests =
        ["request", "robots"].map(|what| format!("crivello_{what}_duration_seconds_count"));
    let requests: f64 = requests.iter().map(|count| sum(count)).sum();
    assert_eq!(requests, answered + failed, "{name}");
    for stage in ["dns", "connect", "first_byte", "store", "commit", "sieve"] {
        let count = sum(&format!("crivello_{stage}_duration_seconds_count"));
        assert!(count > 0.0, "{name}: {stage} was never measured");
    }
    assert!(sum("crivello_groups") > 0.0, "{name}: no groups");
    let idle = sum("crivello_scheduler_idle_seconds_total");
    assert!(idle > 0.0 && idle <= sum("crivello_uptime_seconds"), "{name}: idle for {idle} s");
}

#[test]
fn numbers_are_not_told_to_strangers_unless_that_was_said() {
    let web = Spec::new(1).size(1, 1, 1);
    let cluster = Cluster::new(web);
    let dir = cluster.dir().join("x").display().to_string();
    let (code, _, trouble) =
        cluster.ask(&["agent", "--data", &dir, "--http", "0.0.0.0:0", "--quiet"]);
    assert_eq!(code, Some(64), "{trouble}");
    assert!(trouble.contains("--http 0.0.0.0:0") && trouble.contains("--insecure"), "{trouble}");
}
