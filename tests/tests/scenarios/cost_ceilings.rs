//! Cost ceilings: what each hostile class costs for each byte that it sends, by counts from outside:
//! the web's log, the queries to its name server, the sizes of the crawl's directories, and the
//! peak memory of the process. Nothing is timed.
//!
//! Possible failures: a small page makes a large state, many queries, or much work; a bomb is
//! unpacked on disk; an endless response is read without end; memory grows with what one site sends.

use crivello_common::config::Settings;
use crivello_common::url::parse_cost;
use crivello_tests::{Ended, Scene, seed};
use simweb::adversary::{costly_link, link_flood, linking, packed_links};
use simweb::{Character, Coding, JudgeLimits, Manner, Pace, Robots, SeedChoice, Spec};
use std::path::Path;
use std::time::Duration;

const DELAY: Duration = Duration::from_millis(20);
/// Bytes of the state and of the archive of a crawl of the honest sites alone, at most.
const STATE_BASE: u64 = 1 << 20;
const ARCHIVE_BASE: u64 = 256 << 10;
/// Queries of hosts that exist, for each of them: one, and a second one if its answer is late.
const QUERIES_A_HOST: u64 = 2;
/// Maximum peak memory with the caches of these crawls.
const MEMORY_MAX: u64 = 320 << 20;

/// The cost of a crawl.
#[derive(Clone, Copy, Debug)]
struct Costs {
    /// Bytes that hostile hosts sent.
    received: u64,
    /// Most bytes of a response.
    largest: u64,
    /// Queries for names that are not those of honest hosts.
    queries: u64,
    /// Bytes of the state on disk.
    state: u64,
    /// Bytes of the archive.
    archive: u64,
    /// Peak memory of the process.
    memory: u64,
}

/// Bounds of a class, for each byte that it sends.
struct Ceilings {
    /// Name of the class.
    class: &'static str,
    /// Bytes of state for each byte received.
    state: f64,
    /// Bytes of the archive for each byte received.
    archive: f64,
    /// Queries for each thousand bytes received.
    queries: f64,
}

impl Ceilings {
    /// Checks a crawl with `n_hosts` hostile hosts.
    #[expect(clippy::print_stdout, reason = "the figures of a test")]
    fn check(&self, costs: Costs, n_hosts: u64) {
        let received = costs.received as f64;
        let per_byte = |bytes: u64, base: u64| bytes.saturating_sub(base) as f64 / received;
        let state = per_byte(costs.state, STATE_BASE);
        let archive = per_byte(costs.archive, ARCHIVE_BASE);
        let extra = costs.queries.saturating_sub(QUERIES_A_HOST * n_hosts);
        let queries = 1_000.0 * extra as f64 / received;
        println!(
            "{}: {costs:?}; for each byte {state:.2} of state and {archive:.2} of archive, and \
             {queries:.2} queries for each thousand",
            self.class
        );
        let class = self.class;
        assert!(state <= self.state, "{class}: {state:.2} bytes of state for each byte: {costs:?}");
        assert!(archive <= self.archive, "{class}: {archive:.2} of archive: {costs:?}");
        assert!(queries <= self.queries, "{class}: {queries:.2} queries: {costs:?}");
        assert!(costs.memory < MEMORY_MAX, "{class}: {costs:?}");
    }
}

/// Returns a web of three honest sites.
fn honest() -> Spec {
    Spec::new(seed()).size(3, 1, 5).ips(0).seeds(SeedChoice::Hosts)
}

/// Returns a crawl with small caches and short time limits. All other settings, the limits above all,
/// are the defaults.
fn scene(spec: Spec) -> Scene {
    Scene::new(spec)
        .delays("20ms", "5ms")
        .set("politeness.backoff-first=300ms")
        .set("fetch.connect-timeout=1s")
        .set("fetch.first-byte-timeout=1s")
        .set("fetch.total-timeout=3s")
        .set("state.block-cache=8MiB")
        .set("state.write-buffers=8MiB")
        .set("state.sieve-cache=1MiB")
}

fn crawl(spec: Spec) -> (Costs, Ended) {
    let scene = scene(spec);
    let ended = scene.crawl().succeeded();
    let pace = Pace::delays(DELAY, Duration::from_millis(5));
    scene.assert_clean(&scene.judge(JudgeLimits::default(), pace));
    let mut entries = scene.web.log().entries();
    entries.retain(|entry| !entry.host.starts_with("h0.site"));
    let honest: usize = (0..3).map(|n| scene.web.queries(&format!("site{n}.test")).len()).sum();
    let costs = Costs {
        received: entries.iter().map(|entry| entry.bytes).sum::<u64>().max(1),
        largest: entries.iter().map(|entry| entry.bytes).max().unwrap_or(0),
        queries: (scene.web.queries("test").len() - honest) as u64,
        state: size(&scene.out().join("state")),
        archive: size(&scene.out().join("warc")),
        memory: ended.usage.memory_max,
    };
    (costs, ended)
}

