//! What the threads of one crawl share: flags, counters, and the two gauges that a reader may see.

use super::measurements::Gauges;
use crate::crawldb::{SieveCounts, Totals};
use crate::limits::{PIPELINE_BYTES_MAX, PIPELINE_PAGES_MAX, SEED_BATCHES_MAX};
use crate::report::Ended;
use crate::shared::fetch_deadline::Gate;
use crate::shared::live_settings::Live;
use crate::shared::page_budget::PagesLeft;
use crate::url_tracing::Tracer;
use crate::why::Recent;
use crate::workbench::Census;
use crivello_common::config::Settings;
use crivello_common::time::{Clock, Timestamp};
use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// See the module.
#[derive(Debug)]
pub struct Shared {
    /// The settings of the start: what is not live stays as it was then.
    pub settings: Settings,
    /// Those that are changed while the crawl runs.
    pub live: Live,
    /// The only clock.
    pub clock: Clock,
    /// When this run began.
    pub started: Timestamp,
    /// No visit begins before: addresses visited by the last run must have had their rest, and
    /// unlike the hosts' theirs is not kept on disk.
    pub visits_from: Timestamp,
    /// Pages between the fetchers and the last commit.
    pub pipeline: Pipeline,
    /// Cancelled when visits in flight are to end after their present request.
    pub stop: CancellationToken,
    /// Set when the threads are to leave.
    pub over: AtomicBool,
    /// It is as if the process had been killed: nothing more is written.
    pub abandoned: AtomicBool,
    /// The disk has less room than it should: fetching stands still.
    pub disk_full: AtomicBool,
    /// Nothing can be reached.
    pub offline: AtomicBool,
    /// The name servers do not answer.
    pub dns_silent: AtomicBool,
    /// The page limit is reached.
    pub limit_reached: AtomicBool,
    /// Pages that may be fetched.
    pub pages_left: PagesLeft,
    /// The crawl as a whole rests.
    pub paused: AtomicBool,
    /// Until when visits may be made.
    pub fence: Arc<Gate>,
    /// This agent has asked for its own drain.
    pub drains_itself: AtomicBool,
    /// There was nobody to take anything over: it stays a member.
    pub stays: AtomicBool,
    /// The last epoch in which all who are to hold what this agent has came to do so.
    pub settled_in: AtomicU64,
    /// Visits in flight.
    pub visits: AtomicUsize,
    /// Requests whose results have come in this run.
    pub results: AtomicU64,
    /// The last fetches.
    pub recent: Recent,
    /// What is measured as it happens.
    pub gauges: Gauges,
    /// As of the last commit.
    pub totals: Mutex<(Totals, SieveCounts)>,
    /// As of the scheduler's last round.
    pub census: Mutex<Census>,
    /// Receives spans of the URLs that are followed.
    pub tracer: Tracer,
    end: Mutex<Option<End>>,
    ended: Condvar,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct End {
    /// In a word.
    pub how: Ended,
    /// What broke, if something did.
    pub failure: Option<String>,
}

impl Shared {
    /// At the beginning of a run.
    #[must_use]
    pub fn new(
        settings: Settings,
        clock: Clock,
        totals: Totals,
        closed_at: Option<Timestamp>,
    ) -> Self {
        let pages_left = PagesLeft::new(settings.limits.pages_max, totals.pages);
        let (now, ip_delay) = (clock.now(), settings.politeness.ip_delay);
        Self {
            tracer: Tracer::new("", &settings.telemetry, now),
            started: now,
            // A wall clock that was ahead then is no reason to stand still.
            visits_from: closed_at.unwrap_or_default().min(now) + ip_delay,
            clock,
            live: Live::new(&settings),
            settings,
            pipeline: Pipeline::default(),
            stop: CancellationToken::new(),
            over: AtomicBool::new(false),
            abandoned: AtomicBool::new(false),
            disk_full: AtomicBool::new(false),
            offline: AtomicBool::new(false),
            dns_silent: AtomicBool::new(false),
            limit_reached: AtomicBool::new(false),
            pages_left,
            paused: AtomicBool::new(false),
            fence: Arc::default(),
            drains_itself: AtomicBool::new(false),
            stays: AtomicBool::new(false),
            settled_in: AtomicU64::new(0),
            visits: AtomicUsize::new(0),
            results: AtomicU64::new(0),
            recent: Recent::default(),
            gauges: Gauges::default(),
            totals: Mutex::new((totals, SieveCounts::default())),
            census: Mutex::new(Census::default()),
            end: Mutex::new(None),
            ended: Condvar::new(),
        }
    }

    /// Whether a stop was asked for.
    #[must_use]
    pub fn is_stopping(&self) -> bool {
        self.stop.is_cancelled()
    }

    /// Whether the threads are to leave.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }

