//! The segments of an index, and searches over them.

use super::collector::Collector;
use super::open_index::OpenIndex;
use super::options::SearchOptions;
use super::plan::Planner;
use super::results::SearchResults;
use super::statistics::QueryStatistics;
use crate::build::{Manifest, UrlHasher};
use crate::error::{IndexError, SearchError};
use crate::field::TermField;
use crate::file::ChunkCache;
use crate::operator::{Budget, Halt};
use crate::postings::Preset;
use crate::query::parse;
use crate::ranks::{FedRanks, RankTable, StaticRanks, ranks_name};
use crate::segment::{Segment, SegmentBytes, StoredText};
use crivello_common::time::{Clock, Timestamp};
use crivello_ranks::HostRanks;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Times that the manifest is read again because its segments were merged meanwhile.
const RETRIES: usize = 20;
/// Languages of an index at most that are looked at.
const LANGUAGES_MAX: usize = 10_000;

/// Numbers of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct IndexStats {
    /// Documents that count.
    pub documents: u64,
    /// Documents that count no more, and are not merged away yet.
    pub dead: u64,
    /// Segments.
    pub segments: usize,
    /// Terms, summed over segments.
    pub terms: u64,
    /// Words of all documents.
    pub words: u64,
    /// Sizes of files.
    pub bytes: SegmentBytes,
}

/// A page, as an index has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPage {
    /// Title; empty if it has none.
    pub title: String,
    /// Main text.
    pub text: String,
    /// Time of the capture.
    pub date: Timestamp,
}

/// An index that is open for searches: its segments at one moment.
pub struct Searcher {
    index: OpenIndex,
    preset: Preset,
    dir: PathBuf,
    hasher: UrlHasher,
}

