//! `make bench-crawl`: CPU per page of the whole crawler, beside a floor measured in the same run.
//!
//! Three processes: the simulated web; `crivello crawl` with everything on (robots, DNS, RocksDB
//! sieve, WARC with gzip and digests), no delay, kept-alive connections; and the floor, which
//! fetches the same pages with bare reqwest, extracts their links and writes them with gzip
//! level 1, and does nothing else. Only the CPU time of the second and third is counted.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default 100,000).

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]

mod floor;
mod run;

use crivello_tests::Usage;
use run::{CONCURRENCY, crawl, measured, start_web};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--floor") {
        let list = args.next().expect("the list of URLs");
        return floor::run(Path::new(&list), CONCURRENCY);
    }
    let pages = std::env::var("CRIVELLO_BENCH_PAGES").ok().and_then(|n| n.parse().ok());
    bench(pages.unwrap_or(100_000));
}

fn bench(pages: u32) {
    let dir = tempfile::tempdir().expect("a directory");
    let (mut web, ready) = start_web(dir.path(), pages);
    let out = dir.path().join("crawl");
    let (wall, crawl) = measured(crawl(&out, dir.path(), &ready, &[]));
    let fetched = urls_fetched(&out);
    let list = dir.path().join("urls");
    std::fs::write(&list, fetched.join("\n")).expect("the list is written");
    let me = std::env::current_exe().expect("a bench has a path");
    let (floor_wall, floor) =
        measured(Command::new(me).arg("--floor").arg(&list).spawn().expect("the floor starts"));
    drop(web.stdin.take());
    let _ = web.wait();

    let n = fetched.len() as f64;
    let per_page = |usage: &Usage| usage.cpu().as_secs_f64() * 1e6 / n;
    let (ours, theirs) = (per_page(&crawl), per_page(&floor));
    println!("pages                      {n:>12}");
    for (name, wall, usage, cpu) in
        [("crivello", wall, &crawl, ours), ("floor", floor_wall, &floor, theirs)]
    {
        println!(
            "{name:<9} pages/s {:>9.0}   CPU µs/page {cpu:>7.1} (user {:.1}, system {:.1})   peak memory {:>5} MiB",
            n / wall.as_secs_f64(),
            usage.user.as_secs_f64() * 1e6 / n,
            usage.system.as_secs_f64() * 1e6 / n,
            usage.memory_max >> 20,
        );
    }
    println!("ratio of CPU to the floor  {:>12.2}", ours / theirs);
}

/// The URLs of the archive's index.
fn urls_fetched(out: &Path) -> Vec<String> {
    let warc = out.join("warc");
    let files = std::fs::read_dir(warc).expect("the archive").filter_map(Result::ok);
    let indexes: Vec<PathBuf> =
        files.map(|f| f.path()).filter(|p| p.extension().is_some_and(|e| e == "cdxj")).collect();
    let mut urls = Vec::new();
    for index in indexes {
        for line in std::fs::read_to_string(index).expect("an index").lines() {
            let json = line.splitn(3, ' ').nth(2).expect("three fields");
            let entry: Value = serde_json::from_str(json).expect("JSON");
            let url = entry["url"].as_str().expect("a URL");
            if !url.ends_with("/robots.txt") {
                urls.push(url.to_owned());
            }
        }
    }
    urls
}
