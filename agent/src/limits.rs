//! Bounds that several modules share and that are not settings, each with its reason, and their
//! relations. Bounds of one module are constants at its top.

use crivello_common::config::Settings;
use std::time::Duration;

/// Maximum URLs of one host in memory, by weight, even if `state.window-urls-max` leaves room for
/// more.
pub const WINDOW_MAX: usize = 256;
/// Minimum URLs of one host in memory, by weight, even if there is room for fewer.
pub const WINDOW_MIN: usize = 4;
/// Maximum number of redirects followed on the way to a robots.txt (RFC 9309 section 2.3.1.2).
pub const ROBOTS_HOPS_MAX: u8 = 5;
/// Maximum bytes of a robots.txt that are read (RFC 9309 section 2.5).
pub const ROBOTS_SIZE_MAX: usize = 500 * 1024;
/// Maximum number of origins (scheme and port) of one host whose robots.txt is requested; URLs of
/// other origins are discarded. Each origin has its own rules, and a host has 131,070 origins at no
/// cost.
pub const ORIGINS_A_HOST_MAX: usize = 16;
/// Maximum bytes of compiled robots.txt rules on the workbench. Beyond it, hosts leave after their
/// visit, and no more are requested.
pub const RULES_BYTES_MAX: usize = 64 << 20;
/// Bytes of compiled rules for each host of the workbench's open host request: a host with more rules
/// counts as several. Nearly all hosts have less than a tenth of it.
pub const RULES_A_HOST: usize = 16 << 10;
/// Maximum number of pages in the pipeline between the fetchers and the crawl database; fetchers
/// stop beyond it.
pub const PIPELINE_PAGES_MAX: usize = 4_096;
/// Maximum bytes of bodies between the fetchers and the parsers, and of records and links between
/// the parsers and the crawl database. While there are more, no visit continues; parsers wait while
/// records and links alone exceed it.
pub const PIPELINE_BYTES_MAX: usize = 64 << 20;
/// URLs of a visit to a host without any delay: enough to make the overhead of a visit small.
pub const NO_DELAY_VISIT_URLS: u32 = 32;
/// Maximum time between the moment when a request leaves an agent and its arrival at the server. An
/// agent stops fetching this long before its leases expire: another agent counts the rest of hosts
/// and addresses that it takes over from the expiry. It covers the way to the other side of the world
/// and one retransmission. A quarter of a peer lease, if that is less.
pub const REQUEST_UNDER_WAY_MAX: Duration = Duration::from_millis(500);
/// Capacity of the queue of hosts and URLs from the crawl database to the scheduler. Messages that
/// find no room wait in the writer thread.
pub const SCHEDULER_QUEUE: usize = 16_384;
/// Capacity of the writer's queue of pages, batches of seeds, and messages; senders wait while it
/// is full.
pub const WRITER_QUEUE: usize = 8_192;
/// Bytes of a body that every visit may hold: nearly all pages need no more. Over HTTP/2, the
/// connection may hold as much again. Over HTTP/1.1, it may hold one read: hyper's buffer grows up
/// to 408 KiB while reads keep filling it, and the client has no setting for it.
pub const BODY_FREE: usize = 64 << 10;
/// Maximum bytes that all bodies together hold beyond [`BODY_FREE`], until they are parsed. A body
/// that finds no room waits. (If a body may be longer than half of it, that one comes on top.)
pub const BODIES_BYTES_MAX: usize = 64 << 20;
/// Unit in which these bytes are reserved.
pub const BODY_UNIT: usize = 64 << 10;
/// Minimum rate, in bytes per second, of bodies that hold a reservation while others wait for one.
/// A body of 2 MiB at this rate takes 128 s, about the default `fetch.total-timeout`; a slower body
/// is cut off.
pub const HELD_RATE_MIN: u64 = 16 << 10;
/// Period over which that rate is measured: sites send in bursts.
pub const HELD_WINDOW: Duration = Duration::from_secs(4);
/// Maximum number of batches of seeds on their way to the commit.
pub const SEED_BATCHES_MAX: usize = 32;
/// Maximum number of unanswered batches of one seed stream; no more are read meanwhile.
pub const SEED_BATCHES_A_STREAM: usize = 16;
/// Maximum number of seed streams at once: all together hold at most a few dozen batches.
pub const SEED_STREAMS_MAX: usize = 4;
/// Maximum number of files that the database keeps open.
pub const DATABASE_FILES_MAX: i32 = 512;
/// Files, sockets and pipes apart from those of connections, names and the database.
pub const FILES_SPARE: u64 = 128;
/// Maximum number of idle connections, over all hosts: each takes some dozens of KiB and a file
/// descriptor.
pub const IDLE_CONNECTIONS_MAX: usize = 2_048;
/// Maximum number of hosts whose TLS sessions are kept, so that the next connection costs less:
/// with eight tickets and a certificate chain each, about 8 KiB a host.
pub const TLS_HOSTS_REMEMBERED: usize = 4_096;
/// Maximum number of failed or slow visits per second that are traced although their URLs are not
/// sampled: failures may come by the thousand.
pub const ALWAYS_TRACED_A_SECOND: u16 = 10;
/// Capacity of the queue of spans to the tracer; spans that find no room are lost, and counted.
pub const SPANS_QUEUE: usize = 8_192;
/// Number of the newest spans that are kept for queries.
pub const SPANS_KEPT: usize = 4_096;
/// Maximum number of spans that wait to be exported; the oldest are lost first.
pub const SPANS_PENDING: usize = 16_384;
/// Maximum number of spans in one call to the collector: well below the limit of 4 MiB a call.
pub const SPANS_A_CALL: usize = 512;
/// Maximum number of traced URLs of which the time of queuing or sending is kept.
pub const TRACED_URLS: usize = 65_536;
/// Maximum number of hosts of which the time of the last name look-up is kept.
pub const LOOKED_UP_HOSTS: usize = 16_384;
/// Maximum number of times that one agent records that the same URL was found: some are on every
/// page.
pub const FOUND_A_URL: u8 = 16;
/// Time before the rate of a body is first checked.
pub const RATE_GRACE: Duration = Duration::from_secs(10);
/// Term of an IP lease, unless it is renewed.
pub const IP_LEASE_TERM: Duration = Duration::from_secs(10);
/// Term of the IP lease of an address that no other agent has requested: one call for several visits.
pub const IP_LEASE_LONG_TERM: Duration = Duration::from_secs(60);
/// Maximum time between the grant of an IP lease and the time when the address has rested.
pub const IP_LEASE_GRANT_AHEAD: Duration = Duration::from_millis(500);
/// Maximum bytes of unacknowledged packets to one agent, separate for replicas and for everything
/// else: a page or two of work for every millisecond of a round trip. A packet that finds no room
/// stays where it is.
pub const PEER_QUEUE_BYTES: usize = 4 << 20;
/// Maximum number of packets of one stream that are in flight or wait to be stored.
pub const PEER_WINDOW: usize = 256;
/// Maximum bytes of packets of one stream that wait to be stored here; no more are read meanwhile.
pub const PEER_STREAM_BYTES: usize = 8 << 20;
/// Maximum number of robots.txt requests of other agents at once, and of requests to them.
pub const REMOTE_ROBOTS_MAX: usize = 1_024;
/// Capacity of the queue of answers from other agents; the streams to them wait while it is full.
pub const PEER_ANSWERS: usize = 8_192;
/// Capacity of the writer's queue of messages from other agents, the coordinator and people: more
/// than the streams of about a hundred agents send at once. A packet that finds no room is refused,
/// and is sent again.
pub const ARRIVALS_QUEUE: usize = 65_536;
/// Number of fetches that are kept for queries: about 2 MiB.
pub const FETCHES_REMEMBERED: usize = 10_000;
/// Maximum bytes of the URL that are kept of each fetch.
pub const FETCH_URL_SHOWN: usize = 512;
/// Maximum number of queries that wait for the scheduler; more are rejected.
pub const WORKBENCH_QUERIES_MAX: usize = 64;
/// Maximum number of explanations of a host or a URL at once; others wait.
pub const EXPLANATIONS_AT_ONCE: usize = 8;
/// Maximum number of rows of a queue that are counted to find the number of URLs before one.
pub const AHEAD_MAX: usize = 100_000;
/// Maximum number of rows that are read for one list of hosts.
pub const HOST_ROWS_MAX: usize = 200_000;

