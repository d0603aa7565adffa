//! A search by reading all documents, against which indexes are checked.

use crate::document::Document;
use crate::field::TermField;
use crate::query::{SearchQuery, WordField};
use crate::text::{Stemmers, Stemming};
use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

/// A document as its terms.
pub(super) struct ModelDocument {
    pub(super) document: Document,
    /// Positions by field and stem.
    terms: HashMap<(&'static str, String), Vec<u32>>,
    length: u32,
}

/// Languages of a query, and a word.
type StemKey = (Option<Vec<String>>, String);

/// Documents that count, and all that the lists have.
pub(super) struct Model {
    pub(super) documents: Vec<ModelDocument>,
    languages: BTreeSet<String>,
    stemmers: Stemmers,
    /// Stems by the languages of the query and the word.
    stems: HashMap<StemKey, Rc<BTreeSet<String>>>,
}

impl Model {
    pub(super) fn new(documents: &[Document]) -> Self {
        let mut stemmers = Stemmers::new(Stemming::Language);
        let mut documents: Vec<ModelDocument> = documents
            .iter()
            .map(|document| {
                let mut terms: HashMap<_, Vec<u32>> = HashMap::new();
                let length = document.terms(&mut stemmers, |term, (field, position)| {
                    terms.entry((field.name(), term.to_owned())).or_default().push(position);
                });
                ModelDocument { document: document.clone(), terms, length }
            })
            .collect();
        add_anchors(&mut documents, &mut stemmers);
        let languages = documents.iter().map(|one| one.document.language.clone()).collect();
        Self { documents, languages, stemmers, stems: HashMap::new() }
    }

    /// Returns the stems of a word in the languages of the query.
    fn stems(&mut self, query: &SearchQuery, word: &str) -> Rc<BTreeSet<String>> {
        let key = (language_of(query).cloned(), word.to_owned());
        if let Some(known) = self.stems.get(&key) {
            return known.clone();
        }
        let stems = Rc::new(self.new_stems(key.0.as_ref(), word));
        self.stems.insert(key, stems.clone());
        stems
    }

    fn new_stems(&mut self, wanted: Option<&Vec<String>>, word: &str) -> BTreeSet<String> {
        let languages: Vec<_> = self
            .languages
            .iter()
            .filter(|one| wanted.is_none_or(|wanted| wanted.contains(one)))
            .cloned()
            .collect();
        if languages.is_empty() {
            return BTreeSet::from([word.to_owned()]);
        }
        languages.iter().map(|one| self.stemmers.stem(one, word, str::to_owned)).collect()
    }

    /// Returns whether each document is a result.
    pub(super) fn matches(&mut self, query: &SearchQuery) -> Vec<bool> {
        let whole = query.clone();
        (0..self.documents.len()).map(|at| self.is_result(&whole, query, at)).collect()
    }

    fn is_result(&mut self, whole: &SearchQuery, query: &SearchQuery, at: usize) -> bool {
        match query {
            SearchQuery::Word(field, word) => !self.positions(whole, *field, word, at).is_empty(),
            SearchQuery::Prefix(field, start) => {
                let name = field_name(*field);
                let mut terms = self.documents[at].terms.keys();
                terms.any(|(of, term)| *of == name && term.starts_with(start))
            }
            SearchQuery::Phrase(field, words) => {
                let lists = self.lists(whole, *field, words, at);
                lists[0].iter().any(|start| {
                    lists.iter().enumerate().all(|(n, list)| list.contains(&(start + n as u32)))
                })
            }
            SearchQuery::Window(field, words, span) => {
                let lists = self.lists(whole, *field, words, at);
                has_window(&lists, *span)
            }
            SearchQuery::Site(site) => {
                let host = &self.documents[at].document.host;
                host == site || host.ends_with(&format!(".{site}"))
            }
            SearchQuery::Language(names) => names.contains(&self.documents[at].document.language),
            SearchQuery::And(parts) => parts.iter().all(|part| self.is_result(whole, part, at)),
            SearchQuery::Or(parts) => parts.iter().any(|part| self.is_result(whole, part, at)),
            SearchQuery::Not(part) => !self.is_result(whole, part, at),
        }
    }

