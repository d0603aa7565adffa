//! Log of a commit's row changes as facts, for the replicas of the rows.

use crate::messages::{Fact, PRIORITY_LAST, Queued, RecordPlace, RobotsRecord};
use crate::storage::values::{HostRow, UrlOutcome};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::url::Origin;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Log of a commit's row changes.
#[derive(Debug, Default)]
pub struct ChangeLog {
    /// True if changes are recorded, for other agents.
    pub enabled: bool,
    /// True while rows count pages that only a lost archive has. Page counts are then not sent.
    pub refetching: bool,
    facts: Vec<Fact>,
}

impl ChangeLog {
    pub fn queued(&mut self, host: HostKey, name: &Arc<str>, url: &Queued) {
        if self.enabled {
            let (name, url) = (name.clone(), queued_elsewhere(url.clone()));
            self.facts.push(Fact::Queued { host, name, url });
        }
    }

    pub fn done(&mut self, url: UrlKey, outcome: &UrlOutcome) {
        if self.enabled {
            self.facts.push(Fact::Done { url, outcome: elsewhere(outcome.clone()) });
        }
    }

    pub fn host(&mut self, host: HostKey, row: &HostRow) {
        if self.enabled {
            let mut row = row.clone();
            if self.refetching {
                uncount(&mut row);
            }
            self.facts.push(of_host(host, row));
        }
    }

    pub fn robots(&mut self, host: HostKey, name: &Arc<str>, origin: Origin, record: RobotsRecord) {
        if self.enabled {
            self.facts.push(Fact::Robots { host, name: name.clone(), origin, record });
        }
    }

    /// Removes all facts of these groups.
    pub fn forget(&mut self, groups: &BTreeSet<GroupHash>) {
        self.facts.retain(|fact| !groups.contains(&fact.group()));
    }

    /// Removes the facts about hosts of these groups, which were only rescheduled.
    pub fn forget_hosts(&mut self, groups: &BTreeSet<GroupHash>) {
        let is_host = |fact: &Fact| matches!(fact, Fact::Host { .. });
        self.facts.retain(|fact| !is_host(fact) || !groups.contains(&fact.group()));
    }

    pub fn take(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }
}

/// Clears the page count, and the closing by a limit, while refetching is incomplete, so that
/// merging cannot resurrect counts of a lost archive. A merged row is right once both sides have
/// scanned their rows.
fn uncount(row: &mut HostRow) {
    row.pages = 0;
    row.closed = row.closed.filter(|&reason| !is_limit(reason));
}

/// Returns true if a host was closed by a limit of pages.
pub const fn is_limit(reason: Discard) -> bool {
    matches!(reason, Discard::HostLimit | Discard::DomainLimit)
}

/// Returns the fact that other agents receive about a host's row.
pub fn of_host(host: HostKey, row: HostRow) -> Fact {
    let HostRow { name, state, closed, pages, bytes, finder, resolved, answered, evidence, .. } =
        row;
    Fact::Host { host, name, state, closed, pages, bytes, finder, resolved, answered, evidence }
}

/// Returns an outcome as another agent stores it.
pub fn elsewhere(mut outcome: UrlOutcome) -> UrlOutcome {
    if let UrlOutcome::Fetched { record, .. } = &mut outcome {
        *record = record.map(RecordPlace::elsewhere);
    }
    if let UrlOutcome::Fetched { page: Some(page), .. }
    | UrlOutcome::Failed(_, Some(page))
    | UrlOutcome::Discarded(_, Some(page)) = &mut outcome
        && page.url.revisit.is_some()
    {
        let page = Arc::make_mut(page);
        page.url.revisit = page.url.revisit.as_ref().map(|revisit| Box::new(revisit.elsewhere()));
    }
    outcome
}

/// Returns a queued URL as another agent stores it.
pub fn queued_elsewhere(mut url: Queued) -> Queued {
    if url.queue_key.is_pending() {
        // For others it waits, as the last one of its host.
        url.queue_key.priority = PRIORITY_LAST;
    }
    url.queue_key.queue = url.queue();
    url.revisit = url.revisit.map(|revisit| Box::new(revisit.elsewhere()));
    url
}
