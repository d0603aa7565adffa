//! Goal: memory is bounded by the settings, not by the web: it does not grow with the URLs that
//! are known, nor with the hosts, nor with the bodies that arrive at once (promise 4, on one
//! agent).
//!
//! What could go wrong: a window, a row of the crawl database, a cache or a queue that keeps all it has
//! seen; hosts that stay although others are at work; bodies that are all held until the slowest
//! of them is parsed.
//!
//! Each test does the same twice, with little and with much of what must not count, and compares
//! the peaks that the system measured. Windows and caches are so small that keeping everything
//! would show.

use crivello_tests::{Ended, Load, Permits, Scene, seed};
use rustix::process::{Pid, Signal, kill_process};
use simweb::{Character, Manner, SeedChoice, Spec};
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;
use test_size::sized;

const MIB: u64 = 1 << 20;

/// What may fill where there is much and not where there is little: block cache (4 MiB), write
/// buffers (4 MiB, and again while they are flushed), sieve cache (1 MiB), the names of the dns
/// (1,000), windows (2,000 URLs) and hosts (500) of some hundred bytes each.
const CRAWL_GROWTH_MAX: u64 = 48 * MIB;

/// The same for taking in seeds: 32 batches of 1,000, half of them in a commit, which brings their
/// hosts into memory, and whose rows are held to be sorted and again as one batch: at most three KiB a
/// seed, and the caches.
const INTAKE_GROWTH_MAX: u64 = 96 * MIB + CRAWL_GROWTH_MAX;

/// Small caches and windows, and no connections that idle.
fn frugal(spec: Spec) -> Scene {
    Scene::new(spec)
        .set("fetch.visits-max=32")
        .set("fetch.keep-alive=0s")
        .set("dns.cache-entries-max=1000")
        .set("state.window-urls-max=2000")
        .set("state.hosts-max=500")
        .set("state.sieve-cache=1MiB")
        .set("state.block-cache=4MiB")
        .set("state.write-buffers=4MiB")
        .allow_log_line("the disk is nearly full")
}

/// Takes in these URLs without fetching anything: no disk has so much room as is asked for.
fn take_in(scene: &Scene, urls: impl Iterator<Item = String>) -> Ended {
    let mut command = scene.command();
    command.args(["--set=state.disk-free-min=1000000TiB", "--seeds=-"]).stdin(Stdio::piped());
    let mut child = scene.start_as(command);
    let mut pipe = BufWriter::new(child.stdin.take().expect("piped"));
    for url in urls {
        writeln!(pipe, "{url}").expect("it reads");
    }
    drop(pipe);
    scene.wait_for_log(&mut child, "the disk is nearly full");
    // The pipe may hold its last few KiB, which are all there is where there are few.
    sleep(Duration::from_millis(500));
    kill_process(Pid::from_child(&child), Signal::INT).expect("our own child can be signaled");
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.count("totals/pages"), 0, "{}", ended.report);
    ended
}

/// Goes on with what is known, for so many pages.
fn crawl(scene: &Scene, n_pages: u32) -> Ended {
    let mut command = scene.command();
    command.args(["--set=state.disk-free-min=1MiB", &format!("--max-pages={n_pages}")]);
    let ended = scene.end(scene.start_as(command));
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended
}

/// `what` is a count in the report.
#[expect(clippy::print_stdout, reason = "shown when the test fails")]
fn assert_bounded(what: &str, few: &Ended, many: &Ended, growth_max: u64) {
    let (small, large) = (few.usage.memory_max, many.usage.memory_max);
    let said = format!(
        "{} MiB at {} {what}, {} MiB at {}: at most {} MiB more are within the bounds",
        small / MIB,
        few.count(what),
        large / MIB,
        many.count(what),
        growth_max / MIB,
    );
    println!("{said}");
    assert!(small > MIB && large > MIB, "not measured: {said}");
    assert!(large < small + growth_max, "{said}");
}

