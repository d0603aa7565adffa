//! Taking in the seeds, and noticing when they are those of another crawl.

use crate::messages::{Found, LinkKind, WriterMsg};
use crate::process::RulesInForce;
use crate::process::links::LinkRules;
use crate::report::SeedCounts;
use crate::shared::Shared;
use crate::shared::lifecycle::Lifecycle;
use crate::shared::pipeline::PipelineBudget;
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Database, Family, OpenError, keys};
use crivello_common::discard::DiscardTally;
use crivello_common::hash::UrlKey;
use crivello_common::url::CrawlUrl;
use crossbeam::channel::Sender;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Seeds handed over at once.
const SEEDS_AT_ONCE: usize = 1_000;

/// Who waits for the sieve looks up this often whether the crawl is over.
const LOOK_UP: Duration = Duration::from_millis(100);

/// What comes from whoever reads the seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A seed.
    Url(CrawlUrl),
    /// None just now; more may come, and those that came need not wait for them.
    Pause,
    /// No more, although there were: reading them was stopped, or failed.
    Cut,
}

/// The way in for the seeds of a crawl that runs alone.
pub struct SeedIntake {
    lifecycle: Arc<Lifecycle>,
    pipeline: Arc<PipelineBudget>,
    rules: RulesInForce,
    writer: Sender<WriterMsg>,
    counts: Mutex<SeedCounts>,
}

/// Stops the crawl unless all seeds were taken in: a crawl that waits for more would never end.
struct StopUnlessComplete<'a> {
    lifecycle: &'a Lifecycle,
    complete: bool,
}

impl Drop for StopUnlessComplete<'_> {
    fn drop(&mut self) {
        if !self.complete {
            self.lifecycle.stop.cancel();
        }
    }
}

impl SeedIntake {
    /// An intake that sends seeds to the writer, with the `counts` of those already known.
    pub fn new(
        shared: &Shared,
        rules: RulesInForce,
        writer: Sender<WriterMsg>,
        counts: SeedCounts,
    ) -> Self {
        Self {
            lifecycle: shared.lifecycle.clone(),
            pipeline: shared.pipeline.clone(),
            rules,
            writer,
            counts: Mutex::new(counts),
        }
    }

    /// Seeds taken in and refused so far.
    pub fn counts(&self) -> SeedCounts {
        *self.counts.lock()
    }

    /// Takes in all seeds, waiting while the writer is behind. Returns whether all were taken in.
    pub fn take(&self, seeds: impl Iterator<Item = Seed>) -> bool {
        let mut guard = StopUnlessComplete { lifecycle: &self.lifecycle, complete: false };
        let (mut found, mut refused) = (Vec::new(), DiscardTally::default());
        let mut counts = self.counts();
        let known = counts.taken;
        let mut complete = true;
        for seed in seeds {
            match seed {
                _ if self.lifecycle.is_stopping() => complete = false,
                Seed::Cut => complete = false,
                Seed::Pause => self.send(&mut found, &mut refused, counts),
                Seed::Url(url) => match self.rules.load().admit(url, 0, LinkKind::Page) {
                    Ok(seed) => {
                        counts.taken += 1;
                        found.push(seed);
                    }
                    Err(reason) => {
                        counts.refused += 1;
                        refused.count(reason);
                    }
                },
            }
            if found.len() == SEEDS_AT_ONCE {
                self.send(&mut found, &mut refused, counts);
            }
            if !complete {
                break;
            }
        }
        self.send(&mut found, &mut refused, counts);
        if complete {
            // Fails only when the crawl is over, and then nobody waits for seeds.
            let _ = self.writer.send(WriterMsg::SeedsEnd { any: counts.taken > known });
        }
        guard.complete = complete;
        complete
    }

    fn send(&self, found: &mut Vec<Found>, refused: &mut DiscardTally, counts: SeedCounts) {
        if found.is_empty() && *refused == DiscardTally::default() {
            return;
        }
        *self.counts.lock() = counts;
        let pipeline = &self.pipeline;
        while !pipeline.wait_for_seeds(LOOK_UP) && !self.lifecycle.is_over() {}
        pipeline.enter_seeds();
        let seeds = WriterMsg::Found(std::mem::take(found), std::mem::take(refused));
        let _ = self.writer.send(seeds);
    }
}

/// Looks at all seeds before anything is changed, where the crawl has taken in its own already:
/// then they have nothing to add, and one that it has never seen is another crawl's. Elsewhere
/// `seeds` are left for [`SeedIntake::take`].
pub fn must_all_belong(
    home: &CrawlDir,
    disk: &Database,
    rules: &LinkRules,
    seeds: &mut impl Iterator<Item = Seed>,
) -> Result<Option<SeedCounts>, OpenError> {
    let mut counts = SeedCounts::default();
    if !(home.resumed && home.seeded) {
        return Ok(Some(counts));
    }
    let mut said = false;
    for seed in seeds {
        match seed {
            Seed::Url(url) => match rules.admit(url, 0, LinkKind::Page) {
                Ok(seed) => {
                    must_belong(home, disk, &seed)?;
                    counts.taken += 1;
                }
                Err(_) => counts.refused += 1,
            },
            Seed::Pause => {
                if !std::mem::replace(&mut said, true) {
                    tracing::info!(
                        "waiting for the end of the seeds: the crawl goes on once all are known to be its own"
                    );
                }
            }
            Seed::Cut => return Ok(None),
        }
    }
    Ok(Some(counts))
}

fn must_belong(home: &CrawlDir, disk: &Database, seed: &Found) -> Result<(), OpenError> {
    let key = keys::seen(UrlKey { group: seed.host.group, url: seed.hash });
    if disk.get(Family::Seen, &key)?.is_some() {
        return Ok(());
    }
    Err(OpenError::Refused(format!(
        "{} holds another crawl (begun {}), to which {} does not belong; choose another --out, or leave the seeds out to resume it",
        home.dir.display(),
        home.identity.begun,
        seed.url
    )))
}
