//! One row of the table: what is ordered, the run, and its figures.

use crate::memory::memory;
use crate::stream::{Links, Stream};
use crate::subject::{Kind, Subject};
use crate::usage::Stopwatch;
use crate::written::bytes_written;
use crivello_agent::crawldb::{Lookup, RecentKeys};
use crivello_common::config::State;
use crivello_common::hash::{GroupHash, UrlHash, UrlKey};
use crivello_common::units::ByteSize;
use serde::{Deserialize, Serialize};

/// The task of a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Order {
    pub kind: Kind,
    pub n_urls: u64,
    /// With the table of recent URLs in front.
    pub recent: bool,
    /// Memory of the sieve in bytes.
    pub memory: u64,
}

/// The results of a process.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Checks a CPU-second, from the first to the last.
    rate: f64,
    /// Checks per CPU-second over the last tenth, including the checks still to answer.
    pub rate_in_the_end: f64,
    /// The share of checks that the table of recent URLs answered.
    recent: f64,
    /// Bytes of files, for each URL that passed.
    pub disk_bytes: f64,
    /// Bytes of memory that the body counts as its own, the same.
    pub body_bytes: f64,
    /// Peak of the process, the stream and the table of recent URLs included.
    pub peak_mib: f64,
    /// Bytes written, for each byte of the keys that passed.
    pub written: f64,
    /// New URLs that did not pass.
    lost: u64,
    /// The loss that the set estimates.
    said_lost: f64,
    /// The share of new URLs that are lost in the end, as the body says.
    loss_rate: f64,
}

impl Figures {
    pub const HEAD: &str = "\
| body | URLs | recent table answers | checks/CPU-s | in the last tenth | disk bytes/URL | memory bytes/URL \
| peak MiB | write amplification | URLs lost | estimated | share of new URLs at the end |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |";

    /// A row of the table.
    pub fn row(&self, order: &Order) -> String {
        let Order { kind, n_urls, .. } = order;
        let recent = match order.recent {
            true => format!("{:.1} %", 100.0 * self.recent),
            false => "none".to_owned(),
        };
        let lost = match self.loss_rate {
            0.0 => format!("{} | |", self.lost),
            rate => format!("{} | {:.0} | 1 in {:.0}", self.lost, self.said_lost, 1.0 / rate),
        };
        let Self { rate, rate_in_the_end, disk_bytes, body_bytes, peak_mib, written, .. } = self;
        format!(
            "| {} | {n_urls} | {recent} | {rate:.0} | {rate_in_the_end:.0} | {disk_bytes:.1} \
             | {body_bytes:.1} | {peak_mib:.0} | {written:.1} | {lost} |",
            kind.name(),
        )
    }
}

/// Counts of a run so far.
#[derive(Clone, Copy, Default)]
struct Counts {
    checks: u64,
    recent: u64,
    passed: u64,
    distinct: u64,
}

/// A body at work.
struct Run {
    subject: Subject,
    recent: Option<RecentKeys>,
    lookups: Vec<Lookup>,
    counts: Counts,
}

impl Run {
    fn take(&mut self, links: &Links<UrlKey>) {
        self.lookups.clear();
        for (ticket, &key) in (self.counts.checks..).zip(&links.links) {
            if self.recent.as_mut().is_some_and(|recent| recent.touch(key)) {
                self.counts.recent += 1;
            } else {
                self.lookups.push(Lookup { key, ticket });
            }
        }
        self.counts.checks += links.links.len() as u64;
        self.counts.distinct = links.distinct;
        self.counts.passed += self.subject.lookup(&self.lookups);
    }
}

/// Feeds so many URLs to a body.
pub fn run(order: &Order) -> Figures {
    let dir = std::env::var_os("CRIVELLO_BENCH_DIR");
    let dir = dir.map_or_else(tempfile::tempdir, tempfile::tempdir_in).expect("a directory");
    let mut run = Run {
        subject: Subject::new(order.kind, ByteSize(order.memory), dir.path()),
        recent: order.recent.then(|| RecentKeys::new(State::default().sieve_cache)),
        lookups: Vec::new(),
        counts: Counts::default(),
    };
    let mut stream = Stream::new(order.n_urls, key);
    let (written, begin) = (bytes_written(), Stopwatch::start());
    let mut feed = |run: &mut Run, until: u64| {
        stream.feed(|links| {
            run.take(&links);
            links.distinct < until
        });
    };
    feed(&mut run, order.n_urls / 10 * 9);
    let (last, before) = (Stopwatch::start(), run.counts);
    feed(&mut run, order.n_urls);
    run.counts.passed += run.subject.flush();
    let rate = |checks: u64, watch: &Stopwatch| checks as f64 / watch.read().0.as_secs_f64();
    let counts = run.counts;
    let (rate, rate_in_the_end) =
        (rate(counts.checks, &begin), rate(counts.checks - before.checks, &last));
    let (peak, losses) = (memory("VmHWM:"), run.subject.body.losses());
    let (body_bytes, passed) = (run.subject.body.memory(), counts.passed as f64);
    let file_bytes = run.subject.close();
    Figures {
        rate,
        rate_in_the_end,
        recent: counts.recent as f64 / counts.checks as f64,
        disk_bytes: file_bytes as f64 / passed,
        body_bytes: body_bytes as f64 / passed,
        peak_mib: (peak >> 20) as f64,
        written: (bytes_written() - written) as f64 / (passed * size_of::<UrlKey>() as f64),
        lost: counts.distinct - counts.passed,
        said_lost: losses.urls,
        loss_rate: losses.rate,
    }
}

/// A link as a key: as even as a hash of its text, and quicker.
fn key(host: usize, n: u32) -> UrlKey {
    let group = mix(host as u64 + 1);
    // By other numbers than those of hosts: fingerprints are made by the same function.
    let url = mix(group.wrapping_add(u64::from(n) << 32 | 1));
    UrlKey { group: GroupHash(group), url: UrlHash(url) }
}

/// The finalizer of SplitMix64.
const fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}
