//! Union of words at the root of a ranked query: windows of documents are scored at once, list by list, and blocks whose
//! bounds are below the threshold are passed (MaxScore of Turtle and Flood 1995 with the block maxima of Ding and
//! Suel 2011).
//!
//! A window ends with the first block that ends. The lists with the lowest bounds that together stay below the threshold
//! are not essential: a document that only they have cannot be among the best. If lists are few, the same is asked of each
//! set of them: a document is a candidate if the bounds of the lists that have it reach the threshold. Only candidates are
//! scored, by all lists in the order of the query, so that a score is rounded the same whatever is passed. A document
//! with the score of the threshold is a candidate.

use super::scoring::{Scoring, is_below};
use super::{Budget, Calls, Explained, Halt, Operator, TermList};
use crate::postings::QUANTUM;
use crate::segment::DeadSet;
use std::ops::Range;

/// Documents of a window at most.
const WINDOW: u32 = 2048;
const WORDS: usize = WINDOW as usize / 64;
/// Lists with which blocks are passed, at most. With more of them, windows would be small.
const BOUNDED_LISTS_MAX: usize = 16;

/// If one of this number of documents of a list is a candidate, all are scored.
const SPARSE: u64 = 4;
/// Lists of which each set is looked at, at most.
const LISTS_OF_SETS_MAX: usize = 4;

/// A set of documents of a window.
type Bits = [u64; WORDS];

/// The union of words. It begins before the first document.
pub(crate) struct Union<'s> {
    /// Names of the words, and their lists.
    words: Vec<(String, Range<usize>)>,
    lists: Vec<TermList<'s>>,
    /// Lists of links: they add to the scores of candidates, and make none.
    anchors: Vec<TermList<'s>>,
    scoring: Scoring<'s>,
    budget: &'s Budget<'s>,
    dead: &'s DeadSet,
    n_documents: u32,
    counts_all: bool,
    threshold: f64,
    /// The window, and its documents that are not returned yet.
    base: u32,
    end: u32,
    candidates: Bits,
    /// Documents of each list in the window.
    of_lists: Vec<Bits>,
    scores: Vec<f64>,
    document: Option<u32>,
    /// Documents that were counted, but not returned.
    passed: u64,
    is_counted: bool,
    charged: u64,
    /// Documents of each list that were looked at.
    looked: Vec<u64>,
    /// Bounds of the lists in the window, ascending, and which lists are essential.
    bounds: Vec<(f64, usize)>,
    is_essential: Vec<bool>,
    /// Bound of what links add in the window.
    of_anchors: f64,
    calls: Calls,
}

/// The parts of a segment and of a search that a union needs.
pub(crate) struct RankingContext<'s> {
    pub(crate) scoring: Scoring<'s>,
    /// Lists of links.
    pub(crate) anchors: Vec<TermList<'s>>,
    pub(crate) budget: &'s Budget<'s>,
    /// Documents that count no more.
    pub(crate) dead: &'s DeadSet,
    pub(crate) n_documents: u32,
    /// True if documents that are passed are counted.
    pub(crate) counts_all: bool,
}

