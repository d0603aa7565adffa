//! What commits change, told as facts: for those who hold copies of the rows.

use crate::messages::{Fact, Queued};
use crate::storage::values::{HostRow, RobotsRow, UrlOutcome};
use crivello_common::discard::Discard;
use crivello_common::hash::{GroupHash, HostKey, UrlKey};
use crivello_common::url::Origin;
use std::collections::BTreeSet;
use std::sync::Arc;

/// See the module.
#[derive(Debug, Default)]
pub struct ChangeLog {
    /// Whether anybody is to be told.
    pub enabled: bool,
    /// Whether pages are counted that only a lost archive has: then nobody is told of counts.
    pub refetching: bool,
    facts: Vec<Fact>,
}

impl ChangeLog {
    pub fn queued(&mut self, host: HostKey, name: &Arc<str>, url: &Queued) {
        if self.enabled {
            let (name, url) = (name.clone(), url.clone());
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

    pub fn robots(&mut self, host: HostKey, name: &Arc<str>, origin: Origin, value: &[u8]) {
        // What was encoded a moment ago can be read.
        if self.enabled
            && let Ok(record) = RobotsRow::decode(value)
        {
            self.facts.push(Fact::Robots { host, name: name.clone(), origin, record });
        }
    }

    /// Nothing is to be told of these groups.
    pub fn forget(&mut self, groups: &BTreeSet<GroupHash>) {
        self.facts.retain(|fact| !groups.contains(&fact.group()));
    }

    /// The hosts of these groups were only looked through.
    pub fn forget_hosts(&mut self, groups: &BTreeSet<GroupHash>) {
        let is_host = |fact: &Fact| matches!(fact, Fact::Host { .. });
        self.facts.retain(|fact| !is_host(fact) || !groups.contains(&fact.group()));
    }

    pub fn take(&mut self) -> Vec<Fact> {
        std::mem::take(&mut self.facts)
    }
}

/// Takes out of a row what is too much while pages are counted that only a lost archive has: what is
/// joined with it is then right as soon as both sides have looked their rows through.
fn uncount(row: &mut HostRow) {
    row.pages = 0;
    row.closed = row.closed.filter(|&reason| !is_limit(reason));
}

/// Whether a host was closed because of a number of pages.
pub const fn is_limit(reason: Discard) -> bool {
    matches!(reason, Discard::HostLimit | Discard::DomainLimit)
}

/// What a host's row says to others.
pub fn of_host(host: HostKey, row: HostRow) -> Fact {
    let HostRow { name, state, closed, pages, bytes, .. } = row;
    Fact::Host { host, name, state, closed, pages, bytes }
}

/// An outcome as another agent may keep it: the place is one in the archive of this one.
pub fn elsewhere(outcome: UrlOutcome) -> UrlOutcome {
    match outcome {
        UrlOutcome::Fetched { at, status, page, .. } => {
            UrlOutcome::Fetched { at, status, record: None, page }
        }
        other => other,
    }
}
