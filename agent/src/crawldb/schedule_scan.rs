//! Scan of `schedule` for hosts that are due, a bounded number of rows at a time. The classes of hosts take
//! turns (docs/decisions/hosts-take-turns-by-class.md).

use super::GroupRows;
use super::frontier::Frontier;
use crate::messages::{HostClass, SchedulePlace};
use crate::storage::{DiskError, Family, keys};
use crivello_common::hash::{GroupHash, HostKey};
use crivello_common::time::Timestamp;
use std::collections::VecDeque;
use std::time::Duration;

/// Hosts that fall due within this time are handed over early.
const HORIZON: Duration = Duration::from_secs(2);
/// Maximum number of hosts per scan of `schedule`.
const HOSTS_AT_ONCE: usize = 512;
/// Number of rows of `schedule` that one scan skips at most, so that commits and peer leases go on.
pub(super) const SKIPPED_MAX: usize = 4_096;
/// Number of rows of each class that are read to see how many hosts are due. More rows of hosts on the
/// workbench may lie before them, until the next scan has passed these.
const LOOKED_AT_MAX: usize = 256;

/// A key of `schedule`.
type ScheduleKey = [u8; keys::SCHEDULE];

/// Turns of the classes of hosts, repeated as long as hosts of all classes wait.
const TURNS: [HostClass; 16] = {
    use HostClass::{First as A, Last as D, Second as B, Third as C};
    [A, B, A, C, A, A, B, A, D, A, B, A, C, A, B, A]
};

/// Returns true if a visit to a group's hosts may begin now. It may read and write roles.
pub type MayFetch<'a> = &'a mut dyn FnMut(GroupHash, &mut GroupRows) -> Result<bool, DiskError>;

/// Scan of `schedule`.
#[derive(Debug)]
pub(super) struct ScheduleScan {
    /// Scans of the classes of hosts.
    classes: [ClassScan; HostClass::ALL.len()],
    /// Index in [`TURNS`] of the next turn.
    next_turn: usize,
}

/// Scan of the hosts of one class in `schedule`.
#[derive(Debug)]
struct ClassScan {
    class: HostClass,
    /// Start of the next scan. Earlier hosts are on the workbench, or wait for an event that moves the
    /// cursor back.
    cursor: ScheduleKey,
    /// First key that was skipped because its group may not be fetched.
    first_skipped: Option<ScheduleKey>,
    /// First key that was skipped because its host has only URLs that were never fetched, while the
    /// limit of pages is reached.
    first_new: Option<ScheduleKey>,
}

/// Hosts that a scan of `schedule` has found.
#[derive(Default)]
pub(super) struct DueHosts {
    /// The hosts, in their order.
    pub hosts: Vec<(SchedulePlace, HostKey)>,
    /// Time of the first host beyond the horizon.
    pub later: Option<Timestamp>,
    /// Number of rows that were skipped.
    n_skipped: usize,
}

impl DueHosts {
    /// Returns true if the scan ended early, because it skipped many rows.
    pub const fn is_cut(&self) -> bool {
        self.n_skipped >= SKIPPED_MAX
    }
}

impl ScheduleScan {
    /// Creates a scan that begins with the first row.
    pub fn new() -> Self {
        Self { classes: HostClass::ALL.map(ClassScan::new), next_turn: 0 }
    }

    /// Makes the next scan include a host at this place.
    pub fn include(&mut self, place: SchedulePlace, host: HostKey) {
        let scan = &mut self.classes[place.class as usize];
        scan.cursor = keys::schedule(place, host).min(scan.cursor);
    }

    /// Counts a host that was handed over: the turn is over.
    pub const fn end_turn(&mut self) {
        self.next_turn = (self.next_turn + 1) % TURNS.len();
    }

    /// Records a host that has only URLs that were never fetched, while the limit of pages is reached.
    pub fn skip_new(&mut self, place: SchedulePlace, host: HostKey) {
        let first = &mut self.classes[place.class as usize].first_new;
        add_first(first, keys::schedule(place, host));
    }

    /// Makes the next scan include the hosts of [`Self::skip_new`]. Returns true if there are any.
    pub fn include_new(&mut self) -> bool {
        self.include_from(|scan| scan.first_new.take())
    }

    /// Makes the next scan include the hosts that were skipped because their groups could not be
    /// fetched. Returns true if there are any.
    pub fn include_skipped(&mut self) -> bool {
        self.include_from(|scan| scan.first_skipped.take())
    }

    fn include_from(&mut self, first: fn(&mut ClassScan) -> Option<ScheduleKey>) -> bool {
        let mut any = false;
        for scan in &mut self.classes {
            if let Some(first) = first(scan) {
                scan.cursor = scan.cursor.min(first);
                any = true;
            }
        }
        any
    }

