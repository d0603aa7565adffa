//! The judgement of a cluster that has ended: by the web's own log, and by the archives of all its
//! agents together.

use super::Cluster;
use super::process::read_log;
use crate::is_page;
use crate::warc::{Archive, listed};
use simweb::Report;
use std::collections::{BTreeMap, HashSet};

/// What was seen of a cluster that has ended.
#[derive(Debug)]
pub struct Ended {
    /// By the web.
    pub report: Report,
    /// Pages archived, each counted once.
    pub n_archived: usize,
    /// Captures of pages beyond the first of each.
    pub n_archived_again: u64,
}

impl Cluster {
    /// Judges a cluster that was stopped: each page due was fetched, at most `repeats_max` of them
    /// again, at the pace that was promised; and each is archived, at most as many again, but
    /// those that only an agent had whose disk was deleted.
    ///
    /// # Panics
    /// When it is not so.
    #[must_use]
    pub fn assert_clean(&self, repeats_max: u64) -> Ended {
        self.assert_quiet();
        let log = self.web.log().entries();
        let report = self.judge().allow_repeats(repeats_max).judge(&log);
        assert!(report.is_clean(), "{report}\n{}", self.account());
        let unknown = log.iter().filter(|entry| self.name_of(entry).is_none()).count();
        assert!(unknown * 20 <= log.len(), "of {unknown} requests it is not known whose they were");
        let archived = self.archived();
        let again = archived.values().map(|n| n - 1).sum();
        let twice: Vec<_> = archived.iter().filter(|&(_, &n)| n > 1).collect();
        assert!(again <= repeats_max, "{again} pages archived again: {twice:?}");
        self.assert_archived(&archived);
        Ended { report, n_archived: archived.len(), n_archived_again: again }
    }

    /// How often each page is archived, over all agents. Each archive is sound in itself.
    fn archived(&self) -> BTreeMap<String, u64> {
        let mut archived = BTreeMap::new();
        for (name, agent) in &self.agents {
            if self.lost.contains(name) && agent.process.is_none() && !self.disk(name).exists() {
                continue;
            }
            assert!(agent.in_order, "{name} did not end in order, its archive cannot be read");
            let archive = Archive::read(&self.disk(name));
            for page in archive.captures().filter(|record| !record.is_robots()) {
                *archived.entry(page.url().to_owned()).or_default() += 1;
            }
        }
        archived
    }

    fn assert_archived(&self, archived: &BTreeMap<String, u64>) {
        let log = self.web.log().entries();
        let answered = log.iter().filter(|entry| is_page(entry) && entry.complete);
        let had = |name: &str| self.lost.contains(name);
        let mut gone = HashSet::new();
        let mut urls = HashSet::new();
        for entry in answered {
            urls.insert(entry.url());
            if self.name_of(entry).is_some_and(had) {
                gone.insert(entry.url());
            }
        }
        let made_up: Vec<_> = archived.keys().filter(|url| !urls.contains(*url)).collect();
        assert!(made_up.is_empty(), "archived, but never answered: {made_up:?}");
        let kept = |url: &&String| !archived.contains_key(*url) && !gone.contains(*url);
        let absent: Vec<_> = urls.iter().filter(kept).collect();
        assert!(absent.is_empty(), "answered, but archived nowhere: {absent:?}");
    }

    /// No process has said that something is wrong with itself.
    fn assert_quiet(&self) {
        for log in listed(self.dir(), ".log") {
            for line in read_log(&log).lines() {
                let loud = line.contains("ERROR") || line.contains("panicked");
                let expected = self.noise.iter().any(|part| line.contains(part));
                assert!(!loud || expected, "in {}: {line}", log.display());
            }
        }
    }
}
