//! Sieve and frontier on disk, through the real path: [`CrawlDb::apply`] and
//! [`Database::commit`], with the default settings.
//!
//! The stream is that of a crawl: groups of a thousand pages with thirty links each, of which a
//! fifth are new, three fifths are the links that all pages of a site share, and a fifth lead to
//! anything that was ever seen, on the same host or another. It is fed until `CRIVELLO_BENCH_URLS`
//! URLs (default two million) are queued; then the rates are measured at that size.
//!
//! CPU time is that of the whole process, the database's background work included, less that of
//! the thread that makes the stream up.

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

#[path = "../memory.rs"]
mod memory;
mod stream;
mod usage;

use crivello_agent::crawldb::{CrawlDb, SieveCounts};
use crivello_agent::messages::Commit;
use crivello_agent::messages::{
    Finder, Found, LinkKind, PRIORITY_DEFAULT, ToFrontier, ToWorkbench,
};
use crivello_agent::storage::{Database, Family};
use crivello_common::config::{Settings, SieveKind};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use memory::memory;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use stream::{CHECKS_A_GROUP, Links, Stream};
use usage::Stopwatch;

/// The hashes of the URLs.
static HASHER: LazyLock<KeyedHasher> = LazyLock::new(KeyedHasher::with_public_key);
/// Groups that are fed to measure a rate at the full size.
const GROUPS_AT_SIZE: u64 = 40;
/// Hosts that are handed out at once to measure the frontier.
const HOSTS_AT_ONCE: u32 = 2_000;

fn main() {
    let wanted = std::env::var("CRIVELLO_BENCH_URLS").ok().and_then(|n| n.parse().ok());
    let n_urls: u64 = wanted.unwrap_or(2_000_000);
    let dir = std::env::var_os("CRIVELLO_BENCH_DIR");
    let dir = match &dir {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    }
    .expect("a directory");
    let settings = Settings::default();
    let mut stream = Stream::new(n_urls, found);
    println!(
        "{:>12}  {:>14}  {:>12}  {:>8}  {:>8}",
        "URLs", "checks/CPU-s", "checks/s", "recent", "peak"
    );
    let (disk, mut crawldb) = open(dir.path(), &settings);
    fill(&disk, &mut crawldb, &mut stream, n_urls);
    at_size("with the cache of recent URLs", &disk, &mut crawldb, &mut stream);
    let mut bare = settings.clone();
    bare.fixed.state.sieve_cache = ByteSize(64);
    drop(crawldb);
    let mut crawldb =
        CrawlDb::open(disk.clone(), &bare, *HASHER).expect("the crawl database opens");
    at_size("without it", &disk, &mut crawldb, &mut stream);
    drop(crawldb);
    disk.close();
    drop(disk);
    println!("peak memory {} MiB", memory("VmHWM:") >> 20);

    // Opening it again brings everything into the files whose size is asked for.
    let (disk, mut crawldb) = open(dir.path(), &settings);
    let queued = crawldb.totals().queued;
    let bytes = |family| disk.size_on_disk(family) as f64 / queued as f64;
    println!(
        "bytes a queued URL: {:.1} in seen, {:.1} in frontier",
        bytes(Family::Seen),
        bytes(Family::Frontier)
    );
    hand_out(&mut crawldb);
    drop(crawldb);
    let in_memory =
        [SieveKind::Memory, SieveKind::Bloom, SieveKind::BlockedBloom, SieveKind::Quotient];
    for sieve in in_memory {
        let mut settings = settings.clone();
        settings.fixed.state.sieve = sieve;
        let watch = Stopwatch::start();
        let crawldb =
            CrawlDb::open(disk.clone(), &settings, *HASHER).expect("the crawl database opens");
        let (cpu, wall) = watch.read();
        let held = crawldb.sieve_counts().seen_bytes >> 20;
        println!(
            "a start with state.sieve={}: {wall:.1?} ({cpu:.1?} of CPU), {held} MiB",
            sieve.name()
        );
    }
}