    /// Returns the next due hosts in `schedule`, at most `wanted`, and the time of the first one beyond
    /// the horizon. The classes of hosts share the room by [`TURNS`]; a class without hosts leaves its
    /// room to the best class that has some. If many rows are skipped, it returns early, and the next
    /// call goes on.
    pub fn find_due(
        &mut self,
        frontier: &Frontier,
        group_rows: &mut GroupRows,
        now: Timestamp,
        mut may_fetch: MayFetch<'_>,
        wanted: u32,
    ) -> Result<DueHosts, DiskError> {
        let most = HOSTS_AT_ONCE.min(wanted as usize);
        let mut shares = [0; HostClass::ALL.len()];
        for turn in 0..most {
            shares[TURNS[(self.next_turn + turn) % TURNS.len()] as usize] += 1;
        }
        let mut found = DueHosts::default();
        let mut has_more = [true; HostClass::ALL.len()];
        for is_rest in [false, true] {
            for (i, scan) in self.classes.iter_mut().enumerate() {
                if !has_more[i] {
                    continue;
                }
                let room = if is_rest { most - found.hosts.len() } else { shares[i] };
                let rules = (&mut *group_rows, &mut may_fetch);
                has_more[i] = scan.find(frontier, rules, now, room, &mut found)?;
            }
        }
        found.hosts = in_turn_of_classes(found.hosts, self.next_turn);
        Ok(found)
    }

    /// Returns the number of due hosts that are not on the workbench, at most `most`. It counts a host of
    /// which nothing can be fetched at the moment until a scan has passed it.
    pub fn count_due(
        &self,
        frontier: &Frontier,
        now: Timestamp,
        most: usize,
    ) -> Result<usize, DiskError> {
        let mut n_due = 0;
        for scan in &self.classes {
            if n_due == most {
                break;
            }
            let (mut n_rows, end) = (0, keys::end_of_class(scan.class));
            frontier.disk.walk(Family::Schedule, &scan.cursor, &end, |key, _| {
                let (place, host) = keys::read_schedule(key)?;
                n_rows += 1;
                let is_due = place.at <= now;
                n_due += usize::from(is_due && !is_taken(frontier, host));
                Ok(is_due && n_due < most && n_rows < LOOKED_AT_MAX)
            })?;
        }
        Ok(n_due)
    }
}

/// Puts hosts in the order of [`TURNS`] from `next_turn` on. The turn of a class without hosts goes to the best
/// class that has some.
fn in_turn_of_classes(
    hosts: Vec<(SchedulePlace, HostKey)>,
    next_turn: usize,
) -> Vec<(SchedulePlace, HostKey)> {
    let n_hosts = hosts.len();
    let mut classes = HostClass::ALL.map(|_| VecDeque::new());
    for (place, host) in hosts {
        classes[place.class as usize].push_back((place, host));
    }
    let next = |turn: usize| {
        let own = classes[TURNS[turn % TURNS.len()] as usize].pop_front();
        own.or_else(|| classes.iter_mut().find_map(VecDeque::pop_front))
    };
    (next_turn..next_turn + n_hosts).filter_map(next).collect()
}

/// Returns true if a host is on the workbench, or its queue is being discarded.
fn is_taken(frontier: &Frontier, host: HostKey) -> bool {
    let entry = frontier.hosts.get(host);
    entry.is_some_and(|entry| entry.on_workbench || entry.dropping.is_some())
}

impl ClassScan {
    fn new(class: HostClass) -> Self {
        let cursor = keys::start_of_class(class);
        Self { class, cursor, first_skipped: None, first_new: None }
    }

    /// Adds the next due hosts of the class, at most `room`. Returns true if there may be more.
    fn find(
        &mut self,
        frontier: &Frontier,
        (group_rows, may_fetch): (&mut GroupRows, &mut MayFetch<'_>),
        now: Timestamp,
        room: usize,
        found: &mut DueHosts,
    ) -> Result<bool, DiskError> {
        let (mut n_found, mut has_more) = (0, false);
        let (from, end) = (self.cursor, keys::end_of_class(self.class));
        frontier.disk.walk(Family::Schedule, &from, &end, |key, _| {
            let (place, host) = keys::read_schedule(key)?;
            if place.at > now + HORIZON {
                found.later = Some(found.later.map_or(place.at, |later| later.min(place.at)));
                return Ok(false);
            }
            if n_found == room || found.is_cut() {
                has_more = true;
                return Ok(false);
            }
            self.cursor = successor(key);
            if is_taken(frontier, host) {
                found.n_skipped += 1;
                return Ok(true);
            }
            if may_fetch(host.group, group_rows)? {
                n_found += 1;
                found.hosts.push((place, host));
            } else {
                add_first(&mut self.first_skipped, keys::schedule(place, host));
                found.n_skipped += 1;
            }
            Ok(true)
        })?;
        Ok(has_more)
    }
}

/// Keeps the smaller of `first` and `key`.
fn add_first(first: &mut Option<ScheduleKey>, key: ScheduleKey) {
    *first = Some(first.map_or(key, |first| first.min(key)));
}

/// Returns the first key of `schedule` after `key`.
fn successor(key: &[u8]) -> ScheduleKey {
    let mut next = [0; keys::SCHEDULE];
    let n = key.len().min(next.len());
    next[..n].copy_from_slice(&key[..n]);
    keys::increment(&mut next);
    next
}
