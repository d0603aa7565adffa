//! The settings that this agent goes by, changed while it runs.
//!
//! ```text
//!   coordinator ── CrawlSettings ──► watch ──► Live ──┬► link rules, what is barred, how long
//!                                                     │  connections are kept         (at once)
//!                                                     ├► accountant: ledger           (its next look)
//!                                                     └► scheduler: workbench         (after that)
//! ```
//! The ledger goes first: it says how many pages a host may have, and a host that it handed over under
//! older settings is then known to the workbench when that takes them up.

use crate::links::LinkRules;
use crate::messages::{Barred, BlockCount, RestMin};
use arc_swap::ArcSwap;
use crivello_common::config::Settings;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Release};
use tokio::sync::Notify;

/// The link rules in force.
pub type RulesInForce = Arc<ArcSwap<LinkRules>>;

/// Settings with their number.
#[derive(Debug)]
pub struct Revised {
    /// The coordinator's number; 0 for an agent that is alone.
    pub revision: u64,
    /// Those that are live are as in this revision, all others as at the start.
    pub settings: Settings,
}

/// See the module.
#[derive(Debug)]
pub struct Live {
    latest: ArcSwap<Revised>,
    /// The revision that the ledger goes by.
    ledger: AtomicU64,
    /// The revision that the workbench goes by, and with it all rooms.
    bench: AtomicU64,
    /// What is blocked and paused.
    pub barred: Barred,
    /// How long hosts rest.
    pub rest_min: RestMin,
    /// Whoever counts pages against the limit hears of new settings.
    pub changed: Notify,
    /// What came of what is blocked, as of the accountant's last look.
    pub blocks: Mutex<Vec<BlockCount>>,
}

impl Live {
    /// With the settings of the start.
    pub fn new(settings: &Settings) -> Self {
        Self {
            latest: ArcSwap::from_pointee(Revised { revision: 0, settings: settings.clone() }),
            ledger: AtomicU64::new(0),
            bench: AtomicU64::new(0),
            barred: Barred::of(settings),
            rest_min: RestMin::of(settings),
            changed: Notify::new(),
            blocks: Mutex::default(),
        }
    }

    /// The settings of the start have this number.
    pub fn begin(&self, revision: u64) {
        let settings = self.latest.load().settings.clone();
        self.latest.store(Arc::new(Revised { revision, settings }));
        self.ledger.store(revision, Release);
        self.bench.store(revision, Release);
    }

    /// The latest settings: those in force, or about to be.
    pub fn latest(&self) -> Arc<Revised> {
        self.latest.load_full()
    }

    /// The number of the latest.
    pub fn revision(&self) -> u64 {
        self.latest.load().revision
    }

    /// The revision in force in all rooms.
    pub fn in_force(&self) -> u64 {
        self.bench.load(Acquire)
    }

    /// Later settings: link rules, what is barred and how long hosts rest are known when this returns.
    pub fn put(
        &self,
        settings: Settings,
        revision: u64,
        rules: &RulesInForce,
        compiled: LinkRules,
    ) {
        rules.store(Arc::new(compiled));
        self.barred.replace(&settings);
        self.rest_min.replace(&settings);
        self.latest.store(Arc::new(Revised { revision, settings }));
        self.changed.notify_one();
    }

    /// Settings that the ledger is to take up, with what says that it has.
    pub fn for_ledger(&self) -> Option<Arc<Revised>> {
        let latest = self.latest.load();
        (latest.revision > self.ledger.load(Acquire)).then(|| Arc::clone(&latest))
    }

    /// The ledger has taken up this revision.
    pub fn ledger_has(&self, revision: u64) {
        self.ledger.store(revision, Release);
    }

    /// Settings that the workbench is to take up: those that the ledger goes by.
    pub fn for_bench(&self) -> Option<Arc<Revised>> {
        let latest = self.latest.load();
        let known = latest.revision == self.ledger.load(Acquire);
        (known && latest.revision > self.bench.load(Acquire)).then(|| Arc::clone(&latest))
    }

    /// The workbench has taken up this revision.
    pub fn bench_has(&self, revision: u64) {
        self.bench.store(revision, Release);
        self.changed.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_revision_is_in_force_once_the_ledger_and_then_the_workbench_have_it() {
        let settings = Settings::default();
        let rules: RulesInForce =
            Arc::new(ArcSwap::from_pointee(LinkRules::compile(&settings).unwrap()));
        let live = Live::new(&settings);
        live.begin(3);
        assert!(live.for_ledger().is_none() && live.for_bench().is_none());
        let compiled = LinkRules::compile(&settings).unwrap();
        let mut brisk = settings.clone();
        brisk.politeness.delay = Duration::from_millis(70);
        live.put(brisk.clone(), 4, &rules, compiled.clone());
        assert_eq!(live.rest_min.get(), brisk.politeness.delay);
        assert!(live.for_bench().is_none(), "the ledger goes first");
        let offered = live.for_ledger().unwrap();
        // Another one comes in between.
        live.put(settings, 5, &rules, compiled);
        live.ledger_has(offered.revision);
        assert!(live.for_bench().is_none(), "the latest is not the ledger's");
        live.ledger_has(live.for_ledger().unwrap().revision);
        assert_eq!((live.in_force(), live.for_bench().unwrap().revision), (3, 5));
        live.bench_has(5);
        assert_eq!((live.in_force(), live.revision()), (5, 5));
        assert!(live.for_ledger().is_none() && live.for_bench().is_none());
    }
}
