//! Dropping the queues of hosts that are blocked by name, wherever they stand, and counting what was
//! dropped by which entry of `links.blocked`. The same walk has hosts that rest on disk fall due
//! earlier when the delay has become shorter.
//!
//! Nothing of it is kept on disk: a start looks through all hosts once more when anything is blocked,
//! and a host that falls due is looked at in any case. A host that is blocked by its address is known
//! as such when its name is resolved.

use super::CrawlDb;
use crate::messages::BlockCount;
use crate::storage::values::HostRow;
use crate::storage::{DiskError, Family, keys};
use crivello_common::config::{BlockEntry, Blocklist, Live, Politeness};
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostPolicy, WaitRule};
use crivello_common::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Rows of hosts that are looked at in one step; few enough in tests that there are several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 7 } else { 4_096 };
/// Hosts that are being dropped at once.
const DROPPED_AT_ONCE: usize = if cfg!(test) { 5 } else { 1_024 };

/// Hosts that were dropped and are remembered, so that each counts once.
const HOSTS_REMEMBERED: usize = 65_536;

/// See the module.
#[derive(Debug)]
pub(super) struct BlockedHosts {
    list: Blocklist,
    politeness: Politeness,
    /// The walk over all hosts is at this key; `None` when it is over.
    at: Option<[u8; keys::PAIR]>,
    /// Whether hosts that rest are to fall due earlier.
    sooner: bool,
    /// Blocked hosts that are on the workbench, or on their way out of it.
    awaited: BTreeSet<HostKey>,
    /// By which entry a host is dropped, where its name does not say.
    by: BTreeMap<HostKey, String>,
    /// By entry: hosts and URLs.
    counts: BTreeMap<String, (u64, u64)>,
    /// Hosts that are among them.
    counted: BTreeSet<HostKey>,
    /// Rises with whatever is to be told.
    changes: u64,
}

impl BlockedHosts {
    pub(super) fn of(settings: &Live) -> Self {
        let list = Blocklist::new(&settings.links.blocked);
        Self {
            at: (!list.is_empty()).then(first),
            list,
            politeness: settings.politeness.clone(),
            sooner: false,
            awaited: BTreeSet::new(),
            by: BTreeMap::new(),
            counts: BTreeMap::new(),
            counted: BTreeSet::new(),
            changes: 0,
        }
    }

    /// The workbench drops a host because of this entry.
    pub(super) fn is_by(&mut self, host: HostKey, by: String) {
        if self.by.len() >= HOSTS_REMEMBERED {
            self.by.clear();
        }
        self.by.insert(host, by);
    }

    /// Whether a host of this name is blocked.
    pub(super) fn has(&self, name: &str) -> bool {
        self.list.by_name(name).is_some()
    }

    /// Whether a host that is being dropped is still blocked: by its name, or by the entry because of
    /// which the workbench gave it up.
    pub(super) fn still_has(&self, host: HostKey, name: &str) -> bool {
        let is_entry = |by: &String| self.list.entries().iter().any(|e| e.to_string() == *by);
        self.has(name) || self.by.get(&host).is_some_and(is_entry)
    }

    /// It is not dropped any further.
    pub(super) fn spare(&mut self, host: HostKey) {
        self.awaited.remove(&host);
        self.by.remove(&host);
        self.changes += 1;
    }

    /// Whether the ordinary delay is what the host waits for, and is shorter now.
    fn falls_due_earlier(&self, row: &HostRow) -> bool {
        let mut state = row.state.clone();
        state.reapply_policy(&HostPolicy::of(&self.politeness, &row.name, None));
        is_ordinary(state.rule) && is_ordinary(row.state.rule) && state.next < row.state.next
    }

    fn count(&mut self, host: HostKey, name: &str, urls: u64) {
        let by_name = self.list.by_name(name).map(ToString::to_string);
        let Some(by) = self.by.get(&host).cloned().or(by_name) else { return };
        if self.counted.len() >= HOSTS_REMEMBERED {
            self.counted.clear();
        }
        let count = self.counts.entry(by).or_default();
        count.0 += u64::from(self.counted.insert(host));
        count.1 += urls;
    }
}

/// The rules of waits that the workbench can count anew.
const fn is_ordinary(rule: WaitRule) -> bool {
    matches!(rule, WaitRule::Delay | WaitRule::Relative)
}

const fn first() -> [u8; keys::PAIR] {
    [0; keys::PAIR]
}

/// What decides when hosts fall due.
fn paces(politeness: &Politeness) -> Politeness {
    let (paused, robots_exempt) = (Vec::new(), Vec::new());
    Politeness { paused, robots_exempt, ..politeness.clone() }
}

impl CrawlDb {
    /// Other settings are in force: limits for hosts and domains, what is blocked, and when hosts that
    /// rest on disk fall due.
    pub fn reconfigure(&mut self, settings: &Live) {
        self.limits = super::HostLimits::of(settings);
        let mut blocking = BlockedHosts::of(settings);
        let old = &mut self.blocked_hosts;
        let known = |what: &String| blocking.list.entries().iter().any(|e| e.to_string() == *what);
        blocking.counts = std::mem::take(&mut old.counts);
        blocking.counts.retain(|what, _| known(what));
        blocking.by = std::mem::take(&mut old.by);
        blocking.awaited = std::mem::take(&mut old.awaited);
        // A host that is dropped once more because it was blocked once more counts once more.
        if blocking.list == old.list {
            blocking.counted = std::mem::take(&mut old.counted);
        }
        blocking.changes = old.changes + 1;
        let differ = paces(&old.politeness) != paces(&settings.politeness);
        blocking.sooner = differ || (old.sooner && old.at.is_some());
        if blocking.list == old.list && !blocking.sooner {
            blocking.at = old.at;
        } else if blocking.sooner {
            blocking.at = Some(first());
        }
        self.blocked_hosts = blocking;
    }

