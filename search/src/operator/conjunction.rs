//! Intersection of words at the root of a ranked query, which may be a phrase. Each word has one list.
//!
//! Lists are read in windows, in which each has documents of one block: from the next document of the shortest list to the
//! first block that ends. Blocks of the others that are before a window are not decoded. If the bounds of the blocks are
//! below the threshold, the documents of a window are counted without scores, or passed if they need not be counted.
//! Positions are read word by word, the rarest first, until no start of the phrase is left.

use super::scoring::is_below;
use super::{Calls, Explained, Halt, Operator, RankingContext, Scoring, TermList};
use crate::postings::QUANTUM;

/// If a list has this many times the documents of another one, it is searched for each of them.
const SKEWED: usize = 8;

/// A word, and its list.
struct ConjunctionWord<'s> {
    name: String,
    list: TermList<'s>,
    /// Places in the block of the documents that are left in the window.
    places: Vec<u8>,
    /// A block, and the bound of the scores in it.
    bound: (usize, f64),
    calls: Calls,
}

/// The intersection of words. It begins before the first document.
pub(crate) struct Conjunction<'s> {
    /// By the lengths of their lists, ascending.
    words: Vec<ConjunctionWord<'s>>,
    /// The index in `words` of each word of the query.
    order: Vec<usize>,
    /// Of a phrase, the index in `words` and the place of each word, the rarest first.
    phrase: Vec<(usize, u32)>,
    context: RankingContext<'s>,
    threshold: f64,
    /// Bound of what links add.
    of_anchors: f64,
    /// The first document that is in no window yet.
    base: u32,
    /// Documents of the window that are left.
    documents: Vec<u32>,
    lengths: Vec<f64>,
    scores: Vec<f64>,
    /// The next result among the documents, and the last one.
    at: usize,
    current: Option<(u32, f64)>,
    /// Documents that were counted, but not returned.
    passed: u64,
    is_counted: bool,
    charged: u64,
    /// Documents whose positions were compared.
    candidates: u64,
    buffers: PhraseBuffers,
    calls: Calls,
}

/// Positions in the documents of a window.
#[derive(Default)]
struct PhraseBuffers {
    /// Where the phrase may start, and where the starts of each document end.
    starts: Vec<u32>,
    start_ends: Vec<u32>,
    positions: Vec<u32>,
    ends: Vec<u32>,
    /// Documents of the window that are left.
    kept: Vec<u8>,
}

