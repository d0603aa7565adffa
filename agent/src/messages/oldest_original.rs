//! The oldest captures that are referred to: from the writer to the fetchers and the parsers.

use super::{LastCapture, RecordPlace};
use crivello_common::time::Timestamp;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::sync::{Arc, OnceLock};

/// The oldest captures that are originals of new revisits. Earlier ones are in files that are deleted before
/// these revisits, and others in files that somebody has deleted. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct OldestOriginal(Arc<Oldest>);

#[derive(Debug, Default)]
struct Oldest {
    /// Time in microseconds; 0 if all captures are originals, also those of other agents, and `u64::MAX`
    /// if none is.
    at: AtomicU64,
    /// Serial number of the first archive file.
    file: AtomicU32,
    /// Serial numbers of archive files that were missing at the start, in order.
    missing: OnceLock<Vec<u32>>,
}

impl OldestOriginal {
    /// Sets it. With [`Timestamp::ZERO`] all captures are originals, also those of other agents; with
    /// [`Timestamp::MAX`] none is.
    pub fn set(&self, at: Timestamp, file: u32) {
        self.0.file.store(file, Relaxed);
        self.0.at.store(at.0, Relaxed);
    }

    /// Sets the serial numbers of archive files that somebody has deleted, in order. Later calls change
    /// nothing.
    pub fn set_missing(&self, files: Vec<u32>) {
        let _ = self.0.missing.set(files);
    }

    /// Returns true if a new revisit may refer to a capture of this time in the own archive.
    pub fn permits(&self, at: Timestamp) -> bool {
        at.0 >= self.0.at.load(Relaxed)
    }

    /// Returns true if a new revisit may refer to this capture. A clock that was wrong does not matter for
    /// it.
    pub fn permits_capture(&self, capture: &LastCapture) -> bool {
        let is_young = |(file, _)| file >= self.0.file.load(Relaxed);
        let record = capture.record.and_then(RecordPlace::in_own_archive);
        let missing = self.0.missing.get().map_or(&[][..], Vec::as_slice);
        if record.is_some_and(|(file, _)| missing.binary_search(&file).is_ok()) {
            return false;
        }
        match self.0.at.load(Relaxed) {
            0 => true,
            u64::MAX => false,
            _ => record.is_some_and(is_young),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::view::AgentId;

    #[test]
    fn captures_of_earlier_files_and_of_other_agents_are_no_originals() {
        let capture = |record| LastCapture {
            by: AgentId(1),
            at: Timestamp::from_secs(5),
            status: 200,
            record,
        };
        let place = |file| RecordPlace::here((file, 99));
        let [own, other] = [place(3), place(3).elsewhere()].map(|place| capture(Some(place)));
        let oldest = OldestOriginal::default();
        assert!(oldest.permits_capture(&own) && oldest.permits_capture(&other));
        let gone = OldestOriginal::default();
        gone.set_missing(vec![1, 3, 7]);
        assert!(!gone.permits_capture(&own) && gone.permits_capture(&other));
        assert!(gone.permits_capture(&capture(Some(place(4)))));
        oldest.set(Timestamp::from_secs(9), 3);
        assert!(oldest.permits_capture(&own) && !oldest.permits_capture(&other));
        assert!(
            !oldest.permits(Timestamp::from_secs(8)) && oldest.permits(Timestamp::from_secs(9))
        );
        oldest.set(Timestamp::from_secs(9), 4);
        assert!(!oldest.permits_capture(&own));
        oldest.set(Timestamp::MAX, 0);
        assert!(!oldest.permits_capture(&own) && !oldest.permits(Timestamp::from_secs(9)));
    }
}
