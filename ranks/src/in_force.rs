//! The ranks in force.

use crate::file::HostRanks;
use arc_swap::ArcSwapOption;
use std::sync::Arc;

/// The ranks that all parts of a process use, if there are some. They are replaced as a whole.
#[derive(Clone, Debug, Default)]
pub struct RanksInForce(Arc<ArcSwapOption<HostRanks>>);

impl RanksInForce {
    /// Returns the ranks.
    #[must_use]
    pub fn get(&self) -> Option<Arc<HostRanks>> {
        self.0.load_full()
    }

    /// Returns the rank of a host; 0 without ranks, and for a host that they do not have.
    #[must_use]
    pub fn rank(&self, host: &str) -> u8 {
        self.0.load().as_ref().map_or(0, |ranks| ranks.rank(host))
    }

    /// Returns the digest of their file; empty without ranks.
    #[must_use]
    pub fn digest(&self) -> String {
        self.0.load().as_ref().map(|ranks| ranks.digest().to_owned()).unwrap_or_default()
    }

    /// Replaces the ranks.
    pub fn set(&self, ranks: Option<HostRanks>) {
        self.0.store(ranks.map(Arc::new));
    }
}
