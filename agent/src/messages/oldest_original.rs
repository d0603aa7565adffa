//! Time from which on captures are referred to: from the writer to the fetchers and the parsers.

use super::LastCapture;
use crivello_common::time::Timestamp;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Time from which on captures are originals of new revisits. Earlier ones are in files that are deleted
/// before these revisits. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct OldestOriginal(Arc<AtomicU64>);

impl OldestOriginal {
    /// Sets it. With [`Timestamp::ZERO`] all captures are originals, also those of other agents; with
    /// [`Timestamp::MAX`] none is.
    pub fn set(&self, from: Timestamp) {
        self.0.store(from.0, Relaxed);
    }

    /// Returns true if a new revisit may refer to a capture of this time in the own archive.
    #[must_use]
    pub fn permits(&self, at: Timestamp) -> bool {
        at.0 >= self.0.load(Relaxed)
    }

    /// Returns true if a new revisit may refer to this capture.
    #[must_use]
    pub fn permits_capture(&self, capture: &LastCapture) -> bool {
        let from = self.0.load(Relaxed);
        from == 0 || (capture.record.is_some() && capture.at.0 >= from)
    }
}
