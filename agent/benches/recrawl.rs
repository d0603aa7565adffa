//! A crawl that comes back to many pages: bytes of a page on disk, memory, URLs that are queued again
//! per second, and the passes over all due times. The crawl database and its batches on disk are real;
//! each page is fetched at once.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages (default one million), `CRIVELLO_BENCH_DIR` the
//! directory. The pages are found and fetched within ten simulated days, then the state is opened
//! again, and some days pass: `CRIVELLO_BENCH_DAYS` (default two). In the first ones fewer pages are due than
//! later, because half of them were found a few days ago.

#![expect(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a benchmark prints its results and measures time"
)]

mod memory;

use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{
    Commit, Finder, Found, LinkKind, PRIORITY_DEFAULT, Page, PageEnd, Queued, RevisitData,
    ToFrontier, ToWorkbench, Validators,
};
use crivello_agent::storage::Database;
use crivello_common::config::Settings;
use crivello_common::discard::DiscardTally;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::url::CrawlUrl;
use crivello_common::view::AgentId;
use crivello_recrawl::controller::ThresholdController;
use memory::memory;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const DAY: Duration = Duration::from_secs(86_400);
/// Time within which all pages are found, and the mean time between two fetches of a page.
const INTERVAL: Duration = Duration::from_secs(10 * 86_400);
const PAGES_A_HOST: u64 = 1_000;
/// Maximum number of URLs that are found in one commit, and minimum number of commits: the pages of one are due
/// at the same time.
const PAGES_AT_ONCE: u64 = 20_000;
const COMMITS_MIN: u64 = 500;
/// Simulated time between two looks at what is due, and between two passes over all due times, unless the
/// threshold has moved far.
const STEP: Duration = Duration::from_secs(1_800);
const PASS_EVERY: Duration = DAY;
/// Growth of the number of pages, as a ratio, after which a pass begins at once.
const GROWTH: u64 = 2;

fn main() {
    let wanted = |name: &str| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let n_pages: u64 = wanted("CRIVELLO_BENCH_PAGES").unwrap_or(1_000_000);
    let n_days = u32::try_from(wanted("CRIVELLO_BENCH_DAYS").unwrap_or(2)).expect("days that fit");
    let dir = match std::env::var_os("CRIVELLO_BENCH_DIR") {
        Some(dir) => tempfile::tempdir_in(dir),
        None => tempfile::tempdir(),
    }
    .expect("a directory");
    let begun = Instant::now();
    let mut agent = Agent::open(dir.path(), n_pages, Timestamp::from_secs(1_700_000_000));
    agent.fill(n_pages);
    let (fetched, took) = (agent.n_fetched as f64, begun.elapsed());
    println!(
        "{n_pages} pages found and {fetched} fetches in {took:.0?}: {:.0} a second, peak memory \
         {} MiB",
        fetched / took.as_secs_f64(),
        memory("VmHWM:") >> 20
    );
    let now = agent.now;
    agent.close();
    let bytes = size(dir.path());
    println!("{bytes} bytes on disk, {:.1} a page", bytes as f64 / n_pages as f64);

    let begun = Instant::now();
    let mut agent = Agent::open(dir.path(), n_pages, now);
    println!("opened again in {:.0?}, {} MiB", begun.elapsed(), memory("VmRSS:") >> 20);
    let begun = Instant::now();
    agent.is_filled = true;
    for day in 1..=n_days {
        let before = agent.n_fetched;
        agent.run_until(now + day * DAY);
        println!("day {day}: {} fetches", agent.n_fetched - before);
    }
    println!(
        "{n_days} days: {} fetches of {:.0} in the budget, in {:.1?}\n\
         queued again: {}\n\
         passes over all due times: {}\n\
         memory {} MiB",
        agent.n_fetched,
        agent.budget() * f64::from(n_days) * DAY.as_secs_f64(),
        begun.elapsed(),
        agent.due,
        agent.pass,
        memory("VmRSS:") >> 20
    );
    agent.close();
}

