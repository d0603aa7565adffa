//! Snapshots of a crawl for status, panel and metrics.

use super::Shared;
use super::idle_times::IdleReason;
use crate::limits::PIPELINE_PAGES_MAX;
use crate::progress::{Evidence, HostGauges};
use crivello_common::time::millis;
use crivello_proto::v1::{Bottleneck, Progress, UploadProgress};
use std::sync::atomic::Ordering::Relaxed;

/// Returns the state of a crawl at this moment.
pub fn snapshot(shared: &Shared) -> Progress {
    let (totals, _) = shared.status.totals.lock().clone();
    let (workbench, recrawl) = (*shared.status.workbench.lock(), *shared.status.recrawl.lock());
    let (unparsed, uncommitted) = shared.pipeline.pages();
    let visits = shared.status.visits.load(Relaxed) as u64;
    let hosts = HostGauges {
        ready: workbench.ips_ready as u64,
        waiting: workbench.waiting as u64,
        resting: workbench.resting as u64,
        resolving: workbench.resolving as u64,
        paused: workbench.paused as u64,
    };
    let elapsed = shared.clock.now().since(shared.lifecycle.started);
    let evidence = Evidence {
        elapsed,
        stopping: shared.lifecycle.is_stopping(),
        limit_reached: shared.status.limit_reached.load(Relaxed),
        disk_full: shared.status.disk_full.load(Relaxed),
        offline: shared.status.offline.load(Relaxed),
        dns_silent: shared.status.dns_silent.load(Relaxed),
        pages_run: shared.status.results.load(Relaxed),
        urls_queued: totals.own_queued,
        visits,
        visits_max: u64::from(shared.settings.fetch.visits_max),
        unparsed_pages: unparsed as u64,
        uncommitted_pages: uncommitted as u64,
        pipeline_pages_max: PIPELINE_PAGES_MAX as u64,
        hosts,
    };
    let bottleneck = match evidence.pace() {
        // Pages wait for their next fetch.
        Bottleneck::Seeds if recrawl.is_some() => Bottleneck::NoneDue,
        pace => pace,
    };
    let delay =
        (bottleneck == Bottleneck::FewHosts).then(|| shared.live.latest().live.politeness.delay);
    let mut by_class = vec![0; 5];
    for (&status, &n) in &totals.by_status {
        if let Some(class) = by_class.get_mut(usize::from(status / 100).wrapping_sub(1)) {
            *class += n;
        }
    }
    Progress {
        elapsed_ms: millis(elapsed),
        pages: totals.pages,
        bytes: totals.bytes,
        pages_by_class: by_class,
        duplicates: totals.duplicates,
        robots_fetched: totals.robots,
        errors: totals.failures.iter().sum(),
        discards: totals.discards.iter().map(|(_, n)| n).sum(),
        urls_queued: totals.own_queued,
        urls_seen: totals.seen,
        hosts_ready: hosts.ready,
        hosts_waiting: hosts.waiting,
        hosts_resting: hosts.resting,
        hosts_resolving: hosts.resolving,
        hosts_paused: hosts.paused,
        visits,
        pipeline_pages: (unparsed + uncommitted) as u64,
        pages_left: shared.page_budget.cluster_left(totals.pages),
        bottleneck: bottleneck.into(),
        bottleneck_delay_ms: delay.map_or(0, millis),
        recrawl,
        uploads: uploads(shared),
    }
}

fn uploads(shared: &Shared) -> Option<UploadProgress> {
    let status = shared.uploads.borrow();
    let problem = status.problem.as_ref();
    (!shared.settings.upload.url.is_empty()).then(|| UploadProgress {
        files_waiting: status.files_waiting,
        bytes_waiting: status.bytes_waiting,
        files_stored: status.files_stored,
        bytes_stored: status.bytes_stored,
        failures: status.failures,
        problem: problem.map(|(_, problem)| problem.clone()),
        failing_ms: problem.map(|(since, _)| millis(shared.clock.now().since(*since))),
    })
}

/// Returns the reason why the scheduler has nothing to hand out at this moment.
pub fn idle_reason(shared: &Shared) -> IdleReason {
    if shared.status.paused.load(Relaxed) {
        IdleReason::Paused
    } else if !shared.fetch_deadline.is_open(shared.clock.now()) {
        IdleReason::NoLease
    } else {
        IdleReason::Bottleneck(snapshot(shared).bottleneck())
    }
}
