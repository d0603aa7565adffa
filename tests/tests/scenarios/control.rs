//! Control of a running crawl: delays, limits, blocks and pauses take effect within a second in all
//! agents, as the web's log confirms, and survive a restart of the coordinator.
//!
//! Possible failures: a waiting host keeps its old delay; a host is visited too early after a delay
//! was raised; a blocked host is visited from a queue on disk; a paused host is forgotten, or the
//! crawl counts as finished while it is paused; an agent that was disconnected uses old settings; a
//! change is lost with the coordinator.

use crivello_common::time::Timestamp;
use crivello_tests::cluster::COORDINATOR;
use crivello_tests::{Cluster, is_page, seed};
use serde_json::Value;
use simweb::{Entry, SeedChoice, Spec};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Time after which a change must be effective.
const EFFECTIVE: Duration = Duration::from_secs(1);

/// Returns a web with enough hosts that both agents have some, each on its own address, with more
/// pages than a test can fetch.
fn web() -> Spec {
    Spec::new(seed()).size(8, 1, 400).latency_ms(0, 5).seeds(SeedChoice::Hosts)
}

fn cluster(delay: Duration) -> Cluster {
    let cluster = Cluster::new(web()).delays(delay, Duration::ZERO).start(2);
    cluster.seed();
    cluster
}

/// Waits until each host has had `n` requests since `since`.
fn wait_for_requests(cluster: &mut Cluster, since: Timestamp, n: usize) {
    cluster.until("all hosts are visited", |cluster| {
        let asked = by_host(cluster, since);
        asked.len() == 8 && asked.values().all(|entries| entries.len() >= n)
    });
}

/// Returns the requests that began since `since`, by host, in order.
fn by_host(cluster: &Cluster, since: Timestamp) -> BTreeMap<String, Vec<Entry>> {
    let mut asked: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
    for entry in cluster.web.log().entries() {
        if Timestamp(entry.start) >= since {
            asked.entry(entry.host.clone()).or_default().push(entry);
        }
    }
    asked.values_mut().for_each(|entries| entries.sort_by_key(|entry| entry.start));
    asked
}

fn requests(cluster: &Cluster, since: Timestamp, host: &str) -> usize {
    by_host(cluster, since).get(host).map_or(0, Vec::len)
}

/// Returns the shortest time from the end of a request to the start of the next on the same host.
fn shortest_gap(asked: &BTreeMap<String, Vec<Entry>>) -> Option<Duration> {
    let gaps = asked.values().flat_map(|entries| entries.windows(2));
    gaps.map(|pair| Timestamp(pair[1].start).since(Timestamp(pair[0].end))).min()
}

fn sleep(time: Duration) {
    std::thread::sleep(time);
}

/// Stops the cluster. The crawl never ends by itself here, because it has too many pages.
fn stop(cluster: &mut Cluster) {
    let _ = cluster.stop();
}

#[test]
fn a_delay_that_is_lowered_or_raised_counts_for_hosts_that_wait() {
    let mut cluster = cluster(Duration::from_millis(50));
    wait_for_requests(&mut cluster, Timestamp::ZERO, 3);
    let long = Duration::from_secs(120);
    cluster.run_ok(&["set", "politeness.delay=120s"]);
    sleep(EFFECTIVE);
    let raised = cluster.web.log().now();
    sleep(2 * EFFECTIVE);
    assert_eq!(
        by_host(&cluster, raised),
        BTreeMap::new(),
        "a host was visited within the two minutes"
    );

    // All hosts wait for two minutes now, unless the delay is lowered.
    let lowered = cluster.web.log().now();
    let said = cluster.ask(&["set", "politeness.delay=300ms"]);
    assert_eq!(said.0, Some(0), "{said:?}");
    assert!(said.1.contains("politeness.delay = \"300ms\""), "{said:?}");
    assert!(said.2.contains("in force with 2 agents after"), "{said:?}");
    wait_for_requests(&mut cluster, lowered, 4);
    let waited = cluster.web.log().now().since(lowered);
    assert!(waited < long / 4, "after {waited:?}");
    let gap = shortest_gap(&by_host(&cluster, lowered)).expect("several requests");
    assert!(gap >= Duration::from_millis(300), "{gap:?}");
    stop(&mut cluster);
}

#[test]
fn an_address_rests_as_long_as_it_is_told_to_while_hosts_wait_for_it() {
    let web = Spec::new(seed()).size(6, 1, 200).ips(1).seeds(SeedChoice::Hosts);
    let mut cluster = Cluster::new(web);
    cluster = cluster.delays(Duration::ZERO, Duration::from_secs(60)).start(1);
    cluster.seed();
    cluster.until("one request", |cluster| !cluster.web.log().is_empty());
    let n_before = cluster.web.log().len();
    assert!(n_before < 3, "{n_before} requests: the address does not rest");
    cluster.run_ok(&["set", "politeness.ip-delay=300ms"]);
    sleep(EFFECTIVE);
    let lowered = cluster.web.log().now();
    cluster.until("many requests", |cluster| cluster.web.log().len() >= n_before + 12);
    let mut all = by_host(&cluster, lowered).into_values().flatten().collect::<Vec<_>>();
    all.sort_by_key(|entry| entry.start);
    let gap = shortest_gap(&BTreeMap::from([(String::new(), all)])).expect("several requests");
    assert!(gap >= Duration::from_millis(300), "{gap:?}");
    stop(&mut cluster);
}

