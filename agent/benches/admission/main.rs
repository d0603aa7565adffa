//! Instructions for each link on its path from the parsed page to the commit: resolution and normal
//! form, keys, include and exclude rules, the sieve, shares, queues, and the batch on disk. Without
//! network, HTML and archive.
//!
//! Callgrind counts them, in a process of its own for each kind of sieve. Instructions do not depend
//! on other load, so small differences show. The first half of the pages is not counted: tables grow
//! and most hosts appear there. Background threads of RocksDB are not counted.
//!
//! `CRIVELLO_BENCH_PAGES` sets the number of pages that are counted (default 4,000).

#![expect(clippy::print_stdout, reason = "a benchmark prints its results")]

mod callgrind;
mod web;

use callgrind::Counts;
use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{Commit, Found, LinkKind, Page, PageEnd};
use crivello_agent::process::links::{LinkRules, Parent};
use crivello_agent::storage::Database;
use crivello_common::config::{Settings, SieveKind};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::fields::link::ParentRecord;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_html::{ExtractedLink, LinkSource};
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use web::WebPage;

/// The parts of the path, each a function below.
const PARTS: [(&str, &str); 3] = [
    ("admission::collect_links", "join, judge and hash the links"),
    ("admission::apply", "sieve, shares and queues"),
    ("admission::write", "write the batch"),
];

fn main() {
    let args: Vec<String> = std::env::args().collect();
    if let [_, mode, sieve, n_pages] = &args[..]
        && mode == "--count"
    {
        let sieve = SieveKind::from_name(sieve).expect("a kind of sieve");
        return crawl(sieve, n_pages.parse().expect("a number"));
    }
    let n_pages = std::env::var("CRIVELLO_BENCH_PAGES").unwrap_or_else(|_| "4000".to_owned());
    for sieve in [SieveKind::Memory, SieveKind::Rocksdb] {
        let dir = tempfile::tempdir().expect("a directory");
        let args = ["--count", sieve.name(), &n_pages];
        let counts = Counts::of_function("admission::counted", &args, dir.path());
        let (n_links, outcome) = counts.output.trim().split_once(' ').expect("an outcome");
        let n_links: u64 = n_links.parse().expect("a number");
        println!("state.sieve={}: {n_pages} pages with {n_links} links, {outcome}", sieve.name());
        println!("| part | instructions a link |\n| --- | --- |");
        for (function, name) in PARTS {
            println!("| {name} | {} |", counts.calls_of(function) / n_links);
        }
        println!("| all | {} |", counts.all / n_links);
    }
}

/// Commits twice as many pages, and prints the number of links in the second half and what became of
/// all of them.
fn crawl(sieve: SieveKind, n_pages: usize) {
    let dir = tempfile::tempdir().expect("a directory");
    let mut agent = Agent::new(dir.path(), sieve);
    let pages = web::pages(2 * n_pages);
    let (first, second) = pages.split_at(n_pages);
    agent.commit_all(first);
    counted(&mut agent, second);
    let n_links: usize = second.iter().map(|page| page.hrefs.len()).sum();
    let totals = agent.crawldb.totals();
    let discards: u64 = totals.discards.iter().map(|(_, n)| n).sum();
    println!(
        "{n_links} in all {} links admitted, {discards} discarded, {} URLs on {} hosts",
        totals.links, totals.queued, totals.hosts
    );
}

/// Callgrind counts while this function runs.
#[inline(never)]
fn counted(agent: &mut Agent, pages: &[WebPage]) {
    agent.commit_all(pages);
    black_box(());
}

#[inline(never)]
fn collect_links(rules: &LinkRules, page: &WebPage, parent: Parent) -> (Vec<Found>, DiscardTally) {
    let hrefs = page.hrefs.iter().map(|href| ExtractedLink {
        href,
        kind: LinkKind::Page,
        source: LinkSource::Anchor,
        nofollow: false,
    });
    black_box(rules.collect(&page.base, hrefs, parent))
}

#[inline(never)]
fn apply(crawldb: &mut CrawlDb, commit: &mut Commit) {
    crawldb.apply(commit, NOW).expect("the commit is applied");
    black_box(());
}

#[inline(never)]
fn write(disk: &Database, commit: &Commit) {
    disk.commit(&commit.batch).expect("the batch is written");
    black_box(());
}

const NOW: Timestamp = Timestamp::from_secs(1);

/// The parts of an agent through which links pass.
struct Agent {
    rules: LinkRules,
    disk: Arc<Database>,
    crawldb: CrawlDb,
    pages_at_once: usize,
}

impl Agent {
    fn new(dir: &Path, sieve: SieveKind) -> Self {
        let mut settings = Settings::default();
        settings.fixed.state.sieve = sieve;
        let hasher = KeyedHasher::with_public_key();
        let disk = Database::open(dir, true, &settings.fixed.state).expect("the database opens");
        let disk = Arc::new(disk);
        Self {
            rules: LinkRules::compile(&settings.live, &settings.fixed, hasher)
                .expect("the rules compile"),
            crawldb: CrawlDb::open(disk.clone(), &settings, hasher)
                .expect("the crawl database opens"),
            disk,
            pages_at_once: settings.fixed.state.commit_pages_max as usize,
        }
    }

    fn commit_all(&mut self, pages: &[WebPage]) {
        for pages in pages.chunks(self.pages_at_once) {
            let pages = pages.iter().map(|page| (self.process(page), None)).collect();
            let mut commit = Commit { pages, ..Commit::default() };
            apply(&mut self.crawldb, &mut commit);
            write(&self.disk, &commit);
        }
    }

    /// Returns a robots.txt with the links of a page: the rows of the page itself are not of interest.
    fn process(&self, page: &WebPage) -> Page {
        let name = page.base.host_str().expect("a host");
        let host = KeyedHasher::with_public_key().host_key(name);
        let record = ParentRecord {
            url: &page.url,
            status: 200,
            bytes: 17_000,
            n_links: page.hrefs.len(),
            text_length: 0,
            language: "und",
        };
        let (group, kind) = (host.group, LinkKind::Page);
        let parent =
            Parent { page: record, group, kind, depth: 1, redirects: 0, is_redirect: false };
        let (links, discards) = collect_links(&self.rules, page, parent);
        Page {
            host,
            name: name.into(),
            row: None,
            at: NOW,
            took: Duration::ZERO,
            end: PageEnd::Discarded(Discard::Robots),
            records: Vec::new(),
            links,
            signals: Vec::new(),
            discards,
            traced: None,
            fingerprint: None,
            original: None,
            revisit_data: None,
        }
    }
}
