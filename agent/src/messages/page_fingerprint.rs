//! Fingerprint of a page's text, for the index of near-duplicates.

use crate::storage::near::NearTables;

/// Fingerprint of a page that is archived, with all that its entry in the index needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageFingerprint {
    /// The fingerprint.
    pub bits: u64,
    /// True if the text is nearly that of an earlier page.
    pub is_near_duplicate: bool,
    /// Tables to which it is added; `None` if that would change no result.
    pub tables: Option<NearTables>,
    /// Number among the pages that are not committed yet.
    pub number: u64,
    /// Hash of the registrable domain, 7 bits.
    pub domain: u8,
    /// True if the links are followed, so that those of later pages may be skipped.
    pub is_followed: bool,
}
