//! The assembly: the one place that sees every room.
//!
//! ```text
//!                    ┌────────────── Verdict, Resolution ──────────────┐
//!                    ▼                                                 ┊
//!   scheduler ── Visit, names ──► fetchers (tokio) ── Fetched ──► parsers (one a core)
//!   (workbench)                   (fetch, dns)                    (parse, links, duplicates, store)
//!      ▲  ┊                                                            │
//!      ┊  └┄┄┄ ToFrontier ┄┄┄┐                                         Page
//!      ┊                    ▼                                          ▼
//!      └┄┄ ToWorkbench ┄┄┄ writer (store's archive, assign, crawl database) ◄── seeds
//! ```
//! Each box is a file here; each name in brackets is a room. The queues and their bounds are in
//! [`limits`](crate::limits) and in `scheduler::SchedulerQueues`.

mod build;
mod join;

use crate::cluster::Replication;
use crate::engines::seeding::{self, Seed, SeedIntake};
use crate::fetch::FetchError;
use crate::messages::SchedulerQueues;
use crate::observe::metrics::Meter;
use crate::observe::status;
use crate::observe::trace_export::{Otlp, OtlpExporter, Resource};
use crate::process::RulesInForce;
use crate::process::links::{LinkRules, LinksError};
use crate::progress::Snapshot;
use crate::report::{Ended, Report};
use crate::shared::Shared;
use crate::shared::snapshot::snapshot;
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Database, DiskError, OpenError};
use build::{Build, fetcher_runtime};
use crivello_archive::ArchiveError;
use crivello_common::config::Settings;
use crivello_common::time::Clock;
pub use join::JoinOptions;
use join::Seat;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

/// What still runs when all is saved has this long to end.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

/// Why a crawl cannot be opened or cannot go on.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The directory or the place in a cluster.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The state on disk.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The archive.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
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
        matches!(self, Self::Open(OpenError::Refused(_)) | Self::Links(_) | Self::Fetch(_))
    }
}

/// A running crawl. All methods may be called from any thread.
pub struct Crawl {
    home: CrawlDir,
    shared: Shared,
    disk: Arc<Database>,
    rules: RulesInForce,
    queues: Arc<SchedulerQueues>,
    seeds: SeedIntake,
    threads: Mutex<Vec<JoinHandle<()>>>,
    runtime: Mutex<Option<Runtime>>,
    meter: Meter,
    exporter: OnceLock<Arc<OtlpExporter>>,
    /// Its place in a cluster, unless it is alone.
    seat: Option<Seat>,
}

impl Crawl {
    /// Begins a crawl in `out`, or resumes the one that is there, alone. Fetching of what is queued
    /// begins at once. Of a crawl that has taken in all its seeds, those given again are read to
    /// their end first: when one of them shows that `out` holds another crawl, nothing there is
    /// changed. Otherwise `seeds` are left as they are for [`Self::seed`].
    ///
    /// # Errors
    /// [`AgentError::is_usage`] tells a refusal from a breakdown.
    pub fn open(
        settings: Settings,
        out: &Path,
        seeds: &mut impl Iterator<Item = Seed>,
    ) -> Result<Self, AgentError> {
        let clock = Clock::start();
        let rules = LinkRules::compile(&settings.live, settings.fixed.identity.assign_by)?;
        let (home, disk) = CrawlDir::open(out, &settings, clock.now(), None)?;
        let known = seeding::must_all_belong(&home, &disk, &rules, seeds)?;
        let known = known.ok_or(AgentError::SeedsCut)?;
        let runtime = fetcher_runtime()?;
        let build = Build { settings, clock, home, disk: Arc::new(disk), runtime };
        let crawl = build.crawl(known, None, None, |_, _| Ok(Replication::Solo))?;
        Ok(crawl)
    }

    /// Becomes a member of a cluster, or one again, and crawls as its coordinator's settings say.
    /// AckWaiters while the coordinator cannot be reached, until `stop` is cancelled.
    ///
    /// # Errors
    /// [`AgentError::is_usage`] tells a refusal from a breakdown.
    pub fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Self, AgentError> {
        join::join(options, stop)
    }

    /// Its numbers, for as long as it lasts.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Ends at once and saves nothing, as a kill would.
    pub fn abandon(self) {
        self.shared.lifecycle.abandoned.store(true, Relaxed);
        self.shared.lifecycle.end(Ended::Failed, None);
        self.meter.close();
        if let Some(runtime) = self.runtime.lock().take() {
            runtime.shutdown_background();
        }
        for thread in self.threads.lock().drain(..) {
            let _ = thread.join();
        }
        self.disk.close();
    }