impl Searcher {
    /// Opens an index. It may be written meanwhile: the segments are those of one manifest.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn open(dir: &Path) -> Result<Self, IndexError> {
        let mut retries = 0;
        loop {
            let manifest =
                Manifest::read(dir)?.ok_or_else(|| IndexError::Absent(dir.to_owned()))?;
            match Self::open_segments(dir, &manifest) {
                Err(error) if error.is_not_found() && retries < RETRIES => retries += 1,
                result => return result,
            }
        }
    }

    fn open_segments(dir: &Path, manifest: &Manifest) -> Result<Self, IndexError> {
        let (preset, stemming) = manifest.options(dir)?;
        let mut segments: Vec<Segment> = (manifest.segments.iter())
            .map(|entry| entry.open(dir, preset))
            .collect::<Result<_, _>>()?;
        let cache = ChunkCache::of_searches();
        segments.iter_mut().for_each(|segment| segment.share(&cache));
        let n_documents = segments.iter().map(|segment| u64::from(segment.n_documents())).sum();
        let lengths = segments.iter().flat_map(|segment| &segment.lengths);
        let n_words: u64 = lengths.map(|length| u64::from(*length)).sum();
        let mut languages: BTreeMap<String, u64> = BTreeMap::new();
        for segment in &segments {
            let (terms, _) =
                segment.terms.with_prefix(&TermField::Language.term(""), LANGUAGES_MAX)?;
            for (term, entry) in terms {
                let name = String::from_utf8_lossy(&term[1..]).into_owned();
                *languages.entry(name).or_default() += u64::from(entry.documents);
            }
        }
        let ranks =
            |generation| RankTable::open(&dir.join(ranks_name(generation))).map(StaticRanks::Table);
        let collection = QueryStatistics {
            documents: n_documents,
            words: n_words,
            languages,
            ..QueryStatistics::default()
        };
        let ranks = manifest.ranks.map(ranks).transpose()?;
        let index = OpenIndex { segments, stemming, collection, ranks };
        Ok(Self { index, preset, dir: dir.to_owned(), hasher: manifest.hasher() })
    }

    /// Takes the ranks of hosts of a crawl as static ranks.
    pub(crate) fn with_ranks(mut self, ranks: Option<Arc<HostRanks>>) -> Self {
        self.index.ranks = ranks.map(|ranks| StaticRanks::Fed(FedRanks::new(ranks)));
        self
    }

    pub(crate) fn segments(&self) -> &[Segment] {
        &self.index.segments
    }

    /// Returns the languages of the index, and the number of documents of each.
    #[must_use]
    pub const fn languages(&self) -> &BTreeMap<String, u64> {
        &self.index.collection.languages
    }

    /// Returns the preset of codes.
    #[must_use]
    pub const fn preset(&self) -> Preset {
        self.preset
    }

    /// Returns numbers of the index.
    #[must_use]
    pub fn stats(&self) -> IndexStats {
        let mut stats = IndexStats { segments: self.index.segments.len(), ..IndexStats::default() };
        for segment in &self.index.segments {
            let dead = segment.n_dead();
            stats.documents += u64::from(segment.n_documents() - dead);
            stats.dead += u64::from(dead);
            stats.terms += segment.terms.len();
            stats.bytes.add(segment.bytes());
        }
        stats.words = self.index.collection.words;
        stats
    }

    /// Returns the page of a URL that counts, as it is stored; `None` if it is not in the index.
    ///
    /// # Errors
    /// [`IndexError`].
    pub fn page(&self, url: &str) -> Result<Option<StoredPage>, IndexError> {
        let url_hash = self.hasher.hash(url);
        let mut last: Option<(u64, StoredPage)> = None;
        for segment in self.segments() {
            for capture in segment.captures_of(url_hash)? {
                let is_last = last.as_ref().is_none_or(|(date, _)| *date <= capture.date);
                let has_document = capture.document < segment.n_documents();
                if !is_last || !has_document || segment.is_dead(capture.document) {
                    continue;
                }
                let row = segment.row(capture.document)?;
                let StoredText { url: stored, title, text } = segment.texts().read(&row)?;
                if stored == url {
                    let date = Timestamp(row.date);
                    last = Some((row.date, StoredPage { title, text, date }));
                }
            }
        }
        Ok(last.map(|(_, page)| page))
    }

    /// Searches.
    ///
    /// # Errors
    /// [`SearchError`]. Reaching a bound is none: the results then are partial.
    pub fn search(
        &self,
        query: &str,
        options: &SearchOptions,
        clock: &Clock,
    ) -> Result<SearchResults, SearchError> {
        self.search_within(query, options, None, clock)
    }

    /// Returns the statistics of a query in this index; `None` if the time was over before all terms were looked up.
    ///
    /// # Errors
    /// [`SearchError`].
    pub fn statistics(
        &self,
        query: &str,
        options: &SearchOptions,
        clock: &Clock,
    ) -> Result<Option<QueryStatistics>, SearchError> {
        let query = parse(query)?;
        let budget = Budget::new(clock, &options.bounds);
        match Planner::statistics(&query, &self.index, options, &budget) {
            Ok(statistics) => Ok(Some(statistics)),
            Err(Halt::Bound(_)) => Ok(None),
            Err(Halt::Index(error)) => Err(error.into()),
        }
    }

    /// Searches with statistics that other indexes may be part of. They are those of the same query and options, and
    /// this index is part of them.
    ///
    /// # Errors
    /// [`SearchError`]. Reaching a bound is none: the results then are partial.
    pub fn search_with(
        &self,
        query: &str,
        options: &SearchOptions,
        statistics: &QueryStatistics,
        clock: &Clock,
    ) -> Result<SearchResults, SearchError> {
        self.search_within(query, options, Some(statistics), clock)
    }

    fn search_within(
        &self,
        query: &str,
        options: &SearchOptions,
        statistics: Option<&QueryStatistics>,
        clock: &Clock,
    ) -> Result<SearchResults, SearchError> {
        let query = parse(query)?;
        if options.rank_weight > 0.0 && options.is_ranked && self.index.ranks.is_none() {
            return Err(IndexError::NoRanks(self.dir.clone()).into());
        }
        let budget = &Budget::new(clock, &options.bounds);
        let plan = match Planner::plan(&query, &self.index, options, statistics, budget) {
            Ok(plan) => plan,
            Err(Halt::Index(error)) => return Err(error.into()),
            Err(Halt::Bound(bound)) => {
                let bound = Some(bound);
                return Ok(SearchResults { is_partial: true, bound, ..SearchResults::default() });
            }
        };
        let statistics = statistics.unwrap_or(&self.index.collection);
        let mut collector = Collector::new(&self.index, &plan, options, statistics);
        for segment in 0..self.index.segments.len() {
            match collector.collect(segment, budget) {
                Ok(true) => {}
                Ok(false) => {
                    collector.end_early(None);
                    break;
                }
                Err(Halt::Bound(bound)) => {
                    collector.end_early(Some(bound));
                    break;
                }
                Err(Halt::Index(error)) => return Err(error.into()),
            }
        }
        Ok(collector.finish(budget)?)
    }
}
