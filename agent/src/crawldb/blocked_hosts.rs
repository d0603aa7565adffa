//! Discarding of the queues of hosts that are blocked by name, on disk and on the workbench, and
//! counts of the discards by entry of `links.blocked`. The same scan makes hosts that rest on disk
//! fall due earlier when the delay has become shorter.
//!
//! The progress is not stored. A start scans all hosts again if anything is blocked, and every host
//! that falls due is checked. A host that is blocked by its address is recognized when its name is
//! resolved.

use super::frontier::Frontier;
use crate::messages::{BlockCount, SchedulePlace};
use crate::storage::values::HostRow;
use crate::storage::{DiskError, Family, Row, keys};
use crivello_common::config::{BlockEntry, Blocklist, Live, Politeness};
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostPolicy, WaitRule};
use crivello_common::time::Timestamp;
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of host rows per step; small in tests, so that a scan takes several.
const ROWS_AT_ONCE: usize = if cfg!(test) { 7 } else { 4_096 };
/// Maximum number of hosts that are being dropped at once.
const DROPPED_AT_ONCE: usize = if cfg!(test) { 5 } else { 1_024 };

/// Maximum number of dropped hosts that are remembered, so that each counts once.
const HOSTS_REMEMBERED: usize = 65_536;

/// The blocked hosts, and the progress of dropping them.
#[derive(Debug, Default)]
pub struct BlockedHosts {
    list: Blocklist,
    politeness: Politeness,
    /// Position of the scan over all hosts; `None` when it is complete.
    at: Option<[u8; keys::PAIR]>,
    /// True if resting hosts may fall due earlier.
    sooner: bool,
    /// Blocked hosts that are on the workbench, or have just left it.
    awaited: BTreeSet<HostKey>,
    /// The entry for which a host is dropped, if its name does not determine it.
    by: BTreeMap<HostKey, String>,
    /// Numbers of dropped hosts and URLs, by entry.
    counts: BTreeMap<String, (u64, u64)>,
    /// Hosts that are included in `counts`.
    counted: BTreeSet<HostKey>,
    /// Rises whenever the reported counts may change.
    changes: u64,
}

impl BlockedHosts {
    pub(super) fn of(settings: &Live) -> Self {
        let list = Blocklist::new(&settings.links.blocked);
        Self {
            at: (!list.is_empty()).then_some(FIRST),
            list,
            politeness: settings.politeness.clone(),
            ..Self::default()
        }
    }

    /// Records the entry for which the workbench drops a host.
    pub(super) fn is_by(&mut self, host: HostKey, by: String) {
        if self.by.len() >= HOSTS_REMEMBERED {
            self.by.clear();
        }
        self.by.insert(host, by);
    }

    /// Returns the delays in force.
    pub(super) const fn politeness(&self) -> &Politeness {
        &self.politeness
    }

    /// Returns true if a host of this name is blocked.
    pub(super) fn has(&self, name: &str) -> bool {
        self.list.by_name(name).is_some()
    }

    /// Returns true if a host that is being dropped is still blocked: by its name, or by the entry
    /// for which the workbench dropped it.
    pub(super) fn still_has(&self, host: HostKey, name: &str) -> bool {
        let is_entry = |by: &String| self.list.entries().iter().any(|e| e.to_string() == *by);
        self.has(name) || self.by.get(&host).is_some_and(is_entry)
    }

    /// Stops dropping a host.
    pub(super) fn spare(&mut self, host: HostKey) {
        self.awaited.remove(&host);
        self.by.remove(&host);
        self.changes += 1;
    }

    /// Returns true if the host waits for the ordinary delay, and that delay is shorter now.
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

    /// Applies new settings: blocked hosts, and the delays of hosts that rest on disk.
    pub(super) fn reconfigure(&mut self, settings: &Live) {
        let mut new = Self::of(settings);
        let known = |what: &String| new.list.entries().iter().any(|e| e.to_string() == *what);
        new.counts = std::mem::take(&mut self.counts);
        new.counts.retain(|what, _| known(what));
        new.by = std::mem::take(&mut self.by);
        new.awaited = std::mem::take(&mut self.awaited);
        // A host that is blocked and dropped again counts again.
        if new.list == self.list {
            new.counted = std::mem::take(&mut self.counted);
        }
        new.changes = self.changes + 1;
        let differ = paces(&self.politeness) != paces(&settings.politeness);
        new.sooner = differ || (self.sooner && self.at.is_some());
        if new.list == self.list && !new.sooner {
            new.at = self.at;
        } else if new.sooner {
            new.at = Some(FIRST);
        }
        *self = new;
    }

