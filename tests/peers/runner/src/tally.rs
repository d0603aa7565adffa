//! What a crawler fetched, by the web's own access log.

use simweb::Entry;
use std::collections::HashSet;

/// What was asked for in one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pages that were sent in full, each counted once.
    pub pages: usize,
    /// Pages that should have been among them and are not.
    pub missing: usize,
    /// Pages among them that a visitor who respects `nofollow` leaves out.
    pub besides: usize,
    /// Answers with a page that had been sent before.
    pub repeated: usize,
    /// Requests for a robots.txt.
    pub robots: usize,
    /// Other requests: those that got no page, or not all of it.
    pub failed: usize,
}

impl Tally {
    /// Counts a log against the pages that are due.
    pub fn of(log: &[Entry], due: &HashSet<String>) -> Self {
        let mut tally = Self::default();
        let mut seen = HashSet::with_capacity(due.len());
        for entry in log {
            if entry.path == "/robots.txt" {
                tally.robots += 1;
            } else if entry.status != 200 || !entry.complete {
                tally.failed += 1;
            } else if !seen.insert(entry.url()) {
                tally.repeated += 1;
            }
        }
        tally.pages = seen.len();
        tally.besides = seen.iter().filter(|&url| !due.contains(url)).count();
        tally.missing = due.len() + tally.besides - tally.pages;
        tally
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str, status: u16, complete: bool) -> Entry {
        let host = "a.test".to_owned();
        Entry { host, port: 80, path: path.to_owned(), status, complete, ..Entry::default() }
    }

    #[test]
    fn each_page_counts_once_and_only_when_it_came_in_full() {
        let due = ["/", "/1", "/2"].map(|path| format!("http://a.test{path}")).into();
        let log = [
            entry("/robots.txt", 200, true),
            entry("/", 200, true),
            entry("/", 200, true),
            entry("/1", 200, false),
            entry("/2", 200, true),
            entry("/3", 404, true),
            entry("/hidden", 200, true),
        ];
        let tally = Tally::of(&log, &due);
        let expected =
            Tally { pages: 3, missing: 1, besides: 1, repeated: 1, robots: 1, failed: 2 };
        assert_eq!(tally, expected);
    }
}
