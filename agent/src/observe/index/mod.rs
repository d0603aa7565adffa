//! The index of an agent's archive, if the settings have one.

#[cfg(feature = "search")]
mod answers;
#[cfg(feature = "search")]
mod follow;

use crate::api::IndexApi;
use crate::shared::Shared;
use crate::storage::crawl_dir::CrawlDir;
use crivello_archive::TailPosition;
use crivello_common::config::SearchIndex;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::sync::watch;

/// The settings ask for an index, which this program does not have, or its thread cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum AgentIndexError {
    /// The program has none.
    #[error("search.index: this program was built without the feature `search`")]
    NoIndex,
    /// The thread cannot be started.
    #[error("cannot start the thread of the index: {0}")]
    Thread(#[from] std::io::Error),
}

/// An index that is kept up to date.
pub struct StartedIndex {
    /// Its answers.
    pub api: Arc<dyn IndexApi>,
    /// The thread that keeps it up to date.
    pub thread: JoinHandle<()>,
    /// Place up to which the archive is indexed; `None` at first.
    pub indexed: watch::Receiver<Option<TailPosition>>,
}

/// Starts to keep an index, if the settings have one.
///
/// # Errors
/// [`AgentIndexError`].
#[cfg(feature = "search")]
pub fn start_index(
    home: &CrawlDir,
    shared: &Shared,
) -> Result<Option<StartedIndex>, AgentIndexError> {
    use crivello_search::{CrawlIndex, INDEX_DIR, Preset};
    let preset = match shared.settings.search.index {
        SearchIndex::Off => return Ok(None),
        SearchIndex::Small => Preset::Small,
        SearchIndex::Fast => Preset::Fast,
    };
    let index = Arc::new(CrawlIndex::new(
        &home.dir.join(INDEX_DIR),
        preset,
        shared.clock,
        shared.ranks.in_force().clone(),
    ));
    let (indexed, receiver) = watch::channel(None);
    let thread = follow::start(index.clone(), home.dir.join("warc"), indexed, shared)?;
    let api = Arc::new(answers::IndexAnswers(index));
    Ok(Some(StartedIndex { api, thread, indexed: receiver }))
}

/// Refuses settings that have an index.
///
/// # Errors
/// [`AgentIndexError`] if they have one.
#[cfg(not(feature = "search"))]
pub fn start_index(_: &CrawlDir, shared: &Shared) -> Result<Option<StartedIndex>, AgentIndexError> {
    match shared.settings.search.index {
        SearchIndex::Off => Ok(None),
        SearchIndex::Small | SearchIndex::Fast => Err(AgentIndexError::NoIndex),
    }
}
