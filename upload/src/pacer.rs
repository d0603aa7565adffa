//! A bound of bytes a second.

use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Delays transfers so that they take no more than a number of bytes a second.
pub struct Pacer {
    /// Bytes a second; 0 is no bound.
    rate: u64,
    next: Instant,
}

impl Pacer {
    pub fn new(rate: u64) -> Self {
        Self { rate, next: Instant::now() }
    }

    /// Waits until `bytes` more may be transferred.
    pub async fn take(&mut self, bytes: usize) {
        if self.rate == 0 {
            return;
        }
        sleep_until(self.next).await;
        #[expect(clippy::cast_precision_loss, reason = "a rate")]
        let took = Duration::from_secs_f64(bytes as f64 / self.rate as f64);
        self.next = self.next.max(Instant::now()) + took;
    }
}
