//! Cache of the last few hosts of a page. Most of its links lead to the same hosts, and looking up
//! a host's group in the public-suffix list costs more than comparing a name.

use compact_str::CompactString;
use crivello_common::hash::HostKey;
use crivello_common::identity::KeyedHasher;
use smallvec::SmallVec;

/// Number of hosts in the cache.
const SIZE: usize = 4;

/// Cache of the last few hosts.
pub(super) struct RecentHosts {
    hosts: SmallVec<[(CompactString, HostKey); SIZE]>,
    oldest: usize,
    hasher: KeyedHasher,
}

impl RecentHosts {
    pub(super) fn new(hasher: KeyedHasher) -> Self {
        Self { hosts: SmallVec::new(), oldest: 0, hasher }
    }

    /// Returns the key of `host`, which must be in normal form.
    pub(super) fn key(&mut self, host: &str) -> HostKey {
        if let Some((_, key)) = self.hosts.iter().find(|(name, _)| name == host) {
            return *key;
        }
        let key = self.hasher.host_key(host);
        let entry = (CompactString::new(host), key);
        if self.hosts.len() < SIZE {
            self.hosts.push(entry);
        } else {
            self.hosts[self.oldest] = entry;
            self.oldest = (self.oldest + 1) % SIZE;
        }
        key
    }
}
