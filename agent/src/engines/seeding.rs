//! Intake of the seeds, and detection of seeds that belong to another crawl.

use crate::messages::{Found, LinkKind, WriterMsg};
use crate::process::RulesInForce;
use crate::process::links::LinkRules;
use crate::report::SeedCounts;
use crate::shared::lifecycle::Lifecycle;
use crate::shared::pipeline::PipelineBudget;
use crate::storage::crawl_dir::CrawlDir;
use crate::storage::{Database, Family, OpenError, keys};
use crivello_common::discard::{Discard, DiscardTally};
use crivello_common::hash::UrlKey;
use crivello_common::url::CrawlUrl;
use crossbeam::channel::Sender;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// Number of seeds sent at once.
const SEEDS_AT_ONCE: usize = 1_000;

/// Pause between two checks whether the crawl is over, while the intake waits for the writer.
const LOOK_UP: Duration = Duration::from_millis(100);

/// Item of a stream of seeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seed {
    /// A seed.
    Url(CrawlUrl),
    /// No seed at present; more may come, and earlier ones need not wait for them.
    Pause,
    /// The stream was cut off: reading it was stopped, or failed.
    Cut,
}

/// Intake of the seeds of a crawl that runs alone.
pub struct SeedIntake {
    lifecycle: Arc<Lifecycle>,
    pipeline: Arc<PipelineBudget>,
    rules: RulesInForce,
    writer: Sender<WriterMsg>,
    counts: Mutex<SeedCounts>,
}

impl SeedIntake {
    /// Creates an intake that sends seeds to the writer, with the `counts` of those already known.
    pub fn new(
        lifecycle: Arc<Lifecycle>,
        pipeline: Arc<PipelineBudget>,
        rules: RulesInForce,
        writer: Sender<WriterMsg>,
        counts: SeedCounts,
    ) -> Self {
        Self { lifecycle, pipeline, rules, writer, counts: Mutex::new(counts) }
    }

    /// Returns the number of seeds accepted and refused so far.
    pub fn counts(&self) -> SeedCounts {
        *self.counts.lock()
    }

    /// Accepts all seeds, and waits while the writer is behind. Returns true if the stream was
    /// complete.
    pub fn take(&self, seeds: impl Iterator<Item = Seed>) -> bool {
        // A crawl that waits for more seeds never ends: it stops unless all were accepted.
        let stop = self.lifecycle.stop.clone().drop_guard();
        let (mut found, mut refused) = (Vec::new(), DiscardTally::default());
        let mut counts = self.counts();
        let known = counts.taken;
        let mut complete = true;
        for seed in seeds {
            match seed {
                _ if self.lifecycle.is_stopping() => complete = false,
                Seed::Cut => complete = false,
                Seed::Pause => self.send(&mut found, &mut refused, counts),
                Seed::Url(url) => match self.rules.load().admit(url.clone(), 0, LinkKind::Page) {
                    Ok(seed) => {
                        counts.taken += 1;
                        found.push(seed);
                    }
                    Err(reason) => {
                        if reason == Discard::PortDenied && refused.get(reason) == 0 {
                            tracing::warn!("the seed {url} is refused: {}", reason.description());
                        }
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
            // Fails only if the crawl is over, and then no thread waits for seeds.
            let _ = self.writer.send(WriterMsg::SeedsEnd { any: counts.taken > known });
            stop.disarm();
        }
        complete
    }

    fn send(&self, found: &mut Vec<Found>, refused: &mut DiscardTally, counts: SeedCounts) {
        if found.is_empty() && *refused == DiscardTally::default() {
            return;
        }
        *self.counts.lock() = counts;
        while !self.pipeline.wait_for_seeds(LOOK_UP) && !self.lifecycle.is_over() {}
        self.pipeline.enter_seeds();
        let seeds = WriterMsg::Found(std::mem::take(found), Box::new(std::mem::take(refused)));
        let _ = self.writer.send(seeds);
    }
}

/// Checks all seeds before anything is changed, if the crawl has already accepted its seeds: then
/// they add nothing, and a seed that it has never seen belongs to another crawl. Otherwise `seeds`
/// are left for [`SeedIntake::take`]. Returns `None` if the stream was cut off.
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
    let mut logged = false;
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
                if !std::mem::replace(&mut logged, true) {
                    tracing::info!(
                        "waiting for the end of the seeds: the crawl resumes once all are known \
                         to belong to it"
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
        "{} holds another crawl (begun {}), to which {} does not belong; choose another --out, or \
         omit the seeds to resume it",
        home.dir.display(),
        home.identity.begun,
        seed.url
    )))
}
