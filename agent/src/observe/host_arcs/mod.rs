//! Host arcs of an agent's archive, if the program has graphs.

#[cfg(feature = "graph")]
mod archive;

use crate::api::HostArcsApi;
use crate::shared::Shared;
use crate::storage::crawl_dir::CrawlDir;
use std::sync::Arc;

/// Returns the source of host arcs.
#[cfg(feature = "graph")]
pub fn host_arcs(home: &CrawlDir, shared: &Shared) -> Option<Arc<dyn HostArcsApi>> {
    Some(Arc::new(archive::ArchiveHostArcs::new(home, shared)))
}

/// Returns none: this program has no graphs.
#[cfg(not(feature = "graph"))]
pub fn host_arcs(_: &CrawlDir, _: &Shared) -> Option<Arc<dyn HostArcsApi>> {
    None
}
