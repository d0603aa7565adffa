//! Metrics of the crawl's progress. Counters cover all runs, unless their help text limits them to
//! this run.

use crate::observe::metrics::reading::Reading;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::metrics::{MetricFamily, counter, gauge};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_build_info", "1")
        .labels(&["version", "crawl"])
        .help("Always 1: the version of the program and the id of the crawl")
        .read(|r, s| s.of(&[env!("CARGO_PKG_VERSION"), &r.crawl_id], 1_u64)),
    gauge("crivello_uptime_seconds", "seconds")
        .help("Time since this run began")
        .read(|r, s| s.one(Duration::from_millis(r.progress.elapsed_ms))),
    counter("crivello_crawling_seconds_total", "seconds")
        .help("Time spent crawling, over all runs")
        .read(|r, s| s.one(r.totals.elapsed)),
    counter("crivello_pages_fetched_total", "pages")
        .help("Responses that count as pages and are archived; each page once, however often it is fetched")
        .read(|r, s| s.one(r.totals.pages)),
    counter("crivello_fetched_bytes_total", "bytes")
        .help("Bytes of the bodies of these pages, as received")
        .read(|r, s| s.one(r.totals.bytes)),
    counter("crivello_responses_total", "pages")
        .labels(&["status"])
        .help("Responses to requests for pages by the first digit of their status, 1xx to 5xx")
        .read(|r, s| s.each(CLASSES.into_iter().zip(r.progress.pages_by_class.iter().copied()))),
    counter("crivello_pages_duplicate_total", "pages")
        .help("Pages whose content had been archived before")
        .read(|r, s| s.one(r.totals.duplicates)),
    counter("crivello_pages_near_duplicate_total", "pages")
        .help("Pages whose text is nearly that of an earlier page; 0 while pages.near-duplicates is off")
        .read(|r, s| s.one(r.totals.near_duplicates)),
    counter("crivello_pages_truncated_total", "pages")
        .help("Pages whose bodies were cut off")
        .read(|r, s| s.one(r.totals.truncated)),
    counter("crivello_robots_fetched_total", "responses")
        .help("Responses to requests for robots.txt")
        .read(|r, s| s.one(r.totals.robots)),
    counter("crivello_failures_total", "attempts")
        .labels(&["kind"])
        .help("Requests without a usable response, by kind")
        .read(|r, s| {
            s.each(Failure::ALL.map(|kind| (kind.name(), r.totals.failures[kind as usize])));
        }),
    counter("crivello_retries_total", "attempts")
        .help("Failed requests that will be retried")
        .read(|r, s| s.one(r.totals.retries)),
    counter("crivello_discards_total", "URLs")
        .labels(&["reason"])
        .help("URLs and pages that were discarded, by reason")
        .read(|r, s| {
            s.each(Discard::ALL.map(|reason| (reason.name(), r.totals.discards.get(reason))));
        }),
    counter("crivello_links_found_total", "links")
        .help("Links found on pages, before the sieve")
        .read(|r, s| s.one(r.totals.links)),
    counter("crivello_visits_begun_total", "visits")
        .help("Visits to hosts that began, in this run")
        .read(|r, s| s.one(r.shared.measured.visits.load(Relaxed))),
    gauge("crivello_urls_seen", "URLs")
        .help("URLs that are known here, replicas of other agents' URLs included")
        .read(|r, s| s.one(r.totals.seen)),
    gauge("crivello_urls_queued", "URLs")
        .help("URLs that this agent will fetch")
        .read(|r, s| s.one(r.totals.own_queued)),
    gauge("crivello_urls_queued_for_others", "URLs")
        .help("Queued URLs of groups of which this agent holds replicas")
        .read(|r, s| s.one(r.totals.queued.saturating_sub(r.totals.own_queued))),
    gauge("crivello_hosts_known", "hosts")
        .help("Hosts that have a row on disk")
        .read(|r, s| s.one(r.totals.hosts)),
    gauge("crivello_recrawl_scheduled", "URLs")
        .help("Finished URLs that wait for their next fetch; those held for other agents included")
        .read(|r, s| r.progress.recrawl.iter().for_each(|recrawl| s.one(recrawl.scheduled))),
    gauge("crivello_recrawl_queued", "URLs")
        .help("Queued URLs that were answered before")
        .read(|r, s| r.progress.recrawl.iter().for_each(|recrawl| s.one(recrawl.queued))),
    gauge("crivello_recrawl_overdue", "URLs")
        .help(
            "Those of crivello_recrawl_queued that have been due for more than a minute; some that \
             have been due for less than two may be missing. Absent in the first minute after a start",
        )
        .read(|r, s| {
            let overdue = r.progress.recrawl.and_then(|recrawl| recrawl.overdue);
            overdue.into_iter().for_each(|n| s.one(n));
        }),
    counter("crivello_recrawl_visits_total", "visits")
        .labels(&["result"])
        .help("Visits of pages that were fetched before, by result")
        .read(|r, s| {
            if let Some(recrawl) = &r.progress.recrawl {
                s.each([
                    ("changed", recrawl.changed),
                    ("unchanged", recrawl.unchanged),
                    ("not-modified", recrawl.not_modified),
                    ("failed", recrawl.failed),
                ]);
            }
        }),
    counter("crivello_recrawl_new_pages_total", "pages")
        .help("Pages that were found by a first fetch, since pages are fetched again")
        .read(|r, s| r.progress.recrawl.iter().for_each(|recrawl| s.one(recrawl.new))),
    gauge("crivello_recrawl_lateness_seconds", "seconds")
        .help("Time from the due time of a URL to its fetch, averaged over the last thousand visits")
        .read(|r, s| {
            let lateness = r.progress.recrawl.and_then(|recrawl| recrawl.lateness);
            lateness.into_iter().for_each(|late| s.one(late));
        }),
    gauge("crivello_recrawl_freshness", "share")
        .help("Estimated share of pages whose copy is fresh; absent before the first visits")
        .read(|r, s| {
            let freshness = r.progress.recrawl.and_then(|recrawl| recrawl.freshness);
            freshness.into_iter().for_each(|share| s.one(share));
        }),
    gauge("crivello_pages_left", "pages")
        .help(
            "Pages that all agents together may still fetch under limits.pages-max; absent \
             without that limit, and until the coordinator has granted a quota",
        )
        .read(|r, s| r.progress.pages_left.into_iter().for_each(|left| s.one(left))),
];
