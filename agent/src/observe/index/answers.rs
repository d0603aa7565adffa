//! Answers of the index to other programs.

use crate::api::{IndexApi, QueryError};
use crivello_proto::agents::{PREFIXES_MAX, prefix_words};
use crivello_proto::v1;
use crivello_search::{
    Bound, CrawlIndex, Hit, IndexError, PrefixStatistics, QueryStatistics, SearchBounds,
    SearchError, SearchOptions, StateStatistics, TermCounts,
};
use std::sync::Arc;
use std::time::Duration;

/// Bounds of a search that another program asks for.
const TIME_MAX: Duration = Duration::from_secs(10);
const POSTINGS_MAX: u64 = 1 << 28;
/// Results, if the query does not say how many.
const LIMIT: usize = 10;
/// Bytes of a title at most.
const TITLE_MAX: usize = 1_024;

/// Bytes of a text at most: main texts are no longer, and a message has room for one.
const TEXT_MAX: usize = 512 << 10;

/// The index, as the agent's API has it.
pub(super) struct IndexAnswers(pub(super) Arc<CrawlIndex>);

impl IndexApi for IndexAnswers {
    fn statistics(
        &self,
        query: &v1::SearchQuery,
    ) -> Result<v1::SearchStatisticsResponse, QueryError> {
        let found = self.0.statistics(&query.query, &options(query)).map_err(failure)?;
        let StateStatistics { generation, ranks, statistics } = found.ok_or(QueryError::TooSlow)?;
        let QueryStatistics { documents, words, languages, terms, prefixes } = statistics;
        if prefixes.len() > PREFIXES_MAX {
            let problem = format!("a query of a cluster has at most {PREFIXES_MAX} prefixes");
            return Err(QueryError::Invalid(problem));
        }
        let messages = |terms: TermCounts| {
            let message = |(term, documents): (Vec<u8>, _)| v1::TermStatistics {
                term: term.into(),
                documents,
            };
            terms.into_iter().map(message).collect()
        };
        let prefix = |(prefix, of): (Vec<u8>, PrefixStatistics)| v1::PrefixStatistics {
            prefix: prefix.into(),
            terms: messages(of.terms),
            is_cut: of.is_cut,
        };
        Ok(v1::SearchStatisticsResponse {
            generation,
            documents,
            words,
            languages: languages.into_iter().collect(),
            terms: messages(terms),
            prefixes: prefixes.into_iter().map(prefix).collect(),
            host_ranks: ranks,
        })
    }

    fn search(
        &self,
        query: &v1::SearchQuery,
        generation: u64,
        statistics: v1::SearchStatisticsResponse,
    ) -> Result<v1::SearchResponse, QueryError> {
        let counts = |terms: Vec<v1::TermStatistics>| -> TermCounts {
            terms.into_iter().map(|of| (of.term.to_vec(), of.documents)).collect()
        };
        let prefix = |of: v1::PrefixStatistics| {
            let statistics = PrefixStatistics { terms: counts(of.terms), is_cut: of.is_cut };
            (of.prefix.to_vec(), statistics)
        };
        let statistics = QueryStatistics {
            documents: statistics.documents,
            words: statistics.words,
            languages: statistics.languages.into_iter().collect(),
            terms: counts(statistics.terms),
            prefixes: statistics.prefixes.into_iter().map(prefix).collect(),
        };
        let found = self.0.search(&query.query, &options(query), (generation, &statistics));
        let results = found.map_err(failure)?.ok_or(QueryError::Changed)?;
        let bound = match results.bound {
            None => "",
            Some(Bound::Time) => "time",
            Some(Bound::Postings) => "postings",
        };
        Ok(v1::SearchResponse {
            hits: results.hits.into_iter().map(hit).collect(),
            found: results.found,
            is_partial: results.is_partial,
            bound: bound.to_owned(),
            ignored: results.ignored,
            cut_prefixes: results.cut_prefixes,
            operators: results.explained.to_string(),
            is_uncounted: results.is_uncounted,
        })
    }

    fn page(&self, url: &str) -> Result<v1::StoredPageResponse, QueryError> {
        let page = self.0.page(url).map_err(|error| broken(&error))?.ok_or(QueryError::NoPage)?;
        let (mut title, mut text) = (page.title, page.text);
        title.truncate(title.floor_char_boundary(TITLE_MAX));
        text.truncate(text.floor_char_boundary(TEXT_MAX));
        Ok(v1::StoredPageResponse { title, text, date: page.date.0 })
    }
}

/// Returns the options of a search, within the bounds.
fn options(query: &v1::SearchQuery) -> SearchOptions {
    let within = |wanted: u64, max: u64| if wanted == 0 { max } else { wanted.min(max) };
    let time = within(query.time_ms, TIME_MAX.as_millis() as u64);
    SearchOptions {
        limit: if query.limit == 0 { LIMIT } else { query.limit as usize },
        with_stop_words: query.all_words,
        with_near_duplicates: query.near_duplicates,
        with_count: !query.no_count,
        // An agent knows only the links of pages that it archived itself.
        anchor_weight: 0.0,
        rank_weight: query.rank_weight,
        bounds: SearchBounds {
            time: Duration::from_millis(time),
            postings: within(query.postings, POSTINGS_MAX),
            prefix_terms: prefix_words(query),
        },
        ..SearchOptions::default()
    }
}

fn hit(hit: Hit) -> v1::SearchHit {
    let mut title = hit.title;
    title.truncate(title.floor_char_boundary(TITLE_MAX));
    let range = |range: &std::ops::Range<usize>| v1::ByteRange {
        start: range.start as u32,
        end: range.end as u32,
    };
    v1::SearchHit {
        url: hit.url,
        title,
        language: hit.language,
        date: hit.date.0,
        score: hit.score,
        near_duplicates: hit.near_duplicates,
        matches: hit.snippet.matches.iter().map(range).collect(),
        snippet: hit.snippet.text,
    }
}

fn failure(error: SearchError) -> QueryError {
    match error {
        SearchError::Query(error) => QueryError::Invalid(error.to_string()),
        SearchError::Index(error @ IndexError::NoRanks(_)) => {
            QueryError::Invalid(error.to_string())
        }
        SearchError::Index(error) => broken(&error),
    }
}

fn broken(error: &IndexError) -> QueryError {
    QueryError::Broken(error.to_string())
}
