//! Scale in hosts: a million hosts on two hundred thousand addresses are known to a real crawl database on
//! disk, and up to a hundred thousand of them are on a real workbench.
//!
//! For each number of hosts there: bytes a host, as the allocator counts them; how many visits a
//! CPU-second can be handed out and taken back; and how long a host that may be visited waits until it
//! is handed out, at ten thousand visits a second. The clock of the last is the CPU time of this
//! thread: it stands still while others have the processor, and jumps where there is nothing to do.
//! The cost of the hosts that are not on the workbench is measured in separate processes, which
//! open the crawl database and hand out a thousand hosts.
//!
//! `CRIVELLO_BENCH_HOSTS` sets the number of hosts known (default 1,000,000); a fifth as many are the
//! addresses, and a tenth, a hundredth and a thousandth are on the workbench.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod allocated;
mod crawldb_driver;
#[path = "../memory.rs"]
mod memory;
mod waits;
mod workbench_driver;

use allocated::allocated;
use crawldb_driver::{CrawlDbDriver, URLS_A_HOST};
use memory::memory;
use std::hint::black_box;
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use workbench_driver::WorkbenchDriver;

/// Visits whose waits are measured, and turns that are timed.
const VISITS: usize = 200_000;
/// Hosts that those processes hand out which measure the rest.
const HANDED_OUT: u32 = 1_000;

fn main() {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() == Some("--rest") {
        let dir = args.next().expect("a directory");
        return rest(Path::new(&dir));
    }
    let known = std::env::var("CRIVELLO_BENCH_HOSTS").ok().and_then(|n| n.parse().ok());
    let known = known.unwrap_or(1_000_000_u32).max(10_000);
    let [few, many] = [HANDED_OUT, known].map(|n_hosts| {
        let dir = tempfile::tempdir().expect("a directory");
        crawldb_driver::fill(dir.path(), n_hosts);
        dir
    });
    println!("{known} hosts on {} addresses, {URLS_A_HOST} URLs queued of each", known / 5);
    println!(
        "| on the workbench | addresses | visits a CPU-second | wait until handed out, µs: median | 99 % | most | bytes a \
         host: workbench | of it its URLs | crawldb |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    for active in [known / 1_000, known / 100, known / 10] {
        at(many.path(), known, active);
    }
    let [few, many] = [few.path(), many.path()].map(|dir| {
        let me = std::env::current_exe().expect("the path of this benchmark");
        let output =
            Command::new(me).arg("--rest").arg(dir).output().expect("the child process runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).expect("text");
        let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        <[f64; 2]>::try_from(numbers).expect("two numbers")
    });
    let hosts = f64::from(known - HANDED_OUT);
    println!(
        "a host that is not in memory: {:.2} bytes allocated, {:.1} resident ({:.0} MiB with \
         {known} hosts known, {:.0} with {HANDED_OUT}; RocksDB's caches and filters are bounded)",
        (many[0] - few[0]) / hosts,
        (many[1] - few[1]) / hosts,
        many[1] / f64::from(1 << 20),
        few[1] / f64::from(1 << 20),
    );
}

/// One row: so many of the hosts known are on the workbench.
fn at(dir: &Path, known: u32, active: u32) {
    let mut driver = CrawlDbDriver::open(dir, active);
    let before = allocated();
    // As many fall due each second, however many there are.
    let settings = driver.settings.clone();
    let distance = settings.live.politeness.delay / active;
    let mut workbench =
        WorkbenchDriver::new(&settings, known / 5, (active as usize / 4).min(1_000), distance);
    let mut urls = 0;
    driver.serve(&mut workbench, |due| {
        let before = allocated();
        let copy = due.urls.clone();
        urls += allocated() - before;
        drop(copy);
    });
    assert_eq!(
        workbench.bench.stats(workbench.now).hosts,
        active as usize,
        "some hosts are missing"
    );
    let waits = waits::measured(&mut workbench, &mut driver, VISITS);
    let stats = workbench.bench.stats(workbench.now);
    assert_eq!(
        (stats.resolving, stats.unknown_host_replies),
        (0, 0),
        "some hosts were not visited"
    );
    let rate = visits_a_second(&mut workbench);
    let with = allocated();
    drop(workbench);
    let (bench, crawldb) = (with - allocated(), allocated().saturating_sub(before));
    let a_host = |bytes: usize| bytes as f64 / f64::from(active);
    let [median, late, most] = waits.map(|wait| wait.as_secs_f64() * 1e6);
    println!(
        "| {active} | {} | {rate:.0} | {median:.1} | {late:.1} | {most:.1} | {:.0} | {:.0} | {:.0} |",
        stats.ips,
        a_host(bench),
        a_host(urls),
        a_host(crawldb),
    );
}

fn visits_a_second(workbench: &mut WorkbenchDriver) -> f64 {
    let begun = waits::cpu();
    for n in 0..VISITS {
        workbench.turn();
        if n.is_multiple_of(64) {
            black_box(workbench.bench.take_messages());
        }
    }
    VISITS as f64 / waits::cpu().saturating_sub(begun).as_secs_f64()
}

/// Opens a crawl database, hands out some hosts, and says what is allocated and what is resident.
fn rest(dir: &Path) {
    let mut driver = CrawlDbDriver::open(dir, HANDED_OUT);
    let settings = driver.settings.clone();
    let mut workbench = WorkbenchDriver::new(&settings, HANDED_OUT, 1, Duration::ZERO);
    driver.serve(&mut workbench, |_| ());
    println!("{} {}", allocated(), memory("VmRSS:"));
}
