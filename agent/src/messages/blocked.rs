//! Counts of hosts and URLs dropped by the entries of `links.blocked`.

/// Counts of one entry since it came into force in this process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockCount {
    /// Text of the entry, as in the setting.
    pub what: String,
    /// True if all queued URLs have been scanned and dropped where blocked.
    pub done: bool,
    /// Hosts that lost at least one URL.
    pub hosts: u64,
    /// URLs that were dropped.
    pub urls: u64,
}