    /// Returns the numbers of dropped hosts and URLs for each entry of `links.blocked`.
    pub fn counts(&self) -> Vec<BlockCount> {
        let done = self.at.is_none() && self.awaited.is_empty();
        let count = |block: &BlockEntry| {
            let what = block.to_string();
            let (hosts, urls) = self.counts.get(&what).copied().unwrap_or_default();
            BlockCount { what, done, hosts, urls }
        };
        self.list.entries().iter().map(count).collect()
    }

    /// Returns a number that rises whenever [`Self::counts`] may change.
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    /// Returns true while the scan is incomplete or a blocked host is not dropped yet.
    pub fn is_active(&self) -> bool {
        self.at.is_some() || !self.awaited.is_empty()
    }

    /// Returns true while the scan over all hosts is incomplete.
    pub const fn is_scanning(&self) -> bool {
        self.at.is_some()
    }

    /// Performs one step of the scan. The next commits drop the queues that it finds.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub(super) fn step(
        &mut self,
        frontier: &mut Frontier,
        now: Timestamp,
    ) -> Result<(), DiskError> {
        self.drop_awaited(frontier)?;
        let Some(from) = self.at else { return Ok(()) };
        if self.awaited.len() >= DROPPED_AT_ONCE || frontier.hosts.n_dirty() >= ROWS_AT_ONCE {
            return Ok(());
        }
        let (mut blocked, mut earlier, mut n_rows, mut rest) = (Vec::new(), Vec::new(), 0, None);
        frontier.disk.walk(Family::Hosts, &from, &[0xff; keys::PAIR + 1], |key, value| {
            let Some(host) = keys::read_hosts(key)? else { return Ok(true) };
            if n_rows == ROWS_AT_ONCE || blocked.len() == DROPPED_AT_ONCE {
                rest = Some(keys::host(host));
                return Ok(false);
            }
            n_rows += 1;
            let row = HostRow::decode(value)?;
            // Agents that fetch other groups drop the hosts of those groups.
            if let Some(SchedulePlace { at, .. }) = row.scheduled {
                if self.has(&row.name) {
                    blocked.push(host);
                } else if self.sooner && at > now && self.falls_due_earlier(&row) {
                    earlier.push(host);
                }
            }
            Ok(true)
        })?;
        self.at = rest;
        self.changes += 1;
        self.awaited.extend(blocked);
        self.drop_awaited(frontier)?;
        self.bring_forward(frontier, &earlier)
    }

    /// Starts to drop blocked hosts that are not, or no longer, on the workbench.
    fn drop_awaited(&mut self, frontier: &mut Frontier) -> Result<(), DiskError> {
        if self.awaited.is_empty() {
            return Ok(());
        }
        let awaited: Vec<HostKey> = self.awaited.iter().copied().collect();
        frontier.hosts.load(&awaited)?;
        for host in awaited {
            let Some(entry) = frontier.hosts.get(host) else {
                self.awaited.remove(&host);
                self.changes += 1;
                continue;
            };
            if entry.on_workbench || entry.dropping.is_some() {
                continue;
            }
            let blocked = self.list.by_name(&entry.row.name).is_some();
            if blocked && entry.row.queued > 0 && entry.row.scheduled.is_some() {
                frontier.drop_host(host, Discard::Blocked, false);
            } else {
                self.awaited.remove(&host);
                self.changes += 1;
            }
        }
        Ok(())
    }

    /// Makes hosts that rest on disk for the ordinary delay fall due by the new one. The workbench
    /// applies their Crawl-delays, which are not known here.
    fn bring_forward(&self, frontier: &mut Frontier, hosts: &[HostKey]) -> Result<(), DiskError> {
        frontier.hosts.load(hosts)?;
        for &host in hosts {
            if frontier.hosts.get(host).is_none_or(|entry| entry.on_workbench) {
                continue;
            }
            frontier.hosts.change(host, |entry| {
                let policy = HostPolicy::of(&self.politeness, &entry.row.name, None);
                entry.row.state.reapply_policy(&policy);
                entry.reschedule = true;
            });
        }
        Ok(())
    }

    /// Counts discarded URLs of a blocked host. `done` is true if none is left.
    pub(super) fn count_discarded(&mut self, host: HostKey, name: &str, urls: u64, done: bool) {
        if urls > 0 {
            self.count(host, name, urls);
        }
        self.changes += 1;
        if done {
            self.awaited.remove(&host);
            self.by.remove(&host);
        }
    }
}

/// Returns true for rules whose waits can be recomputed from the settings.
const fn is_ordinary(rule: WaitRule) -> bool {
    matches!(rule, WaitRule::Delay | WaitRule::Relative)
}

/// Key below all keys of `hosts`.
const FIRST: [u8; keys::PAIR] = [0; keys::PAIR];

/// Returns the settings that decide when hosts fall due.
fn paces(politeness: &Politeness) -> Politeness {
    let (paused, robots_exempt) = (Vec::new(), Vec::new());
    Politeness { paused, robots_exempt, ..politeness.clone() }
}
