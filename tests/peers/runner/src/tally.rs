//! Pages that a crawler fetched, by the web's access log.

use simweb::Entry;
use std::collections::HashSet;

/// Requests of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Number of distinct pages that were sent completely.
    pub pages: usize,
    /// Number of expected pages that were not sent.
    pub missing: usize,
    /// Number of sent pages that were not expected, because a visitor that obeys `nofollow` skips
    /// them.
    pub besides: usize,
    /// Number of complete answers with a page that had been sent before.
    pub repeated: usize,
    /// Number of requests for a robots.txt.
    pub robots: usize,
    /// Number of other requests: those without a page, or with an incomplete one.
    pub failed: usize,
}

impl Tally {
    /// Counts a log against the expected pages.
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
