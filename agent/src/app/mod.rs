//! The assembly: the one place that sees every room.
//!
//! ```text
//!                    ┌────────────── Verdict, Resolution ──────────────┐
//!                    ▼                                                 ┊
//!   scheduler ── Visit, names ──► fetchers (tokio) ── Fetched ──► parsers (one a core)
//!   (workbench)                   (fetch, dns)                    (parse, links, duplicates, store)
//!      ▲  ┊                                                            │
//!      ┊  └┄┄┄ DeskNote ┄┄┄┐                                         Page
//!      ┊                    ▼                                          ▼
//!      └┄┄ LedgerNote ┄┄┄ accountant (store's archive, assign, ledger) ◄── seeds
//! ```
//! Each box is a file here; each name in brackets is a room. The queues and their bounds are in
//! [`limits`](crate::limits) and in `scheduler::Desk`.

mod accountant;
mod fetchers;
mod home;
mod hosts;
mod member;
mod names;
mod outage;
mod parsers;
mod routes;
mod scheduler;
mod seeding;
mod shared;
mod telling;
mod watch;

use crate::disk::{Batch, Database, DiskError, Family};
use crate::duplicates::Duplicates;
use crate::fetch::{Dns, FetchContext, FetchError};
use crate::ledger::{Ledger, META_ARCHIVE};
use crate::limits::{LEDGER_QUEUE, results_max, visits_max};
use crate::links::{LinkRules, LinksError};
use crate::progress::Snapshot;
use crate::report::{Ended, Report, SeedCounts};
use crate::store::{self, Archive, CrawlLabel, Position};
use crate::workbench::Workbench;
use accountant::{Accountant, Books, Entry};
use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::runtime::open_files;
use crivello_common::time::Clock;
use crivello_common::view::{AgentId, View};
use crossbeam::channel::{Sender, bounded};
use fetchers::Outlet;
use home::Home;
pub use member::JoinOptions;
use parking_lot::Mutex;
use parsers::ParserThread;
use routes::Routes;
use scheduler::{Desk, Scheduler};
pub use seeding::Seed;
use shared::Shared;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use watch::spawn;

/// Why a crawl cannot be opened or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The directory holds something that this crawl must not touch, or settings that a crawl
    /// cannot change once it has begun.
    #[error("{0}")]
    Refused(String),
    /// Something broke.
    #[error("{0}")]
    Broken(String),
    /// The state on disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The archive.
    #[error(transparent)]
    Store(#[from] store::Error),
    /// The HTTP client.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A rule for links.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// A thread or the runtime cannot be started.
    #[error("a thread cannot be started: {0}")]
    Threads(#[from] std::io::Error),
    /// [`Seed::Cut`] came before anything was changed.
    #[error("the seeds were not read to their end; nothing was changed")]
    SeedsCut,
}

impl AgentError {
    /// Whether the person who typed the command can mend it by typing another.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Refused(_) | Self::Links(_) | Self::Fetch(_))
    }
}

/// A running crawl. All methods may be called from any thread.
pub struct Crawl {
    home: Home,
    shared: Arc<Shared>,
    disk: Arc<Database>,
    rules: Arc<LinkRules>,
    ledger: Sender<Entry>,
    seeds: Mutex<SeedCounts>,
    threads: Mutex<Vec<JoinHandle<()>>>,
    runtime: Mutex<Option<Runtime>>,
}

impl Crawl {
    /// Begins a crawl in `out`, or resumes the one that is there, as the agent `me` under `view`.
    /// Fetching of what is queued begins at once. Of a crawl that has taken in all its seeds, those
    /// given again are read to their end first: when one of them shows that `out` holds another
    /// crawl, nothing there is changed. Otherwise `seeds` are left as they are for [`Self::seed`].
    ///
    /// # Errors
    /// [`AgentError::is_usage`] tells a refusal from a breakdown.
    pub fn open(
        settings: Settings,
        out: &Path,
        seeds: &mut impl Iterator<Item = Seed>,
        (view, me): (View, AgentId),
    ) -> Result<Self, AgentError> {
        let clock = Clock::start();
        let owners = Owners::new(settings.cluster.strategy, Arc::new(view))
            .map_err(|error| AgentError::Refused(format!("the view is not sound: {error}")))?;
        let rules = Arc::new(LinkRules::compile(&settings)?);
        let (home, disk) = Home::open(out, &settings, clock.now())?;
        let known = seeding::must_all_belong(&home, &disk, &rules, seeds)?;
        let disk = Arc::new(disk);
        let ledger = Ledger::open(disk.clone(), &settings)?;
        let archive = open_archive(&home, &disk, &settings)?;
        home.take_over(&disk, &settings)?;
        let settings = within_open_files(settings);
        let shared =
            Arc::new(Shared::new(settings, clock, ledger.totals().clone(), home.closed_at));
        let desk = Arc::new(Desk::new(
            shared.settings.fetch.visits_max as usize,
            2 * shared.settings.dns.queries_max as usize,
        ));
        let duplicates = Arc::new(Duplicates::new(disk.clone()));
        let (to_ledger, inbox) = bounded(LEDGER_QUEUE);
        let visits = shared.settings.fetch.visits_max as usize;
        let (to_parsers, results) = bounded(results_max(visits));
        let outlet = Outlet::new(shared.clone(), desk.clone(), to_parsers);
        let context = FetchContext::new(&shared.settings, clock, Arc::new(outlet))?;
        let dns = Arc::new(Dns::new(&shared.settings));

        let bench = Workbench::new(&shared.settings, clock.now(), home.is_unclean());
        let scheduler = Scheduler::new(shared.clone(), desk.clone(), bench, to_ledger.clone());
        let books = Books {
            disk: disk.clone(),
            ledger,
            archive,
            dir: out.to_owned(),
            routes: Routes::new(me, owners),
            duplicates: duplicates.clone(),
        };
        let accountant = Accountant::new(shared.clone(), desk.clone(), inbox, books);
        let mut threads = vec![
            spawn(&shared, "accountant", move || accountant.run())?,
            spawn(&shared, "scheduler", move || scheduler.run())?,
        ];
        let parser = || {
            let ledger = to_ledger.clone();
            let (rules, duplicates) = (rules.clone(), duplicates.clone());
            ParserThread::new(shared.clone(), results.clone(), ledger, rules, duplicates)
        };
        for n in 0..parser_threads(&shared.settings) {
            let parser = parser();
            threads.push(spawn(&shared, &format!("parser-{n}"), move || parser.run())?);
        }
        let runtime = fetcher_runtime()?;
        runtime.spawn(fetchers::run(shared.clone(), desk, Arc::new(context), dns));
        Ok(Self {
            home,
            shared,
            disk,
            rules,
            ledger: to_ledger,
            seeds: Mutex::new(known),
            threads: Mutex::new(threads),
            runtime: Mutex::new(Some(runtime)),
        })
    }

