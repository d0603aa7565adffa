//! Taking in the seeds, and noticing when they are those of another crawl.

use super::accountant::Entry;
use super::home::Home;
use super::{AgentError, Crawl};
use crate::links::LinkRules;
use crate::messages::{Found, LinkKind};
use crate::report::SeedCounts;
use crate::storage::{Database, Family, keys};
use crivello_common::discard::DiscardTally;
use crivello_common::hash::UrlKey;
use crivello_common::url::CrawlUrl;
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

/// Stops the crawl unless all seeds were taken in: one that waits for more would never end.
struct Guard<'a> {
    crawl: &'a Crawl,
    complete: bool,
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if !self.complete {
            self.crawl.stop();
        }
    }
}

/// See [`Crawl::seed`].
pub fn seed(crawl: &Crawl, seeds: impl Iterator<Item = Seed>) -> bool {
    let mut guard = Guard { crawl, complete: false };
    let (mut found, mut refused) = (Vec::new(), DiscardTally::default());
    let mut counts = *crawl.seeds.lock();
    let known = counts.taken;
    let mut complete = true;
    for seed in seeds {
        match seed {
            _ if crawl.shared.is_stopping() => complete = false,
            Seed::Cut => complete = false,
            Seed::Pause => hand_over(crawl, &mut found, &mut refused, counts),
            Seed::Url(url) => match crawl.rules.load().admit(url, 0, LinkKind::Page) {
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
            hand_over(crawl, &mut found, &mut refused, counts);
        }
        if !complete {
            break;
        }
    }
    hand_over(crawl, &mut found, &mut refused, counts);
    if complete {
        // Fails only when the crawl is over, and then nobody waits for seeds.
        let _ = crawl.ledger.send(Entry::SeedsEnd { any: counts.taken > known });
    }
    guard.complete = complete;
    complete
}

fn hand_over(
    crawl: &Crawl,
    found: &mut Vec<Found>,
    refused: &mut DiscardTally,
    counts: SeedCounts,
) {
    if found.is_empty() && *refused == DiscardTally::default() {
        return;
    }
    *crawl.seeds.lock() = counts;
    let pipeline = &crawl.shared.pipeline;
    while !pipeline.wait_for_seeds(LOOK_UP) && !crawl.shared.is_over() {}
    pipeline.enter_seeds();
    let entry = Entry::Found(std::mem::take(found), std::mem::take(refused));
    let _ = crawl.ledger.send(entry);
}

/// Looks at all seeds before anything is changed, where the crawl has taken in its own already:
/// then they have nothing to add, and one that it has never seen is another crawl's. Elsewhere
/// `seeds` are left for [`seed`].
pub fn must_all_belong(
    home: &Home,
    disk: &Database,
    rules: &LinkRules,
    seeds: &mut impl Iterator<Item = Seed>,
) -> Result<SeedCounts, AgentError> {
    let mut counts = SeedCounts::default();
    if !(home.resumed && home.seeded) {
        return Ok(counts);
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
            Seed::Cut => return Err(AgentError::SeedsCut),
        }
    }
    Ok(counts)
}

fn must_belong(home: &Home, disk: &Database, seed: &Found) -> Result<(), AgentError> {
    let key = keys::seen(UrlKey { group: seed.host.group, url: seed.hash });
    if disk.get(Family::Seen, &key)?.is_some() {
        return Ok(());
    }
    Err(AgentError::Refused(format!(
        "{} holds another crawl (begun {}), to which {} does not belong; choose another --out, or leave the seeds out to resume it",
        home.dir.display(),
        home.identity.begun,
        seed.url
    )))
}
