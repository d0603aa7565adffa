//! Plans: queries whose words are terms of the index.
//!
//! A document has the stems of its own language. So a word of a query stands for its stems in all languages of the
//! index; if `lang:` is a part of the whole query, in those languages.

use super::open_index::OpenIndex;
use super::options::SearchOptions;
use super::statistics::{PrefixStatistics, QueryStatistics};
use crate::error::IndexError;
use crate::field::TermField;
use crate::operator::{
    All, Anchored, And, BoxedOperator, Budget, Conjunction, Halt, InOrder, Near, Not, Or, Phrase,
    RankingContext, Scoring, TermList, Terms, Union, Window,
};
use crate::postings::ListEntry;
use crate::query::{SearchQuery, WordField};
use crate::segment::Segment;
use crate::text::{Stemmers, is_stop_word, stemmed_languages};
use std::collections::{BTreeMap, BTreeSet};

/// A term of a query, and its lists.
#[derive(Debug)]
pub(super) struct PlanTerm {
    pub(super) field: TermField,
    /// The place of its list in each segment.
    pub(super) entries: Vec<Option<ListEntry>>,
    /// Documents with it, by the statistics of the query.
    pub(super) documents: u64,
}

/// A word: the terms that it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PlanWord {
    name: String,
    terms: Vec<usize>,
}

#[derive(Debug)]
enum Node {
    Word(PlanWord),
    /// Different words, and the place among them of each word of the phrase.
    Phrase(Vec<PlanWord>, Vec<usize>),
    Window(Vec<PlanWord>, Vec<usize>, u32),
    And(Vec<Self>),
    Or(Vec<Self>),
    Not(Box<Self>),
    All,
}

/// A plan.
#[derive(Debug)]
pub(super) struct Plan {
    node: Node,
    pub(super) terms: Vec<PlanTerm>,
    /// Terms of links that count for the ranks of results.
    pub(super) anchors: Vec<usize>,
    pub(super) ignored: Vec<String>,
    pub(super) cut_prefixes: Vec<String>,
    /// Terms of title and text, for snippets.
    pub(super) words: BTreeSet<String>,
}

/// Makes a plan.
pub(super) struct Planner<'s> {
    segments: &'s [Segment],
    /// Statistics that are given, with those of other indexes.
    statistics: Option<&'s QueryStatistics>,
    stemmers: Stemmers,
    /// Languages whose stems a word stands for.
    languages: Vec<String>,
    main_language: String,
    with_stop_words: bool,
    /// True if words of links count for ranks.
    with_anchors: bool,
    prefix_terms_max: usize,
    budget: &'s Budget<'s>,
    known: BTreeMap<Vec<u8>, usize>,
    /// Keys of terms of words, and of prefixes with their terms. Statistics are made of them.
    words: BTreeSet<Vec<u8>>,
    prefixes: BTreeMap<Vec<u8>, PrefixStatistics>,
    plan: Plan,
}

impl<'s> Planner<'s> {
    fn new(index: &'s OpenIndex, options: &SearchOptions, budget: &'s Budget<'s>) -> Self {
        Self {
            segments: &index.segments,
            statistics: None,
            stemmers: Stemmers::new(index.stemming),
            languages: Vec::new(),
            main_language: String::new(),
            with_stop_words: options.with_stop_words,
            with_anchors: options.is_ranked && options.anchor_weight > 0.0,
            prefix_terms_max: options.bounds.prefix_terms,
            budget,
            known: BTreeMap::new(),
            words: BTreeSet::new(),
            prefixes: BTreeMap::new(),
            plan: Plan {
                node: Node::All,
                terms: Vec::new(),
                anchors: Vec::new(),
                ignored: Vec::new(),
                cut_prefixes: Vec::new(),
                words: BTreeSet::new(),
            },
        }
    }