fn open(dir: &Path, settings: &Settings) -> (Arc<Database>, CrawlDb) {
    let disk =
        Arc::new(Database::open(dir, true, &settings.fixed.state).expect("the database opens"));
    let crawldb = CrawlDb::open(disk.clone(), settings, *HASHER).expect("the crawl database opens");
    (disk, crawldb)
}

/// Feeds the stream until so many URLs are queued, with a line every tenth of the way.
fn fill(disk: &Database, crawldb: &mut CrawlDb, stream: &mut Stream<Found>, n_urls: u64) {
    for tenth in 1..=10 {
        let begin = crawldb.sieve_counts();
        let watch = Stopwatch::start();
        stream.feed(|links| {
            commit(disk, crawldb, links);
            crawldb.totals().queued < n_urls * tenth / 10
        });
        print_rates(crawldb, begin, &watch);
    }
}

fn at_size(name: &str, disk: &Database, crawldb: &mut CrawlDb, stream: &mut Stream<Found>) {
    println!("at this size, {name}:");
    let begin = crawldb.sieve_counts();
    let watch = Stopwatch::start();
    let mut groups = 0;
    stream.feed(|links| {
        commit(disk, crawldb, links);
        groups += 1;
        groups < GROUPS_AT_SIZE
    });
    print_rates(crawldb, begin, &watch);
}

fn commit(disk: &Database, crawldb: &mut CrawlDb, links: Links<Found>) {
    assert_eq!(links.links.len(), CHECKS_A_GROUP);
    let mut commit = Commit { found: links.links, ..Commit::default() };
    crawldb.apply(&mut commit, Timestamp::from_secs(1)).expect("the commit is applied");
    disk.commit(&commit.batch).expect("the batch is written");
    assert_eq!(crawldb.totals().seen, links.distinct, "each URL is accepted once");
}

fn found(host: usize, n: u32) -> Found {
    let text = format!("http://www.site-{host}.example/section-{}/an-article-{n}.html", n % 7);
    let url = CrawlUrl::parse(&text).expect("a URL");
    let (host, hash) = (HASHER.host_key(url.host()), HASHER.url(&url));
    Found {
        url,
        host,
        hash,
        depth: 3,
        redirects: 0,
        kind: LinkKind::Page,
        finder: Finder::SEED,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}

fn print_rates(crawldb: &CrawlDb, begin: SieveCounts, watch: &Stopwatch) {
    let (cpu, wall) = watch.read();
    let counts = crawldb.sieve_counts();
    let checks = (counts.offered - begin.offered) as f64;
    let recent = (counts.recent - begin.recent) as f64;
    println!(
        "{:>12}  {:>14.0}  {:>12.0}  {:>7.1}%  {:>5} MiB",
        crawldb.totals().queued,
        checks / cpu.as_secs_f64(),
        checks / wall.as_secs_f64(),
        100.0 * recent / checks,
        memory("VmHWM:") >> 20,
    );
}

/// Hosts with the head of their queues, taken and given back.
fn hand_out(crawldb: &mut CrawlDb) {
    let watch = Stopwatch::start();
    let (mut n_hosts, mut n_urls) = (0_u64, 0_u64);
    for round in 0..5 {
        let mut notes = Vec::new();
        crawldb.on_workbench(ToFrontier::WantHosts { hosts: HOSTS_AT_ONCE });
        let now = Timestamp::from_secs(2 + round);
        crawldb.serve(now, &mut |_, _| Ok(true), &mut notes).expect("hosts are served");
        for note in notes {
            let ToWorkbench::Due(due) = note else { continue };
            n_hosts += 1;
            n_urls += due.urls.len() as u64;
            let unused = due.urls.iter().map(|url| url.queue_key).collect();
            crawldb.on_workbench(ToFrontier::Leave { host: due.host, state: due.state, unused });
        }
    }
    let (cpu, _) = watch.read();
    println!(
        "handed out: {n_hosts} hosts with {n_urls} URLs, {:.0} URLs/CPU-s",
        n_urls as f64 / cpu.as_secs_f64()
    );
}
