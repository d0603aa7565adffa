//! Every bound of the house that is not a setting, with the reason for each, and their relations.

use crivello_common::config::Settings;
use std::time::Duration;

/// Redirects followed on the way to a robots.txt (RFC 9309 section 2.3.1.2).
pub const ROBOTS_HOPS_MAX: u8 = 5;
/// Bytes of a robots.txt that are read (RFC 9309 section 2.5).
pub const ROBOTS_SIZE_MAX: usize = 500 * 1024;
/// URLs taken from one sitemap (sitemaps.org); from a page it is `links.per-page-max`.
pub const SITEMAP_URLS_MAX: usize = 50_000;
/// Pages between the fetchers and the ledger: what the pipeline may hold; fetchers stop beyond it.
pub const PIPELINE_PAGES_MAX: usize = 4_096;
/// Bytes of bodies between the fetchers and the parsers, and of records and links between the
/// parsers and the ledger: no visit goes on, and no parser either, while there are more.
pub const PIPELINE_BYTES_MAX: usize = 64 << 20;
/// URLs handed to one visit at the most (only where no delay is asked for).
pub const URLS_A_VISIT_MAX: usize = 32;
/// Verdicts, resolutions and replies waiting for the scheduler; above the visits in flight.
pub const DESK_QUEUE: usize = 16_384;
/// Messages waiting for the ledger.
pub const LEDGER_QUEUE: usize = 8_192;
/// Bytes of a body that every visit may hold: nearly all pages need no more.
pub const BODY_FREE: usize = 64 << 10;
/// Bytes of the bodies that are longer, as far as they may be allowed to grow; from when they
/// exceed [`BODY_FREE`] until they are parsed. Who finds no room waits.
pub const BODIES_BYTES_MAX: usize = 64 << 20;
/// Batches of seeds on their way to the commit.
pub const SEED_BATCHES_MAX: usize = 64;
/// Files that the database keeps open.
pub const DATABASE_FILES_MAX: i32 = 512;
/// Files, sockets and pipes beside those of connections, names and the database.
pub const FILES_SPARE: u64 = 128;
/// Idle connections kept, over all hosts: some dozens of KiB and a file descriptor each.
pub const IDLE_CONNECTIONS_MAX: usize = 2_048;
/// A body is not judged by its rate before this.
pub const RATE_GRACE: Duration = Duration::from_secs(10);
/// Bytes of records that go to the archive in one write.
pub const ARCHIVE_WRITE_BYTES: usize = 1 << 20;
/// Bytes of index lines that are sorted in memory at once; more are sorted in runs and merged.
pub const INDEX_RUN_BYTES: usize = 16 << 20;

const _: () = assert!(DESK_QUEUE >= 2 * PIPELINE_PAGES_MAX);

/// The visits that `files` open files let happen at once: each may leave an idle connection
/// behind.
#[must_use]
pub fn visits_max(settings: &Settings, files: u64) -> u64 {
    (files_for_connections(settings, files) / 2).max(1)
}

/// The idle connections that `files` open files leave room for.
#[must_use]
pub fn idle_max(settings: &Settings, files: u64) -> usize {
    let visits = u64::from(settings.fetch.visits_max);
    let left = files_for_connections(settings, files).saturating_sub(visits);
    usize::try_from(left).unwrap_or(usize::MAX).min(IDLE_CONNECTIONS_MAX)
}

fn files_for_connections(settings: &Settings, files: u64) -> u64 {
    let names = u64::from(settings.dns.queries_max);
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