/// Returns the capacity of the queue of results between the fetchers and the parsers. A visit
/// checks for room before each of its results but the first, for which it was handed out. So each
/// visit may add one more than the pipeline holds, however many URLs it has.
#[must_use]
pub const fn results_max(visits: usize) -> usize {
    PIPELINE_PAGES_MAX + visits
}

/// Returns the number of concurrent visits that `files` open files allow: each visit may leave an
/// idle connection behind.
#[must_use]
pub fn visits_max(settings: &Settings, files: u64) -> u64 {
    (files_for_connections(settings, files) / 2).max(1)
}

/// Searches of the index at once, each on a blocking thread.
pub const SEARCHES_MAX: usize = 2;
/// Time for which a search waits for others.
pub const SEARCH_WAIT: Duration = Duration::from_secs(2);
/// Streams of captures at once. Each reads files on a blocking thread while its reader takes what it reads.
pub const TAIL_STREAMS_MAX: usize = 16;
/// Time after which a reader of host arcs that takes nothing is disconnected.
pub const HOST_ARCS_WAIT_MAX: Duration = Duration::from_secs(60);
/// Captures of a response; with some hundred bytes each, it is far below the size of a message.
pub const TAIL_BATCH_MAX: usize = 1_000;
/// Time after which a reader of captures that takes nothing is disconnected.
pub const TAIL_WAIT_MAX: Duration = Duration::from_secs(60);
/// Life of a stream of captures: then its reader must present a new ticket.
pub const TAIL_STREAM_MAX: Duration = Duration::from_secs(600);

/// Returns the number of idle connections that `files` open files allow.
#[must_use]
pub fn idle_max(settings: &Settings, files: u64) -> usize {
    let visits = u64::from(settings.fixed.fetch.visits_max);
    let left = files_for_connections(settings, files).saturating_sub(visits);
    usize::try_from(left).unwrap_or(usize::MAX).min(IDLE_CONNECTIONS_MAX)
}

fn files_for_connections(settings: &Settings, files: u64) -> u64 {
    let names = u64::from(settings.fixed.dns.queries_max);
    files.saturating_sub(names + DATABASE_FILES_MAX.unsigned_abs() as u64 + FILES_SPARE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_get_the_files_that_are_left() {
        let settings = Settings::default();
        assert_eq!(visits_max(&settings, 1_024), 64);
        assert_eq!(visits_max(&settings, 100), 1, "expected at least one visit");
        assert_eq!(visits_max(&settings, 1 << 20), 523_840);
        assert_eq!(idle_max(&settings, 1 << 20), IDLE_CONNECTIONS_MAX);
        assert_eq!(idle_max(&settings, 1_024), 0);
        assert_eq!(idle_max(&settings, 896 + 1_000 + 50), 50);
    }
}
