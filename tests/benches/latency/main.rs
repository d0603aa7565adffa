//! `make bench-latency`: the rate of a crawl of slow hosts. It should reach the limit of hosts and
//! delay, or of the machine.
//!
//! Every host takes 200 ms for an answer and rests for a second after it, so all of them together
//! allow `hosts / 1.2 s`. The web is this process, on the same machine. The table shows its CPU,
//! the crawler's and the total, so that the limiting factor is visible. A measurement begins when
//! all hosts have been asked for their robots.txt.
//!
//! `CRIVELLO_BENCH_HOSTS` sets the numbers of hosts (default `2000,20000`),
//! `CRIVELLO_BENCH_SECONDS` the duration of each measurement (default 60).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

use crivello_tests::{Scene, env_list, env_value};
use simweb::{Pace, SeedChoice, Spec, judge_pace};
use std::time::Duration;

const DELAY: Duration = Duration::from_secs(1);
const LATENCY: Duration = Duration::from_millis(200);
/// Delay of an address; each address has only one host.
const IP_DELAY: Duration = Duration::from_millis(10);
/// Pages per host, more than are fetched.
const PAGES_A_HOST: u32 = 400;
/// Maximum number of visits, relative to the number of answers that can be in flight.
const VISITS_SPARE: f64 = 1.5;
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// Maximum time to wait for the robots.txt files.
const ASKED_AFTER: Duration = Duration::from_secs(600);

fn main() {
    let stretch = Duration::from_secs(env_value("CRIVELLO_BENCH_SECONDS").unwrap_or(60));
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!(
        "| hosts | pages/s | hosts and delay allow | share | CPU of {cores} cores: all | crawler | \
         web | CPU µs/page | visits at once | resident MiB | files | violations |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    let mut clean = true;
    for n_hosts in env_list("CRIVELLO_BENCH_HOSTS", "2000,20000") {
        clean &= at(n_hosts, stretch);
    }
    std::process::exit(i32::from(!clean));
}

/// Measures and prints one row. Returns whether the crawl was polite.
fn at(n_hosts: u32, stretch: Duration) -> bool {
    let cycle = (DELAY + LATENCY).as_secs_f64();
    let visits = VISITS_SPARE * f64::from(n_hosts) * LATENCY.as_secs_f64() / cycle;
    let web =
        Spec::wide(n_hosts, PAGES_A_HOST, LATENCY.as_millis() as u32).seeds(SeedChoice::Hosts);
    let scene = Scene::new(web)
        .delays("1s", "10ms")
        .set(&format!("fetch.visits-max={}", visits.ceil()))
        .set(&format!("state.hosts-max={}", 2 * n_hosts))
        .set(&format!("state.window-urls-max={}", 8 * n_hosts))
        .arg("--http=127.0.0.1:0")
        .within(Duration::from_secs(3_600));
    let mut crawl = scene.start();
    let watched = scene.watch(&mut crawl);
    let begun = watched.look();
    watched.until(LOOK_EVERY, |look| {
        look.number("crivello_robots_fetched_total") >= f64::from(n_hosts)
            || look.at.since(begun.at) > ASKED_AFTER
    });
    let _ = watched.over(4 * DELAY);
    let before = watched.look();
    drop(scene.web.log().take());
    std::thread::sleep(stretch);
    let log = scene.web.log().take();
    let look = watched.look();
    let over = look.since(&before);
    let report = judge_pace(&Pace::delays(DELAY, IP_DELAY), &log);
    let allowed = f64::from(n_hosts) / cycle;
    println!(
        "| {n_hosts} | {:.0} | {allowed:.0} | {:.1} % | {:.2} | {:.2} | {:.2} | {:.0} | {:.0} | {} | {} | {} |",
        over.pages_a_second(),
        100.0 * over.pages_a_second() / allowed,
        over.machine,
        over.crawler,
        over.web,
        over.cpu_a_page(),
        look.number("crivello_visits"),
        look.resident >> 20,
        look.files,
        report.counts.values().sum::<u64>(),
    );
    if !report.is_clean() {
        println!("{report}");
    }
    crawl.stop();
    let _ = scene.end(crawl);
    report.is_clean()
}
