//! A search of an index in a directory.

use super::output::{FoundPage, FoundPages};
use crate::args::search::SearchArgs;
use crate::exit::{CliError, usage};
use crivello_common::time::Clock;
use crivello_search::{Bound, Hit, INDEX_DIR, SearchBounds, SearchOptions, Searcher};
use std::time::Duration;

pub fn search(args: &SearchArgs, query: &str) -> Result<FoundPages, CliError> {
    let clock = Clock::start();
    let searcher = Searcher::open(&args.out.join(INDEX_DIR)).map_err(|error| usage!("{error}"))?;
    let options = SearchOptions {
        limit: args.limit as usize,
        is_ranked: !args.unranked,
        with_stop_words: args.all_words,
        with_near_duplicates: args.near_duplicates,
        with_count: !args.no_count,
        anchor_weight: args.anchor_weight,
        rank_weight: args.rank_weight,
        bounds: SearchBounds {
            time: Duration::from_secs_f64(args.time),
            postings: args.postings,
            prefix_terms: args.prefix_words,
        },
        ..SearchOptions::default()
    };
    let results = searcher.search(query, &options, &clock).map_err(|error| usage!("{error}"))?;
    let bound = match results.bound {
        None => None,
        Some(Bound::Time) => Some("time".to_owned()),
        Some(Bound::Postings) => Some("postings".to_owned()),
    };
    Ok(FoundPages {
        pages: results.hits.into_iter().map(page).collect(),
        found: results.found,
        is_uncounted: results.is_uncounted,
        is_partial: results.is_partial,
        bounds: bound.into_iter().collect(),
        ignored: results.ignored,
        cut_prefixes: results.cut_prefixes,
        operators: serde_json::to_value(&results.explained).unwrap_or_default(),
        explained: results.explained.to_string(),
        silent: Vec::new(),
    })
}

fn page(hit: Hit) -> FoundPage {
    FoundPage {
        agent: None,
        url: hit.url,
        title: hit.title,
        language: hit.language,
        date: hit.date,
        score: hit.score,
        near_duplicates: hit.near_duplicates,
        matches: hit.snippet.matches,
        snippet: hit.snippet.text,
    }
}