/// Returns the bytes of the files in a directory.
fn size(dir: &Path) -> u64 {
    let entries = std::fs::read_dir(dir).expect("a directory");
    entries.map(|entry| entry.and_then(|entry| entry.metadata()).map_or(0, |file| file.len())).sum()
}

/// The longest and the total time of one kind of work, and what it handled.
#[derive(Default)]
struct Work {
    n_steps: u64,
    n: u64,
    longest: Duration,
    total: Duration,
}

impl Work {
    fn add(&mut self, begun: Instant, n: u64) {
        let took = begun.elapsed();
        self.n_steps += 1;
        self.n += n;
        self.longest = self.longest.max(took);
        self.total += took;
    }
}

impl std::fmt::Display for Work {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { n_steps, n, longest, total } = self;
        let rate = *n as f64 / total.as_secs_f64().max(1e-9);
        write!(f, "{n} in {n_steps} steps of at most {longest:.1?}: {rate:.0} a second")
    }
}

struct Agent {
    disk: Arc<Database>,
    crawldb: CrawlDb,
    hasher: KeyedHasher,
    controller: ThresholdController,
    now: Timestamp,
    is_filled: bool,
    passed_at: Timestamp,
    n_passed: u64,
    n_fetched: u64,
    due: Work,
    pass: Work,
}

impl Agent {
    fn open(dir: &Path, n_pages: u64, now: Timestamp) -> Self {
        let mut settings = Settings::default();
        let budget = n_pages as f64 / INTERVAL.as_secs_f64();
        let rate = format!("recrawl.rate={budget}");
        for set in ["recrawl.policy=adaptive", &rate, "politeness.delay=0s"] {
            settings.apply_set(set).expect("a setting");
        }
        let hasher = KeyedHasher::with_public_key();
        let disk = Database::open(dir, true, &settings.fixed.state).expect("the database opens");
        let disk = Arc::new(disk);
        let crawldb = CrawlDb::open(disk.clone(), &settings, hasher).expect("it opens");
        let crawldb = crawldb.sharing(AgentId(1));
        let mut controller = ThresholdController::new(budget);
        controller.set_members([0]);
        let (n_fetched, due, pass) = (0, Work::default(), Work::default());
        Self {
            disk,
            crawldb,
            hasher,
            controller,
            now,
            is_filled: false,
            passed_at: now,
            n_passed: 0,
            n_fetched,
            due,
            pass,
        }
    }

    fn budget(&self) -> f64 {
        self.controller.budget()
    }

    /// Closes the state in an orderly way.
    fn close(self) {
        let Self { disk, crawldb, .. } = self;
        drop(crawldb);
        disk.sync().expect("it is synced");
        disk.close();
    }

    fn commit(&mut self, mut commit: Commit) {
        self.crawldb.apply(&mut commit, self.now).expect("the commit is applied");
        self.disk.commit(&commit.batch).expect("the batch is written");
    }

    /// Finds all pages within an interval, and fetches each at once.
    fn fill(&mut self, n_pages: u64) {
        let start = self.now;
        let at_once = n_pages.div_ceil(COMMITS_MIN).min(PAGES_AT_ONCE);
        for first in (0..n_pages).step_by(at_once as usize) {
            let last = (first + at_once).min(n_pages);
            let found = (first..last).map(|n| self.found(n)).collect();
            self.commit(Commit { found, ..Commit::default() });
            self.fetch_queued();
            let next = start + INTERVAL.mul_f64(last as f64 / n_pages as f64);
            self.run_until(next);
        }
    }

    fn found(&self, n: u64) -> Found {
        let text = format!(
            "http://www.site-{}.example/articles/2023/11/a-page-like-many-others-{n}.html",
            n / PAGES_A_HOST
        );
        let url = CrawlUrl::parse(&text).expect("a URL");
        let (host, hash) = (self.hasher.host_key(url.host()), self.hasher.url(&url));
        let (kind, finder, priority) = (LinkKind::Page, Finder::SEED, PRIORITY_DEFAULT);
        Found { url, host, hash, depth: 1, redirects: 0, kind, finder, priority, listed_by: None }
    }