/// Returns the bytes of all files in a directory.
fn size(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).expect("the directory");
    files.map(|file| file.and_then(|file| file.metadata()).map_or(0, |data| data.len())).sum()
}

/// Adds hosts of evil.test.
fn evil(n_hosts: u32, host: impl Fn(u32) -> Character) -> Spec {
    (0..n_hosts).fold(honest(), |spec, i| spec.host(&format!("h{i}.evil.test"), host(i)))
}

#[test]
fn honest_sites_alone_stay_below_what_is_not_counted() {
    let (costs, _) = crawl(honest());
    println!("{costs:?}");
    assert_eq!((costs.received, costs.queries), (1, 0), "there is no hostile host");
    assert!(costs.state < STATE_BASE && costs.archive < ARCHIVE_BASE, "{costs:?}");
}

/// Each link is a name of a domain of its own, which does not exist: the most expensive link, because
/// it is a new URL, a new host and a new group, and no limit of a domain refuses it.
#[test]
fn links_to_domains_that_do_not_exist() {
    let (n_hosts, n_links) = (4, 2_000);
    let page = |i: u32| {
        let numbers = n_links * i..n_links * (i + 1);
        linking("dead domains", numbers.map(|n| format!("http://d{n}.test:{{port}}/")))
    };
    let (costs, ended) = crawl(evil(n_hosts, page));
    Ceilings { class: "dead domains", state: 15.0, archive: 0.5, queries: 60.0 }
        .check(costs, n_hosts.into());
    let n_names = u64::from(n_hosts * n_links);
    assert!(costs.queries >= n_names, "the names were not looked up: {costs:?}");
    assert!(costs.queries <= 2 * n_names + 2 * u64::from(n_hosts), "{costs:?}");
    assert!(ended.count("errors/dns-no-such-name") > 0, "{}", ended.report);
}

/// All names are of one domain: no more are looked up than a domain may have.
#[test]
fn links_to_names_of_one_domain_that_do_not_exist() {
    let (n_hosts, n_links) = (4, 5_000);
    let page =
        |i: u32| simweb::adversary::dead_names("victim.test", n_links * i..n_links * (i + 1));
    let (costs, ended) = crawl(evil(n_hosts, page));
    Ceilings { class: "dead names", state: 1.0, archive: 0.5, queries: 1.0 }
        .check(costs, n_hosts.into());
    let refused = ended.count("skipped/too-many-unresolved-hosts");
    let n_links = u64::from(n_hosts * n_links);
    assert!(refused > n_links / 2, "{}", ended.report);
}

/// Short links to pages of the host itself that do not exist.
#[test]
fn links_to_pages_that_do_not_exist() {
    let page = |i: u32| {
        let host = format!("h{i}.evil.test");
        link_flood(&host, 0..400, 12)
    };
    let (costs, _) = crawl(evil(3, page));
    Ceilings { class: "short links", state: 5.0, archive: 15.0, queries: 0.1 }.check(costs, 3);
}

/// Long links that wait in the queue: the crawl ends at its limit of pages.
#[test]
fn long_links_that_stay_in_the_queue() {
    let page = |i: u32| link_flood(&format!("h{i}.evil.test"), 0..1_000, 1_000);
    let spec = evil(3, page);
    let scene = scene(spec).arg("--max-pages=120");
    let ended = scene.crawl().succeeded();
    let received: u64 = scene.web.log().entries().iter().map(|entry| entry.bytes).sum();
    let state = size(&scene.out().join("state"));
    println!("long links: {received} bytes received, {state} of state");
    assert!(received > 2 << 20, "{received} bytes: {}", ended.report);
    // Each link is in the log of the database and in a table.
    assert!(state < STATE_BASE + 4 * received, "{state} bytes of state for {received}");
}

/// Ten small pages with long links to one host, compressed: the state for each byte received has no
/// bound here but what a host may queue.
#[test]
fn compressed_links() {
    let share = 4 << 20;
    let spec = evil(10, |i| {
        let numbers = 1_000 * i..1_000 * (i + 1);
        link_flood("target.evil.test", numbers, 1_900).coding(Coding::Zstd)
    });
    let spec = spec.host("target.evil.test", Character::named("target").pages(1));
    let scene = scene(spec)
        .set(&format!("limits.queued-bytes-per-host-max={share}B"))
        .arg("--max-pages=60");
    let ended = scene.crawl().succeeded();
    let entries = scene.web.log().entries();
    let hostile = entries.iter().filter(|entry| entry.host.ends_with("evil.test"));
    let received: u64 = hostile.map(|entry| entry.bytes).sum();
    let state = size(&scene.out().join("state"));
    println!(
        "compressed links: {received} bytes received, {state} of state, {:.0} for each byte",
        state as f64 / received as f64
    );
    assert!(received < 1 << 20, "{received} bytes: the links were not compressed");
    // Each link is in the log of the database and in a table.
    assert!(state < STATE_BASE + 3 * share, "{state} bytes of state: {}", ended.report);
    assert!(state > share, "{state} bytes of state: the links were not queued: {}", ended.report);
}

