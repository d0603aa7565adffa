//! Until when visits may be made: without end for an agent that is alone, otherwise while nobody
//! can have taken its groups over.

use crivello_common::time::{Clock, Timestamp};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The watch looks up at least this often: the gate may be closed earlier than it said.
const LOOK_UP: Duration = Duration::from_millis(50);

/// See the module.
#[derive(Debug)]
pub struct Gate {
    until: AtomicU64,
    /// Cancelled, and replaced, when the gate closes: visits in flight are cut off.
    cut: Mutex<CancellationToken>,
}

impl Default for Gate {
    /// One that never closes.
    fn default() -> Self {
        let until = AtomicU64::new(Timestamp::MAX.0);
        Self { until, cut: Mutex::new(CancellationToken::new()) }
    }
}

impl Gate {
    /// Visits may be made until then.
    pub fn set(&self, until: Timestamp) {
        self.until.store(until.0, Relaxed);
    }

    /// Whether a visit may begin, or go on.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now.0 < self.until.load(Relaxed)
    }

    /// Cancelled when a visit that begins now must be over.
    pub fn cut(&self) -> CancellationToken {
        self.cut.lock().clone()
    }

    /// Cuts visits off in time, whatever the thread that sets the gate is busy with.
    pub async fn watch(self: Arc<Self>, clock: Clock) {
        loop {
            let now = clock.now();
            let mut left = Timestamp(self.until.load(Relaxed)).since(now);
            if left.is_zero() {
                std::mem::take(&mut *self.cut.lock()).cancel();
                left = LOOK_UP;
            }
            tokio::time::sleep(left.min(LOOK_UP)).await;
        }
    }
}
