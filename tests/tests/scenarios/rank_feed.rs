//! Ranks of hosts that a cluster is fed with: all agents take them, also those that were away or join later, and hosts of a
//! high rank come first by the web's log.
//!
//! Possible failures: an agent lacks the ranks after a kill; a joiner never gets them; hosts that wait keep their places; a
//! file that is too large or damaged is taken.

use crivello_tests::{Cluster, binary, output, seed};
use serde_json::Value;
use simweb::{Entry, SeedChoice, Spec};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const N_HOSTS: u32 = 24;
const N_PAGES: u32 = 24;

/// Writes a table of hosts, of which each has the score of its place, counted from the end.
fn table(cluster: &Cluster, name: &str, hosts: &[&str], score: impl Fn(usize) -> f64) -> String {
    let path = cluster.dir().join(name);
    let lines = hosts.iter().enumerate().fold(String::new(), |mut lines, (n, host)| {
        let _ = writeln!(lines, "{:e}\t{host}", score(n));
        lines
    });
    fs::write(&path, lines).expect("the table is written");
    path.display().to_string()
}

/// Returns the digest of the ranks that each agent uses.
fn digests(cluster: &Cluster) -> BTreeMap<String, String> {
    let status: Value = serde_json::from_str(&cluster.run_ok(&["status", "--json"])).expect("JSON");
    let agents = status["agents"].as_array().expect("agents").iter();
    let text = |agent: &Value, key: &str| agent[key].as_str().unwrap_or_default().to_owned();
    agents.map(|agent| (text(agent, "name"), text(agent, "host_ranks"))).collect()
}

/// Waits until all these agents use the same ranks, others than `before`. Returns their digest.
fn until_all_use(cluster: &mut Cluster, names: &[&str], before: &str) -> String {
    cluster.until("all agents use the ranks", |cluster| {
        let digests = digests(cluster);
        let mut all = names.iter().map(|name| digests.get(*name));
        all.all(|digest| {
            digest.is_some_and(|digest| {
                !digest.is_empty() && digest != before && Some(digest) == digests.get(names[0])
            })
        })
    });
    digests(cluster)[names[0]].clone()
}

fn is_page(entry: &Entry) -> bool {
    entry.path != "/robots.txt"
}

#[test]
fn hosts_of_a_high_rank_come_first_and_every_agent_gets_the_ranks() {
    let spec = Spec::new(seed()).size(N_HOSTS, 1, N_PAGES).ips(0).latency_ms(0, 5);
    let mut cluster = Cluster::new(spec.seeds(SeedChoice::Hosts))
        .delays(Duration::from_millis(50), Duration::ZERO)
        .set("fetch.visits-max=1")
        .set("state.hosts-max=2")
        .set("state.window-urls-max=16")
        .set("links.priority=ranked-hosts-first")
        .set("state.ranks-memory=8KiB")
        .start(3);
    // No page is requested before the ranks are in force.
    cluster.run_ok(&["pause"]);
    cluster.seed();
    let hosts: Vec<String> = (0..N_HOSTS).map(|i| format!("h0.site{i}.test")).collect();
    let good: Vec<&str> = hosts.iter().step_by(2).map(String::as_str).collect();
    let file = table(&cluster, "good.tsv", &good, |_| 1.0);
    // 75: agents that are slow take the ranks later.
    let (code, said, problem) = cluster.ask(&["rank", "feed", &file]);
    assert!(matches!(code, Some(0 | 75)), "{said}{problem}");
    let first = until_all_use(&mut cluster, &["a", "b", "c"], "");
    let why = cluster.run_ok(&["why", good[0]]);
    assert!(why.contains("rank 255 of 255"), "{why}");
    cluster.run_ok(&["resume"]);
    cluster.wait();

    let (mut n_good, mut n_early) = (0, 0);
    for name in ["a", "b", "c"] {
        let mut entries = cluster.requests_of(name);
        entries.retain(is_page);
        entries.sort_by_key(|entry| entry.start);
        let is_good = |entry: &Entry| good.contains(&entry.host.as_str());
        let of_good = entries.iter().filter(|entry| is_good(entry)).count();
        let Some(last) = entries.iter().rposition(is_good) else { continue };
        n_good += of_good;
        n_early += entries[..last].iter().filter(|entry| !is_good(entry)).count();
    }
    println!("{n_early} pages of other hosts before the last of {n_good} pages of ranked ones");
    assert!(n_good > 200, "{n_good}");
    assert!(n_early < n_good / 2, "{n_early} of other hosts before the last of {n_good}");

    // An agent that is killed has the ranks at once; one that was away, and one that joins, get them from others.
    cluster.kill9("a");
    cluster.launch("a");
    assert_eq!(until_all_use(&mut cluster, &["a", "b", "c"], ""), first);
    cluster.kill9("b");
    let graph = cluster.dir().join("graphs");
    fs::create_dir(&graph).expect("made");
    let disks: Vec<PathBuf> = ["a", "b", "c"].iter().map(|name| cluster.disk(name)).collect();
    let built = output(Command::new(binary()).args(["graph", "build"]).arg(&graph).args(&disks));
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let (code, said, problem) =
        cluster.ask(&["rank", "pagerank", &graph.display().to_string(), "--feed"]);
    // The killed agent is still waited for.
    assert!(matches!(code, Some(0 | 75)), "{code:?}: {said}{problem}");
    cluster.launch("b");
    let second = until_all_use(&mut cluster, &["a", "b", "c"], &first);
    cluster.add("d");
    assert_eq!(until_all_use(&mut cluster, &["d", "a", "b", "c"], &first), second);
    let stored = cluster.disk("d").join("ranks").join(&second);
    assert!(stored.exists(), "{}", stored.display());

    // What is too large, or no table, changes nothing.
    let many: Vec<String> = (0..5_000).map(|n| format!("www.h{n}.test")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let large = table(&cluster, "large.tsv", &many, |n| n as f64);
    let (code, _, problem) = cluster.ask(&["rank", "feed", &large]);
    assert_eq!(code, Some(64), "{problem}");
    assert!(problem.contains("state.ranks-memory=8KiB"), "{problem}");
    let wrong = table(&cluster, "wrong.tsv", &["www.a.test"], |_| -1.0);
    let (code, _, problem) = cluster.ask(&["rank", "feed", &wrong]);
    assert_eq!(code, Some(64), "{problem}");
    assert!(digests(&cluster).values().all(|digest| *digest == second));
    // Without ranks all hosts are alike again.
    cluster.run_ok(&["set", "links.host-ranks="]);
    cluster.until("no agent has ranks", |cluster| digests(cluster).values().all(String::is_empty));
    cluster.finish(1_000);
}