/// So many URLs of forty hosts, taken in and then crawled a little.
fn known_urls(n_urls: usize) -> (Ended, Ended) {
    let spec = Spec::new(seed()).size(40, 1, 1_000_000).ips(0).links(4).seeds(SeedChoice::Hosts);
    let scene = frugal(spec).delays("0s", "0s");
    let hosts = scene.web.seeds();
    let urls = (0..n_urls).map(|n| {
        let page = n / hosts.len();
        format!("{}s{}/p{page}.html", hosts[n % hosts.len()], page % 10)
    });
    (take_in(&scene, urls), crawl(&scene, 800))
}

#[test]
fn memory_does_not_grow_with_the_urls_known() {
    let _permits = Permits::take(Load::All);
    let n_urls = sized(400_000, 1_000_000);
    let (few, many) = (known_urls(2_000), known_urls(n_urls));
    assert!(few.1.count("totals/urls_seen") < 6_000, "{}", few.1.report);
    assert!(many.1.count("totals/urls_seen") > n_urls as u64 * 99 / 100, "{}", many.1.report);
    assert_bounded("totals/urls_seen", &few.0, &many.0, INTAKE_GROWTH_MAX);
    assert_bounded("totals/urls_seen", &few.1, &many.1, CRAWL_GROWTH_MAX);
}

/// So many hosts, taken in and then crawled a little. Each rests for two seconds after its
/// robots.txt, so that there is always a fetcher free for one more host.
fn known_hosts(n_hosts: u32) -> (Ended, Ended) {
    let spec = Spec::new(seed()).size(n_hosts, 1, 3).ips(0).links(4).seeds(SeedChoice::Hosts);
    let scene = frugal(spec).delays("2s", "0s");
    let urls = scene.web.seeds();
    let scene = scene.seeds(&[]);
    (take_in(&scene, urls.into_iter()), crawl(&scene, 800))
}

#[test]
fn memory_does_not_grow_with_the_hosts_known() {
    let _permits = Permits::take(Load::All);
    let n_hosts = sized(40_000, 100_000);
    let (few, many) = (known_hosts(500), known_hosts(n_hosts));
    assert!(few.1.count("totals/hosts") <= 500, "{}", few.1.report);
    assert!(many.1.count("totals/hosts") > u64::from(n_hosts) * 9 / 10, "{}", many.1.report);
    assert_bounded("totals/hosts", &few.0, &many.0, INTAKE_GROWTH_MAX);
    assert_bounded("totals/hosts", &few.1, &many.1, CRAWL_GROWTH_MAX);
}

const BODY: u64 = 4 * MIB;
const N_BODIES: u64 = 200;
/// What a visit holds of a body that waits for room: the part that is free to all (64 KiB), and
/// what the connection reads ahead, twice its buffer of at most 408 KiB.
const WAITING: u64 = (64 + 2 * 408) << 10;
/// Bodies that have room, with what a buffer that doubles has to spare.
const ROOMS: u64 = 2 * 64 * MIB;

/// Bodies without end, cut off at four MiB, from so many hosts at once.
fn large_bodies(n: u64) -> Ended {
    let huge = Character::named("huge").manner(Manner::EndlessBody).pages(1);
    let mut spec = Spec::new(seed()).size(1, 1, 1).ips(0).latency_ms(300, 300);
    for i in 0..n {
        spec = spec.host(&format!("huge{i}.test"), huge.clone());
    }
    let scene = frugal(spec)
        .delays("0s", "0s")
        .set(&format!("fetch.visits-max={N_BODIES}"))
        .set(&format!("fetch.body-size-max={BODY}B"));
    let ended = scene.crawl();
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(ended.count("totals/truncated"), n, "{}", ended.report);
    ended
}

#[test]
fn memory_does_not_grow_with_the_bodies_that_arrive_at_once() {
    let _permits = Permits::take(Load::All);
    let growth_max = ROOMS + N_BODIES * WAITING + CRAWL_GROWTH_MAX;
    assert!(2 * growth_max < N_BODIES * BODY, "the bound is too wide to be broken");
    let (few, many) = (large_bodies(1), large_bodies(N_BODIES));
    assert_bounded("totals/bytes", &few, &many, growth_max);
}
