//! Searches of the agent's index.

use super::QueryError;
use crate::limits::{SEARCH_WAIT, SEARCHES_MAX};
use crivello_proto::v1;
use std::sync::Arc;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Bytes of a query at most.
const QUERY_MAX: usize = 1_024;
/// Results at most.
const LIMIT_MAX: u32 = 100;

/// The index of an agent. All operations may take as long as the bound of the query.
pub trait IndexApi: Send + Sync + 'static {
    /// Returns the statistics of a query.
    ///
    /// # Errors
    /// [`QueryError`] if the query is wrong, or if the index cannot be read.
    fn statistics(
        &self,
        query: &v1::SearchQuery,
    ) -> Result<v1::SearchStatisticsResponse, QueryError>;
    /// Searches.
    ///
    /// # Errors
    /// [`QueryError`], also if the state of the index in the statistics is not open any more.
    fn search(
        &self,
        query: &v1::SearchQuery,
        generation: u64,
        statistics: v1::SearchStatisticsResponse,
    ) -> Result<v1::SearchResponse, QueryError>;
    /// Returns the page of a URL.
    ///
    /// # Errors
    /// [`QueryError`].
    fn page(&self, url: &str) -> Result<v1::StoredPageResponse, QueryError>;
}

/// Runs searches, or reads stored pages, a few at once.
#[derive(Clone)]
pub(super) struct SearchRunner {
    permits: Arc<Semaphore>,
}

impl SearchRunner {
    pub(super) fn new() -> Self {
        Self { permits: Arc::new(Semaphore::new(SEARCHES_MAX)) }
    }

    /// Calls `f` with the index, in a thread that may block.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        index: Option<Arc<dyn IndexApi>>,
        f: impl FnOnce(&dyn IndexApi) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, QueryError> {
        let index = index.ok_or(QueryError::NoIndex)?;
        let permit = timeout(SEARCH_WAIT, Arc::clone(&self.permits).acquire_owned()).await;
        let permit = permit.ok().and_then(Result::ok).ok_or(QueryError::TooManySearches)?;
        let search = move || {
            let _permit = permit;
            f(&*index)
        };
        spawn_blocking(search).await.unwrap_or(Err(QueryError::NotNow))
    }
}

/// Checks a query.
pub(super) fn checked(query: Option<v1::SearchQuery>) -> Result<v1::SearchQuery, QueryError> {
    let query = query.ok_or_else(|| QueryError::Invalid("there is no query".to_owned()))?;
    let problem = match &query {
        query if query.query.len() > QUERY_MAX => {
            format!("the query is longer than {QUERY_MAX} bytes")
        }
        query if query.limit > LIMIT_MAX => format!("limit: from 0 to {LIMIT_MAX}"),
        query if !query.rank_weight.is_finite() || query.rank_weight < 0.0 => {
            "rank_weight: 0 or more".to_owned()
        }
        _ => return Ok(query),
    };
    Err(QueryError::Invalid(problem))
}