    /// Lets time pass: queues what is due, fetches it, and goes on with the passes.
    fn run_until(&mut self, end: Timestamp) {
        while self.now < end {
            self.now = (self.now + STEP).min(end);
            let clock = Clock::start();
            loop {
                let (begun, before) = (Instant::now(), self.crawldb.totals().queued);
                let step = self.crawldb.step_due(self.now, &|| clock.now());
                let Some(commit) = step.expect("it is read") else {
                    break;
                };
                self.disk.commit(&commit.batch).expect("the batch is written");
                self.due.add(begun, self.crawldb.totals().queued - before);
            }
            self.fetch_queued();
            let n_pages = self.crawldb.totals().scheduled;
            let is_due = self.now.since(self.passed_at) >= PASS_EVERY && self.is_filled;
            if is_due
                || self.crawldb.recrawl().is_rule_far_off()
                || n_pages >= GROWTH * self.n_passed
            {
                (self.passed_at, self.n_passed) = (self.now, n_pages);
                self.step_pass();
            }
        }
    }

    /// Performs all steps of a pass, if one is due.
    fn step_pass(&mut self) {
        let clock = Clock::start();
        loop {
            let begun = Instant::now();
            let step = self.crawldb.step_due_pass(self.now, &|| clock.now());
            let Some((commit, report)) = step.expect("it is read") else {
                return;
            };
            self.disk.commit(&commit.batch).expect("the batch is written");
            self.pass.add(begun, report.map_or(0, |report| report.n_pages));
            if let Some(report) = report {
                self.controller.on_report(0, &report);
                let threshold = self.controller.threshold().unwrap_or(1.0);
                self.crawldb.set_recrawl_threshold(threshold, self.now);
                return;
            }
        }
    }

    /// Fetches all that is queued.
    fn fetch_queued(&mut self) {
        while self.crawldb.totals().queued > 0 {
            self.crawldb.on_workbench(ToFrontier::WantHosts { hosts: 1_000 });
            let mut notes = Vec::new();
            let served = self.crawldb.serve(self.now, &mut |_, _| Ok(true), &mut notes);
            served.expect("hosts are served");
            let mut pages = Vec::new();
            for note in notes {
                let ToWorkbench::Due(due) = note else { continue };
                let (mut state, host) = (due.state.clone(), due.host);
                state.next = self.now;
                for row in due.urls {
                    pages.push((self.page(row, host, due.name.clone()), Some((1, 1 << 30))));
                }
                self.crawldb.on_workbench(ToFrontier::Leave { host, state, unused: Vec::new() });
            }
            self.n_fetched += pages.len() as u64;
            self.commit(Commit { pages, ..Commit::default() });
        }
    }

    /// Returns the result of a fetch: one page in four has changed.
    fn page(&self, row: Queued, host: crivello_common::hash::HostKey, name: Arc<str>) -> Page {
        let hash = u64::from_be_bytes(row.hash.to_bytes()[..8].try_into().expect("eight bytes"));
        let version = (hash.wrapping_add(u64::from(row.generation()))) / 4;
        let etag = Some(format!("\"{version:016x}\"").into());
        let last_modified = Some("Tue, 14 Nov 2023 22:13:20 GMT".into());
        let data = RevisitData {
            is_list: false,
            content: version,
            is_not_modified: false,
            validators: Validators { etag, last_modified },
            modified: None,
            lifetime: None,
            weight: None,
            interval: None,
        };
        let (digest, duplicate, truncated) = (None, false, false);
        Page {
            host,
            name,
            row: Some(row),
            at: self.now,
            took: Duration::ZERO,
            end: PageEnd::Response { status: 200, bytes: 10_000, digest, duplicate, truncated },
            records: Vec::new(),
            links: Vec::new(),
            signals: Vec::new(),
            discards: DiscardTally::default(),
            traced: None,
            fingerprint: None,
            original: None,
            revisit_data: Some(Box::new(data)),
        }
    }
}
