//! Hints that a page has changed, and requests to fetch pages again.

use crivello_common::hash::{HostKey, UrlKey};
use crivello_common::time::Timestamp;
use std::sync::Arc;

/// A hint that a page has changed, or the request of a person to fetch it again. It concerns only pages
/// that are known, and adds none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeSignal {
    /// The page.
    pub url: UrlKey,
    /// Source of the hint.
    pub source: SignalSource,
}

/// Source of a hint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalSource {
    /// A person, with `crivello recrawl`.
    Person,
    /// A sitemap or a feed. Of several between two fetches of the page, the first counts.
    List {
        /// Date of the change.
        modified: Timestamp,
    },
}

/// The request of a person to fetch all known pages of a host again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRequest {
    /// The host.
    pub host: HostKey,
    /// Its name.
    pub name: Arc<str>,
    /// When the person asked for it: pages that were fetched since are left out.
    pub at: Timestamp,
}
