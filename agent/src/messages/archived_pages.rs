//! A count of the pages of a lost archive.

/// Numbers of pages that one agent has archived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArchivedPages {
    /// Pages in no other archive, nor in a store.
    pub lost: u64,
    /// Pages in files that are safe in a store.
    pub safe: u64,
}
