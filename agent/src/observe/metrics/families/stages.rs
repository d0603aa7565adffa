//! Metrics of the stages of a URL's way: durations, and queues between stages.

use crate::observe::metrics::reading::Reading;
use crivello_common::metrics::{MetricFamily, counter, gauge, timing};

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge(
        "crivello_queue_items",
        "items",
        &["queue"],
        "Items in each queue of the drawing in ARCHITECTURE.md: visits and names for the fetchers; answers of the fetchers, to-workbench and ip-lease-events for the scheduler; results for a parser; pages for a commit; batches of seeds; arrivals from other agents and people",
        |r, s| {
            for &(queue, n) in &r.queues {
                s.of(&[queue], n);
            }
        },
    ),
    gauge(
        "crivello_queue_bytes",
        "bytes",
        &["queue"],
        "Bytes of bodies that wait for a parser, and of records and links that wait for a commit",
        |r, s| {
            let (bodies, pages) = r.shared.pipeline.bytes();
            s.of(&["parser"], bodies);
            s.of(&["commit"], pages);
        },
    ),
    timing(
        "crivello_queue_wait_seconds",
        &["queue"],
        "parser: from the end of a request until a parser takes its result; commit: from the first message of a commit until it begins",
        |r, s| {
            s.of(&["parser"], &r.shared.measured.parser_wait);
            s.of(&["commit"], &r.shared.measured.commit_wait);
        },
    ),
    timing("crivello_dns_duration_seconds", &[], "Queries to a name server", |r, s| {
        if let Some(times) = r.dns.times() {
            s.one(times);
        }
    }),
    counter(
        "crivello_dns_answers_total",
        "answers",
        &["answer"],
        "Names that were resolved, from the cache or by a query, by result",
        |r, s| {
            for (answer, n) in r.dns.answers() {
                s.of(&[answer], n);
            }
        },
    ),
    counter(
        "crivello_dns_answers_cached_total",
        "answers",
        &[],
        "Names that were resolved from the cache",
        |r, s| s.one(r.dns.answers_cached()),
    ),
    timing(
        "crivello_connect_duration_seconds",
        &[],
        "Establishing a connection, TLS included",
        |r, s| s.one(r.context.timings().connect.times()),
    ),
    timing(
        "crivello_first_byte_duration_seconds",
        &[],
        "From the request to the head of the response, robots.txt included",
        |r, s| s.one(&r.context.timings().first_byte),
    ),
    timing(
        "crivello_request_duration_seconds",
        &[],
        "Requests for pages, to the end of the body or the failure",
        |r, s| s.one(&r.context.timings().request),
    ),
    timing(
        "crivello_robots_duration_seconds",
        &[],
        "Requests for robots.txt, to the end of the body or the failure",
        |r, s| {
            s.one(&r.context.timings().robots);
        },
    ),
    timing(
        "crivello_parse_duration_seconds",
        &[],
        "Processing a response: links, digest, records and their compression",
        |r, s| s.one(&r.shared.measured.parse),
    ),
    timing(
        "crivello_store_duration_seconds",
        &[],
        "Appending the records of a commit to the archive, and the sync",
        |r, s| s.one(&r.shared.measured.store),
    ),
    timing(
        "crivello_commit_duration_seconds",
        &[],
        "The rest of a commit, the sieve included",
        |r, s| s.one(&r.shared.measured.commit),
    ),
    timing(
        "crivello_sieve_duration_seconds",
        &[],
        "Looking up a batch of URLs in the sieve",
        |r, s| s.one(r.look_ups.times()),
    ),
    timing(
        "crivello_state_sync_duration_seconds",
        &[],
        "Syncing the write-ahead log, every state.sync-interval",
        |r, s| s.one(&r.shared.measured.state_sync),
    ),
    counter(
        "crivello_sieve_offered_total",
        "URLs",
        &[],
        "URLs given to the sieve, in this run",
        |r, s| s.one(r.sieve.offered),
    ),
    counter(
        "crivello_sieve_recent_total",
        "URLs",
        &[],
        "Of these, found in the table of recent URLs",
        |r, s| s.one(r.sieve.recent),
    ),
    counter(
        "crivello_sieve_looked_up_total",
        "URLs",
        &[],
        "Of these, looked up in the seen set that state.sieve names, by default on disk",
        |r, s| s.one(r.sieve.looked_up),
    ),
    counter("crivello_sieve_fresh_total", "URLs", &[], "Of these, new", |r, s| {
        s.one(r.sieve.fresh);
    }),
    gauge(
        "crivello_sieve_loss_rate",
        "1",
        &[],
        "The share of new URLs that a Bloom filter (state.sieve) takes for known, at its current fill",
        |r, s| s.one(r.sieve.losses.rate),
    ),
    gauge(
        "crivello_sieve_lost_urls",
        "URLs",
        &[],
        "Estimated number of new URLs that it took for known, in this run",
        |r, s| s.one(r.sieve.losses.urls),
    ),
];