    /// Ends the run. The first word counts.
    pub fn end(&self, how: Ended, failure: Option<String>) {
        if let Some(why) = &failure {
            tracing::error!(why, "the crawl cannot go on");
        }
        self.end.lock().get_or_insert(End { how, failure });
        self.over.store(true, Relaxed);
        self.stop.cancel();
        self.ended.notify_all();
    }

    /// How the run ended; waits for that, but not longer than `timeout`.
    pub fn wait(&self, timeout: Duration) -> Option<End> {
        let mut end = self.end.lock();
        if end.is_none() {
            self.ended.wait_for(&mut end, timeout);
        }
        end.clone()
    }
}

/// Counts the pages that are on their way from the fetchers to the commit, and their bytes: what
/// the fetchers look at before they begin another visit.
#[derive(Debug, Default)]
pub struct Pipeline {
    unparsed: AtomicUsize,
    uncommitted: AtomicUsize,
    /// Of bodies before the parsers.
    body_bytes: AtomicUsize,
    /// Of records and links behind them.
    page_bytes: AtomicUsize,
    /// Batches of seeds.
    seeds: AtomicUsize,
    /// Rung when a commit has made all of these less.
    left: Condvar,
    door: Mutex<()>,
}

impl Pipeline {
    /// A result with a body of `bytes` comes in.
    pub fn enter(&self, bytes: usize) {
        self.unparsed.fetch_add(1, Relaxed);
        self.body_bytes.fetch_add(bytes, Relaxed);
    }

    /// It has been parsed: its body is gone, `bytes` of archive records and links took its place.
    pub fn parsed(&self, body: usize, bytes: usize) {
        // Who reads the first gauge without it reads the second with it: it is never in none.
        self.uncommitted.fetch_add(1, Relaxed);
        self.unparsed.fetch_sub(1, Release);
        self.page_bytes.fetch_add(bytes, Relaxed);
        self.body_bytes.fetch_sub(body, Release);
    }

    /// A batch of seeds comes in.
    pub fn enter_seeds(&self) {
        self.seeds.fetch_add(1, Relaxed);
    }

    /// `pages` of them, with `bytes`, have been committed, and so many batches of seeds.
    pub fn leave(&self, pages: usize, bytes: usize, seeds: usize) {
        self.uncommitted.fetch_sub(pages, Relaxed);
        self.page_bytes.fetch_sub(bytes, Relaxed);
        self.seeds.fetch_sub(seeds, Relaxed);
        drop(self.door.lock());
        self.left.notify_all();
    }

    /// A parser waits here while too much waits for the commit, but not longer than `timeout`;
    /// says whether it may go on. The accountant commits without waiting for anybody.
    pub fn wait_for_room(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, || self.page_bytes.load(Relaxed) >= PIPELINE_BYTES_MAX)
    }

    /// The same for whoever brings the seeds.
    pub fn wait_for_seeds(&self, timeout: Duration) -> bool {
        self.wait_while(timeout, || self.seeds.load(Relaxed) >= SEED_BATCHES_MAX)
    }

    fn wait_while(&self, timeout: Duration, is_full: impl Fn() -> bool) -> bool {
        if is_full() {
            let mut door = self.door.lock();
            if is_full() {
                self.left.wait_for(&mut door, timeout);
            }
        }
        !is_full()
    }

    /// Pages before and behind the parsers.
    #[must_use]
    pub fn pages(&self) -> (usize, usize) {
        (self.unparsed.load(Acquire), self.uncommitted.load(Relaxed))
    }

    /// Bytes before and behind the parsers.
    #[must_use]
    pub fn bytes(&self) -> (usize, usize) {
        (self.body_bytes.load(Acquire), self.page_bytes.load(Relaxed))
    }

    /// Batches of seeds on their way.
    #[must_use]
    pub fn seed_batches(&self) -> usize {
        self.seeds.load(Relaxed)
    }

    /// Whether nothing is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pages() == (0, 0)
    }

    /// Whether another visit may begin.
    #[must_use]
    pub fn has_room(&self) -> bool {
        let (unparsed, uncommitted) = self.pages();
        let (bodies, pages) = self.bytes();
        unparsed + uncommitted < PIPELINE_PAGES_MAX && bodies + pages < PIPELINE_BYTES_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_their_rest_whatever_the_wall_clock_said() {
        let clock = Clock::start();
        let settings = Settings::default();
        let rest = settings.politeness.ip_delay;
        let visits_from = |closed_at| {
            let shared = Shared::new(settings.clone(), clock, Totals::default(), closed_at);
            (shared.visits_from, shared.started)
        };
        let earlier = clock.now() - Duration::from_millis(500);
        assert_eq!(visits_from(Some(earlier)).0, earlier + rest);
        let (at, started) = visits_from(Some(clock.now() + Duration::from_secs(3_600)));
        assert_eq!(at, started + rest, "the clock was an hour ahead");
    }
}
