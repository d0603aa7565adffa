//! `make bench-cluster`: the cost of distribution.
//!
//! The same simulated web is crawled by `crivello crawl` and by clusters of 1, 2, 4 and 8 agents,
//! each a process of its own. The figures are the CPU time of all agents and of the coordinator,
//! without the web, and the bytes between them in both directions, as they pass the gates of the
//! harness. Each cluster is compared with the same number of independent crawlers, each with its
//! own web that has its share of the pages: as many processes start, and compete for one machine,
//! without any distribution. Four agents also crawl with their data in memory, where a sync costs
//! nothing: the difference is what synced archives and acknowledgements cost. Then an agent is killed several times in the middle of a slower crawl,
//! to measure the time until another agent fetches from one of its hosts.
//!
//! Finally URLs are added to a paused crawl: with one agent, and with two, where half of the URLs
//! go to the other agent and all are replicated. Half of the URLs of the single agent are then
//! handed over to an agent that joins.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 30,000), `CRIVELLO_BENCH_AGENTS` the
//! sizes of the clusters (default `1,2,4,8`), `CRIVELLO_BENCH_KILLS` the number of kills (default
//! 3), `CRIVELLO_BENCH_URLS` the number of added URLs (default 1,000,000). Each agent may have as
//! many visits in flight as the single crawler.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use crivello_tests::{Cluster, Scene, env_list, env_value};
use simweb::{Entry, Spec};
use std::path::Path;
use std::time::Duration;

const VISITS_MAX: usize = 64;
const LEASE: Duration = Duration::from_secs(10);
/// Number of hosts of the added URLs.
const HOSTS: u32 = 20_000;

fn main() {
    let pages = env_value("CRIVELLO_BENCH_PAGES").unwrap_or(30_000);
    let sizes: Vec<u8> = env_list("CRIVELLO_BENCH_AGENTS", "1,2,4,8");
    costs(pages, &sizes);
    takeovers(env_value("CRIVELLO_BENCH_KILLS").unwrap_or(3));
    let urls = env_value("CRIVELLO_BENCH_URLS").unwrap_or(1_000_000);
    if urls > 0 {
        brought(urls, 1);
        let two = brought(urls, 2);
        drop(two);
        handed_over(urls);
    }
}

/// The cost of one crawl.
struct Cost {
    who: String,
    n_pages: usize,
    cpu: Duration,
    /// CPU time of the coordinator, included in `cpu`.
    coordinator: Duration,
    wall: Duration,
    /// Largest peak memory of a process, in bytes.
    memory_max: u64,
    bytes: u64,
}

