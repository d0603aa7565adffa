//! `make bench-connections`: the cost of connections, in CPU per page of the whole crawler,
//! compared with a floor of the same kind measured in the same run.
//!
//! The web, the crawl and the floor are those of `make bench-crawl`. There are four cases:
//! kept-alive connections, a new connection for each page (the web closes them), kept-alive TLS,
//! and a new TLS connection for each page, which resumes the session of the previous one. Neither
//! crawler nor floor verifies the certificates of the simulated web, which is the crawler's
//! default, and both use HTTP/1.1, so that the same work is measured. The numbers of connections
//! and of resumed sessions are taken from the web's log.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 100,000).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../crawl/beside.rs"]
mod beside;
#[path = "../crawl/floor.rs"]
mod floor;
#[path = "../crawl/run.rs"]
mod run;

use beside::{Cost, ExtraServices, beside, was_the_floor};
use crivello_tests::env_value;
use simweb::{Entry, Log, Spec};
use std::collections::HashMap;

/// Cases: name, keep-alive, and share of https hosts.
const KINDS: [(&str, bool, f64); 4] = [
    ("kept alive", true, 0.0),
    ("new connection", false, 0.0),
    ("TLS", true, 1.0),
    ("TLS, new connection", false, 1.0),
];

fn main() {
    if was_the_floor() {
        return;
    }
    let pages = env_value("CRIVELLO_BENCH_PAGES").unwrap_or(100_000);
    println!(
        "| connections | client | pages | pages/s | CPU µs/page | user | system | peak MiB | \
         connections per page | resumed TLS sessions | CPU relative to the floor |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for (name, keep_alive, tls_share) in KINDS {
        let mut spec = Spec::bench(pages).tls(tls_share);
        spec.keep_alive = keep_alive;
        let dir = tempfile::tempdir().expect("a directory");
        let file = dir.path().join("log");
        let both = beside(&spec, &["--set=fetch.http2=false".to_owned()], Some(&file));
        let log = Log::read(&file).expect("the web's log");
        // Bare reqwest sends no user agent.
        let (floor, crawl): (Vec<_>, Vec<_>) =
            log.into_iter().partition(|entry| entry.user_agent.is_empty());
        let ratio = both.crawl.micros(both.n_pages)[0] / both.floor.micros(both.n_pages)[0];
        print(name, "crivello", &both, &both.crawl, &crawl, &format!("{ratio:.2}"));
        print(name, "floor", &both, &both.floor, &floor, "");
    }
}

fn print(kind: &str, who: &str, both: &ExtraServices, cost: &Cost, log: &[Entry], ratio: &str) {
    let n = both.n_pages;
    let connections: HashMap<u64, bool> =
        log.iter().map(|entry| (entry.connection, entry.resumed)).collect();
    let n_resumed = connections.values().filter(|resumed| **resumed).count();
    let [cpu, user, system] = cost.micros(n);
    println!(
        "| {kind} | {who} | {n} | {:.0} | {cpu:.1} | {user:.1} | {system:.1} | {} | {:.2} | {:.1} % | {ratio} |",
        n / cost.wall.as_secs_f64(),
        cost.usage.memory_max >> 20,
        connections.len() as f64 / n,
        100.0 * n_resumed as f64 / connections.len().max(1) as f64,
    );
}
