//! Goal: documents that are spread over several indexes have the results and the scores of one index of all of them.

use super::random;
use crate::build::testing::TestIndex;
use crate::document::Document;
use crate::postings::Preset;
use crate::search::{QueryStatistics, SearchOptions, SearchResults, Searcher};
use crivello_common::hash::url_order;
use crivello_common::time::Clock;
use rand::Rng;
use std::path::Path;

/// Makes an index of documents in one to three segments.
fn index(rng: &mut impl Rng, dir: &Path, documents: &[Document]) -> Searcher {
    std::fs::create_dir(dir).unwrap();
    let mut index = TestIndex::create(dir, Preset::ALL[rng.random_range(0..2)]);
    let size = documents.len().div_ceil(rng.random_range(1..4)).max(1);
    documents.chunks(size).for_each(|documents| index.add(documents, &[]));
    index.publish();
    Searcher::open(dir).unwrap()
}

/// Joins the results of several indexes.
fn merge(parts: impl Iterator<Item = SearchResults>, limit: usize) -> SearchResults {
    let mut all = SearchResults::default();
    for part in parts {
        all.hits.extend(part.hits);
        all.found += part.found;
        (all.ignored, all.cut_prefixes) = (part.ignored, part.cut_prefixes);
    }
    all.hits.sort_by_cached_key(|hit| (url_order(&hit.url), hit.url.clone()));
    all.hits.sort_by(|one, other| other.score.total_cmp(&one.score));
    all.hits.truncate(limit);
    all
}

fn best(results: &SearchResults) -> Vec<(&str, u64)> {
    results.hits.iter().map(|hit| (hit.url.as_str(), hit.score.to_bits())).collect()
}

#[test]
fn several_indexes_answer_as_one_does() {
    let mut rng = super::rng();
    let clock = Clock::start();
    for _ in 0..6 {
        let n = rng.random_range(1..400);
        let documents: Vec<Document> = (0..n)
            .map(|n| Document { url: format!("http://a.org/{n}"), ..random::document(&mut rng, 9) })
            .collect();
        let dir = tempfile::tempdir().unwrap();
        let one = index(&mut rng, &dir.path().join("one"), &documents);
        let n_parts = rng.random_range(1..=4);
        let mut parts = vec![Vec::new(); n_parts];
        for document in documents {
            parts[rng.random_range(0..n_parts)].push(document);
        }
        let parts: Vec<Searcher> = parts
            .iter()
            .enumerate()
            .map(|(n, part)| index(&mut rng, &dir.path().join(n.to_string()), part))
            .collect();
        for _ in 0..60 {
            let query = random::query(&mut rng, 2).to_string();
            let mut options = SearchOptions {
                limit: rng.random_range(1..30),
                with_stop_words: rng.random_bool(0.5),
                ..SearchOptions::default()
            };
            options.bounds.prefix_terms = rng.random_range(1..6);
            let mut statistics = QueryStatistics::default();
            for part in &parts {
                statistics.add(part.statistics(&query, &options, &clock).unwrap().unwrap());
            }
            let search =
                |part: &Searcher| part.search_with(&query, &options, &statistics, &clock).unwrap();
            let merged = merge(parts.iter().map(search), options.limit);
            let expected = one.search(&query, &options, &clock).unwrap();
            assert_eq!(best(&merged), best(&expected), "{query}");
            assert_eq!(
                (merged.found, &merged.ignored, &merged.cut_prefixes),
                (expected.found, &expected.ignored, &expected.cut_prefixes),
                "{query}"
            );
            let alone = one.statistics(&query, &options, &clock).unwrap().unwrap();
            assert_eq!(alone.terms, statistics.terms, "{query}");
            for (prefix, alone) in &alone.prefixes {
                let first = statistics.prefixes[prefix].terms.iter();
                let first = first.take(options.bounds.prefix_terms);
                assert!(first.eq(&alone.terms), "{query}");
            }
            assert_eq!((alone.documents, alone.words), (statistics.documents, statistics.words));
        }
    }
}
