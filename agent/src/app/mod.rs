//! The assembly of an agent: the only module that uses all others.
//!
//! ```text
//!                    ┌────────────── Verdict, Resolution ──────────────┐
//!                    ▼                                                 ┊
//!   scheduler ── Visit, names ──► fetchers (tokio) ── Fetched ──► parsers (one a core)
//!   (workbench)                   (fetch, dns)                    (parse, links, duplicates, store)
//!      ▲  ┊                                                            │
//!      ┊  └┄┄┄ ToFrontier ┄┄┄┐                                         Page
//!      ┊                    ▼                                          ▼
//!      └┄┄ ToWorkbench ┄┄┄ writer (archive, assign, crawl database) ◄── seeds
//! ```
//! Each box is an engine of `engines`, with its work in parentheses. The queues are in
//! [`messages`](crate::messages), their bounds in [`limits`](crate::limits).

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

/// Time for remaining tasks to end once the state is saved.
const SHUTDOWN_PATIENCE: Duration = Duration::from_secs(5);

/// The reason for which a crawl cannot be opened or continued.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AgentError {
    /// The directory cannot be opened, or the cluster cannot be joined.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The state on disk cannot be read or written.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The archive cannot be opened or written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// The HTTP client cannot be created.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// A link rule is invalid.
    #[error(transparent)]
    Links(#[from] LinksError),
    /// A thread or the runtime cannot be started.
    #[error("cannot start a thread: {0}")]
    Threads(#[from] std::io::Error),
    /// [`Seed::Cut`] arrived before anything was changed.
    #[error("the seeds were not read to their end; nothing was changed")]
    SeedsCut,
}

impl AgentError {
    /// Returns true if the user can correct the error by another command.
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
    /// Its place in a cluster; `None` if it crawls alone.
    seat: Option<Seat>,
}

impl Crawl {
    /// Begins a crawl in `out`, or resumes the one that is there, without a cluster. Fetching of
    /// queued URLs begins at once. If the crawl already has all its seeds, `seeds` are first read
    /// to their end; if one of them shows that `out` contains another crawl, nothing is changed
    /// there. Otherwise `seeds` are not read, and are to be passed to [`Self::seed`].
    ///
    /// # Errors
    /// [`AgentError::is_usage`] distinguishes refusals from failures.
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

    /// Joins or rejoins a cluster, and crawls with the settings of its coordinator. Waits while the
    /// coordinator cannot be reached, until `stop` is cancelled.
    ///
    /// # Errors
    /// [`AgentError::is_usage`] distinguishes refusals from failures.
    pub fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Self, AgentError> {
        join::join(options, stop)
    }

    /// Returns the meter of this crawl, which reads its numbers until it ends.
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Ends the crawl at once and saves nothing, as a kill would.
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

    /// Exports the spans of followed URLs to a collector from now on. To be called once.
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

    /// Returns the address on which this agent listens; `None` if it crawls alone.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.seat.as_ref().map(|seat| seat.address)
    }

    /// Returns true if an earlier run began this crawl.
    #[must_use]
    pub const fn is_resumed(&self) -> bool {
        self.home.resumed
    }

    /// Adds the seeds, and waits whenever the sieve is behind; URLs already seen are dropped. To be
    /// called exactly once, with the seeds that [`Self::open`] has not read: the crawl does not end
    /// as exhausted before this returns. Returns true if all seeds were added; false after
    /// [`Seed::Cut`], which stops the crawl, or if the crawl stops for another reason.
    pub fn seed(&self, seeds: impl Iterator<Item = Seed>) -> bool {
        self.seeds.take(seeds)
    }

    /// Returns the progress of the crawl.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        snapshot(&self.shared)
    }

    /// Requests that the crawl end its visits in flight and save its state. Returns at once.
    pub fn stop(&self) {
        self.shared.lifecycle.stop.cancel();
    }

    /// Requests from the coordinator that this agent's groups be handed off to other agents; after
    /// that the crawl ends as [`Ended::Drained`]. If no agent remains to take them over, because
    /// all others leave too, it ends as [`Ended::Stopped`], and the agent stays a member.
    ///
    /// # Errors
    /// The reason for which the agent cannot leave, as a message for users.
    pub fn drain(&self) -> Result<(), String> {
        let runtime = self.runtime.lock();
        let (Some(seat), Some(runtime)) = (&self.seat, &*runtime) else {
            return Err("there are no other agents".to_owned());
        };
        // Set before the request: the view with the result may arrive before the response.
        self.shared.lifecycle.drain_requested.store(true, Relaxed);
        let drained = runtime.block_on(seat.coordinator.drain(seat.id));
        self.shared.lifecycle.drain_requested.store(drained.is_ok(), Relaxed);
        drained
    }

    /// Waits until the crawl has ended, but not longer than `timeout`.
    #[must_use]
    pub fn wait(&self, timeout: Duration) -> Option<Ended> {
        self.shared.lifecycle.wait(timeout).map(|end| end.how)
    }

    /// Stops the crawl, commits, closes the state, and returns the report. To be called once; other
    /// holders of the crawl find it ended.
    #[must_use]
    pub fn finish(&self) -> Report {
        self.stop();
        while self.wait(Duration::from_secs(1)).is_none() {}
        // Closed before the parsers are joined: they end once all senders of their queue are gone.
        self.meter.close();
        if let Some(runtime) = self.runtime.lock().take() {
            if let Some(exporter) = self.exporter.get() {
                runtime.block_on(exporter.flush_with_deadline());
            }
            self.leave(&runtime);
            // Tasks that still run may hold the state, which must be closed before this returns.
            runtime.shutdown_timeout(SHUTDOWN_PATIENCE);
        }
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the crawl panicked");
            }
        }
        // The state is marked as closed before the report: its scan of all hosts may take long.
        let ended = self.wait(Duration::ZERO);
        let orderly = !matches!(ended, Some(Ended::Failed | Ended::Lost));
        if orderly
            && let Err(error) = self
                .home
                .keep(&self.disk, Some(self.shared.clock.now()))
                .and_then(|()| Ok(self.disk.sync()?))
        {
            tracing::error!(%error, "the state cannot be marked as closed; the next run starts as after a crash");
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

    /// Notifies the coordinator that this process ends. After a failure the lease just expires.
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
