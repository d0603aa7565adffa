//! A host in memory: it is on the workbench, has pages in flight between the fetchers and the
//! commit, or is touched by the current commit.

use super::join::join_states;
use crate::messages::{Finder, HostClass, QueueKey, QueueKind, SchedulePlace};
use crate::storage::group_row::GroupRow;
use crate::storage::values::HostRow;
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_ranks::HostRanks;

/// A host in memory.
#[derive(Debug, Default)]
pub struct HostInMemory {
    /// The host's row, newer than the one on disk until the next commit.
    pub row: HostRow,
    /// True if `row` is newer than the row on disk.
    pub dirty: bool,
    /// True if the workbench holds the host.
    pub on_workbench: bool,
    /// True if the host's key in `schedule` may be the wrong one.
    pub reschedule: bool,
    /// True if the class in that key may be the wrong one, and nothing else.
    pub reclassify: bool,
    /// True if the workbench may fetch only what was answered before.
    pub only_again: bool,
    /// True if the host fell due while all of its queue was in flight.
    pub parked: bool,
    /// Queue keys handed to the workbench whose pages have not been committed; sorted.
    pub checked_out: Vec<QueueKey>,
    /// Places in the queues up to which all rows are handed out.
    pub cursors: QueueCursors,
    /// Number of pages that the domain's limit has reserved for this host.
    pub reserved_pages: u64,
    /// Reason for which the queue is discarded, and whether later URLs are refused, too.
    pub dropping: Option<(Discard, bool)>,
    /// State merged from other agents while the workbench held the host.
    pub merged_while_out: Option<Box<HostState>>,
    /// Contribution to [`Totals::own_queued`](super::Totals::own_queued).
    pub counted: u64,
    /// Class for which it counts in the row of its group, as of the last recount.
    pub counted_as: Option<(Finder, bool)>,
}

const _: () = assert!(size_of::<HostInMemory>() <= 248);

/// For each queue of URLs to fetch, the key before which all of its rows are handed out.
#[derive(Clone, Copy, Debug)]
pub struct QueueCursors {
    new: QueueKey,
    again: QueueKey,
}

impl Default for QueueCursors {
    fn default() -> Self {
        Self { new: QueueKind::New.start(), again: QueueKind::Again.start() }
    }
}

impl QueueCursors {
    /// Returns the key from which on a queue has rows to hand out.
    pub const fn of(&self, queue: QueueKind) -> QueueKey {
        match queue {
            QueueKind::New => self.new,
            QueueKind::Again => self.again,
            QueueKind::Pending => queue.start(),
        }
    }

    fn of_mut(&mut self, queue: QueueKind) -> Option<&mut QueueKey> {
        match queue {
            QueueKind::New => Some(&mut self.new),
            QueueKind::Again => Some(&mut self.again),
            QueueKind::Pending => None,
        }
    }

    /// Moves a cursor back to a row that can be handed out.
    pub fn include(&mut self, key: QueueKey) {
        if let Some(cursor) = self.of_mut(key.queue) {
            *cursor = key.min(*cursor);
        }
    }

    /// Moves a cursor beyond a row that is handed out, as are all before it.
    pub fn pass(&mut self, key: QueueKey) {
        if let Some(cursor) = self.of_mut(key.queue) {
            *cursor = QueueKey { seq: key.seq + 1, ..key };
        }
    }
}

/// Change of the class for which a host counts in the row of its group, as
/// [`HostRow::counts_as`] returns it.
#[derive(Clone, Copy, Debug)]
pub struct ClassChange {
    before: Option<(Finder, bool)>,
    after: Option<(Finder, bool)>,
}

impl ClassChange {
    /// Changes the row of the group.
    pub fn apply(self, group: &mut GroupRow) {
        for (class, adds) in [(self.before, false), (self.after, true)] {
            if let Some((finder, resolved)) = class {
                group.change(finder, |taken| taken.count_host(resolved, adds));
            }
        }
    }
}

impl HostInMemory {
    /// Creates a host from its row.
    #[must_use]
    pub fn new(row: HostRow) -> Box<Self> {
        Box::new(Self {
            counted: if row.scheduled.is_some() { row.queued } else { 0 },
            counted_as: row.counts_as(),
            row,
            ..Self::default()
        })
    }