#[test]
fn a_paused_host_rests_until_it_is_resumed_and_the_crawl_waits_for_it() {
    let mut cluster = cluster(Duration::from_millis(50));
    wait_for_requests(&mut cluster, Timestamp::ZERO, 5);
    let host = by_host(&cluster, Timestamp::ZERO).into_keys().next().expect("a host");
    cluster.run_ok(&["pause", &host]);
    sleep(EFFECTIVE);
    let paused = cluster.web.log().now();
    wait_for_others(&mut cluster, paused, &host);
    assert_eq!(requests(&cluster, paused, &host), 0, "{host} was visited while it was paused");
    assert_eq!(cluster.run_ok(&["settings", "politeness.paused"]), format!("[\"{host}\"]\n"));
    // Only the queue of the paused host is left.
    let others: BTreeSet<String> = by_host(&cluster, Timestamp::ZERO).into_keys().collect();
    for other in others.iter().filter(|other| **other != host) {
        cluster.run_ok(&["block", other]);
    }
    assert!(
        cluster.has_more_to_do_for(Duration::from_secs(3)),
        "the crawl ended although a paused host has a queue"
    );
    let before = cluster.web.log().now();
    cluster.run_ok(&["resume", &host]);
    cluster.until("the host is visited again", |cluster| requests(cluster, before, &host) >= 3);
    stop(&mut cluster);
}

/// Waits until all hosts except `host` have been visited since `since`.
fn wait_for_others(cluster: &mut Cluster, since: Timestamp, host: &str) {
    cluster.until("the other hosts continue", |cluster| {
        let asked = by_host(cluster, since);
        asked.iter().filter(|(name, entries)| *name != host && entries.len() >= 5).count() == 7
    });
}

#[test]
fn a_blocked_host_is_visited_no_more_and_its_queue_is_dropped_and_counted() {
    let mut cluster = cluster(Duration::from_millis(50));
    wait_for_requests(&mut cluster, Timestamp::ZERO, 5);
    let asked = by_host(&cluster, Timestamp::ZERO);
    let hosts: Vec<&String> = asked.keys().collect();
    let (by_name, by_address) = (hosts[0], hosts[1]);
    let address = asked[by_address][0].ip.expect("an address").to_string();
    let is_there = |name: &String| asked[name][0].ip == asked[by_address][0].ip;
    let gone: BTreeSet<&String> =
        asked.keys().filter(|name| *name == by_name || is_there(name)).collect();
    let (code, _, said) = cluster.ask(&["block", by_name, &address]);
    assert_eq!(code, Some(0), "{said}");
    let dropped = said.lines().find(|line| line.starts_with("dropped ")).expect("a count");
    let urls: String = dropped.split(' ').nth(1).expect("a number").replace(',', "");
    assert!(urls.parse::<u64>().is_ok_and(|n| n > 1), "{said}");
    assert!(dropped.ends_with(&format!("of {} hosts", gone.len())), "{said}");
    sleep(EFFECTIVE);
    let blocked = cluster.web.log().now();
    cluster.until("the other hosts continue", |cluster| {
        let asked = by_host(cluster, blocked);
        asked.values().filter(|entries| entries.len() >= 10).count() >= 8 - gone.len()
    });
    for host in gone {
        assert_eq!(
            requests(&cluster, blocked, host),
            0,
            "{host} was visited although it is blocked"
        );
    }
    // A seed on a blocked host is refused, and the rule is named. After an unblock the host is
    // visited.
    let url = format!("{}/never-seen", asked[by_name][0].url().trim_end_matches("/robots.txt"));
    let (_, _, refused) = cluster.ask(&["seed", &url]);
    assert!(refused.contains("links.blocked"), "{refused}");
    cluster.run_ok(&["unblock", by_name]);
    let unblocked = cluster.web.log().now();
    cluster.run_ok(&["seed", &format!("{url}-again")]);
    cluster.until("the host is visited again", |cluster| requests(cluster, unblocked, by_name) > 0);
    stop(&mut cluster);
    let logs = logs_of(&logs_paths(&cluster));
    assert!(logs.contains("blocked"), "no agent logged the number of discarded URLs: {logs}");
}