    /// What came of each entry of `links.blocked`.
    #[must_use]
    pub fn block_counts(&self) -> Vec<BlockCount> {
        let done = self.blocked_hosts.at.is_none() && self.blocked_hosts.awaited.is_empty();
        let count = |block: &BlockEntry| {
            let what = block.to_string();
            let (hosts, urls) = self.blocked_hosts.counts.get(&what).copied().unwrap_or_default();
            BlockCount { what, done, hosts, urls }
        };
        self.blocked_hosts.list.entries().iter().map(count).collect()
    }

    /// Rises whenever [`Self::block_counts`] says something else.
    #[must_use]
    pub const fn block_changes(&self) -> u64 {
        self.blocked_hosts.changes
    }

    /// Whether the walk over all hosts is not over, or one of them is not dropped yet.
    #[must_use]
    pub fn is_blocking(&self) -> bool {
        self.blocked_hosts.at.is_some() || !self.blocked_hosts.awaited.is_empty()
    }

    /// Whether the walk over all hosts is not over.
    #[must_use]
    pub const fn is_scanning_hosts(&self) -> bool {
        self.blocked_hosts.at.is_some()
    }

    /// A step of the walk; what it finds is dropped with the next commits.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn step_block_scan(&mut self, now: Timestamp) -> Result<(), DiskError> {
        self.look_after_awaited()?;
        let Some(from) = self.blocked_hosts.at else { return Ok(()) };
        if self.blocked_hosts.awaited.len() >= DROPPED_AT_ONCE || self.dirty.len() >= ROWS_AT_ONCE {
            return Ok(());
        }
        let (mut blocked, mut earlier, mut n_rows, mut rest) = (Vec::new(), Vec::new(), 0, None);
        let blocking = &self.blocked_hosts;
        self.disk.walk(Family::Hosts, &from, &[0xff; keys::PAIR + 1], |key, value| {
            let Some(host) = keys::read_host(key).filter(|host| host.host.0 != 0) else {
                return Ok(true);
            };
            if n_rows == ROWS_AT_ONCE || blocked.len() == DROPPED_AT_ONCE {
                rest = Some(keys::host(host));
                return Ok(false);
            }
            n_rows += 1;
            let row = HostRow::decode(value)?;
            // Hosts of groups that others fetch are theirs to drop.
            if let Some(at) = row.scheduled {
                if blocking.has(&row.name) {
                    blocked.push(host);
                } else if blocking.sooner && at > now && blocking.falls_due_earlier(&row) {
                    earlier.push(host);
                }
            }
            Ok(true)
        })?;
        self.blocked_hosts.at = rest;
        self.blocked_hosts.changes += 1;
        self.blocked_hosts.awaited.extend(blocked);
        self.look_after_awaited()?;
        self.bring_forward(&earlier)
    }

    /// Blocked hosts that the workbench does not have, or no longer has, are dropped from here.
    fn look_after_awaited(&mut self) -> Result<(), DiskError> {
        if self.blocked_hosts.awaited.is_empty() {
            return Ok(());
        }
        let awaited: Vec<HostKey> = self.blocked_hosts.awaited.iter().copied().collect();
        self.load(&awaited)?;
        for host in awaited {
            let Some(entry) = self.hosts.get_mut(&host) else {
                self.blocked_hosts.awaited.remove(&host);
                self.blocked_hosts.changes += 1;
                continue;
            };
            if entry.on_workbench || entry.dropping.is_some() {
                continue;
            }
            let blocked = self.blocked_hosts.list.by_name(&entry.row.name).is_some();
            if blocked && entry.row.queued > 0 && entry.row.scheduled.is_some() {
                entry.dropping = Some((Discard::Blocked, false));
                self.dropping.push(host);
                super::mark(&mut self.dirty, host, entry);
            } else {
                self.blocked_hosts.awaited.remove(&host);
                self.blocked_hosts.changes += 1;
            }
        }
        Ok(())
    }

    /// Hosts that rest on disk because of the ordinary delay fall due when the new one says; the
    /// workbench knows of their Crawl-delays.
    fn bring_forward(&mut self, hosts: &[HostKey]) -> Result<(), DiskError> {
        self.load(hosts)?;
        for &host in hosts {
            let Some(entry) = self.hosts.get_mut(&host).filter(|host| !host.on_workbench) else {
                continue;
            };
            let row = &mut entry.row;
            row.state.reapply_policy(&HostPolicy::of(
                &self.blocked_hosts.politeness,
                &row.name,
                None,
            ));
            entry.reschedule = true;
            super::mark(&mut self.dirty, host, entry);
        }
        Ok(())
    }

    /// URLs of a host are set aside for this reason.
    pub(super) fn count_blocked(&mut self, host: HostKey, reason: Discard, urls: u64, done: bool) {
        if reason != Discard::Blocked {
            return;
        }
        let name = self.hosts.get(&host).map(|entry| entry.row.name.clone());
        if urls > 0 {
            self.blocked_hosts.count(host, name.as_deref().unwrap_or_default(), urls);
        }
        self.blocked_hosts.changes += 1;
        if done {
            self.blocked_hosts.awaited.remove(&host);
            self.blocked_hosts.by.remove(&host);
        }
    }
}