    /// Whether an earlier run began this crawl.
    #[must_use]
    pub const fn is_resumed(&self) -> bool {
        self.home.resumed
    }

    /// Hands over the seeds, waiting whenever the sieve is behind; URLs already seen are let go.
    /// To be called exactly once, with what [`Self::open`] left of them: the crawl does not end as
    /// exhausted before this has returned. Says whether all were taken in: not so after
    /// [`Seed::Cut`], which stops the crawl, or once it stops for another reason.
    pub fn seed(&self, seeds: impl Iterator<Item = Seed>) -> bool {
        seeding::seed(self, seeds)
    }

    /// How the crawl stands.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        telling::snapshot(&self.shared)
    }

    /// Asks the crawl to end its visits in flight and to save. Returns at once.
    pub fn stop(&self) {
        self.shared.stop.cancel();
    }

    /// Waits until the crawl has ended, but not longer than `timeout`.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Ended> {
        self.shared.wait(timeout).map(|end| end.how)
    }

    /// Stops what still runs, commits, closes the state, and says what happened. To be called once;
    /// whoever still holds the crawl finds it ended.
    #[must_use]
    pub fn finish(&self) -> Report {
        self.stop();
        while self.wait(Duration::from_secs(1)).is_none() {}
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the crawl ended in a panic");
            }
        }
        // First of all: walking through the hosts for the report may take long.
        let failed = self.wait(Duration::ZERO) == Some(Ended::Failed);
        if !failed
            && let Err(error) = self
                .home
                .keep(&self.disk, Some(self.shared.clock.now()))
                .and_then(|()| Ok(self.disk.sync()?))
        {
            tracing::error!(%error, "the state cannot be marked as closed: the next run will be careful");
        }
        let report = telling::report(self);
        self.disk.close();
        report
    }
}

fn open_archive(home: &Home, disk: &Database, settings: &Settings) -> Result<Archive, AgentError> {
    let position = match disk.get(Family::Meta, META_ARCHIVE)? {
        Some(bytes) => Some(Position::from_bytes(&bytes)?),
        None => None,
    };
    let id = home.identity.crawl_id.get(..8).and_then(|hex| u32::from_str_radix(hex, 16).ok());
    let label = CrawlLabel { id: id.unwrap_or_default(), settings_toml: settings.to_toml() };
    let mut archive = Archive::open(&home.dir.join("warc"), position.as_ref(), settings, label)?;
    if position.is_none() {
        // From now on files in the archive without a position in the state are a contradiction.
        let mut batch = Batch::default();
        disk.put(&mut batch, Family::Meta, META_ARCHIVE, &archive.sync()?.to_bytes());
        disk.commit(&batch)?;
        disk.sync()?;
    }
    Ok(archive)
}

fn fetcher_runtime() -> std::io::Result<Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(cores())
        .thread_name("fetcher")
        .enable_all()
        .build()
}

/// Fewer visits at once where the system does not let this process open enough files.
fn within_open_files(mut settings: Settings) -> Settings {
    let files = open_files();
    let wanted = settings.fetch.visits_max;
    let most = visits_max(&settings, files);
    if u64::from(wanted) > most {
        settings.fetch.visits_max = u32::try_from(most).unwrap_or(wanted);
        tracing::warn!(
            "fetch.visits-max is {most} in this run, not {wanted}: the system lets this process \
             open {files} files (see `ulimit -n`)"
        );
    }
    settings
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}

fn parser_threads(settings: &Settings) -> usize {
    match settings.state.parser_threads {
        0 => cores(),
        n => n as usize,
    }
}
