//! A crawl database on disk that knows many hosts, and hands some of them out.

use crate::desk::{self, Desk};
use crivello_agent::crawldb::CrawlDb;
use crivello_agent::messages::{Commit, DueHost, Found, LinkKind, ToWorkbench};
use crivello_agent::storage::Database;
use crivello_common::config::{AssignBy, Settings};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// As many as the crawl database hands out at once where many hosts are in memory.
pub const URLS_A_HOST: u32 = 4;
/// Of all hosts together, when their waits are measured.
pub const VISITS_A_SECOND: u32 = 10_000;
/// URLs in one commit.
const URLS_A_GROUP: u32 = 30_000;

/// The crawl database with its hosts, driven without threads.
pub struct Books {
    /// With room on the workbench for just so many hosts, whose delay has so many of them fall due
    /// each second.
    pub settings: Settings,
    disk: Arc<Database>,
    crawldb: CrawlDb,
}

impl Books {
    /// Opens a crawl database, for so many hosts on the workbench.
    pub fn open(dir: &Path, active: u32) -> Self {
        let mut settings = Settings::default();
        settings.live.politeness.delay = Duration::from_secs(1) * active / VISITS_A_SECOND;
        settings.live.politeness.ip_delay = Duration::from_millis(1);
        settings.fixed.state.hosts_max = active.into();
        settings.fixed.state.window_urls_max = (2 * URLS_A_HOST * active).into();
        settings.fixed.fetch.visits_max = active;
        let disk =
            Arc::new(Database::open(dir, true, &settings.fixed.state).expect("the database opens"));
        let crawldb = CrawlDb::open(disk.clone(), &settings).expect("the crawl database opens");
        Self { settings, disk, crawldb }
    }

    /// Brings hosts to the workbench until it has all that it wants; each is looked at before.
    pub fn serve(&mut self, desk: &mut Desk, mut look: impl FnMut(&DueHost)) {
        loop {
            self.hear(desk);
            let mut notes = Vec::new();
            self.crawldb
                .serve(desk.now, &mut |_, _| Ok(true), &mut notes)
                .expect("hosts are served");
            let mut n_hosts = 0;
            for note in notes {
                let ToWorkbench::Due(due) = note else { continue };
                look(&due);
                desk.take_in(due);
                n_hosts += 1;
            }
            if n_hosts == 0 {
                return;
            }
        }
    }

    /// Takes the workbench's notes in and commits what follows from them.
    pub fn hear(&mut self, desk: &mut Desk) {
        desk.bench.take_messages().into_iter().for_each(|note| self.crawldb.on_workbench(note));
        self.commit(Commit::default(), desk.now);
    }

    fn commit(&mut self, mut commit: Commit, now: Timestamp) {
        self.crawldb.apply(&mut commit, now).expect("the commit is applied");
        self.disk.commit(&commit.batch).expect("the batch is written");
    }
}

/// Has a new crawl database queue a few URLs of so many hosts.
pub fn fill(dir: &Path, n_hosts: u32) {
    let mut books = Books::open(dir, n_hosts);
    for n in (0..URLS_A_HOST * n_hosts).step_by(URLS_A_GROUP as usize) {
        let end = (n + URLS_A_GROUP).min(URLS_A_HOST * n_hosts);
        let found = (n..end).map(|n| url(n / URLS_A_HOST, n % URLS_A_HOST)).collect();
        books.commit(Commit { found, ..Commit::default() }, Timestamp::from_secs(1));
    }
    let Books { disk, crawldb, .. } = books;
    drop(crawldb);
    disk.close();
}

fn url(host: u32, n: u32) -> Found {
    let text = format!("http://{}/a/path/like/many/{n}.html", desk::name(host));
    let url = CrawlUrl::parse(&text).expect("a URL");
    let (host, hash) = (url.host_key(AssignBy::Domain), url.hash());
    Found { url, host, hash, depth: 1, kind: LinkKind::Page }
}