    /// Plans a query. Without statistics that are given, those of the index count.
    pub(super) fn plan(
        query: &SearchQuery,
        index: &'s OpenIndex,
        options: &SearchOptions,
        statistics: Option<&'s QueryStatistics>,
        budget: &'s Budget<'s>,
    ) -> Result<Plan, Halt> {
        let mut planner = Self::new(index, options, budget);
        planner.statistics = statistics;
        // Other indexes may have words of links.
        planner.with_anchors &=
            statistics.is_some() || index.segments.iter().any(Segment::has_anchors);
        let names = language_of(query);
        let languages = statistics.map_or(&index.collection.languages, |all| &all.languages).iter();
        let languages = languages.filter(|(name, _)| names.is_none_or(|some| some.contains(name)));
        let most = languages.clone().max_by_key(|(_, n)| **n);
        planner.main_language = most.map(|(name, _)| name.clone()).unwrap_or_default();
        planner.languages = languages.map(|(name, _)| name.clone()).collect();
        planner.plan.node = planner.node(query, true)?;
        Ok(planner.plan)
    }

    /// Gathers the statistics of a query in one index. Other indexes may have any language, so words have the stems
    /// of all of them, and stop-words are not left out.
    pub(super) fn statistics(
        query: &SearchQuery,
        index: &'s OpenIndex,
        options: &SearchOptions,
        budget: &'s Budget<'s>,
    ) -> Result<QueryStatistics, Halt> {
        let mut planner = Self::new(index, options, budget);
        planner.with_stop_words = true;
        // Words of languages without a stemmer are as they are, and so are those of this one.
        let none = std::iter::once("und");
        planner.languages = stemmed_languages().chain(none).map(str::to_owned).collect();
        planner.node(query, true)?;
        let Self { known, words, prefixes, plan, .. } = planner;
        let documents = |key: &Vec<u8>| known.get(key).map(|number| plan.terms[*number].documents);
        let terms = words.into_iter().filter_map(|key| documents(&key).map(|n| (key, n))).collect();
        Ok(QueryStatistics { terms, prefixes, ..index.collection.clone() })
    }

    fn node(&mut self, query: &SearchQuery, is_positive: bool) -> Result<Node, Halt> {
        Ok(match query {
            SearchQuery::Word(field, word) => Node::Word(self.word(*field, word, is_positive)?),
            SearchQuery::Prefix(field, start) => Node::Word(self.prefix(*field, start)?),
            SearchQuery::Phrase(field, words) => {
                let (words, places) = self.words(*field, words, is_positive)?;
                Node::Phrase(words, places)
            }
            SearchQuery::Window(field, words, span) => {
                let (words, places) = self.words(*field, words, is_positive)?;
                Node::Window(words, places, *span)
            }
            SearchQuery::Site(site) => {
                Node::Word(self.exact(TermField::Site, "site", std::slice::from_ref(site))?)
            }
            SearchQuery::Language(names) => {
                Node::Word(self.exact(TermField::Language, "lang", names)?)
            }
            SearchQuery::Not(part) => Node::Not(Box::new(self.node(part, false)?)),
            SearchQuery::Or(parts) => Node::Or(self.nodes(parts, is_positive)?),
            SearchQuery::And(parts) => {
                // `-(the cat)` leaves out only what has both.
                let parts =
                    if is_positive { self.without_stop_words(parts) } else { parts.clone() };
                Node::And(self.nodes(&parts, is_positive)?)
            }
        })
    }

    fn nodes(&mut self, parts: &[SearchQuery], is_positive: bool) -> Result<Vec<Node>, Halt> {
        parts.iter().map(|part| self.node(part, is_positive)).collect()
    }

    /// Leaves out stop-words if another word is there.
    fn without_stop_words(&mut self, parts: &[SearchQuery]) -> Vec<SearchQuery> {
        let stop_word = |part: &SearchQuery| match part {
            SearchQuery::Word(WordField::Any, word) if is_stop_word(&self.main_language, word) => {
                Some(word.clone())
            }
            _ => None,
        };
        let is_content = |part: &SearchQuery| {
            stop_word(part).is_none()
                && !matches!(
                    part,
                    SearchQuery::Not(_) | SearchQuery::Site(_) | SearchQuery::Language(_)
                )
        };
        if self.with_stop_words || !parts.iter().any(is_content) {
            return parts.to_vec();
        }
        let ignored: Vec<String> = parts.iter().filter_map(stop_word).collect();
        let kept = parts.iter().filter(|part| stop_word(part).is_none()).cloned().collect();
        self.plan.ignored.extend(ignored);
        kept
    }

