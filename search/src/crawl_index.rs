//! The index of a crawl that goes on: it takes in archive files once they are sealed, and is searched meanwhile.

use crate::build::{IndexOptions, IndexProgress, IndexReport, IndexUpdate};
use crate::error::{IndexError, SearchError};
use crate::postings::Preset;
use crate::search::{QueryStatistics, SearchOptions, SearchResults, Searcher, StoredPage};
use crivello_common::time::Clock;
use crivello_ranks::RanksInForce;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// States of the index that stay open: that of a search which began before the last update, too.
const OPEN_MAX: usize = 2;

/// An index of one archive directory. It is updated by one thread, and searched by any.
pub struct CrawlIndex {
    dir: PathBuf,
    preset: Preset,
    clock: Clock,
    open: Mutex<OpenStates>,
    ranks: RanksInForce,
}

/// The newest states, the last one at the end.
#[derive(Default)]
struct OpenStates {
    states: VecDeque<IndexState>,
    next: u64,
    /// Digest of the ranks of the newest state.
    ranks: String,
}

/// An open state.
#[derive(Clone)]
struct IndexState {
    generation: u64,
    searcher: Arc<Searcher>,
    /// Digest of its ranks; empty without ranks.
    ranks: String,
}

/// Statistics of a query in one state of an index.
#[derive(Clone, Debug, Default)]
pub struct StateStatistics {
    /// The state; 0 before there is one.
    pub generation: u64,
    /// Digest of its ranks of hosts; empty without ranks.
    pub ranks: String,
    /// The statistics.
    pub statistics: QueryStatistics,
}

/// Result of a search in one state of an index: `None` if that state is not open any more.
pub type OfState<T> = Result<Option<T>, SearchError>;

impl CrawlIndex {
    /// Returns the index in `dir`, which need not exist. It has no pages before [`Self::load`] or the first update. Its
    /// static ranks are `ranks`, as of the last update or [`Self::follow_ranks`].
    #[must_use]
    pub fn new(dir: &Path, preset: Preset, clock: Clock, ranks: RanksInForce) -> Self {
        // Generations of an earlier process are not confused with those of this one.
        let next = clock.now().0;
        let open = Mutex::new(OpenStates { next, ..OpenStates::default() });
        Self { dir: dir.to_owned(), preset, clock, open, ranks }
    }

    /// Opens what earlier runs have indexed, if there is something.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn load(&self) -> Result<(), IndexError> {
        match self.reopen() {
            Err(IndexError::Absent(_)) => Ok(()),
            result => result,
        }
    }

    /// Takes in the sealed files that are not indexed yet, or were changed. `others` are those that are still
    /// written. Returns what was done. Words of links are not made: they are those of all segments, and would be made
    /// anew with each file.
    ///
    /// # Errors
    /// [`IndexError`]. What could be read before is searched on.
    pub fn update(
        &self,
        sealed: &[PathBuf],
        others: &[PathBuf],
        memory_bytes: usize,
        stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<IndexReport, IndexError> {
        let update = IndexUpdate {
            files: sealed,
            others,
            dir: &self.dir,
            options: IndexOptions { preset: Some(self.preset), stemming: None },
            selection: None,
            threads: 1,
            memory_bytes,
            ranks: None,
            merge_all: false,
            makes_anchors: false,
            check: false,
        };
        let report = update.run(&IndexProgress::default(), stopped, &|_, _| ())?;
        self.reopen()?;
        Ok(report)
    }

    /// Takes over the ranks in force, if they are others than those of the newest state.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn follow_ranks(&self) -> Result<(), IndexError> {
        let digest = self.ranks.digest();
        let is_current = {
            let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.ranks == digest
        };
        if is_current { Ok(()) } else { self.load() }
    }

    fn reopen(&self) -> Result<(), IndexError> {
        let ranks = self.ranks.get();
        let digest = ranks.as_ref().map(|ranks| ranks.digest().to_owned()).unwrap_or_default();
        let searcher = Arc::new(Searcher::open(&self.dir)?.with_ranks(ranks));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let generation = open.next;
        open.next += 1;
        open.ranks.clone_from(&digest);
        open.states.push_back(IndexState { generation, searcher, ranks: digest });
        if open.states.len() > OPEN_MAX {
            open.states.pop_front();
        }
        Ok(())
    }

    /// Returns the newest state, or that of a generation.
    fn state(&self, wanted: Option<u64>) -> Option<IndexState> {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_wanted = |state: &&IndexState| wanted.is_none_or(|one| one == state.generation);
        open.states.iter().rev().find(is_wanted).cloned()
    }

    /// Returns the statistics of a query in the newest state. Before the first update there are no documents. `None` if
    /// the time was over.
    ///
    /// # Errors
    /// [`SearchError`].
    pub fn statistics(&self, query: &str, options: &SearchOptions) -> OfState<StateStatistics> {
        let Some(IndexState { generation, searcher, ranks }) = self.state(None) else {
            crate::query::parse(query)?;
            return Ok(Some(StateStatistics::default()));
        };
        let statistics = searcher.statistics(query, options, &self.clock)?;
        Ok(statistics.map(|statistics| StateStatistics { generation, ranks, statistics }))
    }

    /// Searches the state of a generation, with statistics of which its own are part.
    ///
    /// # Errors
    /// [`SearchError`].
    pub fn search(
        &self,
        query: &str,
        options: &SearchOptions,
        (generation, statistics): (u64, &QueryStatistics),
    ) -> OfState<SearchResults> {
        if generation == 0 {
            return Ok(Some(SearchResults::default()));
        }
        let Some(state) = self.state(Some(generation)) else { return Ok(None) };
        state.searcher.search_with(query, options, statistics, &self.clock).map(Some)
    }

    /// Returns the page of a URL, as it is stored in the newest state.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn page(&self, url: &str) -> Result<Option<StoredPage>, IndexError> {
        self.state(None).map_or(Ok(None), |state| state.searcher.page(url))
    }
}
