//! Goal: an index answers every query as a reader of all documents does, whatever its codes, its segments and the
//! captures that came later.

use super::model::Model;
use super::random;
use crate::build::testing::TestIndex;
use crate::document::Document;
use crate::postings::Preset;
use crate::query::{SearchQuery, parse};
use crate::search::{SearchOptions, Searcher};
use crivello_common::time::Clock;
use rand::Rng;
use std::collections::{BTreeMap, BTreeSet};

/// Documents, and captures without pages: URL and time.
type TestBatch = (Vec<Document>, Vec<(String, u64)>);

/// Documents that count: the last capture of each URL, if it has a page.
fn alive(batches: &[TestBatch]) -> Vec<Document> {
    // Of captures of one time, a document counts, and of two of them the last one.
    type Last<'d> = ((u64, bool, usize), Option<&'d Document>);
    let mut last: BTreeMap<&str, Last<'_>> = BTreeMap::new();
    let mut order = 0;
    for (documents, gone) in batches {
        let pages = documents.iter().map(|one| (one.url.as_str(), one.date.0, Some(one)));
        let gone = gone.iter().map(|(url, date)| (url.as_str(), *date, None));
        for (url, date, document) in pages.chain(gone) {
            order += 1;
            let key = (date, document.is_some(), order);
            let entry = last.entry(url).or_insert((key, document));
            if key > entry.0 {
                *entry = (key, document);
            }
        }
    }
    last.into_values().filter_map(|(_, document)| document.cloned()).collect()
}

fn options() -> SearchOptions {
    SearchOptions { limit: 10_000, with_stop_words: true, ..SearchOptions::default() }
}

fn found(searcher: &Searcher, query: &str, options: &SearchOptions) -> BTreeMap<String, f64> {
    let results = searcher.search(query, options, &Clock::start()).unwrap();
    assert!(!results.is_partial, "{query}");
    assert_eq!(results.found, results.hits.len() as u64, "{query}");
    results.hits.into_iter().map(|hit| (hit.url, hit.score)).collect()
}

fn check(searcher: &Searcher, model: &mut Model, query: &SearchQuery) {
    let is_result = model.matches(query);
    let expected: BTreeSet<&str> = model
        .documents
        .iter()
        .zip(is_result)
        .filter_map(|(one, is_result)| is_result.then_some(one.document.url.as_str()))
        .collect();
    let text = query.to_string();
    let all = found(searcher, &text, &options());
    let urls: BTreeSet<&str> = all.keys().map(String::as_str).collect();
    assert_eq!(urls, expected, "{text}");
    let unranked = SearchOptions { is_ranked: false, ..options() };
    let in_order = found(searcher, &text, &unranked);
    assert_eq!(in_order.keys().collect::<Vec<_>>(), all.keys().collect::<Vec<_>>(), "{text}");
}

#[test]
fn any_query_has_the_results_of_a_reader_of_all_documents() {
    let mut rng = super::rng();
    for round in 0..10 {
        let dir = tempfile::tempdir().unwrap();
        let preset = Preset::ALL[round % 2];
        let mut index = TestIndex::create(dir.path(), preset);
        let n_batches = rng.random_range(1..5);
        let urls = rng.random_range(20..300);
        let mut batches = Vec::new();
        for _ in 0..n_batches {
            let n = rng.random_range(0..[60, 400][round / 2 % 2]);
            let mut documents: Vec<_> =
                (0..n).map(|_| random::linking_document(&mut rng, urls)).collect();
            let gone: Vec<(String, u64)> = (0..rng.random_range(0..20))
                .map(|_| (random::document(&mut rng, urls).url, rng.random_range(0..1_000)))
                .collect();
            // Two captures of a URL at one time have no order.
            let mut seen = BTreeSet::new();
            documents.retain(|one| seen.insert((one.url.clone(), one.date.0)));
            index.add(&documents, &gone);
            batches.push((documents, gone));
        }
        // Over all batches, too.
        let mut seen = BTreeSet::new();
        let all = batches.iter().flat_map(|(documents, _)| documents);
        if !all.into_iter().all(|one| seen.insert((one.url.clone(), one.date.0))) {
            continue;
        }
        index.publish();
        let mut model = Model::new(&alive(&batches));
        for merged in [false, true] {
            if merged {
                index.merge();
                index.publish();
            }
            let searcher = Searcher::open(dir.path()).unwrap();
            let stats = searcher.stats();
            assert_eq!(stats.documents, model.documents.len() as u64);
            assert_eq!((merged, stats.dead > 0 && merged), (merged, false));
            for _ in 0..80 {
                let query = random::query(&mut rng, 3);
                if languages_agree(&searcher, &model, merged) {
                    check(&searcher, &mut model, &query);
                }
            }
        }
    }
}

