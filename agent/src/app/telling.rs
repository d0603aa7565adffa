//! What is told of a crawl: how it stands, and what happened.

use super::{Crawl, hosts};
use crate::app::shared::Shared;
use crate::limits::PIPELINE_PAGES_MAX;
use crate::progress::{Evidence, HostGauges, Snapshot};
use crate::report::{ArchiveFile, Ended, Report, Totals, skipped};
use crivello_common::failure::Failure;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// See [`Crawl::snapshot`].
pub fn snapshot(shared: &Shared) -> Snapshot {
    let (totals, _) = shared.totals.lock().clone();
    let census = *shared.census.lock();
    let (unparsed, uncommitted) = shared.pipeline.pages();
    let visits = shared.visits.load(Relaxed) as u64;
    let hosts = HostGauges {
        ready: census.ips_ready as u64,
        waiting: census.waiting as u64,
        resting: census.resting as u64,
        resolving: census.resolving as u64,
        paused: census.paused as u64,
    };
    let revised = shared.live.latest();
    let elapsed = shared.clock.now().since(shared.started);
    let evidence = Evidence {
        elapsed,
        stopping: shared.is_stopping(),
        limit_reached: shared.limit_reached.load(Relaxed),
        disk_full: shared.disk_full.load(Relaxed),
        offline: shared.offline.load(Relaxed),
        dns_silent: shared.dns_silent.load(Relaxed),
        pages_run: shared.results.load(Relaxed),
        urls_queued: totals.own_queued,
        visits,
        visits_max: u64::from(shared.settings.fetch.visits_max),
        unparsed_pages: unparsed as u64,
        uncommitted_pages: uncommitted as u64,
        pipeline_pages_max: PIPELINE_PAGES_MAX as u64,
        hosts,
        delay: revised.settings.politeness.delay,
    };
    let mut by_class = [0; 5];
    for (&status, &n) in &totals.by_status {
        if let Some(class) = by_class.get_mut(usize::from(status / 100).wrapping_sub(1)) {
            *class += n;
        }
    }
    Snapshot {
        elapsed,
        pages: totals.pages,
        bytes: totals.bytes,
        by_class,
        duplicates: totals.duplicates,
        robots_fetched: totals.robots,
        errors: totals.failures.iter().sum(),
        discards: totals.discards.iter().map(|(_, n)| n).sum(),
        urls_queued: totals.own_queued,
        urls_seen: totals.seen,
        hosts,
        visits,
        pipeline_pages: (unparsed + uncommitted) as u64,
        pages_left: shared.pages_left.of_all(totals.pages),
        pace: evidence.pace(),
    }
}

/// See [`Crawl::finish`].
pub fn report(crawl: &Crawl) -> Report {
    let shared = &crawl.shared;
    let end = shared.wait(Duration::ZERO);
    let (totals, _) = shared.totals.lock().clone();
    let (slowest_hosts, most_resting_hosts) = hosts::extremes(&crawl.disk);
    let errors = Failure::ALL.map(|kind| (kind.name().to_owned(), totals.failures[kind as usize]));
    Report {
        software: format!("crivello/{}", env!("CARGO_PKG_VERSION")),
        crawl_id: crawl.home.identity.crawl_id.clone(),
        started: shared.started.to_string(),
        elapsed_seconds: shared.clock.now().since(shared.started).as_secs_f64(),
        resumed: crawl.home.resumed,
        ended: end.as_ref().map_or(Ended::Failed, |end| end.how),
        failure: end.and_then(|end| end.failure),
        seeds: *crawl.seeds.lock(),
        totals: Totals {
            pages: totals.pages,
            bytes: totals.bytes,
            duplicates: totals.duplicates,
            truncated: totals.truncated,
            robots_fetched: totals.robots,
            urls_seen: totals.seen,
            urls_queued: totals.own_queued,
            hosts: totals.hosts,
        },
        pages_by_status: totals.by_status,
        skipped: skipped(&totals.discards),
        errors: errors.into_iter().filter(|(_, n)| *n > 0).collect(),
        slowest_hosts,
        most_resting_hosts,
        archive: archive_files(&crawl.home.dir),
    }
}

fn archive_files(dir: &Path) -> Vec<ArchiveFile> {
    let Ok(entries) = std::fs::read_dir(dir.join("warc")) else { return Vec::new() };
    let mut files: Vec<ArchiveFile> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let bytes = entry.metadata().ok()?.len();
            Some(ArchiveFile { path: format!("warc/{name}"), bytes })
        })
        .filter(|file| file.path.ends_with(".warc.gz"))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
