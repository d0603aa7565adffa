//! State that several engines of one crawl read and write, one file for each purpose.

pub mod fetch_deadline;
pub mod idle_times;
pub mod lifecycle;
pub mod live_settings;
pub mod measurements;
pub mod page_budget;
pub mod panic_guard;
pub mod pipeline;
pub mod recrawl;
pub mod snapshot;
pub mod status;

use crate::crawldb::{SieveCounts, Totals};
use crate::storage::ranks::RankStore;
use crate::url_tracing::Tracer;
use crivello_archive::ArchivePosition;
use crivello_common::config::{Fixed, RecrawlPolicy, Settings};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::uploads::UploadStatus;
use fetch_deadline::FetchDeadline;
use lifecycle::Lifecycle;
use live_settings::LiveSettings;
use measurements::Measurements;
use page_budget::PageBudget;
use pipeline::PipelineBudget;
use recrawl::RecrawlBudget;
use status::CrawlStatus;
use std::sync::Arc;
use tokio::sync::watch;

/// Shared state of one crawl, by purpose. Each engine uses the parts that it needs.
#[derive(Clone, Debug)]
pub struct Shared {
    /// The settings that hold for the run.
    pub settings: Arc<Fixed>,
    /// The keys of groups, hosts and URLs.
    pub hasher: KeyedHasher,
    /// The crawl's only clock.
    pub clock: Clock,
    /// Start, stop and end of the run.
    pub lifecycle: Arc<Lifecycle>,
    /// The state of the run, as its engines last reported it.
    pub status: Arc<CrawlStatus>,
    /// Pages between the fetchers and the last commit.
    pub pipeline: Arc<PipelineBudget>,
    /// Pages that may still be fetched.
    pub page_budget: Arc<PageBudget>,
    /// Rate at which pages are fetched again.
    pub recrawl: Arc<RecrawlBudget>,
    /// Settings that change while the crawl runs.
    pub live: Arc<LiveSettings>,
    /// Time until which visits may be made.
    pub fetch_deadline: Arc<FetchDeadline>,
    /// Durations and counts.
    pub measured: Arc<Measurements>,
    /// Receiver of the spans of traced URLs.
    pub tracer: Arc<Tracer>,
    /// End of the archive that synced commits cover: nothing before it is ever written anew. `None` before the
    /// writer has started.
    pub archive_end: Arc<watch::Sender<Option<ArchivePosition>>>,
    /// Copies of the archive in an object store.
    pub uploads: watch::Sender<UploadStatus>,
    /// Ranks of hosts.
    pub ranks: RankStore,
}

impl Shared {
    /// Creates the state at the start of a run of the crawl with this id and these keys. The last
    /// run was closed at `closed_at`.
    #[must_use]
    pub fn new(
        settings: &Settings,
        clock: Clock,
        (crawl_id, hasher): (&str, KeyedHasher),
        totals: Totals,
        closed_at: Option<Timestamp>,
    ) -> Self {
        let now = clock.now();
        let page_budget = PageBudget::new(settings.live.limits.pages_max, totals.pages);
        let totals = parking_lot::Mutex::new((totals, SieveCounts::default()));
        Self {
            hasher,
            clock,
            lifecycle: Lifecycle::new(now, closed_at, settings.live.politeness.ip_delay).into(),
            status: CrawlStatus { totals, ..CrawlStatus::default() }.into(),
            pipeline: Arc::default(),
            page_budget: page_budget.into(),
            recrawl: Arc::default(),
            live: LiveSettings::new(&settings.live).into(),
            fetch_deadline: Arc::default(),
            measured: Arc::default(),
            tracer: Tracer::new(crawl_id, hasher, &settings.fixed.telemetry, now).into(),
            archive_end: Arc::default(),
            uploads: watch::Sender::default(),
            ranks: RankStore::default(),
            settings: settings.fixed.clone().into(),
        }
    }

    /// Returns true if the crawl comes back to its pages.
    pub fn comes_back(&self) -> bool {
        self.live.latest().live.recrawl.policy != RecrawlPolicy::None
    }
}