/// Returns true if the lists have no other language than the documents that count: dead ones may.
fn languages_agree(searcher: &Searcher, model: &Model, merged: bool) -> bool {
    let of_model: BTreeSet<&str> =
        model.documents.iter().map(|one| one.document.language.as_str()).collect();
    let of_index: BTreeSet<&str> = searcher.languages().keys().map(String::as_str).collect();
    assert!(!merged || of_model == of_index);
    of_model == of_index
}

#[test]
fn scores_are_those_of_bm25() {
    let mut rng = super::rng();
    for preset in Preset::ALL {
        let dir = tempfile::tempdir().unwrap();
        let mut index = TestIndex::create(dir.path(), preset);
        let documents = linked_documents(&mut rng, 500);
        // Statistics are those of the whole index, whatever its segments.
        documents.chunks(170).for_each(|documents| index.add(documents, &[]));
        index.publish();
        let mut model = Model::new(&documents);
        let searcher = Searcher::open(dir.path()).unwrap();
        for _ in 0..100 {
            let words: Vec<String> = (0..rng.random_range(1..4))
                .map(|_| match random::query(&mut rng, 0) {
                    SearchQuery::Word(_, word) => word,
                    _ => "house".to_owned(),
                })
                .collect();
            let stems: BTreeSet<String> = words.iter().cloned().collect();
            if stems.len() < words.len() {
                continue;
            }
            let query: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            let found = found(&searcher, &query.join(" | "), &options());
            let scores = model.scores(&words, 1.2, 0.75, 0.5);
            let is_result = model.matches(&parse(&query.join(" | ")).unwrap());
            for ((one, score), is_result) in model.documents.iter().zip(scores).zip(is_result) {
                // Links alone make no result.
                let score = if is_result { score } else { 0.0 };
                let of_index = found.get(&one.document.url).copied().unwrap_or(0.0);
                assert!((of_index - score).abs() < 1e-9, "{query:?}: {of_index}, not {score}");
            }
        }
    }
}

/// Returns documents with different URLs, and links to one another.
fn linked_documents(rng: &mut impl Rng, n: u32) -> Vec<Document> {
    let document = |url: u32| {
        let mut document = random::linking_document(rng, 9);
        point_links(rng, &mut document, n);
        Document { url: format!("http://a.org/{url}"), ..document }
    };
    (0..n).map(document).collect()
}

/// Points links to documents of `linked_documents`; most of them to the first ones.
fn point_links(rng: &mut impl Rng, document: &mut Document, n: u32) {
    for link in &mut document.links {
        let target = rng.random_range(0..n).min(rng.random_range(0..n));
        link.url = format!("http://a.org/{target}");
    }
}

#[test]
fn what_is_passed_is_not_among_the_best() {
    let mut rng = super::rng();
    let clock = Clock::start();
    // Where all scores are equal, nothing may be passed.
    let mut n_passed = 0;
    for round in 0..4 {
        let dir = tempfile::tempdir().unwrap();
        let mut index = TestIndex::create(dir.path(), Preset::ALL[round % 2]);
        let n_documents = rng.random_range(500..2_500_u32);
        let n = n_documents as usize;
        // Lengths differ much in some rounds; in others nearly all scores are equal.
        let repeats = if round < 2 { 8 } else { 1 };
        let documents: Vec<Document> = (0..n)
            .map(|n| {
                let mut document = random::linking_document(&mut rng, 9);
                point_links(&mut rng, &mut document, n_documents);
                let text = [document.text.as_str()].repeat(rng.random_range(1..=repeats)).join(" ");
                let text = if round == 3 { random::word(&mut rng).to_owned() } else { text };
                Document { url: format!("http://a.org/{n}"), text, ..document }
            })
            .collect();
        documents.chunks(n / 2 + 1).for_each(|documents| index.add(documents, &[]));
        // Some documents count no more.
        let gone = (0..n / 8).map(|_| (format!("http://a.org/{}", rng.random_range(0..n)), 5_000));
        index.add(&[], &gone.collect::<Vec<_>>());
        index.publish();
        let searcher = Searcher::open(dir.path()).unwrap();
        for _ in 0..150 {
            let words: Vec<_> =
                (0..rng.random_range(1..5)).map(|_| random::word(&mut rng)).collect();
            let query = match rng.random_range(0..4) {
                0 => random::query(&mut rng, 2).to_string(),
                1 => format!("{} | h* | p*", words.join(" | ")),
                _ => words.join(" | "),
            };
            let limit = rng.random_range(1..20);
            let mut options = SearchOptions { limit, ..options() };
            options.bm25.b = [0.75, 0.0, 1.0][rng.random_range(0..3)];
            let search =
                |options: SearchOptions| searcher.search(&query, &options, &clock).unwrap();
            let all = search(SearchOptions { limit: usize::MAX, ..options });
            assert_eq!((all.found, all.is_uncounted), (all.hits.len() as u64, false), "{query}");
            let counted = search(options);
            let best = &all.hits[..limit.min(all.hits.len())];
            assert_eq!(urls_and_scores(&counted.hits), urls_and_scores(best), "{query}");
            assert_eq!((counted.found, counted.is_uncounted), (all.found, false), "{query}");
            let passing = search(SearchOptions { with_count: false, ..options });
            assert_eq!(urls_and_scores(&passing.hits), urls_and_scores(best), "{query}");
            assert!(passing.found == all.found || passing.is_uncounted, "{query}");
            assert!(passing.found <= all.found);
            n_passed += all.found - passing.found;
        }
    }
    assert!(n_passed > 0);
}

