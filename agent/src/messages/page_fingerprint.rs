//! Fingerprint of a page's text, for the index of near-duplicates.

use crate::storage::near::{NearEntry, NearPlace};

/// Fingerprint of a page that is archived, with all that its entry in the index needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFingerprint {
    /// The fingerprint.
    pub bits: u64,
    /// True if the text is nearly that of an earlier page.
    pub is_near_duplicate: bool,
    /// True if it is added to the index; false if that would change no result.
    pub is_indexed: bool,
    /// Number among the pages that are not committed yet.
    pub number: u64,
    /// Hash of the registrable domain, 7 bits.
    pub domain: u8,
    /// True if the links are followed, so that those of later pages may be skipped.
    pub is_followed: bool,
}

impl PageFingerprint {
    /// Returns the entry in the index of the page whose record is at a place in the archive; `None` if it has none.
    #[must_use]
    pub fn entry(&self, record: Option<(u32, u64)>) -> Option<NearEntry> {
        let place = record.filter(|_| self.is_indexed).and_then(NearPlace::of)?;
        Some(NearEntry { place, domain: self.domain, is_followed: self.is_followed })
    }
}