fn costs(pages: u32, sizes: &[u8]) {
    let memory = Path::new("/dev/shm");
    let alone = crawl_alone(Spec::bench(pages));
    let one = alone.cpu_per_page();
    println!(
        "| | pages | pages/s | CPU µs/page | relative to one agent \
         | relative to as many single crawls | coordinator, CPU s \
         | bytes/page between members | peak MiB of one |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    alone.print(one, one);
    for &n_agents in sizes {
        let apart = match n_agents {
            1 => one,
            _ => {
                let apart = crawl_apart(pages, n_agents);
                apart.print(one, apart.cpu_per_page());
                apart.cpu_per_page()
            }
        };
        crawl_together(pages, n_agents, None).print(one, apart);
        if n_agents == 4 && memory.is_dir() {
            crawl_together(pages, n_agents, Some(memory)).print(one, apart);
        }
    }
}

impl Cost {
    fn cpu_per_page(&self) -> f64 {
        self.cpu.as_secs_f64() * 1e6 / self.n_pages as f64
    }

    /// Prints a row. `one` and `apart` are the CPU time per page of a single crawler, and of as
    /// many independent crawlers as there were agents.
    fn print(&self, one: f64, apart: f64) {
        println!(
            "| {} | {} | {:.0} | {:.1} | {:.2} | {:.2} | {:.2} | {:.0} | {} |",
            self.who,
            self.n_pages,
            self.n_pages as f64 / self.wall.as_secs_f64(),
            self.cpu_per_page(),
            self.cpu_per_page() / one,
            self.cpu_per_page() / apart,
            self.coordinator.as_secs_f64(),
            self.bytes as f64 / self.n_pages as f64,
            self.memory_max >> 20,
        );
    }
}

/// Runs independent crawlers at the same time.
fn crawl_apart(pages: u32, n_crawlers: u8) -> Cost {
    let web = |n: u8| {
        let web = Spec::bench(pages / u32::from(n_crawlers));
        Spec { seed: web.seed + u64::from(n), ..web }
    };
    let costs: Vec<Cost> = std::thread::scope(|scope| {
        let crawls: Vec<_> =
            (0..n_crawlers).map(|n| scope.spawn(move || crawl_alone(web(n)))).collect();
        crawls.into_iter().map(|crawl| crawl.join().expect("the thread of a crawl")).collect()
    });
    Cost {
        who: format!("{n_crawlers} of them, each its own web"),
        n_pages: costs.iter().map(|cost| cost.n_pages).sum(),
        cpu: costs.iter().map(|cost| cost.cpu).sum(),
        coordinator: Duration::ZERO,
        wall: costs.iter().map(|cost| cost.wall).max().unwrap_or_default(),
        memory_max: costs.iter().map(|cost| cost.memory_max).max().unwrap_or_default(),
        bytes: 0,
    }
}

fn crawl_alone(web: Spec) -> Cost {
    let scene = Scene::new(web)
        .delays("0s", "0s")
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .within(Duration::from_secs(1_800));
    let ended = scene.crawl().succeeded();
    Cost {
        who: "`crivello crawl`".to_owned(),
        n_pages: usize::try_from(ended.count("totals/pages")).expect("a number of pages that fits"),
        cpu: ended.usage.cpu(),
        coordinator: Duration::ZERO,
        wall: wall(&scene.web.log().entries()),
        memory_max: ended.usage.memory_max,
        bytes: 0,
    }
}

/// Returns the time from the first request to the end of the last. It excludes the five seconds in
/// which a new agent fetches nothing, because other agents may still hold peer leases that it
/// granted.
fn wall(log: &[Entry]) -> Duration {
    let first = log.iter().map(|entry| entry.start).min().unwrap_or_default();
    let last = log.iter().map(|entry| entry.end).max().unwrap_or_default();
    Duration::from_micros(last - first)
}

fn crawl_together(pages: u32, n_agents: u8, dir: Option<&Path>) -> Cost {
    let cluster = Cluster::new(Spec::bench(pages));
    let cluster = match dir {
        Some(dir) => cluster.inside(dir),
        None => cluster,
    };
    let mut cluster = cluster
        .delays(Duration::ZERO, Duration::ZERO)
        .anonymous()
        .set(&format!("fetch.visits-max={VISITS_MAX}"))
        .set("cluster.lease=30s")
        .within(Duration::from_secs(1_800))
        .start(n_agents);
    cluster.seed();
    cluster.wait();
    let wall = wall(&cluster.web.log().entries());
    let bytes = cluster.bytes_between_members();
    let n_pages = cluster.pages().len();
    let ends = cluster.stop();
    Cost {
        who: format!("{n_agents} agents{}", dir.map_or("", |_| ", data in memory")),
        n_pages,
        cpu: ends.iter().map(|end| end.usage.cpu()).sum(),
        coordinator: ends.last().map(|end| end.usage.cpu()).unwrap_or_default(),
        wall,
        memory_max: ends.iter().map(|end| end.usage.memory_max).max().unwrap_or_default(),
        bytes,
    }
}

/// Measures the time from a kill to the first request of a successor, by the web's clock.
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

/// Returns the time until a takeover, in seconds beyond the lease.
fn takeover(seed: u32) -> f64 {
    let delay = Duration::from_millis(200);
    let mut cluster = Cluster::new(Spec::new(seed.into()).size(60, 1, 100).ips(0))
        .delays(delay, Duration::ZERO)
        .set(&format!("cluster.lease={}s", LEASE.as_secs()))
        .start_until(3, 0.1);
    let killed = cluster.web.log().now();
    cluster.kill9("b");
    cluster.delete_disk("b");
    cluster.until("other agents visit its hosts", |c| c.successor_of("b", killed).is_some());
    let first = cluster.successor_of("b", killed).expect("seen above").start;
    let after = Duration::from_micros(first.saturating_sub(killed.0));
    after.as_secs_f64() - LEASE.as_secs_f64()
}

/// Adds URLs to a paused crawl and waits until all outboxes are empty.
fn brought(urls: u32, n_agents: u8) -> Cluster {
    // Hosts whose names do not resolve would be given up, even while the crawl is paused.
    let web = Spec::new(1).size(HOSTS, 1, 1).ips(4);
    let mut cluster = Cluster::new(web).within(Duration::from_secs(1_800)).start(n_agents);
    cluster.run_ok(&["pause"]);
    let list = cluster.dir().join("urls.txt");
    let url = |n: u32| format!("http://h0.site{}.test/some/path/{n}.html\n", n % HOSTS);
    std::fs::write(&list, (0..urls).map(url).collect::<String>()).expect("the list is written");
    let (begun, before) = (cluster.web.log().now(), cluster.bytes_between_members());
    cluster.run_ok(&["seed", &list.display().to_string()]);
    cluster.until("all rows are replicated", |c| totals(c, "outbox") == 0);
    let time = cluster.web.log().now().since(begun).as_secs_f64();
    let bytes = cluster.bytes_between_members() - before;
    println!(
        "\n{urls} URLs sent to {n_agents} agents: {time:.1} s, {:.0} per second, {:.0} bytes per \
         URL between members",
        f64::from(urls) / time,
        bytes as f64 / f64::from(urls),
    );
    cluster
}

/// Measures a handoff: one agent has all URLs, and another one joins.
fn handed_over(urls: u32) {
    let mut cluster = brought(urls, 1);
    let before = cluster.bytes_between_members();
    let begun = cluster.web.log().now();
    cluster.add("b");
    let half = u64::from(urls) * 2 / 5;
    cluster.until("the new agent owns half of the URLs", |c| {
        let status = status(c);
        let own = status["agents"].as_array().into_iter().flatten();
        let b = own.filter(|agent| agent["name"] == "b").filter_map(|b| b["urls_queued"].as_u64());
        b.sum::<u64>() > half && totals(c, "handoffs") == 0 && totals(c, "outbox") == 0
    });
    let time = cluster.web.log().now().since(begun).as_secs_f64();
    let bytes = (cluster.bytes_between_members() - before) as f64;
    println!(
        "\n{urls} URLs, half of them handed over and all of them replicated: {time:.1} s, {:.0} MB",
        bytes / 1e6
    );
}

fn status(cluster: &Cluster) -> serde_json::Value {
    serde_json::from_str(&cluster.run_ok(&["status", "--json"])).unwrap_or_default()
}

/// Returns a total over all agents, or `u64::MAX` if there is no answer.
fn totals(cluster: &Cluster, what: &str) -> u64 {
    status(cluster)["totals"][what].as_u64().unwrap_or(u64::MAX)
}