fn urls_and_scores(hits: &[crate::Hit]) -> Vec<(&str, u64)> {
    hits.iter().map(|hit| (hit.url.as_str(), hit.score.to_bits())).collect()
}

#[test]
fn static_ranks_are_added_to_those_of_words() {
    let mut rng = super::rng();
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Small);
    let documents: Vec<Document> = (0..300)
        .map(|n| {
            let document = random::document(&mut rng, 9);
            Document { url: format!("http://{}/{n}", document.host), ..document }
        })
        .collect();
    documents.chunks(110).for_each(|documents| index.add(documents, &[]));
    index.publish();
    // Some URLs and some hosts have scores; others have none.
    let names = documents.iter().map(|one| &one.url).filter(|_| rng.random_bool(0.3));
    let mut names: Vec<&str> = names.map(String::as_str).collect();
    names.extend(["a.org", "c.net", "absent.org"]);
    let scores: BTreeMap<&str, f64> =
        names.iter().map(|name| (*name, rng.random_range(0.0..2.0_f64).floor())).collect();
    let mean = scores.values().sum::<f64>() / scores.len() as f64;
    let lines: String = scores.iter().map(|(name, score)| format!("{score:e}\t{name}\n")).collect();
    let table = dir.path().join("table");
    std::fs::write(&table, lines).unwrap();

    let clock = Clock::start();
    let ranked = SearchOptions { rank_weight: 2.0, ..options() };
    let without = Searcher::open(dir.path()).unwrap().search("run", &ranked, &clock);
    assert!(matches!(
        without,
        Err(crate::SearchError::Index(crate::IndexError::NoRanks(path))) if path == dir.path()
    ));
    index.set_ranks(&table);
    index.publish();
    let searcher = Searcher::open(dir.path()).unwrap();
    for _ in 0..50 {
        let query = random::query(&mut rng, 1).to_string();
        let mut expected: Vec<(String, f64)> = found(&searcher, &query, &options())
            .into_iter()
            .map(|(url, score)| {
                let host = url.split('/').nth(2).expect("a host");
                let r = scores.get(url.as_str()).or_else(|| scores.get(host)).copied();
                let r = r.unwrap_or(0.0);
                (url, score + if r > 0.0 { 2.0 * r / (r + mean) } else { 0.0 })
            })
            .collect();
        expected.sort_by(|one, other| other.1.total_cmp(&one.1));
        let limited = SearchOptions { limit: 7, ..ranked };
        for options in [ranked, limited] {
            let results = searcher.search(&query, &options, &clock).unwrap();
            assert_eq!(results.hits.len(), expected.len().min(options.limit), "{query}");
            for (hit, (_, score)) in results.hits.iter().zip(&expected) {
                assert!((hit.score - score).abs() < 1e-9, "{query}: {}, not {score}", hit.score);
            }
        }
    }
}

