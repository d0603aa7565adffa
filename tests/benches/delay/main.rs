//! `make bench-delay`: the rate of pages at different delays. It should be the same for all of them
//! if there are enough hosts.
//!
//! One agent crawls a web whose hosts are all known from the start, while the delay is set live to
//! 0.25, 1, 4 and 16 seconds, and then back to the first. The limit of the rate is the same at
//! every delay: `fetch.visits-max` visits at once, to hosts that take 200 ms for each answer. It is
//! chosen so that the longest delay needs four hosts out of five, so the front has to grow from
//! some hundreds of hosts to nearly all of them. The machine must not be the limit; other benches
//! measure CPU.
//!
//! Each measurement begins when hardly any robots.txt is fetched and the front is stable. Its
//! requests are judged by the web's log. After the last delay, the delay is set to 0.25 s, and the
//! shrinking of the front and of memory is measured. The pages of such a large web cannot all be
//! listed in advance, so only the pace of the crawl is judged.
//!
//! Hosts that rest for longer than idle connections are kept need a new connection for each page. A
//! kernel that tracks connections remembers each for two minutes and drops packets when its table
//! is full, which looks like slow hosts. The bench prints a warning if the table is too small for
//! the rate. (With more than 2,048 hosts in turn, most connections are new at shorter delays, too.)
//!
//! `CRIVELLO_BENCH_HOSTS` sets the number of hosts (default 32,000), `CRIVELLO_BENCH_SECONDS` the
//! duration of each measurement (default 60), `CRIVELLO_BENCH_SHRINK` the maximum time for which
//! shrinking is observed, in seconds (default 600), and `CRIVELLO_BENCH_DELAYS` the delays in
//! seconds (default `0.25,1,4,16`).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use crivello_tests::{Cluster, Look, Watched, env_list, env_value};
use simweb::{Pace, SeedChoice, Spec, judge_pace};
use std::time::Duration;

/// Time that a host takes for an answer.
const LATENCY: Duration = Duration::from_millis(200);
/// Share of the hosts that the longest delay needs.
const NEEDED: f64 = 0.8;
/// Pages per host, more than are fetched in all measurements.
const PAGES_A_HOST: u32 = 100;
/// Maximum share of robots.txt fetches, relative to pages, of a front that has stopped growing.
const ROBOTS_MAX: f64 = 0.02;
/// Maximum relative change between two samples of a front that is stable.
const STEADY: f64 = 0.01;
/// Maximum time to wait for a stable front.
const SETTLED_AFTER: Duration = Duration::from_secs(300);
const LOOK_EVERY: Duration = Duration::from_secs(5);
/// Delay of an address; each address has only one host.
const IP_DELAY: Duration = Duration::from_millis(10);
const TRACKED_MAX: &str = "/proc/sys/net/netfilter/nf_conntrack_max";
/// Time for which a kernel tracks a closed connection, plus a margin.
const TRACKED_FOR: Duration = Duration::from_secs(150);
/// Number of consecutive samples without a new minimum after which memory counts as stable.
const LOOKS_AT_MEMORY: u32 = 6;
/// Maximum size of a shrunk front, relative to its size at the first delay.
const SHRUNK: f64 = 1.25;

