//! The report of a crawl that has ended.

use super::host_rankings;
use crate::report::{ArchiveFile, Ended, Report, ReportTotals, SeedCounts, discards, failures};
use crate::shared::Shared;
use crate::storage::Database;
use crate::storage::crawl_dir::CrawlDir;
use std::path::Path;
use std::time::Duration;

/// Returns the report of a crawl that has ended; `seeds` are those of this run.
pub fn report(shared: &Shared, home: &CrawlDir, disk: &Database, seeds: SeedCounts) -> Report {
    let end = shared.lifecycle.wait(Duration::ZERO);
    let (totals, _) = shared.status.totals.lock().clone();
    let (slowest_hosts, most_resting_hosts) = host_rankings::read(disk);
    Report {
        software: format!("crivello/{}", env!("CARGO_PKG_VERSION")),
        crawl_id: home.identity.crawl_id.clone(),
        started: shared.lifecycle.started.to_string(),
        elapsed_seconds: shared.clock.now().since(shared.lifecycle.started).as_secs_f64(),
        resumed: home.resumed,
        ended: end.as_ref().map_or(Ended::Failed, |end| end.how),
        failure: end.and_then(|end| end.failure),
        seeds,
        totals: ReportTotals {
            pages: totals.pages,
            bytes: totals.bytes,
            duplicates: totals.duplicates,
            near_duplicates: totals.near_duplicates,
            truncated: totals.truncated,
            robots_fetched: totals.robots,
            urls_seen: totals.seen,
            urls_queued: totals.own_queued,
            hosts: totals.hosts,
        },
        pages_by_status: totals.by_status,
        skipped: discards(&totals.discards).collect(),
        errors: failures(&totals.failures).collect(),
        slowest_hosts,
        most_resting_hosts,
        archive: archive_files(&home.dir),
    }
}

fn archive_files(dir: &Path) -> Vec<ArchiveFile> {
    let Ok(entries) = std::fs::read_dir(dir.join("warc")) else { return Vec::new() };
    let mut files: Vec<ArchiveFile> = entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let bytes = entry.metadata().ok()?.len();
            Some(ArchiveFile { path: format!("warc/{name}"), bytes })
        })
        .filter(|file| [".warc.gz", ".warc.zst"].iter().any(|end| file.path.ends_with(end)))
        .collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}
