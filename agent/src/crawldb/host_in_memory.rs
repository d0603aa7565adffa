//! A host that the crawl database holds in memory: it is on the workbench, or some of its pages are on the
//! way between the fetchers and the commit, or the present commit touches it.

use super::transfer::join_states;
use crate::messages::QueueKey;
use crate::storage::values::HostRow;
use crivello_common::discard::Discard;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;

/// See the module.
#[derive(Debug)]
pub struct HostInMemory {
    /// The row on disk, ahead of it until the next commit.
    pub row: HostRow,
    /// Whether the row in memory is ahead of the row on disk.
    pub dirty: bool,
    /// Whether the workbench holds the host.
    pub on_workbench: bool,
    /// Whether the host's place in `schedule` no longer says when it falls due.
    pub reschedule: bool,
    /// Whether it fell due while all of its queue was on the way.
    pub parked: bool,
    /// Places handed to the workbench whose pages have not been committed; sorted.
    pub checked_out: Vec<QueueKey>,
    /// No row of the queue that is not handed out lies before this.
    pub cursor: QueueKey,
    /// Pages that may still be fetched of this host by what its domain was promised.
    pub reserved_pages: u64,
    /// The queue is to be set aside, for this reason; and for good, or only what is there now.
    pub dropping: Option<(Discard, bool)>,
    /// What other agents said of it while the workbench held it.
    pub merged_while_out: Option<Box<HostState>>,
    /// What it contributes to [`Totals::own_queued`](super::Totals::own_queued).
    pub counted: u64,
}

const _: () = assert!(size_of::<HostInMemory>() <= 224);

impl HostInMemory {
    /// A host as its row says.
    #[must_use]
    pub fn new(row: HostRow) -> Box<Self> {
        Box::new(Self {
            counted: if row.scheduled.is_some() { row.queued } else { 0 },
            row,
            dirty: false,
            on_workbench: false,
            reschedule: false,
            parked: false,
            checked_out: Vec::new(),
            cursor: QueueKey::default(),
            reserved_pages: 0,
            dropping: None,
            merged_while_out: None,
        })
    }

    /// Remembers that `place` was handed out.
    pub fn check_out(&mut self, queue_key: QueueKey) {
        if let Err(at) = self.checked_out.binary_search(&queue_key) {
            self.checked_out.insert(at, queue_key);
        }
    }

    /// Whether `place` is handed out.
    #[must_use]
    pub fn is_checked_out(&self, queue_key: QueueKey) -> bool {
        self.checked_out.binary_search(&queue_key).is_ok()
    }

    /// Forgets that `place` was handed out.
    pub fn take_back(&mut self, queue_key: QueueKey) {
        if let Ok(at) = self.checked_out.binary_search(&queue_key) {
            self.checked_out.remove(at);
        }
    }

    /// The workbench gives the host back, and what it did not use.
    pub fn leave(&mut self, state: HostState, unused: &[QueueKey]) {
        self.learn(state);
        self.merged_while_out = None;
        self.on_workbench = false;
        self.reschedule = true;
        self.take_back_all(unused);
    }

    /// These were handed out and not tried: they are handed out again.
    pub fn take_back_all(&mut self, unused: &[QueueKey]) {
        for &queue_key in unused {
            self.take_back(queue_key);
            self.cursor = self.cursor.min(queue_key);
        }
    }

    /// The workbench says how it stands with the host.
    pub fn learn(&mut self, state: HostState) {
        self.row.state = state;
        if let Some(merged_while_out) = &self.merged_while_out {
            join_states(&mut self.row.state, merged_while_out);
        }
    }

    /// URLs in the queue that are not handed out.
    #[must_use]
    pub fn available(&self) -> u64 {
        self.row.queued.saturating_sub(self.checked_out.len() as u64)
    }

    /// The time that the host's row in `schedule` is to say, if it is to have one: always while its
    /// queue is not empty, so that a restart finds it.
    #[must_use]
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let stays = self.on_workbench || !self.reschedule;
        match self.row.scheduled {
            _ if self.row.queued == 0 => None,
            Some(at) if stays => Some(at),
            _ => Some(self.row.state.next.max(now)),
        }
    }

    /// Whether it is on the workbench, or pages of it are on the way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.on_workbench || !self.checked_out.is_empty() || self.dropping.is_some()
    }

    /// Whether nothing keeps the host in memory.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        !self.dirty && !self.is_busy()
    }
}