    /// Returns the different words among some, and the place of each.
    fn words(
        &mut self,
        field: WordField,
        words: &[String],
        is_positive: bool,
    ) -> Result<(Vec<PlanWord>, Vec<usize>), Halt> {
        let (mut different, mut places) = (Vec::<PlanWord>::new(), Vec::new());
        for word in words {
            let word = self.word(field, word, is_positive)?;
            let known = different.iter().position(|one| one.terms == word.terms);
            places.push(known.unwrap_or(different.len()));
            if known.is_none() {
                different.push(word);
            }
        }
        Ok((different, places))
    }

    /// Returns a word with its stems.
    fn word(&mut self, field: WordField, word: &str, is_positive: bool) -> Result<PlanWord, Halt> {
        let mut stems = BTreeSet::new();
        for language in &self.languages {
            stems.insert(self.stemmers.stem(language, word, str::to_owned));
        }
        if stems.is_empty() {
            stems.insert(word.to_owned());
        }
        let (field, prefix) = of_words(field);
        let mut terms = Vec::new();
        for stem in &stems {
            terms.extend(self.term(field, stem)?);
        }
        if is_positive && field == TermField::Text && self.with_anchors {
            for stem in &stems {
                // Like its list, a stem of two words counts for both.
                let anchor = self.term(TermField::Anchor, stem)?;
                self.plan.anchors.extend(anchor);
            }
        }
        if is_positive {
            self.plan.words.extend(stems);
        }
        Ok(PlanWord { name: format!("{prefix}{word}"), terms })
    }

    fn exact(
        &mut self,
        field: TermField,
        prefix: &str,
        words: &[String],
    ) -> Result<PlanWord, Halt> {
        let mut terms = Vec::new();
        for word in words {
            terms.extend(self.term(field, word)?);
        }
        Ok(PlanWord { name: format!("{prefix}:{}", words.join(",")), terms })
    }

    /// Returns the number of a term, if a document has it.
    fn term(&mut self, field: TermField, word: &str) -> Result<Option<usize>, Halt> {
        let key = field.term(word);
        self.words.insert(key.clone());
        if let Some(known) = self.known.get(&key) {
            return Ok(Some(*known));
        }
        let entries = self.entries(&key)?;
        let everywhere = self.statistics.and_then(|all| all.terms.get(&key)).copied();
        Ok(self.add_term(key, field, entries, everywhere))
    }

    /// Looks up the list of a term in each segment.
    fn entries(&self, key: &[u8]) -> Result<Vec<Option<ListEntry>>, Halt> {
        self.budget.look()?;
        let segments = self.segments.iter();
        Ok(segments.map(|segment| segment.entry(key)).collect::<Result<_, _>>()?)
    }

    /// Adds a term with its lists, and the number of documents that the given statistics have.
    fn add_term(
        &mut self,
        key: Vec<u8>,
        field: TermField,
        entries: Vec<Option<ListEntry>>,
        everywhere: Option<u64>,
    ) -> Option<usize> {
        let here = documents(&entries);
        let documents = everywhere.map_or(here, |n| here.max(n));
        if documents == 0 {
            return None;
        }
        let number = self.plan.terms.len();
        self.plan.terms.push(PlanTerm { field, entries, documents });
        self.known.insert(key, number);
        Some(number)
    }

    /// Returns the words that begin with `start`: the first ones in their order, up to the bound.
    fn prefix(&mut self, field: WordField, start: &str) -> Result<PlanWord, Halt> {
        let (field, prefix) = of_words(field);
        let key = field.term(start);
        let name = format!("{prefix}{start}*");
        let everywhere = self.statistics.and_then(|all| all.prefixes.get(&key));
        let (found, is_cut) = match everywhere {
            Some(everywhere) => {
                let terms = everywhere.terms.keys().take(self.prefix_terms_max);
                let found = terms.map(|term| Ok((term.clone(), self.entries(term)?)));
                let is_cut = everywhere.is_cut || everywhere.terms.len() > self.prefix_terms_max;
                (found.collect::<Result<_, Halt>>()?, is_cut)
            }
            None => self.with_prefix(&key)?,
        };
        if is_cut {
            self.plan.cut_prefixes.push(name.clone());
        }
        if self.statistics.is_none() {
            let counts = found.iter().map(|(key, entries)| (key.clone(), documents(entries)));
            let statistics = PrefixStatistics { terms: counts.collect(), is_cut };
            self.prefixes.insert(key, statistics);
        }
        let mut terms = Vec::new();
        for (key, entries) in found {
            if let Some(word) = key.get(1..).and_then(|word| std::str::from_utf8(word).ok()) {
                self.plan.words.insert(word.to_owned());
            }
            let everywhere = everywhere.and_then(|all| all.terms.get(&key)).copied();
            match self.known.get(&key) {
                Some(known) => terms.push(*known),
                None => terms.extend(self.add_term(key, field, entries, everywhere)),
            }
        }
        Ok(PlanWord { name, terms })
    }

