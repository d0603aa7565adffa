//! Sums of the snapshots and reports of several agents.

use crivello_agent::report::{
    ArchiveFile, Ended, HOSTS_LISTED_MAX, Report, ReportTotals, SeedCounts,
};
use crivello_proto::v1::{Bottleneck, Progress};
use std::collections::{BTreeMap, HashSet};

/// Returns the sum of snapshots. The pace is the pace of the busiest agent.
pub fn snapshot(all: &[Progress]) -> Progress {
    let mut sum = Progress { pages_by_class: vec![0; 5], ..Progress::default() };
    for s in all {
        sum.elapsed_ms = sum.elapsed_ms.max(s.elapsed_ms);
        sum.pages += s.pages;
        sum.bytes += s.bytes;
        for (sum, n) in sum.pages_by_class.iter_mut().zip(&s.pages_by_class) {
            *sum += n;
        }
        sum.duplicates += s.duplicates;
        sum.robots_fetched += s.robots_fetched;
        sum.errors += s.errors;
        sum.discards += s.discards;
        sum.urls_queued += s.urls_queued;
        sum.urls_seen += s.urls_seen;
        sum.hosts_ready += s.hosts_ready;
        sum.hosts_waiting += s.hosts_waiting;
        sum.hosts_resting += s.hosts_resting;
        sum.hosts_resolving += s.hosts_resolving;
        sum.hosts_paused += s.hosts_paused;
        sum.visits += s.visits;
        sum.pipeline_pages += s.pipeline_pages;
    }
    // Each agent counts down from the cluster's number at its last heartbeat.
    sum.pages_left = all.iter().filter_map(|s| s.pages_left).min();
    let busiest = all.iter().max_by_key(|s| s.visits + s.hosts_ready + s.hosts_waiting);
    (sum.bottleneck, sum.bottleneck_delay_ms) =
        busiest.map_or((Bottleneck::Starting.into(), 0), |s| (s.bottleneck, s.bottleneck_delay_ms));
    sum
}

/// Returns the sum of reports, each with the name of its agent, which is also the name of the
/// agent's directory.
pub fn report(all: &[(String, Report)], how: Ended, resumed: bool, seeds: SeedCounts) -> Report {
    let mut sum = Report { ended: how, resumed, seeds, ..Report::default() };
    for (name, r) in all {
        if sum.software.is_empty() {
            sum.software.clone_from(&r.software);
            sum.crawl_id.clone_from(&r.crawl_id);
            sum.started.clone_from(&r.started);
        }
        sum.started = sum.started.min(r.started.clone());
        sum.elapsed_seconds = sum.elapsed_seconds.max(r.elapsed_seconds);
        if r.ended == Ended::Failed {
            sum.ended = Ended::Failed;
            let why = r.failure.as_deref().unwrap_or("for an unknown reason");
            sum.failure.get_or_insert_with(|| format!("{name}: {why}"));
        }
        add_totals(&mut sum.totals, &r.totals);
        add(&mut sum.pages_by_status, &r.pages_by_status);
        add(&mut sum.skipped, &r.skipped);
        add(&mut sum.errors, &r.errors);
        sum.slowest_hosts.extend_from_slice(&r.slowest_hosts);
        sum.most_resting_hosts.extend_from_slice(&r.most_resting_hosts);
        let with_dir = |file: &ArchiveFile| ArchiveFile {
            path: format!("{name}/{}", file.path),
            bytes: file.bytes,
        };
        sum.archive.extend(r.archive.iter().map(with_dir));
    }
    sum.slowest_hosts.sort_by(|a, b| b.mean_seconds.total_cmp(&a.mean_seconds));
    // Replicas list the same hosts.
    let mut seen = HashSet::new();
    sum.slowest_hosts.retain(|host| seen.insert(host.host.clone()));
    sum.slowest_hosts.truncate(HOSTS_LISTED_MAX);
    sum.most_resting_hosts.sort_by(|a, b| b.rested_seconds.total_cmp(&a.rested_seconds));
    seen.clear();
    sum.most_resting_hosts.retain(|host| seen.insert(host.host.clone()));
    sum.most_resting_hosts.truncate(HOSTS_LISTED_MAX);
    sum
}

