//! Searches over the indexes of all agents: results and scores are those of one index of all their archives, also after
//! an agent was killed.

use crivello_tests::warc::listed;
use crivello_tests::{Cluster, binary, output, seed};
use serde_json::Value;
use simweb::Spec;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

const AGENTS: [&str; 3] = ["a", "b", "c"];
/// A query that all pages match.
const ALL: &str = "-qqqqqqqqqqq";
const QUERIES: [&str; 9] = [
    ALL,
    "che",
    "di la",
    "per | un",
    "cri*",
    "non -come",
    "\"di che\"",
    "title:numero",
    "lang:it sono | nel",
];

fn search(args: &[&str], query: &str) -> Output {
    let mut command = Command::new(binary());
    output(command.arg("search").args(["--json", "--limit", "100"]).args(args).args(["--", query]))
}

/// Searches the cluster.
fn ask(cluster: &Cluster, query: &str) -> Value {
    let ended = search(&["--cluster", "--coordinator", &cluster.url()], query);
    let problem = String::from_utf8_lossy(&ended.stderr);
    assert!(matches!(ended.status.code(), Some(0 | 1)), "{query}: {problem}");
    serde_json::from_slice(&ended.stdout).expect("JSON")
}

/// Returns URL, date and score of the results in their order, and the number of all that were found.
fn results(json: &Value) -> (Vec<(String, String, u64)>, u64) {
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let score = |hit: &Value| hit["score"].as_f64().expect("a number").to_bits();
    let hits = json["results"].as_array().expect("results").iter();
    let hits = hits.map(|hit| (text(&hit["url"]), text(&hit["date"]), score(hit)));
    assert_eq!(json["is_partial"], false);
    (hits.collect(), json["found"].as_u64().expect("a number"))
}

#[test]
fn agents_answer_as_one_index_of_all_archives_does() {
    let mut spec = Spec::new(seed()).size(18, 1, 60).ips(0);
    spec.body_bytes = 60_000;
    let mut cluster = Cluster::new(spec)
        .delays(Duration::from_millis(10), Duration::ZERO)
        .set("store.file-size-max=1MiB")
        .set("search.index=fast")
        .start(3);
    cluster.seed();
    cluster.run_ok(&["wait", "--timeout", "90s"]);

    let one = cluster.dir().join("one");
    let disks: Vec<PathBuf> = AGENTS.iter().map(|name| cluster.disk(name)).collect();
    let n_sealed = |disk: &PathBuf| listed(&disk.join("warc"), ".cdxj").len();
    let sealed: Vec<usize> = disks.iter().map(n_sealed).collect();
    let victim = (0..AGENTS.len()).max_by_key(|n| sealed[*n]).expect("an agent");
    let (victim, n_victim) = (AGENTS[victim], sealed[victim]);
    assert!(n_victim < sealed.iter().sum(), "all pages are with one agent: {sealed:?}");
    let indexed = output(Command::new(binary()).args(["index", "--out"]).arg(&one).args(&disks));
    assert!(indexed.status.success(), "{}", String::from_utf8_lossy(&indexed.stderr));
    let of_one = |query: &str| {
        let ended = search(&["--anchor-weight", "0", "--out", one.to_str().expect("UTF-8")], query);
        results(&serde_json::from_slice(&ended.stdout).expect("JSON"))
    };
    let n_pages = of_one(ALL).1;
    assert!(n_pages > 50, "{n_pages}");

    for round in 0..2 {
        cluster.until("all sealed files are indexed", |cluster| {
            let all = ask(cluster, ALL);
            all["silent"].as_array().is_some_and(Vec::is_empty) && all["found"] == n_pages
        });
        let mut n_found = 0;
        for query in QUERIES {
            let found = results(&ask(&cluster, query));
            assert_eq!(found, of_one(query), "{query}, round {round}");
            n_found += u64::from(found.1 > 0);
        }
        assert!(n_found >= 6, "most queries find nothing");
        if round == 1 {
            break;
        }
        // The others answer without it, and say so.
        cluster.kill9(victim);
        let without = ask(&cluster, ALL);
        assert!(without["found"].as_u64() < Some(n_pages), "{without}");
        assert!(
            without["silent"][0].as_str().is_some_and(|why| why.starts_with(&format!("{victim} "))),
            "{without}"
        );
        cluster.launch(victim);
    }
    ranks_are_those_of_one_index(&mut cluster, &one, &disks);
    let wrong = search(&["--cluster", "--coordinator", &cluster.url()], "(di");
    let problem = String::from_utf8_lossy(&wrong.stderr);
    assert_eq!(wrong.status.code(), Some(64), "{problem}");
    assert!(problem.contains("at character"), "{problem}");
    cluster.finish(1_000);
}

