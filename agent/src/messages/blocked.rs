//! What came of the entries of `links.blocked`.

/// Of one entry, since it is in force in this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockCount {
    /// As in the setting.
    pub what: String,
    /// All that was queued has been looked through.
    pub done: bool,
    /// Hosts of which something was dropped.
    pub hosts: u64,
    /// URLs that were dropped.
    pub urls: u64,
}
