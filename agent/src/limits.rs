//! Every bound of the house that is not a setting, with the reason for each, and their relations.

use crivello_common::config::Settings;
use std::time::Duration;

/// So many URLs of one host in memory at most, by their weight, however much room
/// `state.window-urls-max` leaves.
pub const WINDOW_MAX: usize = 256;
/// At least so many, however little.
pub const WINDOW_MIN: usize = 4;
/// Redirects followed on the way to a robots.txt (RFC 9309 section 2.3.1.2).
pub const ROBOTS_HOPS_MAX: u8 = 5;
/// Bytes of a robots.txt that are read (RFC 9309 section 2.5).
pub const ROBOTS_SIZE_MAX: usize = 500 * 1024;
/// Origins (schemes and ports) of one host whose robots.txt is asked for; URLs of more are set
/// aside. Each has rules of its own, and a host has 131,070 of them for nothing.
pub const ORIGINS_A_HOST_MAX: usize = 16;
/// Bytes of compiled robots.txt rules on the workbench: beyond them hosts leave after their visit,
/// and none is asked for.
pub const RULES_BYTES_MAX: usize = 64 << 20;
/// Bytes of compiled rules that a host may have; with more of them it counts as several hosts in
/// the workbench's standing order. Nearly all have less than a tenth.
pub const RULES_A_HOST: usize = 16 << 10;
/// Pages between the fetchers and the crawl database: what the pipeline may hold; fetchers stop beyond it.
pub const PIPELINE_PAGES_MAX: usize = 4_096;
/// Bytes of bodies between the fetchers and the parsers, and of records and links between the
/// parsers and the crawl database: no visit goes on, and no parser either, while there are more.
pub const PIPELINE_BYTES_MAX: usize = 64 << 20;
/// URLs of a visit to a host that has no delay at all: enough to make the visit's own cost small.
pub const NO_DELAY_VISIT_URLS: u32 = 32;
/// Hosts and URLs from the crawl database waiting for the scheduler; what finds no room waits in the
/// crawl database's thread.
pub const DESK_QUEUE: usize = 16_384;
/// Pages, batches of seeds and notes waiting for the crawl database; who finds no room waits.
pub const LEDGER_QUEUE: usize = 8_192;
/// Bytes of a body that every visit may hold: nearly all pages need no more. The same again, over
/// HTTP/2, may wait in the connection. Over HTTP/1.1 it is what one read brings: hyper's buffer
/// grows up to 408 KiB where reads keep filling it, and the client has no setting for it.
pub const BODY_FREE: usize = 64 << 10;
/// Bytes that bodies hold beyond that, all together, until they are parsed. Who finds no room
/// waits. (Where a body may be longer than half of it, that one is on top.)
pub const BODIES_BYTES_MAX: usize = 64 << 20;
/// They are counted in steps of so many bytes.
pub const BODY_UNIT: usize = 64 << 10;
/// While somebody waits for room, bodies that hold some must come at so many bytes a second: one
/// of 2 MiB is through within `fetch.total-timeout` as it stands, one that drips is cut off.
pub const HELD_RATE_MIN: u64 = 16 << 10;
/// That rate is taken over so long: sites send in bursts.
pub const HELD_WINDOW: Duration = Duration::from_secs(4);
/// Batches of seeds on their way to the commit.
pub const SEED_BATCHES_MAX: usize = 32;
/// Batches of one who brings seeds that wait to be safe; no more are read meanwhile.
pub const SEED_BATCHES_A_STREAM: usize = 16;
/// Those who bring seeds at once: all of them together hold no more batches than a few dozen.
pub const SEED_STREAMS_MAX: usize = 4;
/// Files that the database keeps open.
pub const DATABASE_FILES_MAX: i32 = 512;
/// Files, sockets and pipes beside those of connections, names and the database.
pub const FILES_SPARE: u64 = 128;
/// Idle connections kept, over all hosts: some dozens of KiB and a file descriptor each.
pub const IDLE_CONNECTIONS_MAX: usize = 2_048;
/// Hosts whose TLS sessions are remembered, so that the next connection costs less: with eight
/// tickets and a chain of certificates each, some 8 KiB a host.
pub const TLS_HOSTS_REMEMBERED: usize = 4_096;
/// Visits a second that are followed although their URLs are not: failures may come by the thousand.
pub const ALWAYS_TRACED_A_SECOND: u16 = 10;
/// Spans on their way to the diary's task; what finds no room is lost, and counted.
pub const SPANS_QUEUE: usize = 8_192;
/// Spans that people may ask for.
pub const SPANS_KEPT: usize = 4_096;
/// Spans that wait to be exported; the oldest are lost first.
pub const SPANS_PENDING: usize = 16_384;
/// Spans in one call to the collector: well below the 4 MiB that a call may have.
pub const SPANS_A_CALL: usize = 512;
/// URLs of which it is remembered when they were queued or sent, because they are followed.
pub const TRACED_URLS: usize = 65_536;
/// Hosts of which it is remembered when their names were looked up.
pub const LOOKED_UP_HOSTS: usize = 16_384;
/// How often on one agent it is told that the same URL was found: some are on every page.
pub const FOUND_A_URL: u8 = 16;
/// A body is not judged by its rate before this.
pub const RATE_GRACE: Duration = Duration::from_secs(10);
/// How long the turn of an address lasts unless it is lent again.
pub const IP_LEASE_TERM: Duration = Duration::from_secs(10);
/// It is lent at most so long before the address has rested.
pub const IP_LEASE_GRANT_AHEAD: Duration = Duration::from_millis(500);
/// Bytes of packets to one agent that wait to be acknowledged, copies and all else apart: a page
/// or two of work for every millisecond of a round trip. What finds no room stays where it is.
pub const PEER_QUEUE_BYTES: usize = 4 << 20;
/// Packets on one stream that are on their way or wait to be stored.
pub const PEER_WINDOW: usize = 256;
/// Bytes of packets of one stream that wait to be stored here; no more are read meanwhile.
pub const PEER_STREAM_BYTES: usize = 8 << 20;
/// Robots.txt files that other agents have asked for, and those asked of them, at once.
pub const GUESTS_MAX: usize = 1_024;
/// What was heard from other agents and not yet looked at; their links wait beyond it.
pub const PEER_ANSWERS: usize = 8_192;
/// What came from other agents, the coordinator and people, and waits for the writer: more than
/// the streams of some hundred agents bring at once. A packet beyond it is refused, and comes again.
pub const ARRIVALS_QUEUE: usize = 65_536;
/// Fetches that are remembered for queries: some 2 MiB.
pub const FETCHES_REMEMBERED: usize = 10_000;
/// Bytes of the URL that are remembered of each fetch.
pub const FETCH_URL_SHOWN: usize = 512;
/// Queries that wait for the scheduler; more are rejected.
pub const WORKBENCH_QUERIES_MAX: usize = 64;
/// Explanations of a host or a URL that are made at once; others wait.
pub const EXPLANATIONS_AT_ONCE: usize = 8;
/// Rows of a queue that are counted for the number of URLs before one.
pub const AHEAD_MAX: usize = 100_000;
/// Rows that are read for one list of hosts.
pub const HOST_ROWS_MAX: usize = 200_000;

/// Results between the fetchers and the parsers. A visit asks for room before each of its results
/// but the first, which is what it was handed out for: so each may bring one more than the
/// pipeline holds, however many URLs it has.
#[must_use]
pub const fn results_max(visits: usize) -> usize {
    PIPELINE_PAGES_MAX + visits
}

/// The visits that `files` open files let happen at once: each may leave an idle connection
/// behind.
#[must_use]
pub fn visits_max(settings: &Settings, files: u64) -> u64 {
    (files_for_connections(settings, files) / 2).max(1)
}

/// The idle connections that `files` open files leave room for.
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
        assert_eq!(visits_max(&settings, 100), 1, "hopeless, but not none");
        assert_eq!(visits_max(&settings, 1 << 20), 523_840);
        assert_eq!(idle_max(&settings, 1 << 20), IDLE_CONNECTIONS_MAX);
        assert_eq!(idle_max(&settings, 1_024), 0);
        assert_eq!(idle_max(&settings, 896 + 1_000 + 50), 50);
    }
}
