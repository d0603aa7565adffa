//! Progress of computations, and requests to stop them.

use crate::GraphError;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Progress of a computation, which another thread shows and may stop.
#[derive(Debug, Default)]
pub struct RankProgress {
    done: AtomicU64,
    total: AtomicU64,
    /// Bits of the last error of an iteration.
    error: AtomicU64,
    is_stopped: AtomicBool,
}

impl RankProgress {
    /// Returns the number of steps that are done, and of all; 0 for all if it is not known.
    pub fn steps(&self) -> (u64, u64) {
        (self.done.load(Relaxed), self.total.load(Relaxed))
    }

    /// Returns the error after the last iteration, if the computation has iterations.
    pub fn error(&self) -> Option<f64> {
        Some(f64::from_bits(self.error.load(Relaxed))).filter(|error| *error != 0.0)
    }

    /// Asks the computation to stop. It ends with [`GraphError::Stopped`].
    pub fn stop(&self) {
        self.is_stopped.store(true, Relaxed);
    }

    pub(crate) fn begin(&self, total: u64) {
        self.done.store(0, Relaxed);
        self.total.store(total, Relaxed);
    }

    /// Counts a step.
    pub(crate) fn advance(&self) -> Result<(), GraphError> {
        self.done.fetch_add(1, Relaxed);
        if self.is_stopped.load(Relaxed) { Err(GraphError::Stopped) } else { Ok(()) }
    }

    /// Counts an iteration with this error.
    pub(crate) fn iterated(&self, error: f64) -> Result<(), GraphError> {
        self.error.store(error.to_bits(), Relaxed);
        self.advance()
    }
}