fn main() {
    let n_hosts: u32 = env_value("CRIVELLO_BENCH_HOSTS").unwrap_or(32_000);
    let stretch = Duration::from_secs(env_value("CRIVELLO_BENCH_SECONDS").unwrap_or(60));
    let patience = Duration::from_secs(env_value("CRIVELLO_BENCH_SHRINK").unwrap_or(600));
    let delays: Vec<f64> = env_list("CRIVELLO_BENCH_DELAYS", "0.25,1,4,16");
    let delays: Vec<Duration> = delays.into_iter().map(Duration::from_secs_f64).collect();
    let (Some(&first), Some(&longest)) = (delays.first(), delays.iter().max()) else { return };
    let rate = NEEDED * f64::from(n_hosts) / (longest + LATENCY).as_secs_f64();
    let visits = (rate * LATENCY.as_secs_f64()).ceil();
    println!(
        "{n_hosts} hosts; {visits} visits at once of {LATENCY:?} allow {:.0} requests a second",
        visits / LATENCY.as_secs_f64()
    );
    warn_of_tracking(visits / LATENCY.as_secs_f64());
    // Starts with the longest delay, because every host needs a turn for its robots.txt.
    let (mut cluster, watched) = start(n_hosts, visits as u32, longest);
    settle(&watched, longest);
    println!(
        "| delay, s | pages/s | change from the first | robots.txt/s | front wanted | front held | \
         hosts | resident MiB | without RocksDB | CPU, cores | violations | shortest gap, s |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut rates = Vec::new();
    let mut clean = true;
    let mut at_first = None;
    for delay in delays {
        set(&cluster, delay);
        settle(&watched, delay);
        let before = watched.look();
        drop(cluster.web.log().take());
        std::thread::sleep(stretch);
        let log = cluster.web.log().take();
        let look = watched.look();
        let over = look.since(&before);
        let report = judge_pace(&Pace::delays(delay, IP_DELAY), &log);
        clean &= report.is_clean();
        rates.push(over.pages_a_second());
        if delay == first {
            at_first = Some(look.clone());
        }
        println!(
            "| {} | {:.0} | {:+.1} % | {:.1} | {:.0} | {:.0} | {:.0} | {} | {} | {:.2} | {} | {:.3} |",
            delay.as_secs_f64(),
            over.pages_a_second(),
            100.0 * (over.pages_a_second() / rates[0] - 1.0),
            over.robots / over.secs,
            look.number("crivello_front_wanted"),
            held(&look),
            look.number("crivello_hosts"),
            look.resident >> 20,
            look.resident_beside_rocksdb() >> 20,
            over.crawler,
            report.counts.values().sum::<u64>(),
            report.host_gap_min_us.map_or(0, |gap| gap) as f64 / 1e6,
        );
        if !report.is_clean() {
            println!("{report}");
        }
    }
    if let Some(at_first) = at_first {
        shrink(&cluster, &watched, (first, &at_first), patience);
    }
    let _ = cluster.stop();
    std::process::exit(i32::from(!clean));
}

/// Warns if the kernel cannot track as many connections as are made.
fn warn_of_tracking(rate: f64) {
    let max = std::fs::read_to_string(TRACKED_MAX).ok().and_then(|n| n.trim().parse::<f64>().ok());
    if let Some(max) = max.filter(|max| rate * TRACKED_FOR.as_secs_f64() > *max) {
        println!(
            "The kernel tracks {max} connections at most, which is too few for {rate:.0} new ones a \
             second: it will drop packets. Take fewer hosts, or `sysctl -w \
             net.netfilter.nf_conntrack_max={:.0}`.",
            2.0 * rate * TRACKED_FOR.as_secs_f64()
        );
    }
}

fn start(n_hosts: u32, visits: u32, delay: Duration) -> (Cluster, Watched) {
    let latency = LATENCY.as_millis() as u32;
    let web = Spec::wide(n_hosts, PAGES_A_HOST, latency).seeds(SeedChoice::Hosts);
    let mut cluster = Cluster::new(web)
        .delays(delay, IP_DELAY)
        .anonymous()
        .set(&format!("fetch.visits-max={visits}"))
        .set(&format!("state.hosts-max={n_hosts}"))
        .set(&format!("state.window-urls-max={}", 8 * n_hosts))
        .set("cluster.lease=60s")
        .with(&["--http", "127.0.0.1:0"])
        .within(Duration::from_secs(6 * 3_600))
        .start(1);
    cluster.seed();
    let watched = cluster.watch("a");
    (cluster, watched)
}

/// Sets the delay. It is in force when the command has ended.
fn set(cluster: &Cluster, delay: Duration) {
    cluster.run_ok(&["set", &format!("politeness.delay={}ms", delay.as_millis())]);
}

/// Waits until the front is stable, for at least two delays and at most [`SETTLED_AFTER`].
fn settle(watched: &Watched, delay: Duration) {
    let begun = watched.look();
    let mut before = begun.clone();
    let _ = watched.over(2 * delay);
    watched.until(LOOK_EVERY, |look| {
        let over = look.since(&before);
        let is_steady = (held(look) / held(&before) - 1.0).abs() <= STEADY;
        before = look.clone();
        (is_steady && over.robots <= ROBOTS_MAX * over.pages)
            || look.at.since(begun.at) > SETTLED_AFTER
    });
}

fn held(look: &Look) -> f64 {
    look.number("crivello_front_held")
}

/// Restores the delay, and measures how the front and memory shrink.
fn shrink(
    cluster: &Cluster,
    watched: &Watched,
    (delay, at_first): (Duration, &Look),
    patience: Duration,
) {
    let before = watched.look();
    let to = held(at_first);
    set(cluster, delay);
    let begun = watched.look();
    let after = watched.until(LOOK_EVERY, |look| {
        drop(cluster.web.log().take());
        held(look) <= SHRUNK * to || look.at.since(begun.at) > patience
    });
    // Memory is released later: wait until it has not decreased for a while.
    let (mut least, mut looks) = (u64::MAX, 0);
    let later = watched.until(LOOK_EVERY, |look| {
        drop(cluster.web.log().take());
        looks = if look.resident < least { 0 } else { looks + 1 };
        least = least.min(look.resident);
        looks >= LOOKS_AT_MEMORY || look.at.since(after.at) > patience
    });
    println!(
        "\nback at {delay:?}: after {:.0} s the front is {:.0} addresses of {:.0} (it was {to:.0} \
         at first); after {:.0} s {:.0}, resident {} MiB of {} ({} at first), without \
         RocksDB's {} of {} ({} at first)",
        after.at.since(begun.at).as_secs_f64(),
        held(&after),
        held(&before),
        later.at.since(begun.at).as_secs_f64(),
        held(&later),
        later.resident >> 20,
        before.resident >> 20,
        at_first.resident >> 20,
        later.resident_beside_rocksdb() >> 20,
        before.resident_beside_rocksdb() >> 20,
        at_first.resident_beside_rocksdb() >> 20,
    );
}
