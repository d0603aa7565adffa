//! The tracer: receives spans of followed URLs from all threads, and stores the newest.
//!
//! ```text
//!   scheduler, fetchers, parsers, writer ── Span ──► queue ──► collect ──► recent spans (Agent API)
//!                                            (bounded, never blocks)  └──► pending ──► export (OTLP)
//! ```
//! A URL that is not followed costs one hash.

use super::bounded::{Bounded, Repeats};
use super::{
    CrawlTraceIds, LookedUp, QueuedSince, Rate, RateLimiter, Since, Span, Stage, TraceId, Visited,
    is_bad,
};
use crate::limits::{
    ALWAYS_TRACED_A_SECOND, LOOKED_UP_HOSTS, SPANS_KEPT, SPANS_PENDING, SPANS_QUEUE, TRACED_URLS,
};
use crate::messages::{FetchOutcome, Fetched, Found};
use crivello_common::config::Telemetry;
use crivello_common::hash::{HostKey, UrlKey};
use crivello_common::identity::KeyedHasher;
use crivello_common::time::{Timestamp, micros};
use crossbeam::queue::ArrayQueue;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::time::Duration;
use tokio::sync::Notify;

/// The recipient and store of the spans of one crawl.
#[derive(Debug)]
pub struct Tracer {
    hasher: KeyedHasher,
    ids: CrawlTraceIds,
    started: Timestamp,
    /// The number of a [`Rate`].
    rate: AtomicU64,
    slow_us: AtomicU64,
    failures: RateLimiter,
    queue: ArrayQueue<Span>,
    /// Notified when the queue is half full.
    filling: Notify,
    /// Number of lost spans: a queue was full, or the export failed.
    lost: AtomicU64,
    /// Followed URLs in the frontier, with the time since which they wait.
    queued: Mutex<Bounded<UrlKey, QueuedSince>>,
    looked_up: Mutex<Bounded<HostKey, LookedUp>>,
    repeats: Mutex<Repeats>,
    kept: Mutex<VecDeque<Span>>,
    pending: Mutex<VecDeque<Span>>,
    /// True if pending spans are exported.
    exports: AtomicBool,
}

impl Tracer {
    /// Creates the tracer of the crawl `crawl_id`, whose keys `hasher` computes.
    #[must_use]
    pub fn new(
        crawl_id: &str,
        hasher: KeyedHasher,
        settings: &Telemetry,
        started: Timestamp,
    ) -> Self {
        let tracer = Self {
            hasher,
            ids: CrawlTraceIds::of(crawl_id),
            started,
            rate: AtomicU64::new(0),
            slow_us: AtomicU64::new(0),
            failures: RateLimiter::new(ALWAYS_TRACED_A_SECOND),
            queue: ArrayQueue::new(SPANS_QUEUE),
            filling: Notify::new(),
            lost: AtomicU64::new(0),
            queued: Mutex::new(Bounded::new(TRACED_URLS)),
            looked_up: Mutex::new(Bounded::new(LOOKED_UP_HOSTS)),
            repeats: Mutex::new(Repeats::default()),
            kept: Mutex::default(),
            pending: Mutex::default(),
            exports: AtomicBool::new(false),
        };
        tracer.set(settings);
        tracer
    }

    /// Applies these settings from now on.
    pub fn set(&self, settings: &Telemetry) {
        self.rate.store(Rate::of(settings.trace_rate).0, Relaxed);
        let slow = micros(settings.trace_slow);
        self.slow_us.store(slow, Relaxed);
    }

    /// Returns the trace of a URL if it is followed.
    pub fn sampled(&self, url: UrlKey) -> Option<TraceId> {
        self.follows(url).then(|| self.ids.trace(url))
    }

    fn follows(&self, url: UrlKey) -> bool {
        Rate(self.rate.load(Relaxed)).takes(self.ids.draw(url))
    }

    /// Returns true if any URLs are followed from the beginning.
    pub fn is_on(&self) -> bool {
        self.rate.load(Relaxed) > 0
    }

    /// Returns the trace of a URL, even if it is not followed.
    pub fn trace(&self, url: UrlKey) -> TraceId {
        self.ids.trace(url)
    }

    /// Returns the trace of a URL that was found, if the find is to be recorded: the URL is
    /// followed, and its finds were not recorded too often.
    pub fn found(&self, found: &Found) -> Option<TraceId> {
        let trace = self.sampled(found.key())?;
        self.repeats.lock().admits(trace).then_some(trace)
    }

    /// Records a span. Never waits.
    pub fn record(&self, span: Span) {
        if self.queue.push(span).is_err() {
            self.lost.fetch_add(1, Relaxed);
        }
        if self.queue.len() == SPANS_QUEUE / 2 {
            self.filling.notify_one();
        }
    }

