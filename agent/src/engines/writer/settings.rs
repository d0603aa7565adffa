//! Application of live settings to the crawl database.

use crate::engines::writer::{Writer, WriterError};
use crivello_common::time::Timestamp;
use std::time::Duration;

/// Pause between two steps of the scan of all hosts.
const STEP_PAUSE: Duration = Duration::from_millis(2);

impl Writer {
    /// Applies new settings, and continues to drop URLs of blocked hosts and to reorder all others.
    pub(super) fn apply_settings(&mut self, now: Timestamp) -> Result<(), WriterError> {
        let live = &self.shared.live;
        let crawldb = &mut self.stores.crawldb;
        // Messages that wait for the workbench were created under older settings: they are sent
        // first.
        if self.replies.is_empty()
            && let Some(revised) = live.pending_for_crawldb()
        {
            crawldb.reconfigure(&revised.live);
            live.crawldb_applied(revised.revision);
            self.queues.wake();
            self.apply_recrawl_rate(now);
        }
        let (live, crawldb) = (&self.shared.live, &mut self.stores.crawldb);
        if crawldb.blocked_hosts().is_active() {
            crawldb.step_block_scan(now)?;
        }
        let is_scanning = crawldb.blocked_hosts().is_scanning() || crawldb.is_reordering();
        if is_scanning || crawldb.has_host_requests() {
            self.serve_at = now + STEP_PAUSE;
        }
        let changes = Some(crawldb.blocked_hosts().changes());
        if std::mem::replace(&mut self.blocks_reported, changes) != changes {
            *live.blocks.lock() = crawldb.blocked_hosts().counts();
        }
        if !self.replication.is_transferring()
            && let Some(commit) = self.stores.crawldb.step_reorder(now)?
        {
            self.write(commit, now)?;
        }
        Ok(())
    }
}
