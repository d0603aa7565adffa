//! Settings that change while the crawl runs, as far as the ledger goes by them.

use crate::engines::writer::{Writer, WriterError};
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Between two steps of the walk through all hosts.
const STEP_PAUSE: Duration = Duration::from_millis(2);

impl Writer {
    /// Takes up later settings, and goes on with dropping what is blocked.
    pub(super) fn keep_up(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let live = &self.shared.live;
        let ledger = &mut self.books.ledger;
        // What waits for the workbench was handed over by the older ones: it goes first.
        if self.replies.is_empty()
            && let Some(revised) = live.for_ledger()
        {
            ledger.reconfigure(&revised.settings);
            live.ledger_has(revised.revision);
            self.desk.wake();
        }
        if ledger.is_blocking() {
            ledger.step_block_scan(now)?;
        }
        if ledger.is_scanning_hosts() {
            self.next_due = now + STEP_PAUSE;
        }
        let changes = Some(ledger.block_changes());
        if std::mem::replace(&mut self.blocks_told, changes) != changes {
            *live.blocks.lock() = ledger.block_counts();
        }
        Ok(())
    }
}
