//! Disk space: writes are retried while the disk is full, and fetching pauses before it is.

use crate::engines::writer::{Writer, WriterError};
use crate::storage::free_space;
use crivello_common::time::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Pause between two checks of the free space.
const DISK_EVERY: Duration = Duration::from_millis(500);
/// Pause before a write to a full disk is retried.
const FULL_DISK_WAIT: Duration = Duration::from_millis(500);

impl Writer {
    /// Repeats `f` until the disk is not full. Fails if the crawl is stopped before that.
    pub(super) fn retry_until_space<T>(
        &mut self,
        mut f: impl FnMut(&mut Self) -> Result<T, WriterError>,
    ) -> Result<T, WriterError> {
        let mut warned = false;
        loop {
            let error = match f(self) {
                Err(error) if error.is_full() => error,
                other => {
                    if warned && other.is_ok() {
                        tracing::info!("the disk has free space again; the crawl continues");
                    }
                    return other;
                }
            };
            self.shared.status.disk_full.store(true, Relaxed);
            if !std::mem::replace(&mut warned, true) {
                tracing::warn!(%error, "the disk is full; fetching is suspended until there is \
                                        free space");
            }
            if self.shared.lifecycle.is_stopping() {
                return Err(WriterError::StillFull(error.to_string()));
            }
            std::thread::sleep(FULL_DISK_WAIT);
        }
    }

    /// Pauses fetching while there is too little free space.
    pub(super) fn check_disk_space(&mut self, now: Timestamp) {
        if now.since(self.disk_checked_at) < DISK_EVERY {
            return;
        }
        self.disk_checked_at = now;
        let Some(free) = free_space(&self.stores.dir) else { return };
        let full = free < self.shared.settings.state.disk_free_min.0;
        if full != self.shared.status.disk_full.swap(full, Relaxed) {
            if full {
                tracing::warn!(
                    free,
                    "the disk is nearly full; fetching is suspended until there is free space"
                );
            } else {
                tracing::info!(free, "the disk has free space again; the crawl continues");
                self.queues.wake();
            }
        }
    }
}
