//! Random documents and random queries.

use crate::document::{Document, DocumentLink};
use crate::query::{SearchQuery, WordField};
use crivello_common::time::Timestamp;
use rand::Rng;

/// Words, some of which have one stem in some language.
#[rustfmt::skip]
const WORDS: [&str; 30] = [
    "run", "running", "runs", "house", "houses", "a", "the", "of", "casa", "case", "libro", "libri", "crawl",
    "crawler", "crawling", "web", "webs", "page", "pages", "x", "y", "z", "zeta", "zebra", "été", "ete", "32.3",
    "don't", "straße", "日",
];
const HOSTS: [&str; 6] = ["a.org", "www.a.org", "b.a.org", "c.net", "10.0.0.1", "org"];
const LANGUAGES: [&str; 4] = ["eng", "ita", "und", "fra"];

/// Returns a word; the first ones are frequent.
pub(super) fn word(rng: &mut impl Rng) -> &'static str {
    let n = WORDS.len();
    WORDS[rng.random_range(0..n).min(rng.random_range(0..n))]
}

fn text(rng: &mut impl Rng, words_max: usize) -> String {
    let n = rng.random_range(0..=words_max);
    let words: Vec<_> = (0..n).map(|_| word(rng)).collect();
    words.join([" ", ", ", "\n"][rng.random_range(0..3)])
}

pub(super) fn document(rng: &mut impl Rng, urls: u32) -> Document {
    let host = HOSTS[rng.random_range(0..HOSTS.len())].to_owned();
    Document {
        url: format!("http://{host}/{}", rng.random_range(0..urls)),
        host,
        date: Timestamp(rng.random_range(0..1_000)),
        title: text(rng, 3),
        text: text(rng, 25),
        language: LANGUAGES[rng.random_range(0..LANGUAGES.len())].to_owned(),
        near_duplicate_of: None,
        links: Vec::new(),
    }
}

/// Returns a document with links to some of the URLs that documents have.
pub(super) fn linking_document(rng: &mut impl Rng, urls: u32) -> Document {
    let links = (0..rng.random_range(0..4)).map(|_| {
        let host = HOSTS[rng.random_range(0..HOSTS.len())];
        let url = format!("http://{host}/{}", rng.random_range(0..urls));
        DocumentLink { url, text: text(rng, 3) }
    });
    let links = links.collect();
    Document { links, ..document(rng, urls) }
}

fn words(rng: &mut impl Rng, n: usize) -> Vec<String> {
    (0..n).map(|_| super::normal(word(rng))).collect()
}

pub(super) fn query(rng: &mut impl Rng, depth: usize) -> SearchQuery {
    let field = match rng.random_range(0..20) {
        0..=2 => WordField::Title,
        3..=4 => WordField::Anchor,
        _ => WordField::Any,
    };
    let kinds = if depth == 0 { 7 } else { 12 };
    match rng.random_range(0..kinds) {
        0..=2 => SearchQuery::Word(field, super::normal(word(rng))),
        3 => {
            let word = super::normal(word(rng));
            let n = word.chars().count();
            SearchQuery::Prefix(field, word.chars().take(rng.random_range(1..=n)).collect())
        }
        4 => {
            let n = rng.random_range(2..4);
            SearchQuery::Phrase(field, words(rng, n))
        }
        5 => {
            let n = rng.random_range(2..4);
            SearchQuery::Window(field, words(rng, n), rng.random_range(n as u32..9))
        }
        6 if rng.random_bool(0.5) => {
            SearchQuery::Site(HOSTS[rng.random_range(0..HOSTS.len())].to_owned())
        }
        6 => {
            SearchQuery::Language(vec![LANGUAGES[rng.random_range(0..LANGUAGES.len())].to_owned()])
        }
        7..=8 => SearchQuery::And(parts(rng, depth)),
        9..=10 => SearchQuery::Or(parts(rng, depth)),
        _ => SearchQuery::Not(Box::new(query(rng, depth - 1))),
    }
}

fn parts(rng: &mut impl Rng, depth: usize) -> Vec<SearchQuery> {
    let n = rng.random_range(2..5);
    (0..n).map(|_| query(rng, depth - 1)).collect()
}