    fn lists(
        &mut self,
        whole: &SearchQuery,
        field: WordField,
        words: &[String],
        at: usize,
    ) -> Vec<Vec<u32>> {
        words.iter().map(|word| self.positions(whole, field, word, at)).collect()
    }

    fn positions(
        &mut self,
        whole: &SearchQuery,
        field: WordField,
        word: &str,
        at: usize,
    ) -> Vec<u32> {
        let stems = self.stems(whole, word);
        let document = &self.documents[at];
        let of = |stem: &String| document.terms.get(&(field_name(field), stem.clone()));
        let mut all: Vec<u32> = stems.iter().filter_map(of).flatten().copied().collect();
        all.sort_unstable();
        all
    }

    /// Returns the BM25 scores of documents for a query of words joined by "or". Words of links have a weight.
    pub(super) fn scores(&mut self, words: &[String], k1: f64, b: f64, anchors: f64) -> Vec<f64> {
        let n = self.documents.len() as f64;
        let mean = self.documents.iter().map(|one| f64::from(one.length)).sum::<f64>() / n;
        let mut scores = vec![0.0; self.documents.len()];
        let whole = SearchQuery::Or(Vec::new());
        for word in words {
            for stem in self.stems(&whole, word).iter() {
                for (field, weight, b) in
                    [(TermField::Text, 1.0, b), (TermField::Anchor, anchors, 0.0)]
                {
                    let key = (field.name(), stem.clone());
                    let with = self.documents.iter().filter(|one| one.terms.contains_key(&key));
                    let with = with.count() as f64;
                    let idf = (1.0 + (n - with + 0.5) / (with + 0.5)).ln();
                    for (score, one) in scores.iter_mut().zip(&self.documents) {
                        let tf = one.terms.get(&key).map_or(0.0, |list| list.len() as f64);
                        let norm = k1 * (1.0 - b + b * f64::from(one.length) / mean);
                        *score += weight * idf * tf / (tf + norm);
                    }
                }
            }
        }
        scores
    }
}

/// Adds the words of links: each text of a host once.
fn add_anchors(documents: &mut [ModelDocument], stemmers: &mut Stemmers) {
    let mut anchors: HashMap<String, BTreeSet<(String, String)>> = HashMap::new();
    for ModelDocument { document, .. } in documents.iter() {
        document.link_stems(stemmers, |url, stems| {
            let of_target = anchors.entry(url.to_owned()).or_default();
            of_target.insert((document.host.clone(), stems));
        });
    }
    for one in documents {
        let mut position = 0;
        for (_, stems) in anchors.remove(&one.document.url).unwrap_or_default() {
            for stem in stems.split(' ') {
                let key = (TermField::Anchor.name(), stem.to_owned());
                one.terms.entry(key).or_default().push(position);
                position += 1;
            }
            position += 1_000;
        }
    }
}

/// Tries all positions of all words.
fn has_window(lists: &[Vec<u32>], span: u32) -> bool {
    fn place(lists: &[Vec<u32>], span: u32, taken: &mut Vec<u32>) -> bool {
        let Some((list, rest)) = lists.split_first() else { return true };
        list.iter().any(|&at| {
            let fits = taken.iter().all(|&other| other != at && other.abs_diff(at) < span);
            if !fits {
                return false;
            }
            taken.push(at);
            let found = place(rest, span, taken);
            taken.pop();
            found
        })
    }
    place(lists, span, &mut Vec::new())
}

fn field_name(field: WordField) -> &'static str {
    match field {
        WordField::Any => TermField::Text.name(),
        WordField::Title => TermField::Title.name(),
        WordField::Anchor => TermField::Anchor.name(),
    }
}

fn language_of(query: &SearchQuery) -> Option<&Vec<String>> {
    match query {
        SearchQuery::Language(names) => Some(names),
        SearchQuery::And(parts) => parts.iter().find_map(language_of),
        _ => None,
    }
}
