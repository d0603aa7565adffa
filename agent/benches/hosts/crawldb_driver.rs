//! A crawl database on disk that knows many hosts, and hands some of them out.

use crate::workbench_driver::{self, WorkbenchDriver};
use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{
    Commit, DueHost, Finder, Found, LinkKind, PRIORITY_DEFAULT, ToWorkbench,
};
use crivello_agent::storage::Database;
use crivello_common::config::Settings;
use crivello_common::identity::KeyedHasher;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// URLs per host. The crawl database hands out this many at once if many hosts are in memory.
pub const URLS_A_HOST: u32 = 4;
/// Visits per second, over all hosts, while waits are measured.
pub const VISITS_A_SECOND: u32 = 10_000;
/// URLs in one commit.
const URLS_A_GROUP: u32 = 30_000;

/// The crawl database with its hosts, driven without threads.
pub struct CrawlDbDriver {
    /// Settings that limit the workbench to the active hosts. Their delay makes
    /// [`VISITS_A_SECOND`] of them fall due each second.
    pub settings: Settings,
    disk: Arc<Database>,
    crawldb: CrawlDb,
}

impl CrawlDbDriver {
    /// Opens a crawl database, for `active` hosts on the workbench.
    pub fn open(dir: &Path, active: u32) -> Self {
        let mut settings = Settings::default();
        settings.live.politeness.delay = Duration::from_secs(1) * active / VISITS_A_SECOND;
        settings.live.politeness.ip_delay = Duration::from_millis(1);
        settings.fixed.state.hosts_max = active.into();
        settings.fixed.state.window_urls_max = (2 * URLS_A_HOST * active).into();
        settings.fixed.fetch.visits_max = active;
        let disk =
            Arc::new(Database::open(dir, true, &settings.fixed.state).expect("the database opens"));
        let crawldb = CrawlDb::open(disk.clone(), &settings, KeyedHasher::with_public_key())
            .expect("the crawl database opens");
        Self { settings, disk, crawldb }
    }

    /// Moves hosts to the workbench until it requests no more. Calls `look` with each of them.
    pub fn serve(&mut self, workbench: &mut WorkbenchDriver, mut look: impl FnMut(&DueHost)) {
        loop {
            self.apply_messages(workbench);
            let mut notes = Vec::new();
            self.crawldb
                .serve(workbench.now, &mut |_, _| Ok(true), &mut notes)
                .expect("hosts are served");
            let mut n_hosts = 0;
            for note in notes {
                let ToWorkbench::Due(due) = note else { continue };
                look(&due);
                workbench.add_host(due);
                n_hosts += 1;
            }
            if n_hosts == 0 {
                return;
            }
        }
    }

    /// Applies the messages of the workbench and commits the changes.
    pub fn apply_messages(&mut self, workbench: &mut WorkbenchDriver) {
        workbench
            .bench
            .take_messages()
            .into_iter()
            .for_each(|note| self.crawldb.on_workbench(note));
        self.commit(Commit::default(), workbench.now);
    }

    fn commit(&mut self, mut commit: Commit, now: Timestamp) {
        self.crawldb.apply(&mut commit, now).expect("the commit is applied");
        self.disk.commit(&commit.batch).expect("the batch is written");
    }
}

/// Creates a crawl database that queues a few URLs of each of `n_hosts` hosts.
pub fn fill(dir: &Path, n_hosts: u32) {
    let mut driver = CrawlDbDriver::open(dir, n_hosts);
    for n in (0..URLS_A_HOST * n_hosts).step_by(URLS_A_GROUP as usize) {
        let end = (n + URLS_A_GROUP).min(URLS_A_HOST * n_hosts);
        let found = (n..end).map(|n| url(n / URLS_A_HOST, n % URLS_A_HOST)).collect();
        driver.commit(Commit { found, ..Commit::default() }, Timestamp::from_secs(1));
    }
    let CrawlDbDriver { disk, crawldb, .. } = driver;
    drop(crawldb);
    disk.close();
}

fn url(host: u32, n: u32) -> Found {
    let text = format!("http://{}/a/path/like/many/{n}.html", workbench_driver::name(host));
    let url = CrawlUrl::parse(&text).expect("a URL");
    let hasher = KeyedHasher::with_public_key();
    let (host, hash) = (hasher.host_key(url.host()), hasher.url(&url));
    Found {
        url,
        host,
        hash,
        depth: 1,
        redirects: 0,
        kind: LinkKind::Page,
        finder: Finder::SEED,
        priority: PRIORITY_DEFAULT,
        listed_by: None,
    }
}