    /// Returns the first terms with a prefix, up to the bound, and whether there are more.
    fn with_prefix(&self, key: &[u8]) -> Result<(PrefixTerms, bool), Halt> {
        let n = self.segments.len();
        let (mut found, mut is_cut) = (PrefixTerms::new(), false);
        for (index, segment) in self.segments.iter().enumerate() {
            self.budget.look()?;
            let Some(table) = segment.table(key) else { continue };
            let (terms, has_more) = table.with_prefix(key, self.prefix_terms_max)?;
            is_cut |= has_more;
            for (term, entry) in terms {
                found.entry(term).or_insert_with(|| vec![None; n])[index] = Some(entry);
            }
        }
        while found.len() > self.prefix_terms_max {
            found.pop_last();
            is_cut = true;
        }
        Ok((found, is_cut))
    }
}

/// Returns the number of documents of a term's lists.
fn documents(entries: &[Option<ListEntry>]) -> u64 {
    entries.iter().flatten().map(|entry| u64::from(entry.documents)).sum()
}

/// Terms with a prefix, and their lists in each segment.
type PrefixTerms = BTreeMap<Vec<u8>, Vec<Option<ListEntry>>>;

const fn of_words(field: WordField) -> (TermField, &'static str) {
    match field {
        WordField::Any => (TermField::Text, ""),
        WordField::Title => (TermField::Title, "title:"),
        WordField::Anchor => (TermField::Anchor, "anchor:"),
    }
}

/// Returns the languages that all results have, if the query says so.
fn language_of(query: &SearchQuery) -> Option<&Vec<String>> {
    match query {
        SearchQuery::Language(names) => Some(names),
        SearchQuery::And(parts) => parts.iter().find_map(language_of),
        _ => None,
    }
}

/// How the documents of a segment are ranked.
#[derive(Clone, Copy)]
pub(super) struct Ranking<'s> {
    pub(super) scoring: Scoring<'s>,
    /// True if documents that cannot be among the best are counted.
    pub(super) counts_all: bool,
}

impl Node {
    /// Returns the words of which the results have at least one, if the query is such.
    fn words(&self) -> Option<Vec<&PlanWord>> {
        match self {
            Self::Word(word) => Some(vec![word]),
            Self::Or(parts) => {
                // `None` if one is no word.
                parts.iter().map(Self::word).collect()
            }
            _ => None,
        }
    }

    /// Returns the words that the results have, if the query is such, and the place among them of each word of a phrase.
    fn conjunction(&self) -> Option<(Vec<&PlanWord>, &[usize])> {
        match self {
            Self::And(parts) => Some((parts.iter().map(Self::word).collect::<Option<_>>()?, &[])),
            Self::Phrase(words, places) => Some((words.iter().collect(), places)),
            _ => None,
        }
    }

    const fn word(&self) -> Option<&PlanWord> {
        if let Self::Word(word) = self { Some(word) } else { None }
    }
}