    /// Records for which class it counts now. Returns the change for the row of its group, if there is
    /// one.
    pub fn recount(&mut self) -> Option<ClassChange> {
        let after = self.row.counts_as();
        let before = std::mem::replace(&mut self.counted_as, after);
        (before != after).then_some(ClassChange { before, after })
    }

    /// Records that a URL of it was found. While it does not count against the limits of its domain,
    /// only the last finder matters.
    pub fn found_by(&mut self, finder: Finder) {
        let counts = self.row.counts_as().is_some();
        self.row.finder = if counts { self.row.finder.min(finder) } else { finder };
    }

    /// Returns true if this is the row of the host with this name. Otherwise two hosts have the same
    /// key, which is logged: the caller discards the other one.
    pub fn is_named(&self, host: HostKey, name: &str) -> bool {
        let is_same = *self.row.name == *name;
        if !is_same {
            tracing::warn!(?host, "discarding {name:?}: {:?} has the same key", self.row.name);
        }
        is_same
    }

    /// Marks `queue_key` as handed out.
    pub fn check_out(&mut self, queue_key: QueueKey) {
        if let Err(at) = self.checked_out.binary_search(&queue_key) {
            self.checked_out.insert(at, queue_key);
        }
    }

    /// Returns true if `queue_key` is handed out.
    pub fn is_checked_out(&self, queue_key: QueueKey) -> bool {
        self.checked_out.binary_search(&queue_key).is_ok()
    }

    /// Marks `queue_key` as not handed out.
    pub fn take_back(&mut self, queue_key: QueueKey) {
        if let Ok(at) = self.checked_out.binary_search(&queue_key) {
            self.checked_out.remove(at);
        }
    }

    /// Takes the host back from the workbench, with the URLs that it did not use.
    pub fn leave(&mut self, state: HostState, unused: &[QueueKey]) {
        self.learn(state);
        self.merged_while_out = None;
        self.on_workbench = false;
        self.reschedule = true;
        self.take_back_all(unused);
    }

    /// Makes URLs that were handed out and not tried available again.
    pub fn take_back_all(&mut self, unused: &[QueueKey]) {
        for &queue_key in unused {
            self.take_back(queue_key);
            self.cursors.include(queue_key);
        }
    }

    /// Stores the state that the workbench reports.
    pub fn learn(&mut self, state: HostState) {
        self.row.state = state;
        if let Some(merged_while_out) = &self.merged_while_out {
            join_states(&mut self.row.state, merged_while_out);
        }
    }

    /// Returns the number of queued URLs that are not handed out.
    pub fn available(&self) -> u64 {
        self.row.queued.saturating_sub(self.checked_out.len() as u64)
    }

    /// Returns the place of the host in `schedule`. It is set whenever the queue is not
    /// empty, so that a restart finds the host.
    pub fn place(&self, now: Timestamp, ranks: Option<&HostRanks>) -> Option<SchedulePlace> {
        let stays = self.on_workbench || !self.reschedule;
        match self.row.scheduled {
            _ if self.row.queued == 0 => None,
            Some(place) if stays && self.reclassify => {
                Some(SchedulePlace { class: self.class(ranks), ..place })
            }
            Some(place) if stays => Some(place),
            _ => {
                let class = self.class(ranks);
                Some(SchedulePlace { class, at: self.row.state.next.max(now) })
            }
        }
    }

    /// Returns the class of the host by its score, and by its rank if there are ranks.
    pub fn class(&self, ranks: Option<&HostRanks>) -> HostClass {
        let score = self.row.score;
        ranks.map_or(score, |ranks| score.with_rank(ranks.rank(&self.row.name))).class()
    }

    /// Returns true if the host is on the workbench, has pages in flight, or is being dropped.
    pub fn is_busy(&self) -> bool {
        self.on_workbench || !self.checked_out.is_empty() || self.dropping.is_some()
    }

    /// Returns true if nothing keeps the host in memory.
    pub fn is_idle(&self) -> bool {
        !self.dirty && !self.is_busy()
    }
}
