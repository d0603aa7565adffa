//! `make bench-cluster`: what distribution costs.
//!
//! The same simulated web is crawled by `crivello crawl` and by clusters of 1, 2, 4 and 8 agents,
//! each a process of its own. Counted is the CPU time of all agents and of the coordinator, not
//! that of the web; and the bytes between them, in both directions, as they pass the gates of the
//! harness. After that an agent is killed in the middle of a slower crawl, several times: how long
//! until another agent fetches from one of its hosts.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 30,000), `CRIVELLO_BENCH_AGENTS` the
//! sizes of the clusters (default `1,2,4,8`), `CRIVELLO_BENCH_KILLS` the number of kills (default
//! 5). Each agent may have as many visits in flight as the crawler that is alone.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

use crivello_tests::{Cluster, Scene};
use simweb::Spec;
use std::time::Duration;

const VISITS_MAX: usize = 64;
const LEASE: Duration = Duration::from_secs(2);

fn main() {
    let pages = number("CRIVELLO_BENCH_PAGES").unwrap_or(30_000);
    let sizes = std::env::var("CRIVELLO_BENCH_AGENTS").unwrap_or_else(|_| "1,2,4,8".to_owned());
    let sizes = sizes.split(',').filter_map(|size| size.trim().parse().ok());
    let sizes: Vec<u8> = sizes.collect();
    costs(pages, &sizes);
    takeovers(number("CRIVELLO_BENCH_KILLS").unwrap_or(5));
}

fn number(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

/// What one crawl took.
struct Cost {
    who: String,
    n_pages: usize,
    cpu: Duration,
    /// The coordinator's share of it.
    coordinator: Duration,
    wall: Duration,
    /// The largest of one process.
    memory_max: u64,
    bytes: u64,
}

fn costs(pages: u32, sizes: &[u8]) {
    let alone = crawl_alone(pages);
    let baseline = alone.cpu_per_page();
    println!(
        "| | pages | pages/s | CPU µs/page | beside one alone | coordinator, CPU s | bytes/page \
         between members | peak MiB of one |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- |");
    alone.print(baseline);
    for &n_agents in sizes {
        crawl_together(pages, n_agents).print(baseline);
    }
}

impl Cost {
    fn cpu_per_page(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.n_pages as f64
    }

    fn print(&self, baseline: f64) {
        println!(
            "| {} | {} | {:.0} | {:.1} | {:.2} | {:.2} | {:.0} | {} |",
            self.who,
            self.n_pages,
            self.n_pages as f64 / self.wall.as_secs_f64(),
            self.cpu_per_page(),
            self.cpu_per_page() / baseline,
            self.coordinator.as_secs_f64(),
            self.bytes as f64 / self.n_pages as f64,
            self.memory_max >> 20,
        );
    }
}

fn crawl_alone(pages: u32) -> Cost {
    let scene = Scene::new(Spec::bench(pages))
        .delays("0s", "0s")
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .within(Duration::from_secs(1_800));
    let begun = scene.web.log().now();
    let ended = scene.crawl();
    let wall = scene.web.log().now().since(begun);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let n_pages = usize::try_from(ended.count("totals/pages")).expect("it fits");
    let (coordinator, bytes) = Default::default();
    let (cpu, memory_max) = (ended.usage.cpu(), ended.usage.memory_max);
    let who = "crivello crawl".to_owned();
    Cost { who, n_pages, cpu, coordinator, wall, memory_max, bytes }
}

fn crawl_together(pages: u32, n_agents: u8) -> Cost {
    let mut cluster = Cluster::new(Spec::bench(pages))
        .delays(Duration::ZERO, Duration::ZERO)
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .set("cluster.lease=30s")
        .within(Duration::from_secs(1_800))
        .start(n_agents);
    let begun = cluster.web.log().now();
    cluster.seed();
    cluster.wait();
    let wall = cluster.web.log().now().since(begun);
    let bytes = cluster.bytes_between_members();
    let n_pages = cluster.pages().len();
    let ends = cluster.stop();
    Cost {
        who: format!("{n_agents} agents"),
        n_pages,
        cpu: ends.iter().map(|end| end.usage.cpu()).sum(),
        coordinator: ends.last().map(|end| end.usage.cpu()).unwrap_or_default(),
        wall,
        memory_max: ends.iter().map(|end| end.usage.memory_max).max().unwrap_or_default(),
        bytes,
    }
}

/// From the kill to the first request of a successor, by the web's clock.
fn takeovers(n_kills: u32) {
    let mut beyond: Vec<f64> = (0..n_kills).map(takeover).collect();
    beyond.sort_by(f64::total_cmp);
    let (Some(least), Some(most)) = (beyond.first(), beyond.last()) else { return };
    let median = beyond[beyond.len() / 2];
    println!(
        "\nfrom a kill to the first request of a successor, beyond the lease of {LEASE:?}: {median:.2} s \
         (median of {n_kills}, {least:.2} to {most:.2})"
    );
}

/// One of them, in seconds beyond the lease.
fn takeover(seed: u32) -> f64 {
    let delay = Duration::from_millis(200);
    let mut cluster = Cluster::new(Spec::new(seed.into()).size(60, 1, 100).ips(0))
        .delays(delay, Duration::ZERO)
        .set(&format!("cluster.lease={}s", LEASE.as_secs()))
        .start(3);
    cluster.seed();
    cluster.wait_for_share(0.1);
    let killed = cluster.web.log().now();
    cluster.kill9("b");
    cluster.delete_disk("b");
    cluster.until("others go on with its hosts", |c| c.successor_of("b", killed).is_some());
    let first = cluster.successor_of("b", killed).expect("just seen").start;
    let after = Duration::from_micros(first.saturating_sub(killed.0));
    after.as_secs_f64() - LEASE.as_secs_f64()
}
