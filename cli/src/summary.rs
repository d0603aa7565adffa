//! Text form of the report, for people.

use crate::format::{bytes, count, duration};
use crivello_agent::report::Report;
use crivello_common::discard::Discard;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// Returns the report as text, without empty sections. `out` is the directory of the crawl, unless
/// it is removed.
pub fn text(r: &Report, out: Option<&Path>) -> String {
    let resumed = if r.resumed { " (resumed)" } else { "" };
    let elapsed = seconds(r.elapsed_seconds);
    let mut t = format!("\nCrawl ended after {elapsed}{resumed}: {}.\n", r.ended);
    totals(&mut t, r);
    let statuses = r.pages_by_status.iter().map(|(status, n)| (status.to_string(), *n));
    section(&mut t, "pages by status", numbers(statuses));
    section(&mut t, "skipped, by reason", explained(by_size(&r.skipped)));
    section(&mut t, "errors, by kind", numbers(by_size(&r.errors)));
    let slowest = r.slowest_hosts.iter().map(|h| {
        let (mean, requests) = (seconds(h.mean_seconds), count(h.requests));
        (h.host.clone(), format!("{mean} per request, {requests} in all"))
    });
    section(&mut t, "slowest hosts", slowest);
    let most_resting = r.most_resting_hosts.iter().map(|h| {
        let times =
            if h.times == 1 { "once".to_owned() } else { format!("{} times", count(h.times)) };
        (h.host.clone(), format!("{}, {times}: {}", seconds(h.rested_seconds), h.reason))
    });
    section(&mut t, "most-resting hosts", most_resting);
    let heading =
        out.map_or("archive (not kept)".to_owned(), |out| format!("archive in {}", out.display()));
    section(&mut t, &heading, r.archive.iter().map(|f| (f.path.clone(), bytes(f.bytes))));
    t
}

fn totals(t: &mut String, r: &Report) {
    let mean = bytes(r.totals.bytes.checked_div(r.totals.pages).unwrap_or(0));
    let mut rows = vec![
        ("pages".to_owned(), count(r.totals.pages)),
        ("bytes".to_owned(), format!("{} ({mean} per page)", bytes(r.totals.bytes))),
        ("duplicates".to_owned(), count(r.totals.duplicates)),
        ("robots.txt".to_owned(), count(r.totals.robots_fetched)),
        ("hosts".to_owned(), count(r.totals.hosts)),
        ("URLs seen".to_owned(), count(r.totals.urls_seen)),
        ("URLs left".to_owned(), count(r.totals.urls_queued)),
    ];
    let rare = [
        ("near-duplicates", r.totals.near_duplicates),
        ("truncated pages", r.totals.truncated),
        ("seeds rejected", r.seeds.refused),
    ];
    let rare = rare.into_iter().filter(|(_, n)| *n > 0);
    rows.extend(rare.map(|(name, n)| (name.to_owned(), count(n))));
    section(t, "totals", rows);
}

/// Returns the rows, largest first.
fn by_size(map: &BTreeMap<String, u64>) -> Vec<(String, u64)> {
    let mut rows: Vec<_> = map.iter().map(|(name, n)| (name.clone(), *n)).collect();
    rows.sort_by(|(a, n), (b, m)| m.cmp(n).then_with(|| a.cmp(b)));
    rows
}

/// Returns right-aligned counts.
fn numbers(rows: impl IntoIterator<Item = (String, u64)>) -> Vec<(String, String)> {
    let rows: Vec<_> = rows.into_iter().map(|(name, n)| (name, count(n))).collect();
    let width = rows.iter().map(|(_, n)| n.len()).max().unwrap_or(0);
    rows.into_iter().map(|(name, n)| (name, format!("{n:>width$}"))).collect()
}

/// Returns counts with the meaning of each reason.
fn explained(rows: Vec<(String, u64)>) -> Vec<(String, String)> {
    let explain = |(name, n): (String, String)| match Discard::from_name(&name) {
        Some(reason) => (name, format!("{n}  {}", reason.description())),
        None => (name, n),
    };
    numbers(rows).into_iter().map(explain).collect()
}

/// Appends a heading and rows of two aligned columns.
fn section(t: &mut String, heading: &str, rows: impl IntoIterator<Item = (String, String)>) {
    let rows: Vec<_> = rows.into_iter().collect();
    if rows.is_empty() {
        return;
    }
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    *t += &format!("  {heading}\n");
    for (name, value) in rows {
        *t += &format!("    {name:<width$}  {value}\n");
    }
}

fn seconds(s: f64) -> String {
    duration(Duration::try_from_secs_f64(s).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_agent::report::{Ended, ReportTotals, RestingHost, SeedCounts};

    #[test]
    fn the_summary_has_all_sections_that_are_not_empty() {
        let report = Report {
            ended: Ended::Exhausted,
            elapsed_seconds: 83.2,
            totals: ReportTotals { pages: 1_200, bytes: 12 << 20, ..ReportTotals::default() },
            pages_by_status: BTreeMap::from([(200, 1_000), (404, 200)]),
            skipped: BTreeMap::from([("depth".to_owned(), 7), ("robots".to_owned(), 1_900)]),
            seeds: SeedCounts { taken: 3, refused: 2 },
            most_resting_hosts: vec![RestingHost {
                host: "slow.example".to_owned(),
                rested_seconds: 60.0,
                times: 1,
                reason: "slow-down".to_owned(),
            }],
            ..Report::default()
        };
        let text = text(&report, Some(Path::new("crawl")));
        for part in [
            "after 1 min 23 s: nothing left to fetch.",
            "pages           1,200",
            "12.0 MiB (10.2 KiB per page)",
            "seeds rejected  2",
            "    200  1,000\n    404    200",
            "    robots  1,900  disallowed by robots.txt\n    depth       7  further from",
            "slow.example  1 min, once: slow-down",
        ] {
            assert!(text.contains(part), "no {part:?} in\n{text}");
        }
        for absent in ["errors", "archive", "slowest", "resumed", "truncated"] {
            assert!(!text.contains(absent), "{absent:?} in\n{text}");
        }
    }
}