fn add_totals(sum: &mut ReportTotals, more: &ReportTotals) {
    sum.pages += more.pages;
    sum.bytes += more.bytes;
    sum.duplicates += more.duplicates;
    sum.near_duplicates += more.near_duplicates;
    sum.truncated += more.truncated;
    sum.robots_fetched += more.robots_fetched;
    sum.urls_seen += more.urls_seen;
    sum.urls_queued += more.urls_queued;
    sum.hosts += more.hosts;
}

fn add<K: Ord + Clone>(sum: &mut BTreeMap<K, u64>, more: &BTreeMap<K, u64>) {
    for (key, n) in more {
        *sum.entry(key.clone()).or_default() += *n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_agent::report::SlowHost;

    #[test]
    fn counts_add_up_and_the_pace_is_that_of_the_busiest() {
        let one = |pages, hosts_waiting, pace: Bottleneck| Progress {
            elapsed_ms: pages,
            pages,
            pages_by_class: vec![0, pages, 0, 1, 0],
            hosts_waiting,
            pages_left: (pages > 1).then_some(9 + pages),
            bottleneck: pace.into(),
            ..Progress::default()
        };
        let sum = snapshot(&[
            one(3, 1, Bottleneck::Seeds),
            one(4, 9, Bottleneck::Dns),
            one(1, 0, Bottleneck::Cpu),
        ]);
        assert_eq!((sum.pages, sum.hosts_waiting, sum.elapsed_ms), (8, 10, 4));
        assert_eq!(sum.pages_by_class, [0, 8, 0, 3, 0]);
        assert_eq!((sum.pages_left, sum.bottleneck()), (Some(12), Bottleneck::Dns));
        let none = snapshot(&[]);
        assert_eq!((none.pages_left, none.bottleneck()), (None, Bottleneck::Starting));
    }

    #[test]
    fn a_summed_report_names_the_directory_of_each_archive_file() {
        let one = |n: u64, ended| Report {
            software: "crivello/1".into(),
            ended,
            failure: (ended == Ended::Failed).then(|| "disk".to_owned()),
            totals: ReportTotals { pages: n, ..ReportTotals::default() },
            pages_by_status: BTreeMap::from([(200, n)]),
            slowest_hosts: (0..9)
                .map(|i| SlowHost {
                    host: format!("h{i}"),
                    mean_seconds: (n * 10 + i) as f64,
                    ..SlowHost::default()
                })
                .collect(),
            archive: vec![ArchiveFile { path: "warc/a.warc.gz".into(), bytes: n }],
            ..Report::default()
        };
        let all = [
            ("agent-1".to_owned(), one(1, Ended::Stopped)),
            ("agent-2".into(), one(2, Ended::Drained)),
        ];
        let seeds = SeedCounts { taken: 5, refused: 1 };
        let sum = report(&all, Ended::Exhausted, true, seeds);
        assert_eq!((sum.totals.pages, sum.pages_by_status[&200]), (3, 3));
        assert_eq!((sum.ended, sum.resumed, sum.seeds), (Ended::Exhausted, true, seeds));
        let paths: Vec<_> = sum.archive.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["agent-1/warc/a.warc.gz", "agent-2/warc/a.warc.gz"]);
        assert_eq!(sum.slowest_hosts.len(), 9, "a host occurs twice");
        assert!((sum.slowest_hosts[0].mean_seconds - 28.0).abs() < 0.1);
        let failed = [all[0].clone(), ("agent-2".into(), one(2, Ended::Failed))];
        let sum = report(&failed, Ended::Exhausted, false, seeds);
        assert_eq!((sum.ended, sum.failure.as_deref()), (Ended::Failed, Some("agent-2: disk")));
    }
}
