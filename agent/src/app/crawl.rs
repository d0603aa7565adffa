//! A running crawl: its state, its progress and its end.

use crate::api::IndexApi;
use crate::cluster::ClusterSession;
use crate::engines::seeding::{Seed, SeedIntake};
use crate::messages::SchedulerQueues;
use crate::observe::metrics::AgentMetrics;
use crate::observe::status;
use crate::observe::trace_export::{Otlp, OtlpExporter, resource};
use crate::observe::upload::Uploader;
use crate::process::RulesInForce;
use crate::report::{Ended, Report};
use crate::shared::Shared;
use crate::shared::snapshot::snapshot;
use crate::storage::Database;
use crate::storage::crawl_dir::CrawlDir;
use crivello_proto::v1::Progress;
use crivello_webhook::WebhookSender;
use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::runtime::Runtime;

/// Maximum time for which the last captures of a run delay its end; the rest is sent in the next run.
const WEBHOOK_MAX: Duration = Duration::from_secs(5);
/// Time for remaining tasks to end once the state is saved.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// A running crawl. All methods may be called from any thread.
pub struct Crawl {
    pub(super) home: CrawlDir,
    pub(super) shared: Shared,
    pub(super) disk: Arc<Database>,
    pub(super) rules: RulesInForce,
    pub(super) queues: Arc<SchedulerQueues>,
    pub(super) seeds: SeedIntake,
    pub(super) threads: Mutex<Vec<JoinHandle<()>>>,
    pub(super) runtime: Mutex<Option<Runtime>>,
    pub(super) meter: AgentMetrics,
    pub(super) exporter: OnceLock<Arc<OtlpExporter>>,
    pub(super) webhook: Mutex<Option<WebhookSender>>,
    pub(super) uploader: Mutex<Option<Uploader>>,
    pub(super) index: Option<Arc<dyn IndexApi>>,
    /// Membership in a cluster; `None` if it crawls alone.
    pub(super) session: Option<ClusterSession>,
}

impl Crawl {
    /// Returns the meter of this crawl, which reads its numbers until it ends.
    pub const fn meter(&self) -> &AgentMetrics {
        &self.meter
    }

    /// Takes the runtime of its tasks. It ends with the crawl.
    pub(super) fn keep_runtime(&self, runtime: Runtime) {
        *self.runtime.lock() = Some(runtime);
    }

    /// Ends the crawl at once and saves nothing, as a kill would.
    pub fn abandon(self) {
        self.shared.lifecycle.abandon();
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
        let crawl_id = &self.home.identity.crawl_id;
        let (id, name) =
            self.session.as_ref().map_or((0, crawl_id), |session| (session.id.0, &session.name));
        let (tracer, resource) = (self.shared.tracer.clone(), resource(crawl_id, id, name));
        let exporter = OtlpExporter::start(runtime.handle(), tracer, otlp.clone(), resource);
        let _ = self.exporter.set(exporter);
    }

    /// Returns the address on which this agent listens; `None` if it crawls alone.
    pub fn address(&self) -> Option<SocketAddr> {
        self.session.as_ref().map(|session| session.address)
    }

    /// Adds the seeds, and waits whenever the sieve is behind; URLs already seen are dropped. To be
    /// called exactly once, with the seeds that [`Self::open`] has not read: the crawl does not end
    /// as exhausted before this returns. Returns true if all seeds were added; false after
    /// [`Seed::Cut`], which stops the crawl, or if the crawl stops for another reason.
    pub fn seed(&self, seeds: impl Iterator<Item = Seed>) -> bool {
        self.seeds.take(seeds)
    }

    /// Returns the progress of the crawl.
    pub fn snapshot(&self) -> Progress {
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
        let (Some(session), Some(runtime)) = (&self.session, &*runtime) else {
            return Err("there are no other agents".to_owned());
        };
        runtime.block_on(session.drain(&self.shared.lifecycle))
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
        let end = self.shared.lifecycle.wait_for_end();
        // Closed before the parsers are joined: they end once all senders of their queue are gone.
        self.meter.close();
        if let Some(runtime) = self.runtime.lock().take() {
            if let Some(exporter) = self.exporter.get() {
                runtime.block_on(exporter.flush_with_deadline());
            }
            if let Some(mut webhook) = self.webhook.lock().take() {
                runtime.block_on(webhook.flush(WEBHOOK_MAX));
            }
            if let Some(session) = &self.session {
                runtime.block_on(session.leave(end.how, &self.shared));
            }
            if let Some(mut uploader) = self.uploader.lock().take() {
                let limit = self.shared.settings.upload.end_wait;
                let is_patient = end.is_orderly() && end.how != Ended::Stopped;
                if !runtime.block_on(uploader.finish(end.is_orderly(), limit, is_patient)) {
                    let files = self.shared.uploads.borrow().files_waiting;
                    tracing::warn!(files, "archive files are not uploaded; the next run does it");
                }
            }
            // Tasks that still run may hold the state, which must be closed before this returns.
            runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        }
        for thread in self.threads.lock().drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the crawl panicked");
            }
        }
        // The state is marked as closed before the report: its scan of all hosts may take long.
        if end.is_orderly() {
            self.home.close(&self.disk, self.shared.clock.now());
        }
        let report = status::report(&self.shared, &self.home, &self.disk, self.seeds.counts());
        self.disk.close();
        report
    }
}