impl Plan {
    /// Returns the operators of a segment.
    pub(super) fn operators<'s>(
        &'s self,
        segments: &'s [Segment],
        segment: usize,
        budget: &'s Budget<'s>,
        ranking: Option<Ranking<'s>>,
    ) -> Result<BoxedOperator<'s>, IndexError> {
        let builder = Builder { plan: self, segments, segment, budget };
        if let Some(ranking) = ranking {
            if let Some(words) = self.node.words() {
                return Ok(Box::new(builder.union(ranking, &words)?));
            }
            if let Some((words, phrase)) = self.node.conjunction()
                && let Some(operator) = builder.conjunction(ranking, &words, phrase)?
            {
                return Ok(Box::new(operator));
            }
        }
        let part = builder.build(&self.node)?;
        match ranking.is_some() && !self.anchors.is_empty() {
            true => Ok(Box::new(Anchored::new(part, builder.lists_of(&self.anchors)?))),
            false => Ok(part),
        }
    }
}

struct Builder<'s> {
    plan: &'s Plan,
    segments: &'s [Segment],
    segment: usize,
    budget: &'s Budget<'s>,
}

impl<'s> Builder<'s> {
    fn build(&self, node: &Node) -> Result<BoxedOperator<'s>, IndexError> {
        let n = self.segments[self.segment].n_documents();
        let all = |nodes: &[Node]| -> Result<Vec<BoxedOperator<'s>>, IndexError> {
            nodes.iter().map(|node| self.build(node)).collect()
        };
        Ok(match node {
            Node::Word(word) => Box::new(self.terms(word)?),
            Node::Phrase(words, places) => {
                Box::new(Phrase::new(InOrder, self.all_terms(words)?, places))
            }
            Node::Window(words, places, span) => {
                let near = Near { span: *span };
                Box::new(Window::new(near, self.all_terms(words)?, places))
            }
            Node::And(parts) => Box::new(And::new(all(parts)?)),
            Node::Or(parts) => Box::new(Or::new(all(parts)?)),
            Node::Not(part) => Box::new(Not::new(self.build(part)?, n)),
            Node::All => Box::new(All::new(n)),
        })
    }

    fn all_terms(&self, words: &[PlanWord]) -> Result<Vec<Terms<'s>>, IndexError> {
        words.iter().map(|word| self.terms(word)).collect()
    }

    fn union(&self, ranking: Ranking<'s>, words: &[&PlanWord]) -> Result<Union<'s>, IndexError> {
        let words = words.iter().map(|word| Ok((word.name.clone(), self.lists(word)?)));
        let words = words.collect::<Result<_, IndexError>>()?;
        Ok(Union::new(words, self.context(ranking)?))
    }

    /// Returns the intersection of words; `None` if one has not just one list.
    fn conjunction(
        &self,
        ranking: Ranking<'s>,
        words: &[&PlanWord],
        phrase: &[usize],
    ) -> Result<Option<Conjunction<'s>>, IndexError> {
        let mut lists = Vec::with_capacity(words.len());
        for word in words.iter().filter(|word| word.terms.len() == 1) {
            lists.extend(self.lists(word)?.pop().map(|list| (word.name.clone(), list)));
        }
        let is_each = lists.len() == words.len() && !words.is_empty();
        let context = is_each.then(|| self.context(ranking)).transpose()?;
        Ok(context.map(|context| Conjunction::new(lists, phrase, context)))
    }

    fn context(&self, ranking: Ranking<'s>) -> Result<RankingContext<'s>, IndexError> {
        let segment = &self.segments[self.segment];
        Ok(RankingContext {
            scoring: ranking.scoring,
            counts_all: ranking.counts_all,
            anchors: self.lists_of(&self.plan.anchors)?,
            budget: self.budget,
            dead: segment.dead(),
            n_documents: segment.n_documents(),
        })
    }

    fn terms(&self, word: &PlanWord) -> Result<Terms<'s>, IndexError> {
        Ok(Terms::new(word.name.clone(), self.lists(word)?, self.budget))
    }

    fn lists(&self, word: &PlanWord) -> Result<Vec<TermList<'s>>, IndexError> {
        self.lists_of(&word.terms)
    }

    fn lists_of(&self, terms: &[usize]) -> Result<Vec<TermList<'s>>, IndexError> {
        let segment = &self.segments[self.segment];
        let mut lists = Vec::new();
        for &number in terms {
            let term = &self.plan.terms[number];
            if let Some(entry) = term.entries[self.segment] {
                let reader = segment.list_of(term.field, entry)?;
                lists.push(TermList { term: number, reader });
            }
        }
        Ok(lists)
    }
}