/// Four pages with more links than are taken from one. They are compressed, but the state cannot be:
/// it has a bound for each page, whatever it unpacks to. No share of a queue is reached.
#[test]
fn compressed_links_beyond_those_of_a_page() {
    let (n_hosts, n_links, len) = (4, 15_000, 800);
    let bytes_per_page = Settings::default().live.links.bytes_per_page_max.0;
    let spec = evil(n_hosts, |i| packed_links(&format!("h{i}.evil.test"), n_links, len));
    let scene = scene(spec).arg("--max-pages=60");
    let ended = scene.crawl().succeeded();
    let entries = scene.web.log().entries();
    let hostile = entries.iter().filter(|entry| entry.host.ends_with("evil.test"));
    let received: u64 = hostile.map(|entry| entry.bytes).sum();
    let sent = u64::from(n_hosts * n_links) * len as u64;
    let taken = u64::from(n_hosts) * bytes_per_page;
    let state = size(&scene.out().join("state"));
    let per_byte = state as f64 / received as f64;
    println!(
        "compressed links of a page: {received} bytes received for {sent}, {state} of state, \
         {per_byte:.0} for each byte"
    );
    assert!(20 * received < sent, "{received} bytes: the links were not compressed");
    assert!(sent > 5 * taken, "the pages have too few links");
    // Each link that is taken is in the log of the database and in a table.
    assert!(state < STATE_BASE + 3 * taken, "{state} bytes of state: {}", ended.report);
    assert!(state > taken / 2, "{state} bytes of state: the links were not queued");
    // The measured figure is 28.
    assert!(per_byte < 150.0, "{per_byte:.0} bytes of state for each byte: {}", ended.report);
    assert!(ended.usage.memory_max < MEMORY_MAX, "{:?}", ended.usage);
}

/// A host of each bomb; unpacked they have 256 MiB each.
#[test]
fn compressed_bombs() {
    let bomb = |_| Character::named("bomb").manner(Manner::GzipBomb { bytes: 256 << 20 }).pages(1);
    let (costs, _) = crawl(evil(12, bomb));
    Ceilings { class: "bombs", state: 0.1, archive: 0.5, queries: 0.1 }.check(costs, 12);
}

/// Bodies and heads without end: what is read of one is bounded, and so is what is archived of it.
#[test]
fn responses_without_end() {
    let settings = Settings::default().fixed.fetch;
    // Bytes in the buffers of both sockets, beside what is read.
    let buffers = 12 << 20;
    for (class, manner, read_max) in [
        ("endless bodies", Manner::EndlessBody, settings.body_size_max.0),
        ("endless heads", Manner::EndlessHead, settings.head_size_max.0),
    ] {
        let host = |_| Character::named("endless").manner(manner.clone()).pages(1);
        let (costs, _) = crawl(evil(6, host));
        Ceilings { class, state: 0.1, archive: 0.5, queries: 0.1 }.check(costs, 6);
        assert!(costs.largest < read_max + buffers, "{class}: {costs:?}");
    }
}

/// Floods of HTTP/2 frames carry no content: nothing of them is stored.
#[test]
fn floods_of_http2_frames() {
    let (costs, _) = crawl(honest().with_http2_floods(1));
    Ceilings { class: "h2 floods", state: 0.1, archive: 0.1, queries: 0.1 }.check(costs, 10);
}

/// Rules are stored in a form that is no larger than the file, and files that are too long are cut.
#[test]
fn long_robots_txt() {
    let host = |_| Character::named("huge").robots(Robots::Huge).pages(2);
    let (costs, _) = crawl(evil(8, host));
    Ceilings { class: "long robots.txt", state: 0.1, archive: 0.5, queries: 0.1 }.check(costs, 8);
}

/// Names that are costly to convert: the steps of parsing, counted before, stay below the budget of
/// each page, whatever it links to.
#[test]
fn costly_links() {
    let work_max = Settings::default().live.links.work_per_page_max;
    let link = costly_link(4, 30);
    let cost = parse_cost(&link).expect("a name that may exist");
    let n_links = 3 * work_max / cost;
    let links = (0..n_links).map(|n| format!("{link}{n}"));
    let (costs, ended) = crawl(honest().host("costly.test", linking("costly", links)));
    Ceilings { class: "costly links", state: 1.0, archive: 0.5, queries: 0.1 }.check(costs, 2);
    let refused = ended.count("skipped/too-much-work");
    let parsed = n_links - refused;
    println!("{parsed} of {n_links} links were parsed, of {cost} steps each");
    assert!(parsed * cost <= work_max + cost, "{parsed} links of {cost} steps each were parsed");
    assert!(parsed > 0, "{}", ended.report);
}
