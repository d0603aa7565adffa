//! Hosts that are not to be visited, as people say it while the crawl runs: seen by all rooms at once.

use arc_swap::ArcSwap;
use crivello_common::config::{BlockEntry, Blocklist, Settings};
use std::collections::HashSet;
use std::net::IpAddr;
use std::sync::Arc;

/// See the module. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct Barred(Arc<ArcSwap<Lists>>);

/// What is in force.
#[derive(Debug, Default)]
pub struct Lists {
    /// For good.
    pub blocked: Arc<Blocklist>,
    /// For a while.
    pub paused: HashSet<String>,
}

impl Lists {
    /// Those of the settings.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Self {
            blocked: Arc::new(Blocklist::new(&settings.links.blocked)),
            paused: settings
                .politeness
                .paused
                .iter()
                .map(|name| name.as_str().to_owned())
                .collect(),
        }
    }

    /// The entry by which a host is blocked, by its name or where it is.
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

impl Barred {
    /// By the settings that a run begins with.
    #[must_use]
    pub fn of(settings: &Settings) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(Lists::of(settings))))
    }

    /// Other settings are in force.
    pub fn replace(&self, settings: &Settings) {
        self.0.store(Arc::new(Lists::of(settings)));
    }

    /// What is in force.
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