/// Feeds all agents with ranks of hosts, and compares their results with those of one index that has the same ranks.
fn ranks_are_those_of_one_index(cluster: &mut Cluster, one: &Path, disks: &[PathBuf]) {
    let url = cluster.url();
    let options = ["--cluster", "--coordinator", &*url, "--rank-weight", "3"];
    let without = search(&options, ALL);
    let problem = String::from_utf8_lossy(&without.stderr);
    assert_eq!(without.status.code(), Some(64), "{problem}");
    assert!(problem.contains("crivello rank --feed"), "{problem}");
    // Few enough hosts for each to have a rank of its own.
    let hosts = (0..18).map(|n| (format!("h0.site{n}.test"), f64::from(n * n)));
    let lines = hosts.fold(String::new(), |mut lines, (host, score)| {
        let _ = writeln!(lines, "{score:e}\t{host}");
        lines
    });
    let table = cluster.dir().join("ranks.tsv");
    std::fs::write(&table, lines).expect("the table is written");
    let table = table.to_str().expect("UTF-8");
    let mut index = Command::new(binary());
    let indexed = output(index.args(["index", "--ranks", table, "--out"]).arg(one).args(disks));
    assert!(indexed.status.success(), "{}", String::from_utf8_lossy(&indexed.stderr));
    // 75: agents that are slow take the ranks later.
    let (code, said, problem) = cluster.ask(&["rank", "feed", table]);
    assert!(matches!(code, Some(0 | 75)), "{said}{problem}");
    cluster.until("all indexes have the ranks", |_| {
        let all = search(&options, ALL);
        let json = serde_json::from_slice::<Value>(&all.stdout).unwrap_or_default();
        json["silent"].as_array().is_some_and(Vec::is_empty)
    });
    let mut n_moved = 0;
    for query in QUERIES {
        let json =
            |args: &[&str]| serde_json::from_slice(&search(args, query).stdout).expect("JSON");
        let of_one = ["--anchor-weight", "0", "--out", one.to_str().expect("UTF-8")];
        let plain = results(&json(&of_one));
        let wanted = results(&json(&[&of_one[..], &["--rank-weight", "3"]].concat()));
        let found = results(&json(&options));
        let score = |bits: u64| f64::from_bits(bits);
        assert_eq!(found.1, wanted.1, "{query}");
        assert_eq!(found.0.len(), wanted.0.len(), "{query}");
        for (found, wanted) in found.0.iter().zip(&wanted.0) {
            assert_eq!((&found.0, &found.1), (&wanted.0, &wanted.1), "{query}");
            let difference = (score(found.2) - score(wanted.2)).abs();
            // The mean of all scores is summed in another order.
            assert!(difference < 1e-9, "{query}: {} by {difference}", found.0);
        }
        n_moved +=
            usize::from(plain.0.iter().map(|hit| &hit.0).ne(wanted.0.iter().map(|hit| &hit.0)));
    }
    assert!(n_moved > 4, "ranks change the order of {n_moved} queries");
}

#[test]
fn without_indexes_the_setting_is_named() {
    let cluster = Cluster::new(Spec::new(seed()).size(1, 1, 3)).start(1);
    let ended = search(&["--cluster", "--coordinator", &cluster.url()], "di");
    let problem = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(64), "{problem}");
    assert!(problem.contains("`search.index` is off"), "{problem}");
}