impl<'s> Union<'s> {
    /// Creates the union of some words, each with its lists.
    pub(crate) fn new(
        words: Vec<(String, Vec<TermList<'s>>)>,
        context: RankingContext<'s>,
    ) -> Self {
        let RankingContext { scoring, anchors, budget, dead, n_documents, counts_all } = context;
        let (mut names, mut lists) = (Vec::new(), Vec::new());
        for (name, of_word) in words {
            names.push((name, lists.len()..lists.len() + of_word.len()));
            lists.extend(of_word);
        }
        let n = lists.len();
        Self {
            words: names,
            lists,
            anchors,
            scoring,
            budget,
            dead,
            n_documents,
            counts_all,
            threshold: f64::NEG_INFINITY,
            base: 0,
            end: 0,
            candidates: [0; WORDS],
            of_lists: vec![[0; WORDS]; n.min(BOUNDED_LISTS_MAX)],
            scores: vec![0.0; WINDOW as usize],
            document: None,
            passed: 0,
            is_counted: true,
            charged: 0,
            looked: vec![0; n],
            bounds: Vec::with_capacity(n),
            is_essential: vec![true; n],
            of_anchors: 0.0,
            calls: Calls::default(),
        }
    }

    /// Fills the next window that has documents. Returns false if there is none.
    fn fill(&mut self) -> Result<bool, Halt> {
        loop {
            // No document of any list is before it.
            let mut floor = u32::MAX;
            for list in &mut self.lists {
                if list.reader.pass(self.end)? {
                    floor = floor.min(list.reader.floor());
                }
            }
            if floor >= self.n_documents {
                return Ok(false);
            }
            self.base = self.end.max(floor);
            for list in &mut self.anchors {
                list.reader.pass(self.base)?;
            }
            let is_filled = match self.lists.len() <= BOUNDED_LISTS_MAX {
                true => self.fill_bounded()?,
                false => self.fill_all()?,
            };
            let all = self.lists.iter().chain(&self.anchors);
            let decoded: u64 = all.map(|list| list.reader.stats().postings).sum();
            self.budget.charge(decoded - self.charged)?;
            self.charged = decoded;
            if is_filled {
                return Ok(true);
            }
        }
    }

    /// Scores all documents of a window.
    fn fill_all(&mut self) -> Result<bool, Halt> {
        self.end = self.base.saturating_add(WINDOW);
        let mut all = [0; WORDS];
        for (list, looked) in self.lists.iter_mut().zip(&mut self.looked) {
            while let Some((documents, counts)) = list.reader.run(self.base..self.end, true)? {
                *looked += documents.len() as u64;
                for (&document, &count) in documents.iter().zip(counts) {
                    let at = (document - self.base) as usize;
                    let score = self.scoring.score(list.term, count, document);
                    // The first list of a document replaces what the last window left.
                    let before = if has(&all, at) { self.scores[at] } else { 0.0 };
                    self.scores[at] = before + score;
                    all[at / 64] |= 1 << (at % 64);
                }
            }
        }
        self.candidates = all;
        self.remove_dead(&mut all);
        self.add_anchors()?;
        Ok(self.candidates.iter().any(|word| *word != 0))
    }

    /// Scores the documents of a window that may reach the threshold.
    fn fill_bounded(&mut self) -> Result<bool, Halt> {
        self.end = self.base.saturating_add(WINDOW);
        // Lists of links, too, so that the bounds of their blocks are those of the window.
        let lists = self.lists.iter().chain(&self.anchors);
        for list in lists.filter(|list| !list.reader.is_ended()) {
            self.end = self.end.min(list.reader.block_last().saturating_add(1));
        }
        let n_essential = self.find_essential();
        if n_essential == 0 && !self.counts_all {
            self.is_counted = false;
            return Ok(false);
        }
        let n_words = ((self.end - self.base) as usize).div_ceil(64);
        self.candidates = [0; WORDS];
        for only_essential in [true, false] {
            if !only_essential
                && !self.counts_all
                && self.is_essential.iter().zip(&self.of_lists).all(|(is_essential, documents)| {
                    !is_essential || documents[..n_words].iter().all(|word| *word == 0)
                })
            {
                self.is_counted &= n_essential == self.lists.len();
                return Ok(false);
            }
            for (index, list) in self.lists.iter_mut().enumerate() {
                if self.is_essential[index] == only_essential {
                    let documents = list.reader.peek(self.base..self.end)?;
                    self.looked[index] += documents.len() as u64;
                    let of_list = &mut self.of_lists[index][..n_words];
                    of_list.fill(0);
                    for &document in documents {
                        let at = (document - self.base) as usize;
                        of_list[at / 64] |= 1 << (at % 64);
                    }
                }
            }
        }
        self.find_candidates(n_words);
        let mut all = [0; WORDS];
        self.of_lists.iter().for_each(|documents| add(&mut all, documents, n_words));
        self.remove_dead(&mut all);
        let n_candidates = n_of(&self.candidates[..n_words]);
        self.passed += n_of(&all[..n_words]) - n_candidates;
        if n_candidates > 0 {
            self.score_candidates(n_words)?;
        }
        Ok(n_candidates > 0)
    }

    /// Finds the documents of the window whose lists have bounds that together reach the threshold.
    fn find_candidates(&mut self, n_words: usize) {
        let n = self.lists.len();
        if n > LISTS_OF_SETS_MAX || self.bounds.is_empty() {
            let essential = self.of_lists.iter().zip(&self.is_essential);
            for (documents, _) in essential.filter(|(_, is_essential)| **is_essential) {
                add(&mut self.candidates, documents, n_words);
            }
            return;
        }
        let reaches = |set: usize| {
            let bounds = self.bounds.iter().filter(|(_, index)| set >> index & 1 == 1);
            let sum = bounds.fold(self.of_anchors, |sum, (bound, _)| sum + bound);
            // Links alone make no result.
            set != 0 && !is_below(sum, self.threshold)
        };
        let lists = |set: usize| (0..n).filter(move |index| set >> index & 1 == 1);
        // Larger sets have no other documents.
        let is_least =
            |set: &usize| reaches(*set) && lists(*set).all(|index| !reaches(*set & !(1 << index)));
        for set in (1..1_usize << n).filter(is_least) {
            for (word, candidates) in self.candidates[..n_words].iter_mut().enumerate() {
                let of_set = lists(set).map(|index| self.of_lists[index][word]);
                *candidates |= of_set.fold(u64::MAX, |all, one| all & one);
            }
        }
    }

    /// Finds the lists without which no document of the window reaches the threshold. Returns their number.
    fn find_essential(&mut self) -> usize {
        self.is_essential.fill(true);
        self.bounds.clear();
        let n = self.lists.len();
        if self.threshold == f64::NEG_INFINITY {
            return n;
        }
        for (index, list) in self.lists.iter().enumerate() {
            let is_there = !list.reader.is_ended() && list.reader.floor() < self.end;
            let bound = match is_there {
                true => self.scoring.terms[list.term].bound(list.reader.impacts().as_ref()),
                false => 0.0,
            };
            self.bounds.push((bound, index));
        }
        self.bounds.sort_unstable_by(|one, other| one.0.total_cmp(&other.0));
        // Links may add to any document of the window.
        let (mut sum, mut n_others) = (0.0, 0);
        for list in self.anchors.iter().filter(|list| !list.reader.is_ended()) {
            if list.reader.floor() < self.end {
                sum += self.scoring.terms[list.term].bound(list.reader.impacts().as_ref());
            }
        }
        self.of_anchors = sum;
        for &(bound, index) in &self.bounds {
            sum += bound;
            if !is_below(sum, self.threshold) {
                break;
            }
            self.is_essential[index] = false;
            n_others += 1;
        }
        n - n_others
    }

    fn score_candidates(&mut self, n_words: usize) -> Result<(), Halt> {
        let candidates = self.candidates;
        for_each(&candidates, |at| self.scores[at] = 0.0);
        for (list, of_list) in self.lists.iter_mut().zip(&self.of_lists) {
            let words = candidates[..n_words].iter().zip(of_list);
            let n: u64 = words.map(|(one, other)| u64::from((one & other).count_ones())).sum();
            // A window has documents of one block of each list.
            let Some((documents, counts)) = list.reader.run(self.base..self.end, n > 0)? else {
                continue;
            };
            let weight = self.scoring.terms[list.term];
            if n * SPARSE > documents.len() as u64 {
                // Scores that nobody wants cost less than branches.
                let mut scores = [0.0; QUANTUM];
                for ((document, count), score) in documents.iter().zip(counts).zip(&mut scores) {
                    let length = self.scoring.lengths[*document as usize];
                    *score = weight.score(*count, length);
                }
                for (document, score) in documents.iter().zip(scores) {
                    self.scores[(*document - self.base) as usize] += score;
                }
                continue;
            }
            for (&document, &count) in documents.iter().zip(counts) {
                let at = (document - self.base) as usize;
                if has(&candidates, at) {
                    let length = self.scoring.lengths[document as usize];
                    self.scores[at] += weight.score(count, length);
                }
            }
        }
        self.add_anchors()?;
        for_each(&candidates, |at| {
            if self.scores[at] < self.threshold {
                self.candidates[at / 64] &= !(1 << (at % 64));
                self.passed += 1;
            }
        });
        Ok(())
    }

    /// Adds the scores of links to the candidates.
    fn add_anchors(&mut self) -> Result<(), Halt> {
        for list in &mut self.anchors {
            if !list.reader.pass(self.base)? {
                continue;
            }
            let weight = self.scoring.terms[list.term];
            while let Some((documents, counts)) = list.reader.run(self.base..self.end, true)? {
                for (&document, &count) in documents.iter().zip(counts) {
                    let at = (document - self.base) as usize;
                    if has(&self.candidates, at) {
                        let length = self.scoring.lengths[document as usize];
                        self.scores[at] += weight.score(count, length);
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes documents that count no more out of the window.
    fn remove_dead(&mut self, all: &mut Bits) {
        if self.dead.len() == 0 {
            return;
        }
        for bits in [all, &mut self.candidates] {
            let before = *bits;
            for_each(&before, |at| {
                if self.dead.contains(self.base + at as u32) {
                    bits[at / 64] &= !(1 << (at % 64));
                }
            });
        }
    }

    /// Takes the next candidate out of the window.
    #[inline]
    fn take(&mut self) -> Option<usize> {
        let from = self.document.map_or(0, |document| document.saturating_sub(self.base) as usize);
        for (index, word) in self.candidates.iter_mut().enumerate().skip(from / 64) {
            if *word != 0 {
                let at = index * 64 + word.trailing_zeros() as usize;
                *word &= *word - 1;
                return Some(at);
            }
        }
        None
    }
}

#[inline]
fn has(bits: &Bits, at: usize) -> bool {
    bits[at / 64] >> (at % 64) & 1 == 1
}

/// Adds the documents of another set.
fn add(bits: &mut Bits, others: &Bits, n_words: usize) {
    bits[..n_words].iter_mut().zip(others).for_each(|(bits, others)| *bits |= others);
}

fn n_of(bits: &[u64]) -> u64 {
    bits.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Calls `visit` with each element, ascending.
fn for_each(bits: &Bits, mut visit: impl FnMut(usize)) {
    for (index, word) in bits.iter().enumerate() {
        let mut word = *word;
        while word != 0 {
            visit(index * 64 + word.trailing_zeros() as usize);
            word &= word - 1;
        }
    }
}

impl Operator for Union<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        loop {
            while let Some(at) = self.take() {
                let document = self.base + at as u32;
                self.document = Some(document);
                if self.scores[at] >= self.threshold {
                    return Ok(self.calls.returns(self.document));
                }
                self.passed += 1;
            }
            if !self.fill()? {
                self.document = None;
                return Ok(None);
            }
        }
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        while self.document.is_none_or(|document| document < target) {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(self.document)
    }

    fn estimate(&self) -> u64 {
        self.lists.iter().map(|list| u64::from(list.reader.n_documents())).sum()
    }

    fn score(&mut self, _: &Scoring<'_>) -> Result<f64, Halt> {
        Ok(self.document.map_or(0.0, |document| self.scores[(document - self.base) as usize]))
    }

    fn set_threshold(&mut self, score: f64) {
        self.threshold = score;
    }

    fn passed(&self) -> Option<u64> {
        self.is_counted.then_some(self.passed)
    }

    fn explain(&self) -> Explained {
        let word = |(name, range): &(String, Range<usize>)| {
            let lists = &self.lists[range.clone()];
            let estimate = lists.iter().map(|list| u64::from(list.reader.n_documents())).sum();
            let returned = self.looked[range.clone()].iter().sum();
            let calls = Calls { returned, ..Calls::default() };
            let mut explained = Explained::new(name, estimate, calls);
            lists.iter().for_each(|list| explained.add_stats(list.reader.stats()));
            explained
        };
        if let [only] = self.words.as_slice() {
            let explained = word(only);
            return Explained { next: self.calls.next, skip_to: self.calls.skip, ..explained };
        }
        let parts = self.words.iter().map(word);
        Explained::new("or", self.estimate(), self.calls).with_parts(parts)
    }
}
