//! Phrases and windows: intersections whose documents also have the words at the right positions.

use super::and::align;
use super::{Calls, Explained, Halt, Operator, Scoring, Terms};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

/// The documents with the words one after another.
pub(crate) type Phrase<'s> = Positional<'s, InOrder>;
/// The documents with the words near one another.
pub(crate) type Window<'s> = Positional<'s, Near>;

/// A condition on the positions of words.
pub(crate) trait Condition {
    /// Returns the name for people.
    fn name(&self) -> String;

    /// Returns true if the positions of the words, in the order of the query, satisfy it.
    fn holds(&self, positions: &[Vec<u32>]) -> bool;
}

/// An intersection of words with a condition on their positions. A word that occurs several times in the query has
/// one list.
pub(crate) struct Positional<'s, C> {
    condition: C,
    /// By their estimates, ascending.
    words: Vec<Terms<'s>>,
    /// The index in `words` of each word of the query.
    places: Vec<usize>,
    /// The index in `words` of each different word, in the order of the query.
    order: Vec<usize>,
    document: Option<u32>,
    /// Documents of the intersection that were looked at.
    candidates: u64,
    buffers: Vec<Vec<u32>>,
    calls: Calls,
}

impl<'s, C: Condition> Positional<'s, C> {
    /// Creates the operator over different words, with the place among them of each word of the query.
    pub(crate) fn new(condition: C, words: Vec<Terms<'s>>, places: &[usize]) -> Self {
        let mut sorted: Vec<_> = words.into_iter().enumerate().collect();
        sorted.sort_by_key(|(_, word)| word.estimate());
        let place = |of: &usize| sorted.iter().position(|(place, _)| place == of).unwrap_or(0);
        let order = (0..sorted.len()).map(|of| place(&of)).collect();
        let places: Vec<usize> = places.iter().map(place).collect();
        let buffers = vec![Vec::new(); places.len()];
        let words = sorted.into_iter().map(|(_, word)| word).collect();
        let calls = Calls::default();
        Self { condition, words, places, order, document: None, candidates: 0, buffers, calls }
    }

    fn find(&mut self, mut first: Option<u32>) -> Result<Option<u32>, Halt> {
        loop {
            self.document = align(&mut self.words, first)?;
            if self.document.is_none() {
                return Ok(None);
            }
            self.candidates += 1;
            for (buffer, place) in self.buffers.iter_mut().zip(&self.places) {
                self.words[*place].positions(buffer)?;
            }
            if self.condition.holds(&self.buffers) {
                return Ok(self.calls.returns(self.document));
            }
            first = self.words.first_mut().map_or(Ok(None), |word| word.next())?;
        }
    }
}

impl<C: Condition> Operator for Positional<'_, C> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        let first = self.words.first_mut().map_or(Ok(None), |word| word.next())?;
        self.find(first)
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        if self.document.is_some_and(|document| document >= target) {
            return Ok(self.document);
        }
        let first = self.words.first_mut().map_or(Ok(None), |word| word.skip_to(target))?;
        self.find(first)
    }

    fn estimate(&self) -> u64 {
        self.words.first().map_or(0, Terms::estimate)
    }

    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt> {
        let mut sum = 0.0;
        for index in &self.order {
            sum += self.words[*index].score(scoring)?;
        }
        Ok(sum)
    }

    fn explain(&self) -> Explained {
        let parts = self.order.iter().map(|index| self.words[*index].explain());
        let name = self.condition.name();
        let explained = Explained::new(&name, self.estimate(), self.calls).with_parts(parts);
        Explained { candidates: self.candidates, ..explained }
    }
}

/// Words one after another: the lists of positions, less the place of their word, have an element in common.
pub(crate) struct InOrder;

impl Condition for InOrder {
    fn name(&self) -> String {
        "phrase".to_owned()
    }

    fn holds(&self, positions: &[Vec<u32>]) -> bool {
        let Some(rarest) = (0..positions.len()).min_by_key(|place| positions[*place].len()) else {
            return false;
        };
        let mut starts = positions[rarest].iter().filter_map(|at| at.checked_sub(rarest as u32));
        starts.any(|start| {
            let mut others = positions.iter().enumerate();
            others.all(|(place, list)| list.binary_search(&(start + place as u32)).is_ok())
        })
    }
}

/// Words in any order, each at a position of its own, the last of which is less than `span` beyond the first one.
pub(crate) struct Near {
    /// Positions from the first to the last word, at most.
    pub(crate) span: u32,
}

impl Condition for Near {
    fn name(&self) -> String {
        format!("window of {}", self.span)
    }

    fn holds(&self, positions: &[Vec<u32>]) -> bool {
        // A merge of the lists; the window has those of its positions that are less than `span` before the last one.
        let mut rest: Vec<_> = positions.iter().map(|list| list.iter()).collect();
        let mut heap = BinaryHeap::new();
        for (word, rest) in rest.iter_mut().enumerate() {
            heap.extend(rest.next().map(|at| Reverse((*at, word))));
        }
        let mut window = vec![VecDeque::new(); positions.len()];
        while let Some(Reverse((at, word))) = heap.pop() {
            heap.extend(rest[word].next().map(|at| Reverse((*at, word))));
            window[word].push_back(at);
            let is_next_later = heap.peek().is_none_or(|Reverse((next, _))| *next > at);
            for list in &mut window {
                while list.front().is_some_and(|first| at - first >= self.span) {
                    list.pop_front();
                }
            }
            if is_next_later && window.iter().all(|list| !list.is_empty()) && have_own(&window) {
                return true;
            }
        }
        false
    }
}

/// Returns true if each word can have a position that no other word has: a matching of words and positions.
fn have_own(window: &[VecDeque<u32>]) -> bool {
    let mut owners = HashMap::new();
    // Words with few positions come first: they fail at once.
    let mut words: Vec<usize> = (0..window.len()).collect();
    words.sort_by_key(|word| window[*word].len());
    words.into_iter().all(|word| find_own(window, word, &mut owners, &mut HashSet::new()))
}

/// Finds a position for a word. Others may have to take another one.
fn find_own(
    window: &[VecDeque<u32>],
    word: usize,
    owners: &mut HashMap<u32, usize>,
    tried: &mut HashSet<u32>,
) -> bool {
    for &at in &window[word] {
        if !tried.insert(at) {
            continue;
        }
        let owner = owners.get(&at).copied();
        if owner.is_none_or(|owner| find_own(window, owner, owners, tried)) {
            owners.insert(at, word);
            return true;
        }
    }
    false
}
