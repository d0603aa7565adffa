//! Judgment of a cluster that has ended, by the web's log and by the archives of all its agents.

use super::Cluster;
use super::process::read_log;
use crate::is_page;
use crate::warc::{Archive, listed};
use simweb::{Entry, Judgment};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// Number of pages that a failure lists.
const SHOWN_MAX: usize = 40;

/// The result of a cluster that has ended.
#[derive(Debug)]
pub struct Ended {
    /// Judgment by the web's log.
    pub report: Judgment,
    /// Number of distinct archived pages.
    pub n_archived: usize,
    /// Number of captures of pages beyond the first of each.
    pub n_archived_again: u64,
}

impl Cluster {
    /// Waits for the end of the crawl, stops the cluster, and judges it: see [`Self::wait`],
    /// [`Self::stop`] and [`Self::assert_clean`].
    ///
    /// # Panics
    /// Panics on a timeout, if a process does not end in order, or on a violation.
    pub fn finish(&mut self, repeats_max: u64) -> Ended {
        self.wait();
        let _ = self.stop();
        self.assert_clean(repeats_max)
    }

    /// Judges a stopped cluster. Each due page was fetched at the promised pace, and at most
    /// `repeats_max` were fetched again. Each is archived, and at most as many are archived again,
    /// except pages that only an agent with a deleted disk had.
    ///
    /// # Panics
    /// Panics if that is not the case.
    pub fn assert_clean(&self, repeats_max: u64) -> Ended {
        self.assert_quiet();
        let log = self.web.log().entries();
        let report = self.judge().allow_repeats(repeats_max).judge(&log);
        assert!(report.is_clean(), "{report}\n{}", self.account());
        let unknown = log.iter().filter(|entry| self.name_of(entry).is_none()).count();
        assert!(unknown * 20 <= log.len(), "{unknown} requests have no known sender");
        let archived = self.archived();
        let again = archived.values().map(|n| n - 1).sum();
        let twice: Vec<_> = archived.iter().filter(|&(_, &n)| n > 1).collect();
        assert!(again <= repeats_max, "{again} pages archived again: {twice:?}");
        let had = |entry: &Entry| self.name_of(entry).is_some_and(|name| self.lost.contains(name));
        let wrong = disagreements(&log, &archived, had);
        let sent = |line: &&String| {
            let senders: BTreeSet<_> = log
                .iter()
                .filter(|entry| entry.complete && line.ends_with(&entry.url()))
                .map(|entry| self.name_of(entry).unwrap_or("unknown"))
                .collect();
            format!("{line}, fetched by {senders:?}")
        };
        let shown: Vec<String> = wrong.iter().take(SHOWN_MAX).map(|line| sent(&line)).collect();
        let (n, lost) = (wrong.len(), &self.lost);
        assert!(wrong.is_empty(), "{n} pages; deleted disks {lost:?}\n{}", shown.join("\n"));
        Ended { report, n_archived: archived.len(), n_archived_again: again }
    }

    /// Checks that each answered page is in an archive.
    ///
    /// # Panics
    /// Panics if one is not.
    pub fn assert_all_archived(&self) {
        let wrong = disagreements(&self.web.log().entries(), &self.archived(), |_| false);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// Returns the pages that the agents have archived, without those of lost disks, and validates each archive.
    #[must_use]
    pub fn archived_pages(&self) -> BTreeSet<String> {
        self.archived().into_keys().collect()
    }

    /// Returns how often each page is archived, over all agents, and validates each archive.
    fn archived(&self) -> BTreeMap<String, u64> {
        let mut archives = Vec::new();
        for (name, agent) in &self.agents {
            if self.lost.contains(name) && agent.process.is_none() && !self.disk(name).exists() {
                continue;
            }
            assert!(agent.in_order, "{name} did not end orderly, so its archive cannot be read");
            archives.push(Archive::read_part(&self.disk(name)));
        }
        // Only with that setting may a revisit refer to the archive of another agent.
        let has_peers = self.settings.iter().any(|setting| setting == "store.peer-revisits=true");
        let others = if has_peers { &archives[..] } else { &[] };
        archives.iter().for_each(|archive| archive.check_originals(others));
        let mut archived = BTreeMap::new();
        let pages = archives.iter().flat_map(Archive::captures);
        for page in pages.filter(|record| !record.is_robots()) {
            *archived.entry(page.url().to_owned()).or_default() += 1;
        }
        archived
    }

    /// Checks that no process has logged an error or a panic.
    fn assert_quiet(&self) {
        for log in listed(self.dir(), ".log") {
            for line in read_log(&log).lines() {
                let loud = line.contains("ERROR") || line.contains("panicked");
                let expected = self.allowed_log_lines.iter().any(|part| line.contains(part));
                assert!(!loud || expected, "in {}: {line}", log.display());
            }
        }
    }
}

/// Returns the differences between log and archives: pages archived but never answered, and pages
/// answered but not archived, except those of `lost` agents.
fn disagreements(
    log: &[Entry],
    archived: &BTreeMap<String, u64>,
    lost: impl Fn(&Entry) -> bool,
) -> Vec<String> {
    let answered = || log.iter().filter(|entry| is_page(entry) && entry.complete);
    let urls: HashSet<String> = answered().map(Entry::url).collect();
    let gone: HashSet<String> = answered().filter(|entry| lost(entry)).map(Entry::url).collect();
    let made_up = archived.keys().filter(|url| !urls.contains(*url));
    let made_up = made_up.map(|url| format!("archived, but never answered: {url}"));
    let absent = urls.iter().filter(|url| !archived.contains_key(*url) && !gone.contains(*url));
    let absent = absent.map(|url| format!("answered, but archived nowhere: {url}"));
    made_up.chain(absent).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(path: &str, process: u32) -> Entry {
        let path = path.to_owned();
        let host = "h.test".to_owned();
        Entry { host, path, port: 80, complete: true, process: Some(process), ..Entry::default() }
    }

    #[test]
    fn only_a_lost_disk_excuses_a_page_that_is_archived_nowhere() {
        let broken = Entry { complete: false, ..page("/broken", 2) };
        let log = [page("/a", 1), page("/b", 2), page("/robots.txt", 2), broken];
        let lost = |entry: &Entry| entry.process == Some(2);
        let archived = |paths: &[&str]| -> BTreeMap<String, u64> {
            paths.iter().map(|path| (format!("http://h.test{path}"), 1)).collect()
        };
        assert_eq!(disagreements(&log, &archived(&["/a", "/b"]), |_| false), [""; 0]);
        assert_eq!(disagreements(&log, &archived(&["/a"]), lost), [""; 0]);
        for (paths, word) in [(&["/a"][..], "nowhere: http://h.test/b"), (&["/b"], "/a")] {
            let wrong = disagreements(&log, &archived(paths), |_| false);
            assert!(wrong.len() == 1 && wrong[0].contains(word), "{wrong:?}");
        }
        let wrong = disagreements(&log, &archived(&["/a", "/b", "/c"]), lost);
        assert!(wrong.len() == 1 && wrong[0].contains("never answered"), "{wrong:?}");
    }
}
