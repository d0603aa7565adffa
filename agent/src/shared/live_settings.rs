//! The live settings of this agent.
//!
//! ```text
//!   coordinator ── Live ──► watch ──► LiveSettings ──┬► link rules, blocked and paused hosts,
//!                                                    │  connection lifetimes        (at once)
//!                                                    ├► writer: crawl database with the order of
//!                                                    │  queues and recrawl; archive (next round)
//!                                                    ├► parsers: rules of pages     (next round)
//!                                                    └► scheduler: workbench        (after that)
//! ```
//! The crawl database applies settings first: it sets the page limit of each host, and must have
//! sent all hosts with older limits before the workbench applies new ones.

use crate::messages::{BlockAndPauseList, BlockCount, MinHostDelay};
use crate::process::RulesInForce;
use crate::process::links::LinkRules;
use arc_swap::ArcSwap;
use crivello_common::config::Live;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use tokio::sync::Notify;

/// Snapshot of the live settings.
#[derive(Debug)]
pub struct SettingsRevision {
    /// Revision number from the coordinator; 0 for an agent that is alone.
    pub revision: u64,
    /// The settings.
    pub live: Live,
}

/// Live settings, and the revisions that the crawl database and the workbench have applied.
#[derive(Debug)]
pub struct LiveSettings {
    latest: ArcSwap<SettingsRevision>,
    /// Revision that the crawl database has applied.
    crawldb: AtomicU64,
    /// Revision that the workbench has applied, and so all stages.
    workbench: AtomicU64,
    /// Blocked and paused hosts.
    pub block_and_pause_list: BlockAndPauseList,
    /// The shortest delay between two visits to a host.
    pub min_host_delay: MinHostDelay,
    /// Notifies the task that reports the page quota when there are new settings.
    pub changed: Notify,
    /// Notifies the task that takes over ranks of hosts when there are new settings.
    pub ranks_changed: Notify,
    /// Counts of dropped hosts and URLs for each block entry, as of the writer's last turn.
    pub blocks: Mutex<Vec<BlockCount>>,
}

impl LiveSettings {
    /// Creates the live settings with those at the start.
    pub fn new(live: &Live) -> Self {
        Self {
            latest: ArcSwap::from_pointee(SettingsRevision { revision: 0, live: live.clone() }),
            crawldb: AtomicU64::new(0),
            workbench: AtomicU64::new(0),
            block_and_pause_list: BlockAndPauseList::of(live),
            min_host_delay: MinHostDelay::of(live),
            changed: Notify::new(),
            ranks_changed: Notify::new(),
            blocks: Mutex::default(),
        }
    }

    /// Sets the revision of the settings at the start.
    pub fn begin(&self, revision: u64) {
        let live = self.latest.load().live.clone();
        self.latest.store(Arc::new(SettingsRevision { revision, live }));
        self.crawldb.store(revision, Release);
        self.workbench.store(revision, Release);
    }

    /// Returns the latest settings: those in force, or about to be.
    pub fn latest(&self) -> Arc<SettingsRevision> {
        self.latest.load_full()
    }

    /// Returns the revision of the latest settings.
    pub fn revision(&self) -> u64 {
        self.latest.load().revision
    }

    /// Returns the revision that all stages have applied.
    pub fn in_force(&self) -> u64 {
        self.workbench.load(Acquire)
    }

    /// Sets new settings. Link rules, blocked hosts and the shortest delay are in force on return.
    pub fn put(&self, live: Live, revision: u64, rules: &RulesInForce, compiled: LinkRules) {
        rules.store(Arc::new(compiled));
        self.block_and_pause_list.replace(&live);
        self.min_host_delay.replace(&live);
        self.latest.store(Arc::new(SettingsRevision { revision, live }));
        self.changed.notify_one();
        self.ranks_changed.notify_one();
    }

    /// Returns settings that the crawl database must apply.
    pub fn pending_for_crawldb(&self) -> Option<Arc<SettingsRevision>> {
        let latest = self.latest.load();
        (latest.revision > self.crawldb.load(Acquire)).then(|| Arc::clone(&latest))
    }

    /// Records that the crawl database has applied this revision.
    pub fn crawldb_applied(&self, revision: u64) {
        self.crawldb.store(revision, Release);
    }

    /// Returns settings that the workbench must apply: those that the crawl database has applied.
    pub fn pending_for_workbench(&self) -> Option<Arc<SettingsRevision>> {
        let latest = self.latest.load();
        let known = latest.revision == self.crawldb.load(Acquire);
        (known && latest.revision > self.workbench.load(Acquire)).then(|| Arc::clone(&latest))
    }

    /// Records that the workbench has applied this revision.
    pub fn workbench_applied(&self, revision: u64) {
        self.workbench.store(revision, Release);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::config::Settings;
    use crivello_common::identity::KeyedHasher;
    use std::time::Duration;

    #[test]
    fn a_revision_is_in_force_once_the_crawl_database_and_then_the_workbench_have_applied_it() {
        let settings = Settings::default();
        let rules: RulesInForce = Arc::new(ArcSwap::from_pointee(
            LinkRules::compile(&settings.live, &settings.fixed, KeyedHasher::with_public_key())
                .unwrap(),
        ));
        let live = LiveSettings::new(&settings.live);
        live.begin(3);
        assert!(live.pending_for_crawldb().is_none() && live.pending_for_workbench().is_none());
        let hasher = KeyedHasher::with_public_key();
        let compiled = LinkRules::compile(&settings.live, &settings.fixed, hasher).unwrap();
        let mut brisk = settings.clone();
        brisk.live.politeness.delay = Duration::from_millis(70);
        live.put(brisk.live.clone(), 4, &rules, compiled.clone());
        assert_eq!(live.min_host_delay.get(), brisk.live.politeness.delay);
        assert!(
            live.pending_for_workbench().is_none(),
            "the workbench got settings before the crawl database"
        );
        let offered = live.pending_for_crawldb().unwrap();
        // Another one comes in between.
        live.put(settings.live, 5, &rules, compiled);
        live.crawldb_applied(offered.revision);
        assert!(
            live.pending_for_workbench().is_none(),
            "the workbench got settings that the crawl database has not applied"
        );
        live.crawldb_applied(live.pending_for_crawldb().unwrap().revision);
        assert_eq!((live.in_force(), live.pending_for_workbench().unwrap().revision), (3, 5));
        live.workbench_applied(5);
        assert_eq!((live.in_force(), live.revision()), (5, 5));
        assert!(live.pending_for_crawldb().is_none() && live.pending_for_workbench().is_none());
    }
}
