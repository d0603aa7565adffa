//! Blocked and paused hosts by the live settings. All stages see a change at once.

use arc_swap::ArcSwap;
use crivello_common::config::{BlockEntry, Blocklist, Live};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

/// Shared handle to the lists in force. Clones share the same lists.
#[derive(Clone, Debug, Default)]
pub struct BlockAndPauseList(Arc<ArcSwap<Lists>>);

/// Blocked and paused hosts of one revision of the settings.
#[derive(Debug, Default)]
pub struct Lists {
    /// Blocked hosts, domains and networks.
    pub blocked: Arc<Blocklist>,
    /// Paused hosts.
    pub paused: HashSet<String>,
}

impl Lists {
    /// Returns the lists in the settings.
    #[must_use]
    pub fn of(live: &Live) -> Self {
        Self {
            blocked: Arc::new(Blocklist::new(&live.links.blocked)),
            paused: live.politeness.paused.iter().map(|name| name.as_str().to_owned()).collect(),
        }
    }

    /// Returns the entry that blocks a host by its name or its address.
    pub fn block(&self, host: &str, address: Option<IpAddr>) -> Option<&BlockEntry> {
        let at = || address.and_then(|address| self.blocked.by_address(address));
        self.blocked.by_name(host).or_else(at)
    }

    /// Returns true if a host is paused.
    pub fn is_paused(&self, host: &str) -> bool {
        self.paused.contains(host)
    }
}

impl BlockAndPauseList {
    /// Creates the lists from the settings at the start.
    #[must_use]
    pub fn of(live: &Live) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(Lists::of(live))))
    }

    /// Applies new settings.
    pub fn replace(&self, live: &Live) {
        self.0.store(Arc::new(Lists::of(live)));
    }

    /// Returns the lists in force.
    pub fn lists(&self) -> Arc<Lists> {
        self.0.load_full()
    }

    /// Returns true if no request to a host may begin now, because it is paused or blocked.
    pub fn stops(&self, host: &str, address: IpAddr) -> bool {
        let lists = self.0.load();
        lists.is_paused(host) || lists.block(host, Some(address)).is_some()
    }

    /// Returns true if an address is blocked.
    pub fn blocks_address(&self, address: IpAddr) -> bool {
        self.0.load().blocked.by_address(address).is_some()
    }
}
