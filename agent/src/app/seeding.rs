//! Taking in the seeds, and noticing when they are those of another crawl.

use super::accountant::Entry;
use super::home::Home;
use super::{AgentError, Crawl};
use crate::disk::{Database, Family, keys};
use crate::flow::{Found, LinkKind};
use crate::links::LinkRules;
use crate::report::SeedCounts;
use crivello_common::discard::DiscardTally;
use crivello_common::hash::UrlKey;
use crivello_common::url::CrawlUrl;
use std::time::Duration;

/// Seeds handed over at once.
const SEEDS_AT_ONCE: usize = 1_000;

/// Who waits for the sieve looks up this often whether the crawl is over.
const LOOK_UP: Duration = Duration::from_millis(100);

/// See [`Crawl::seed`].
pub fn seed(crawl: &Crawl, urls: impl Iterator<Item = CrawlUrl>) -> Result<SeedCounts, AgentError> {
    let mut counts = SeedCounts::default();
    let (mut found, mut refused) = (Vec::new(), DiscardTally::default());
    for url in urls {
        if crawl.shared.is_stopping() {
            break;
        }
        match crawl.rules.admit(url, 0, LinkKind::Page) {
            Ok(seed) => {
                must_belong(&crawl.home, &crawl.disk, &seed)?;
                counts.taken += 1;
                found.push(seed);
            }
            Err(reason) => {
                counts.refused += 1;
                refused.count(reason);
            }
        }
        if found.len() == SEEDS_AT_ONCE {
            hand_over(crawl, &mut found, &mut refused);
        }
    }
    hand_over(crawl, &mut found, &mut refused);
    // Fails only when the crawl is over, and then nobody waits for seeds.
    let _ = crawl.ledger.send(Entry::SeedsEnd);
    Ok(counts)
}

fn hand_over(crawl: &Crawl, found: &mut Vec<Found>, refused: &mut DiscardTally) {
    let pipeline = &crawl.shared.pipeline;
    while !pipeline.wait_for_seeds(LOOK_UP) && !crawl.shared.is_over() {}
    pipeline.enter_seeds();
    let entry = Entry::Found(std::mem::take(found), std::mem::take(refused));
    let _ = crawl.ledger.send(entry);
}

/// Looks at seeds before anything is changed.
pub fn must_all_belong<'a>(
    home: &Home,
    disk: &Database,
    rules: &LinkRules,
    seeds: impl Iterator<Item = &'a CrawlUrl>,
) -> Result<(), AgentError> {
    for url in seeds {
        if let Ok(seed) = rules.admit(url.clone(), 0, LinkKind::Page) {
            must_belong(home, disk, &seed)?;
        }
    }
    Ok(())
}

/// Once all seeds of a crawl were taken in, a seed that it has never seen is another crawl's.
fn must_belong(home: &Home, disk: &Database, seed: &Found) -> Result<(), AgentError> {
    if !(home.resumed && home.seeded) {
        return Ok(());
    }
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
