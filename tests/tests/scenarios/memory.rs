//! Bounded memory: on one agent, memory is limited by the settings and not by the web. It does not
//! grow with the known URLs, with the known hosts, or with the bodies that arrive at once.
//!
//! Possible failures: a window, a row of the crawl database, a cache or a queue keeps everything it
//! has seen; hosts stay in memory although others are due; all bodies are held until the slowest of
//! them is parsed.
//!
//! Each test runs twice, with a small and a large number of items that must not matter, and
//! compares the peaks that the system measured. Windows and caches are so small that keeping
//! everything would be visible.

use crivello_tests::{Ended, Load, Permits, Scene, seed};
use simweb::{Character, Manner, SeedChoice, Spec};
use std::io::{BufWriter, Write};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;
use test_size::sized;

const MIB: u64 = 1 << 20;

/// Growth that is allowed because these may be full in the large run only: block cache (4 MiB),
/// write buffers (4 MiB, and again while they are flushed), sieve cache (1 MiB), DNS cache (1,000
/// names), windows (2,000 URLs) and hosts (500) of some hundred bytes each.
const CRAWL_GROWTH_MAX: u64 = 48 * MIB;

/// Growth that is allowed while seeds are added: 32 batches of 1,000, half of them in a commit. The
/// commit loads their hosts into memory; its rows are held for sorting and again as one batch. That
/// is at most three KiB per seed, plus the caches.
const INTAKE_GROWTH_MAX: u64 = 96 * MIB + CRAWL_GROWTH_MAX;

/// Returns a crawl with small caches and windows, and without idle connections.
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

/// Adds these URLs without fetching anything, because no disk has as much free space as the setting
/// requires.
fn take_in(scene: &Scene, urls: impl Iterator<Item = String>) -> Ended {
    let mut command = scene.command();
    command.args(["--set=state.disk-free-min=1000000TiB", "--seeds=-"]).stdin(Stdio::piped());
    let mut child = scene.start_as(command);
    let mut pipe = BufWriter::new(child.stdin.take().expect("piped"));
    for url in urls {
        writeln!(pipe, "{url}").expect("the crawler reads its input");
    }
    drop(pipe);
    scene.wait_for_log(&mut child, "the disk is nearly full");
    // The pipe may hold its last few KiB, which is everything in the small run.
    sleep(Duration::from_millis(500));
    child.stop();
    let ended = scene.end(child);
    assert_eq!(ended.code, Some(130), "{}", ended.stderr);
    assert_eq!(ended.count("totals/pages"), 0, "{}", ended.report);
    ended
}

/// Resumes with the known URLs, up to this number of pages.
fn crawl(scene: &Scene, n_pages: u32) -> Ended {
    let mut command = scene.command();
    command.args(["--set=state.disk-free-min=1MiB", &format!("--max-pages={n_pages}")]);
    scene.end(scene.start_as(command)).succeeded()
}

/// Checks that the peaks differ by at most `growth_max`. `what` is a count in the report.
#[expect(clippy::print_stdout, reason = "output of a failed test")]
fn assert_bounded(what: &str, few: &Ended, many: &Ended, growth_max: u64) {
    let (small, large) = (few.usage.memory_max, many.usage.memory_max);
    let said = format!(
        "{} MiB at {} {what}, {} MiB at {}: the maximum growth is {} MiB",
        small / MIB,
        few.count(what),
        large / MIB,
        many.count(what),
        growth_max / MIB,
    );
    println!("{said}");
    assert!(small > MIB && large > MIB, "no memory measured: {said}");
    assert!(large < small + growth_max, "{said}");
}

/// Adds this many URLs of forty hosts, then crawls some of them.
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

/// Adds this many hosts, then crawls some of them. Each rests for two seconds after its robots.txt,
/// so that a fetcher is always free for another host.
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
/// Memory of a visit whose body waits for the budget: the free part of 64 KiB, and the read-ahead
/// of the connection, which is twice its buffer of at most 408 KiB.
const WAITING: u64 = (64 + 2 * 408) << 10;
/// Memory of the bodies within the budget, including the spare capacity of a buffer that doubles.
const ROOMS: u64 = 2 * 64 * MIB;
/// Memory of bodies that have ended, which the allocator returns to the system only after a second.
/// The growth measured on a quiet machine is 252 to 321 MiB; 347 MiB without this part were exceeded
/// beside other tests.
const NOT_RETURNED: u64 = 48 * MIB;

/// Crawls this many hosts with endless bodies at once; each body is truncated at four MiB.
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
    let ended = scene.crawl().succeeded();
    assert_eq!(ended.count("totals/truncated"), n, "{}", ended.report);
    ended
}

#[test]
fn memory_does_not_grow_with_the_bodies_that_arrive_at_once() {
    let _permits = Permits::take(Load::All);
    let growth_max = ROOMS + N_BODIES * WAITING + NOT_RETURNED + CRAWL_GROWTH_MAX;
    assert!(2 * growth_max < N_BODIES * BODY, "the bound is too wide for this test");
    let (few, many) = (large_bodies(1), large_bodies(N_BODIES));
    assert_bounded("totals/bytes", &few, &many, growth_max);
}