#[test]
fn near_duplicates_are_folded_and_a_limit_has_the_best() {
    let mut rng = super::rng();
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Small);
    let documents: Vec<Document> = (0..200)
        .map(|n| Document {
            url: format!("http://a.org/{n}"),
            near_duplicate_of: (n % 4 == 3).then(|| format!("http://a.org/{}", n - 3)),
            ..random::document(&mut rng, 9)
        })
        .collect();
    index.add(&documents, &[]);
    index.publish();
    let searcher = Searcher::open(dir.path()).unwrap();
    let clock = Clock::start();
    for _ in 0..50 {
        let query = random::query(&mut rng, 2).to_string();
        let search = |options: SearchOptions| searcher.search(&query, &options, &clock).unwrap();
        let all = search(SearchOptions { with_near_duplicates: true, ..options() });
        let mut expected: Vec<(String, u64)> = Vec::new();
        let group = |url: &str| -> String {
            let document = documents.iter().find(|one| one.url == url).expect("a document");
            document.near_duplicate_of.clone().unwrap_or_else(|| url.to_owned())
        };
        for hit in &all.hits {
            let group_of_hit = group(&hit.url);
            if !expected.iter().any(|(url, _)| group(url) == group_of_hit) {
                let others = all.hits.iter().filter(|other| {
                    other.url != hit.url
                        && group(&other.url) == group_of_hit
                        && group(&other.url) != other.url
                });
                expected.push((hit.url.clone(), others.count() as u64));
            }
        }
        let limit = rng.random_range(1..12);
        expected.truncate(limit);
        let folded = search(SearchOptions { limit, ..options() });
        let hits = folded.hits.iter().map(|hit| (hit.url.clone(), hit.near_duplicates));
        assert_eq!(hits.collect::<Vec<_>>(), expected, "{query}");
        assert_eq!(folded.found, all.found);
        // Without ranks, the search ends when it has enough.
        let early = search(SearchOptions { limit, is_ranked: false, ..options() });
        assert!(early.hits.len() <= limit && (early.found == all.found || early.is_partial));
        assert!(early.found <= all.found);
    }
}

#[test]
fn stop_words_are_optional() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Small);
    let document = |n: u32, text: &str| Document {
        url: format!("http://a.org/{n}"),
        host: "a.org".to_owned(),
        text: text.to_owned(),
        language: "eng".to_owned(),
        ..Document::default()
    };
    index.add(&[document(0, "the crawler"), document(1, "a crawler"), document(2, "the web")], &[]);
    index.publish();
    let searcher = Searcher::open(dir.path()).unwrap();
    let n = |query: &str, with_stop_words| {
        let options = SearchOptions { with_stop_words, ..options() };
        let results = searcher.search(query, &options, &Clock::start()).unwrap();
        (results.found, results.ignored)
    };
    let the = vec!["the".to_owned()];
    assert_eq!(n("the crawler", false), (2, the));
    assert_eq!(n("the crawler", true), (1, vec![]));
    assert_eq!(n("\"the crawler\"", false), (1, vec![]));
    assert_eq!(n("the", false), (2, vec![]));
    assert_eq!(n("the a", false), (0, vec![]));
    assert_eq!(n("crawler -the", false), (1, vec![]));
}

#[test]
fn bounds_end_a_search() {
    let mut rng = super::rng();
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Fast);
    let documents: Vec<Document> = (0..2_000)
        .map(|n| Document { url: format!("http://a.org/{n}"), ..random::document(&mut rng, 9) })
        .collect();
    index.add(&documents, &[]);
    index.publish();
    let searcher = Searcher::open(dir.path()).unwrap();
    let mut options = options();
    options.bounds.postings = 200;
    let results = searcher.search("run | web", &options, &Clock::start()).unwrap();
    assert_eq!(results.bound, Some(crate::Bound::Postings));
    assert!(results.is_partial && results.found < 400, "{}", results.found);
    options = super::queries::options();
    options.bounds.time = std::time::Duration::ZERO;
    for query in ["-(run web)", "ru*"] {
        let results = searcher.search(query, &options, &Clock::start()).unwrap();
        assert!(results.is_partial && results.bound == Some(crate::Bound::Time));
        assert!(results.hits.iter().all(|hit| hit.snippet == crate::Snippet::default()));
    }
    options = super::queries::options();
    options.bounds.prefix_terms = 1;
    let results = searcher.search("ru* | web", &options, &Clock::start()).unwrap();
    assert_eq!(results.cut_prefixes, ["ru*"]);
}

#[test]
fn a_conjunction_skips_in_the_long_list() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = TestIndex::create(dir.path(), Preset::Small);
    let documents: Vec<Document> = (0..20_000)
        .map(|n| Document {
            url: format!("http://a.org/{n}"),
            text: if n % 5_000 == 7 { "often rare" } else { "often" }.to_owned(),
            language: "und".to_owned(),
            ..Document::default()
        })
        .collect();
    index.add(&documents, &[]);
    index.publish();
    let searcher = Searcher::open(dir.path()).unwrap();
    let explained = |query: &str| {
        let results = searcher.search(query, &options(), &Clock::start()).unwrap();
        assert_eq!(results.found, 4);
        results.explained
    };
    for query in ["often rare", "rare often", "\"often rare\"", "rare [often rare]~2"] {
        let explained = explained(query);
        let often = find(&explained, "often").expect("the operator");
        assert!(often.blocks <= 4 && often.postings <= 512, "{query}: {explained}");
    }
}

fn find<'e>(explained: &'e crate::Explained, name: &str) -> Option<&'e crate::Explained> {
    if explained.operator == name {
        return Some(explained);
    }
    explained.parts.iter().find_map(|part| find(part, name))
}
