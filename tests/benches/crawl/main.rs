//! `make bench-crawl`: CPU per page of the whole crawler, compared with a floor measured in the
//! same run.
//!
//! There are three processes. The first is the simulated web. The second is `crivello crawl` with
//! everything enabled (robots, DNS, RocksDB sieve, WARC with gzip and digests), no delay, and
//! kept-alive connections. The third is the floor, which only fetches the same pages with bare
//! reqwest, extracts their links and writes them with gzip level 1. Only the CPU time of the second
//! and third is counted.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 100,000).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod beside;
mod floor;
mod run;

use beside::{beside, was_the_floor};
use crivello_tests::env_value;
use simweb::Spec;

fn main() {
    if was_the_floor() {
        return;
    }
    let pages = env_value("CRIVELLO_BENCH_PAGES").unwrap_or(100_000);
    let both = beside(&Spec::bench(pages), &[], None);
    let n = both.n_pages;
    println!("pages                      {n:>12}");
    for (name, cost) in [("crivello", &both.crawl), ("floor", &both.floor)] {
        let [cpu, user, system] = cost.micros(n);
        println!(
            "{name:<9} pages/s {:>9.0}   CPU µs/page {cpu:>7.1} (user {user:.1}, system {system:.1})   peak memory {:>5} MiB",
            n / cost.wall.as_secs_f64(),
            cost.usage.memory_max >> 20,
        );
    }
    println!(
        "ratio of CPU to the floor  {:>12.2}",
        both.crawl.micros(n)[0] / both.floor.micros(n)[0]
    );
}
