//! Blocked and paused hosts, by the live settings; all stages see them at once.

use arc_swap::ArcSwap;
use crivello_common::config::{BlockEntry, Blocklist, Live};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

/// See the module. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct BlockAndPauseList(Arc<ArcSwap<Lists>>);

/// The lists in force.
#[derive(Debug, Default)]
pub struct Lists {
    /// Blocked hosts, domains and networks.
    pub blocked: Arc<Blocklist>,
    /// Paused hosts.
    pub paused: HashSet<String>,
}

impl Lists {
    /// The lists in the settings.
    #[must_use]
    pub fn of(live: &Live) -> Self {
        Self {
            blocked: Arc::new(Blocklist::new(&live.links.blocked)),
            paused: live.politeness.paused.iter().map(|name| name.as_str().to_owned()).collect(),
        }
    }

    /// The entry that blocks a host by its name or its address.
    #[must_use]
    pub fn block(&self, host: &str, address: Option<IpAddr>) -> Option<&BlockEntry> {
        let at = || address.and_then(|address| self.blocked.by_address(address));
        self.blocked.by_name(host).or_else(at)
    }

    /// Whether a host is paused.
    #[must_use]
    pub fn is_paused(&self, host: &str) -> bool {
        self.paused.contains(host)
    }
}

impl BlockAndPauseList {
    /// The lists in the settings at the start.
    #[must_use]
    pub fn of(live: &Live) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(Lists::of(live))))
    }

    /// Applies new settings.
    pub fn replace(&self, live: &Live) {
        self.0.store(Arc::new(Lists::of(live)));
    }

    /// The lists in force.
    #[must_use]
    pub fn lists(&self) -> Arc<Lists> {
        self.0.load_full()
    }

    /// Whether no request to a host may begin now.
    #[must_use]
    pub fn stops(&self, host: &str, address: IpAddr) -> bool {
        let lists = self.0.load();
        lists.is_paused(host) || lists.block(host, Some(address)).is_some()
    }

    /// Whether an address is blocked.
    #[must_use]
    pub fn blocks_address(&self, address: IpAddr) -> bool {
        self.0.load().blocked.by_address(address).is_some()
    }
}
