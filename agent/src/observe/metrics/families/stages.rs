//! Metrics of the stages of a URL's way: durations, and queues between stages.

use crate::observe::metrics::reading::Reading;
use crivello_common::metrics::{MetricFamily, counter, gauge, timing};

pub const ALL: &[MetricFamily<Reading>] = &[
    gauge("crivello_queue_items", "items")
        .labels(&["queue"])
        .help(
            "Items in each queue of the drawing in ARCHITECTURE.md: visits and names for the \
             fetchers; answers of the fetchers, to-workbench and ip-lease-events for the \
             scheduler; results for a parser; pages for a commit; batches of seeds; arrivals \
             from other agents and people",
        )
        .read(|r, s| s.each(r.queues)),
    gauge("crivello_queue_bytes", "bytes")
        .labels(&["queue"])
        .help(
            "Bytes of bodies that wait for a parser, and of records and links that wait for a \
             commit",
        )
        .read(|r, s| {
            let (bodies, pages) = r.shared.pipeline.bytes();
            s.each([("parser", bodies), ("commit", pages)]);
        }),
    timing("crivello_queue_wait_seconds")
        .labels(&["queue"])
        .help(
            "parser: from the end of a request until a parser takes its result; commit: from \
             the first message of a commit until it begins",
        )
        .read(|r, s| {
            let measured = &r.shared.measured;
            s.each([("parser", &measured.parser_wait), ("commit", &measured.commit_wait)]);
        }),
    timing("crivello_dns_duration_seconds")
        .help("Queries to a name server")
        .read(|r, s| s.one(r.dns.times())),
    counter("crivello_dns_answers_total", "answers")
        .labels(&["answer"])
        .help("Names that were resolved, from the cache or by a query, by result")
        .read(|r, s| s.each(r.dns.answers())),
    counter("crivello_dns_answers_cached_total", "answers")
        .help("Names that were resolved from the cache")
        .read(|r, s| s.one(r.dns.answers_cached())),
    timing("crivello_connect_duration_seconds")
        .help("Establishing a connection, TLS included")
        .read(|r, s| s.one(r.context.timings().connect.times())),
    timing("crivello_first_byte_duration_seconds")
        .help("From the request to the head of the response, robots.txt included")
        .read(|r, s| s.one(&r.context.timings().first_byte)),
    timing("crivello_request_duration_seconds")
        .help("Requests for pages, to the end of the body or the failure")
        .read(|r, s| s.one(&r.context.timings().request)),
    timing("crivello_robots_duration_seconds")
        .help("Requests for robots.txt, to the end of the body or the failure")
        .read(|r, s| s.one(&r.context.timings().robots)),
    timing("crivello_parse_duration_seconds")
        .help("Processing a response: links, digest, records and their compression")
        .read(|r, s| s.one(&r.shared.measured.parse)),
    timing("crivello_store_duration_seconds")
        .help("Appending the records of a commit to the archive, and the sync")
        .read(|r, s| s.one(&r.shared.measured.store)),
    timing("crivello_commit_duration_seconds")
        .help("The rest of a commit, the sieve included")
        .read(|r, s| s.one(&r.shared.measured.commit)),
    timing("crivello_sieve_duration_seconds")
        .help("Looking up a batch of URLs in the sieve")
        .read(|r, s| s.one(r.look_ups.times())),
    timing("crivello_state_sync_duration_seconds")
        .help("Syncing the write-ahead log, every state.sync-interval")
        .read(|r, s| s.one(&r.shared.measured.state_sync)),
    counter("crivello_sieve_offered_total", "URLs")
        .help("URLs given to the sieve, in this run")
        .read(|r, s| s.one(r.sieve.offered)),
    counter("crivello_sieve_recent_total", "URLs")
        .help("Of these, found in the table of recent URLs")
        .read(|r, s| s.one(r.sieve.recent)),
    counter("crivello_sieve_looked_up_total", "URLs")
        .help("Of these, looked up in the seen set that state.sieve names, by default on disk")
        .read(|r, s| s.one(r.sieve.looked_up)),
    counter("crivello_sieve_fresh_total", "URLs")
        .help("Of these, new")
        .read(|r, s| s.one(r.sieve.fresh)),
    gauge("crivello_sieve_loss_rate", "1")
        .help(
            "The share of new URLs that a filter (state.sieve) takes for known, at its current fill",
        )
        .read(|r, s| s.one(r.sieve.losses.rate)),
    gauge("crivello_sieve_lost_urls", "URLs")
        .help("Estimated number of new URLs that it took for known, in this run")
        .read(|r, s| s.one(r.sieve.losses.urls)),
    counter("crivello_sieve_overflow_total", "URLs")
        .help(
            "Of the URLs looked up in quotient filters (state.sieve), those that were looked up on disk: their \
             filters are full or not filled yet",
        )
        .read(|r, s| s.one(r.sieve.overflow.looked_up)),
    gauge("crivello_sieve_full", "1")
        .help("1 if quotient filters (state.sieve) had too little memory at some time in this run")
        .read(|r, s| s.one(u64::from(r.sieve.overflow.is_full))),
    gauge("crivello_inlinks_urls", "URLs")
        .help("URLs with more than one link, as far as they are counted (url.inlinks in links.priority)")
        .read(|r, s| s.one(r.inlinks.urls)),
    gauge("crivello_inlinks_full", "1")
        .help("1 if links were not counted, because state.inlinks-memory is full")
        .read(|r, s| s.one(u64::from(r.inlinks.is_full))),
];
