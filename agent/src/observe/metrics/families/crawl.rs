//! Metrics of the crawl's progress. Counters cover all runs, unless their help text limits them to
//! this run.

use crate::observe::metrics::reading::Reading;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::metrics::{MetricFamily, counter, gauge};
use std::sync::atomic::Ordering::Relaxed;

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge(
        "crivello_build_info",
        "1",
        &["version", "crawl"],
        "Always 1: the version of the program and the id of the crawl",
        |r, s| s.of(&[env!("CARGO_PKG_VERSION"), &r.crawl_id], 1_u64),
    ),
    gauge("crivello_uptime_seconds", "seconds", &[], "Time since this run began", |r, s| {
        s.one(r.snapshot.elapsed);
    }),
    counter(
        "crivello_crawling_seconds_total",
        "seconds",
        &[],
        "Time spent crawling, over all runs",
        |r, s| s.one(r.totals.elapsed),
    ),
    counter(
        "crivello_pages_fetched_total",
        "pages",
        &[],
        "Responses that count as pages and are archived",
        |r, s| s.one(r.totals.pages),
    ),
    counter(
        "crivello_fetched_bytes_total",
        "bytes",
        &[],
        "Bytes of the bodies of these pages, as received",
        |r, s| s.one(r.totals.bytes),
    ),
    counter(
        "crivello_responses_total",
        "pages",
        &["status"],
        "These pages by the first digit of their status, 1xx to 5xx",
        |r, s| {
            for (name, n) in ["1xx", "2xx", "3xx", "4xx", "5xx"].iter().zip(r.snapshot.by_class) {
                s.of(&[name], n);
            }
        },
    ),
    counter(
        "crivello_pages_duplicate_total",
        "pages",
        &[],
        "Pages whose content had been archived before",
        |r, s| s.one(r.totals.duplicates),
    ),
    counter(
        "crivello_pages_truncated_total",
        "pages",
        &[],
        "Pages whose bodies were cut off",
        |r, s| s.one(r.totals.truncated),
    ),
    counter(
        "crivello_robots_fetched_total",
        "responses",
        &[],
        "Responses to requests for robots.txt",
        |r, s| s.one(r.totals.robots),
    ),
    counter(
        "crivello_failures_total",
        "attempts",
        &["kind"],
        "Requests without a usable response, by kind",
        |r, s| {
            for kind in Failure::ALL {
                s.of(&[kind.name()], r.totals.failures[kind as usize]);
            }
        },
    ),
    counter(
        "crivello_retries_total",
        "attempts",
        &[],
        "Failed requests that will be retried",
        |r, s| s.one(r.totals.retries),
    ),
    counter(
        "crivello_discards_total",
        "URLs",
        &["reason"],
        "URLs and pages that were discarded for good, by reason",
        |r, s| {
            for reason in Discard::ALL {
                s.of(&[reason.name()], r.totals.discards.get(reason));
            }
        },
    ),
    counter(
        "crivello_links_found_total",
        "links",
        &[],
        "Links found on pages, before the sieve",
        |r, s| s.one(r.totals.links),
    ),
    counter(
        "crivello_visits_begun_total",
        "visits",
        &[],
        "Visits to hosts that began, in this run",
        |r, s| s.one(r.shared.measured.visits.load(Relaxed)),
    ),
    gauge(
        "crivello_urls_seen",
        "URLs",
        &[],
        "URLs that are known here, replicas of other agents' URLs included",
        |r, s| s.one(r.totals.seen),
    ),
    gauge("crivello_urls_queued", "URLs", &[], "URLs that this agent will fetch", |r, s| {
        s.one(r.totals.own_queued);
    }),
    gauge(
        "crivello_urls_queued_for_others",
        "URLs",
        &[],
        "Queued URLs of groups of which this agent holds replicas",
        |r, s| s.one(r.totals.queued.saturating_sub(r.totals.own_queued)),
    ),
    gauge("crivello_hosts_known", "hosts", &[], "Hosts that have a row on disk", |r, s| {
        s.one(r.totals.hosts);
    }),
    gauge(
        "crivello_pages_left",
        "pages",
        &[],
        "Pages that all agents together may still fetch under limits.pages-max; absent without that limit, and until the coordinator has granted a quota",
        |r, s| {
            if let Some(left) = r.snapshot.pages_left {
                s.one(left);
            }
        },
    ),
];