    /// Sends the spans of URLs that are followed to a collector, from now on. To be called once.
    pub fn export_traces(&self, otlp: &Otlp) {
        let runtime = self.runtime.lock();
        let Some(runtime) = &*runtime else { return };
        let crawl_id = self.home.identity.crawl_id.clone();
        let resource = match &self.seat {
            Some(seat) => Resource { crawl_id, agent: seat.id.0, name: seat.name.clone() },
            None => Resource { name: crawl_id.clone(), crawl_id, agent: 0 },
        };
        let shared = self.shared.clone();
        let exporter = OtlpExporter::start(runtime.handle(), shared, otlp.clone(), resource);
        let _ = self.exporter.set(exporter);
    }

    /// Where other agents reach this one; `None` for an agent that is alone.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.seat.as_ref().map(|seat| seat.address)
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
        self.seeds.take(seeds)
    }

    /// How the crawl is_in_sync.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        snapshot(&self.shared)
    }

    /// Asks the crawl to end its visits in flight and to save. Returns at once.
    pub fn stop(&self) {
        self.shared.lifecycle.stop.cancel();
    }

    /// Asks the coordinator that this agent's share be handed over to others; once that is done the
    /// crawl ends as [`Ended::Drained`]. Once nobody is left to take anything over, because all others
    /// leave too, it ends as [`Ended::Stopped`], and the agent stays a member.
    ///
    /// # Errors
    /// Why that is not to be, for people.
    pub fn drain(&self) -> Result<(), String> {
        let runtime = self.runtime.lock();
        let (Some(seat), Some(runtime)) = (&self.seat, &*runtime) else {
            return Err("there are no other agents".to_owned());
        };
        // Before: the view that says so may come first.
        self.shared.lifecycle.drain_requested.store(true, Relaxed);
        let drained = runtime.block_on(seat.coordinator.drain(seat.id));
        self.shared.lifecycle.drain_requested.store(drained.is_ok(), Relaxed);
        drained
    }

    /// AckWaiters until the crawl has ended, but not longer than `timeout`.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Ended> {
        self.shared.lifecycle.wait(timeout).map(|end| end.how)
    }

    /// Stops what still runs, commits, closes the state, and says what happened. To be called once;
    /// whoever still holds the crawl finds it ended.
    #[must_use]
    pub fn finish(&self) -> Report {
        self.stop();
        while self.wait(Duration::from_secs(1)).is_none() {}
        // Before the parsers are waited for: they go once nobody can bring them anything.
        self.meter.close();
        if let Some(runtime) = self.runtime.lock().take() {
            if let Some(exporter) = self.exporter.get() {
                runtime.block_on(exporter.flush_with_deadline());
            }
            self.leave(&runtime);
            // What still runs there may hold the state: it is to be closed before anybody goes on.
            runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
        }
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the crawl ended in a panic");
            }
        }
        // First of all: walking through the hosts for the report may take long.
        let ended = self.wait(Duration::ZERO);
        let orderly = !matches!(ended, Some(Ended::Failed | Ended::Lost));
        if orderly
            && let Err(error) = self
                .home
                .keep(&self.disk, Some(self.shared.clock.now()))
                .and_then(|()| Ok(self.disk.sync()?))
        {
            tracing::error!(%error, "the state cannot be marked as closed: the next run will be careful");
        }
        let report = status::report(&status::ReportSources {
            shared: &self.shared,
            home: &self.home,
            disk: &self.disk,
            seeds: self.seeds.counts(),
        });
        self.disk.close();
        report
    }

    /// Tells the coordinator that this process ends. After a breakdown the lease just runs out.
    fn leave(&self, runtime: &Runtime) {
        let Some(seat) = &self.seat else { return };
        let back = match self.wait(Duration::ZERO) {
            Some(Ended::Drained) => false,
            Some(Ended::Stopped) => true,
            _ => return,
        };
        let stays = self.shared.lifecycle.stays_member.load(Relaxed);
        let fetched =
            self.shared.page_budget.get().map(|_| self.shared.status.totals.lock().0.pages);
        runtime.block_on(seat.coordinator.leave((seat.id, seat.process), back, stays, fetched));
    }
}