#[test]
fn a_page_limit_is_set_lowered_and_lifted_while_the_crawl_runs() {
    const BEYOND: usize = 40;
    let mut cluster = cluster(Duration::from_millis(50));
    let pages = |cluster: &Cluster| {
        cluster.web.log().entries().iter().filter(|entry| is_page(entry)).count()
    };
    // Remaining pages of the limit, as reported by the coordinator.
    let left = |cluster: &Cluster| {
        let status = cluster.run_ok(&["status", "--json"]);
        let status: Value = serde_json::from_str(&status).expect("JSON");
        status["totals"]["pages_left"].clone()
    };
    cluster.until("some pages", |cluster| pages(cluster) >= 60);
    assert_eq!(left(&cluster), Value::Null, "a number without a limit");
    // More than there are now, and fewer than there will be.
    cluster.run_ok(&["set", "limits.pages-max=200"]);
    cluster.run_ok(&["wait", "--timeout", "60s"]);
    let n = pages(&cluster);
    // Pages that were in flight or not committed when the limit was set are not limited. They are
    // few: on a busy machine, those of a quarter of a second.
    assert!((200..=200 + BEYOND).contains(&n), "{n} pages");
    assert_eq!(left(&cluster), 0);
    cluster.run_ok(&["set", "limits.pages-max=300"]);
    cluster.until("the rest", |cluster| pages(cluster) >= 300);
    cluster.run_ok(&["wait", "--timeout", "60s"]);
    assert!((300..=300 + BEYOND).contains(&pages(&cluster)), "{} pages", pages(&cluster));
    cluster.run_ok(&["set", "--unset", "limits.pages-max"]);
    cluster.until("more", |cluster| pages(cluster) >= 350);
    assert_eq!(left(&cluster), Value::Null, "a number after the limit was removed");
    stop(&mut cluster);
}

#[test]
fn a_restart_of_the_coordinator_keeps_what_was_edited_and_wrong_edits_are_refused() {
    let mut cluster = cluster(Duration::from_millis(50));
    for (words, part) in [
        (
            vec!["set", "cluster.replication=1"],
            "cluster.replication is fixed for the life of a crawl",
        ),
        (vec!["set", "politeness.delay=5"], "politeness.delay: "),
        (vec!["set", "politeness.dealy=5s"], "did you mean politeness.delay?"),
        (vec!["set", "politeness.delay"], "write KEY=VALUE"),
        (vec!["set", "--add", "politeness.delay=5s"], "is not a list"),
        (vec!["block", "10.0.0.0/40"], "is not a host, domain or network"),
        (vec!["log-level", "loud"], "is not a level"),
        (vec!["log-level", "info", "--agent", "zoe"], "no live agent has this name"),
        (vec!["settings", "politeness.dealy"], "did you mean politeness.delay?"),
    ] {
        let (code, _, said) = cluster.ask(&words);
        assert!(code == Some(64) && said.contains(part), "{words:?}: {code:?} {said}");
    }
    let (_, _, said) = cluster.ask(&["set", "fetch.visits-max=7", "politeness.delay=70ms"]);
    assert!(said.contains("takes effect when the agents start again: fetch.visits-max"), "{said}");
    cluster.run_ok(&["set", "--add", "links.exclude={path-prefix='/none/'}"]);
    cluster.kill9(COORDINATOR);
    cluster.start_coordinator();
    for (key, value) in [("politeness.delay", "\"70ms\"\n"), ("fetch.visits-max", "7\n")] {
        assert_eq!(cluster.run_ok(&["settings", key]), value);
    }
    let all = cluster.run_ok(&["settings"]);
    assert!(all.contains("path-prefix = \"/none/\"") && all.contains("revision "), "{all}");
    // The agents receive the next change from the restarted coordinator.
    cluster.run_ok(&["set", "politeness.delay=60ms"]);
    // A command-line setting that differs from the last start takes effect.
    cluster.process(COORDINATOR).signal(rustix::process::Signal::TERM);
    let _ = cluster.end(COORDINATOR);
    let mut cluster = cluster.set("politeness.burst=3");
    cluster.start_coordinator();
    assert_eq!(cluster.run_ok(&["settings", "politeness.burst"]), "3\n");
    assert_eq!(cluster.run_ok(&["settings", "politeness.delay"]), "\"60ms\"\n");
    stop(&mut cluster);
}

#[test]
fn what_is_logged_is_changed_while_the_processes_run() {
    let mut cluster = cluster(Duration::from_millis(50));
    let (code, _, said) = cluster.ask(&["log-level", "crivello=debug,crivello_agent=trace"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(
        said.contains("coordinator: ") && said.contains("a: ") && said.contains("b: "),
        "{said}"
    );
    let (_, _, said) = cluster.ask(&["log-level", "warn", "--agent", "a"]);
    assert!(said.contains("a: warn, before crivello=debug,crivello_agent=trace"), "{said}");
    // Agent b logs new settings at level info; agent a no longer does.
    cluster.run_ok(&["set", "politeness.delay=60ms"]);
    stop(&mut cluster);
    let [a, b] = ["a-1.log", "b-1.log"].map(|name| logs_of(&[cluster.dir().join(name)]));
    let line = "politeness.delay changed";
    assert!(b.contains(line), "{b}");
    assert!(!a.contains(line), "{a}");
}

fn logs_paths(cluster: &Cluster) -> Vec<std::path::PathBuf> {
    ["a-1.log", "b-1.log"].map(|name| cluster.dir().join(name)).to_vec()
}

fn logs_of(paths: &[std::path::PathBuf]) -> String {
    paths.iter().map(|path| std::fs::read_to_string(path).expect("a log")).collect()
}