    /// Records that a followed URL was queued at `at`.
    pub fn queued(&self, url: UrlKey, at: Timestamp, since: Since) {
        self.queued.lock().put(url, QueuedSince { at, since });
    }

    /// Records that a URL is no longer queued.
    pub fn is_done(&self, url: UrlKey) {
        self.queued.lock().take(&url);
    }

    /// Records the look-up of a host's name; a failure also as a span.
    pub fn looked_up(&self, host: HostKey, name: &str, error: Option<&'static str>, at: LookedUp) {
        self.looked_up.lock().put(host, at);
        let Some(error) = error else { return };
        if self.failures.take(at.end) {
            let trace = self.ids.host_trace(host);
            let times = (at.begin, at.end);
            let span = Span::new(trace, (Stage::Resolved, at.begin.0), None, times)
                .with("server.address", name.to_owned())
                .with("error.type", error);
            tracing::debug!(host = name, error, trace_id = %trace, "cannot resolve a name");
            self.record(Span { is_error: true, ..span });
        }
    }

    /// Records the result of a visit as spans if the URL is followed, or if it failed or was slow.
    pub fn visited(&self, fetched: &mut Fetched) {
        let hash = fetched.row.as_ref().map_or_else(|| self.hasher.url(&fetched.url), |r| r.hash);
        let url = UrlKey { group: fetched.host.group, url: hash };
        let sampled = self.follows(url);
        let slow = Duration::from_micros(self.slow_us.load(Relaxed));
        let ended = fetched.at + fetched.took;
        let is_followed = sampled || (is_bad(fetched, slow) && self.failures.take(ended));
        if !is_followed {
            return;
        }
        fetched.traced = Some(hash);
        let trace = self.ids.trace(url);
        let handed_out = fetched.handed_out.at;
        let queued = match sampled && fetched.row.is_some() {
            true => self.since(&url),
            false => QueuedSince { at: handed_out, since: Since::Unsampled },
        };
        let looked_up = self.looked_up.lock().get(&fetched.host);
        let visited = Visited { trace, sampled, fetched, queued, looked_up };
        visited.spans().into_iter().for_each(|span| self.record(span));
        tracing::debug!(
            url = fetched.url.as_str(),
            outcome = outcome(fetched),
            took_ms = fetched.took.as_millis() as u64,
            trace_id = %trace,
            "visited"
        );
    }

    fn since(&self, url: &UrlKey) -> QueuedSince {
        let mut queued = self.queued.lock();
        let since = if queued.has_forgotten() { Since::Forgotten } else { Since::Restart };
        queued.take(url).unwrap_or(QueuedSince { at: self.started, since })
    }

    /// Returns the newest spans, of one trace or of all.
    pub fn recent(&self, trace: Option<TraceId>, limit: usize) -> Vec<Span> {
        self.collect();
        let kept = self.kept.lock();
        let wanted = kept.iter().rev().filter(|span| trace.is_none_or(|id| id == span.trace));
        wanted.take(limit).cloned().collect()
    }

    /// Waits until the queue of spans is half full.
    pub async fn filling(&self) {
        self.filling.notified().await;
    }

    /// Keeps spans for export from now on.
    pub fn enable_export(&self) {
        self.exports.store(true, Relaxed);
    }

    /// Returns the number of spans that wait for export.
    pub fn pending(&self) -> usize {
        self.pending.lock().len()
    }

    /// Removes up to `most` of the oldest pending spans. Passes their number to `taken` before the
    /// removal is visible to other threads.
    #[must_use]
    pub fn take_pending(&self, most: usize, taken: impl FnOnce(usize)) -> Vec<Span> {
        let mut pending = self.pending.lock();
        let most = pending.len().min(most);
        taken(most);
        pending.drain(..most).collect()
    }

    /// Counts `spans` that were lost.
    pub fn count_lost(&self, spans: u64) {
        self.lost.fetch_add(spans, Relaxed);
    }

    /// Moves queued spans to the recent ones, and to the pending ones if these are exported.
    pub fn collect(&self) {
        let exports = self.exports.load(Relaxed);
        // Locks are always taken in this order. The second of two callers finds the queue empty.
        let (mut kept, mut pending) = (self.kept.lock(), self.pending.lock());
        while let Some(span) = self.queue.pop() {
            if exports {
                if pending.len() == SPANS_PENDING {
                    pending.pop_front();
                    self.lost.fetch_add(1, Relaxed);
                }
                pending.push_back(span.clone());
            }
            if kept.len() == SPANS_KEPT {
                kept.pop_front();
            }
            kept.push_back(span);
        }
    }
}

fn outcome(fetched: &Fetched) -> String {
    match &fetched.outcome {
        FetchOutcome::Response(response) => response.status.to_string(),
        FetchOutcome::Failed(failure) => failure.name().to_owned(),
        FetchOutcome::Discarded(why) => why.name().to_owned(),
    }
}

#[cfg(test)]
mod tests;