impl<'s> Conjunction<'s> {
    /// Creates the intersection of words with their lists. `phrase` has the index of each word of a phrase.
    pub(crate) fn new(
        words: Vec<(String, TermList<'s>)>,
        phrase: &[usize],
        context: RankingContext<'s>,
    ) -> Self {
        let word = |(name, list)| ConjunctionWord {
            name,
            list,
            places: Vec::with_capacity(QUANTUM),
            bound: (usize::MAX, 0.0),
            calls: Calls::default(),
        };
        let mut words: Vec<_> = words.into_iter().map(word).enumerate().collect();
        words.sort_by_key(|(_, word)| word.list.reader.n_documents());
        let mut order = vec![0; words.len()];
        words.iter().enumerate().for_each(|(index, (place, _))| order[*place] = index);
        let phrase = (0_u32..).zip(phrase).map(|(place, word)| (order[*word], place));
        let mut phrase: Vec<_> = phrase.collect();
        phrase.sort_unstable();
        let anchors = context.anchors.iter();
        let of_anchors = anchors.map(|list| context.scoring.terms[list.term].bound(None)).sum();
        Self {
            words: words.into_iter().map(|(_, word)| word).collect(),
            order,
            phrase,
            context,
            threshold: f64::NEG_INFINITY,
            of_anchors,
            base: 0,
            documents: Vec::with_capacity(QUANTUM),
            lengths: Vec::with_capacity(QUANTUM),
            scores: Vec::with_capacity(QUANTUM),
            at: 0,
            current: None,
            passed: 0,
            is_counted: true,
            charged: 0,
            candidates: 0,
            buffers: PhraseBuffers::default(),
            calls: Calls::default(),
        }
    }

    /// Fills the next window. Returns false if there is none.
    fn fill(&mut self) -> Result<bool, Halt> {
        self.at = 0;
        self.documents.clear();
        self.scores.clear();
        let Some((first, others)) = self.words.split_first_mut() else { return Ok(false) };
        first.calls.skip += 1;
        let start = first.list.reader.skip_to(self.base)?;
        let Some(start) = start else { return Ok(false) };
        let mut end = first.list.reader.block_last();
        for word in others {
            word.calls.skip += 1;
            if !word.list.reader.go_to_block(start)? {
                return Ok(false);
            }
            end = end.min(word.list.reader.block_last());
        }
        // The last document number is that of no document.
        self.base = end + 1;
        let is_low = self.threshold > f64::NEG_INFINITY && is_below(self.bound(), self.threshold);
        if is_low && !self.context.counts_all {
            self.is_counted = false;
            return Ok(true);
        }
        self.intersect(start..self.base)?;
        self.remove_dead();
        if !self.phrase.is_empty() {
            self.find_phrases()?;
        }
        match is_low {
            true => {
                self.passed += self.documents.len() as u64;
                self.documents.clear();
            }
            false => self.find_scores()?,
        }
        Ok(true)
    }

    /// Returns a bound of the scores in the blocks.
    fn bound(&mut self) -> f64 {
        let mut sum = self.of_anchors;
        for ConjunctionWord { list, bound, .. } in &mut self.words {
            let block = list.reader.block_index();
            if bound.0 != block {
                let impacts = list.reader.impacts();
                *bound = (block, self.context.scoring.terms[list.term].bound(impacts.as_ref()));
            }
            sum += bound.1;
        }
        sum
    }

    /// Finds the documents that all lists have in a range, which is within a block of each.
    fn intersect(&mut self, range: std::ops::Range<u32>) -> Result<(), Halt> {
        let documents = &mut self.documents;
        for index in 0..self.words.len() {
            let (before, rest) = self.words.split_at_mut(index);
            let word = &mut rest[0];
            let (start, found) = word.list.reader.places(range.clone())?;
            word.calls.returned += found.len() as u64;
            word.places.clear();
            if index == 0 {
                documents.extend_from_slice(found);
                word.places.extend((start..).take(found.len()).map(|place| place as u8));
                continue;
            }
            let mut kept = [0_u8; QUANTUM];
            let n = match found.len() > SKEWED * documents.len() {
                true => intersect_skewed(documents, found, &mut kept, &mut word.places, start),
                false => intersect_alike(documents, found, &mut kept, &mut word.places, start),
            };
            let kept = &kept[..n];
            keep(documents, kept);
            before.iter_mut().for_each(|word| keep(&mut word.places, kept));
            if documents.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Removes documents that count no more.
    fn remove_dead(&mut self) {
        let dead = self.context.dead;
        if dead.len() == 0 {
            return;
        }
        let places = (0_u8..).zip(&self.documents);
        let alive = places.filter(|(_, document)| !dead.contains(**document));
        let kept: Vec<u8> = alive.map(|(place, _)| place).collect();
        self.keep(&kept);
    }

    fn keep(&mut self, kept: &[u8]) {
        keep(&mut self.documents, kept);
        self.words.iter_mut().for_each(|word| keep(&mut word.places, kept));
    }

    /// Keeps the documents in which the words of the phrase are one after another.
    fn find_phrases(&mut self) -> Result<(), Halt> {
        let mut buffers = std::mem::take(&mut self.buffers);
        let PhraseBuffers { starts, start_ends, positions, ends, kept } = &mut buffers;
        let mut last = None;
        for index in 0..self.phrase.len() {
            if self.documents.is_empty() {
                break;
            }
            let (word, place) = self.phrase[index];
            // Documents may have been left out since the positions of the word before.
            if index == 0 || last != Some(word) || !kept.is_empty() {
                let ConjunctionWord { list, places, .. } = &mut self.words[word];
                list.reader.positions_at(places, positions, ends)?;
                last = Some(word);
            }
            kept.clear();
            if index == 0 {
                self.candidates += self.documents.len() as u64;
                first_starts(place, positions, ends, (starts, start_ends), kept);
            } else {
                next_starts(place, positions, ends, (starts, start_ends), kept);
            }
            if kept.len() < self.documents.len() {
                self.keep(kept);
            } else {
                kept.clear();
            }
        }
        self.buffers = buffers;
        Ok(())
    }

    /// Finds the scores of the documents, and keeps those that reach the threshold.
    fn find_scores(&mut self) -> Result<(), Halt> {
        if self.documents.is_empty() {
            return Ok(());
        }
        let scoring = self.context.scoring;
        let lengths = self.documents.iter().map(|document| scoring.lengths[*document as usize]);
        self.lengths.clear();
        self.lengths.extend(lengths.map(f64::from));
        self.scores.resize(self.documents.len(), 0.0);
        // In the order of the query, so that sums are rounded alike in all segments.
        for index in &self.order {
            let ConjunctionWord { list, places, .. } = &mut self.words[*index];
            let weight = scoring.terms[list.term];
            let counts = list.reader.counts()?;
            let scores = self.scores.iter_mut().zip(&self.lengths).zip(places.iter());
            for ((score, length), place) in scores {
                *score += weight.of(f64::from(counts[usize::from(*place) % QUANTUM]), *length);
            }
        }
        for list in &mut self.context.anchors {
            let weight = scoring.terms[list.term];
            for ((document, score), length) in
                self.documents.iter().zip(&mut self.scores).zip(&self.lengths)
            {
                if list.reader.skip_to(*document)? == Some(*document) {
                    *score += weight.of(f64::from(list.reader.count()?), *length);
                }
            }
        }
        Ok(())
    }

    /// Charges what was decoded.
    fn charge(&mut self) -> Result<(), Halt> {
        let words = self.words.iter().map(|word| &word.list);
        let stats = words.chain(&self.context.anchors).map(|list| list.reader.stats());
        let decoded: u64 = stats.map(|stats| stats.postings + stats.positions).sum();
        self.context.budget.charge(decoded - self.charged)?;
        self.charged = decoded;
        Ok(())
    }
}

/// Keeps the elements at some places, which ascend.
fn keep<T: Copy>(elements: &mut Vec<T>, kept: &[u8]) {
    if kept.len() < elements.len() {
        for (to, from) in kept.iter().enumerate() {
            elements[to] = elements[usize::from(*from)];
        }
        elements.truncate(kept.len());
    }
}

/// Finds the documents that are in both lists. Returns their number; `kept` has the places of the first list, and
/// `places` those of the other one, from `start` on. No branch depends on a document.
fn intersect_alike(
    documents: &[u32],
    others: &[u32],
    kept: &mut [u8; QUANTUM],
    places: &mut Vec<u8>,
    start: usize,
) -> usize {
    let mut of_others = [0_u8; QUANTUM];
    let (mut n, mut at, mut other) = (0, 0, 0);
    while at < documents.len() && other < others.len() {
        let (one, two) = (documents[at], others[other]);
        kept[n % QUANTUM] = at as u8;
        of_others[n % QUANTUM] = (start + other) as u8;
        n += usize::from(one == two);
        at += usize::from(one <= two);
        other += usize::from(two <= one);
    }
    places.extend_from_slice(&of_others[..n]);
    n
}

/// Does what [`intersect_alike`] does, for few documents.
fn intersect_skewed(
    documents: &[u32],
    others: &[u32],
    kept: &mut [u8; QUANTUM],
    places: &mut Vec<u8>,
    start: usize,
) -> usize {
    let (mut n, mut other) = (0, 0);
    for (at, document) in documents.iter().enumerate() {
        other += others[other..].partition_point(|other| other < document);
        if others.get(other) == Some(document) {
            kept[n] = at as u8;
            n += 1;
            places.push((start + other) as u8);
        }
    }
    n
}

/// Takes the positions of the first word of a phrase as starts. `kept` becomes the documents that have some.
fn first_starts(
    place: u32,
    positions: &[u32],
    ends: &[u32],
    (starts, start_ends): (&mut Vec<u32>, &mut Vec<u32>),
    kept: &mut Vec<u8>,
) {
    starts.clear();
    start_ends.clear();
    let mut from = 0;
    for (document, end) in ends.iter().enumerate() {
        let before = starts.len();
        let of_document = &positions[from..*end as usize];
        starts.extend(of_document.iter().filter_map(|position| position.checked_sub(place)));
        if starts.len() > before {
            kept.push(document as u8);
            start_ends.push(starts.len() as u32);
        }
        from = *end as usize;
    }
}

/// Keeps the starts with the next word at its place. `kept` becomes the documents that have some.
fn next_starts(
    place: u32,
    positions: &[u32],
    ends: &[u32],
    (starts, start_ends): (&mut Vec<u32>, &mut Vec<u32>),
    kept: &mut Vec<u8>,
) {
    let (mut n, mut n_documents) = (0, 0);
    let (mut from, mut start_from) = (0, 0);
    for document in 0..ends.len() {
        let (end, start_end) = (ends[document] as usize, start_ends[document] as usize);
        let (before, of_document) = (n, &positions[from..end]);
        for at in start_from..start_end {
            let start = starts[at];
            if has(of_document, start + place) {
                starts[n] = start;
                n += 1;
            }
        }
        if n > before {
            start_ends[n_documents] = n as u32;
            n_documents += 1;
            kept.push(document as u8);
        }
        (from, start_from) = (end, start_end);
    }
    starts.truncate(n);
    start_ends.truncate(n_documents);
}

/// Returns true if ascending positions have this one. Most documents have few.
#[inline]
fn has(positions: &[u32], position: u32) -> bool {
    const FEW: usize = 16;
    match positions.len() {
        ..FEW => positions.contains(&position),
        _ => positions.binary_search(&position).is_ok(),
    }
}

impl Operator for Conjunction<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        loop {
            while let Some(&score) = self.scores.get(self.at) {
                let document = self.documents[self.at];
                self.at += 1;
                if score >= self.threshold {
                    self.current = Some((document, score));
                    return Ok(self.calls.returns(Some(document)));
                }
                self.passed += 1;
            }
            let is_filled = self.fill()?;
            self.charge()?;
            if !is_filled {
                self.current = None;
                return Ok(None);
            }
        }
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        let document = |current: Option<(u32, f64)>| current.map(|(document, _)| document);
        while document(self.current).is_none_or(|document| document < target) {
            if self.next()?.is_none() {
                break;
            }
        }
        Ok(document(self.current))
    }

    fn estimate(&self) -> u64 {
        self.words.first().map_or(0, |word| u64::from(word.list.reader.n_documents()))
    }

    fn score(&mut self, _: &Scoring<'_>) -> Result<f64, Halt> {
        Ok(self.current.map_or(0.0, |(_, score)| score))
    }

    fn set_threshold(&mut self, score: f64) {
        self.threshold = score;
    }

    fn passed(&self) -> Option<u64> {
        self.is_counted.then_some(self.passed)
    }

    fn explain(&self) -> Explained {
        let parts = self.order.iter().map(|index| {
            let ConjunctionWord { name, list, calls, .. } = &self.words[*index];
            let n = u64::from(list.reader.n_documents());
            let mut explained = Explained::new(name, n, *calls);
            explained.add_stats(list.reader.stats());
            explained
        });
        let name = if self.phrase.is_empty() { "and" } else { "phrase" };
        let explained = Explained::new(name, self.estimate(), self.calls).with_parts(parts);
        Explained { candidates: self.candidates, ..explained }
    }
}
