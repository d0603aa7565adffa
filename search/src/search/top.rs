//! The best documents so far, with one for each group of near-duplicates.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// A document with its score. Of two with the same score the one with the lower order is better, then the earlier one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) score: f64,
    pub(super) order: u32,
    pub(super) segment: usize,
    pub(super) document: u32,
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        let place = |one: &Self| Reverse((one.order, one.segment, one.document));
        self.score.total_cmp(&other.score).then_with(|| place(self).cmp(&place(other)))
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Groups whose results are counted at most.
const GROUPS_MAX: usize = 1 << 16;

/// A document, and its group if it is in one.
pub(super) type Grouped = (Scored, Option<u64>);

/// The best documents.
pub(super) struct Top {
    limit: usize,
    /// The worst one is on top, with its group. Some entries are outdated: their group has a better document.
    heap: BinaryHeap<Reverse<Grouped>>,
    /// Number of documents without a group.
    n_single: usize,
    /// The best document of each group among the best.
    best: HashMap<u64, Scored>,
    /// Number of results by group, of near-duplicates.
    counts: HashMap<u64, u64>,
}

impl Top {
    pub(super) fn new(limit: usize) -> Self {
        let (best, counts) = (HashMap::new(), HashMap::new());
        Self { limit, heap: BinaryHeap::new(), n_single: 0, best, counts }
    }

    fn len(&self) -> usize {
        self.n_single + self.best.len()
    }

    /// Returns true if there are as many as wanted.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= self.limit
    }

    /// Returns true if a document with this score would be among the best.
    pub(super) fn admits(&mut self, scored: &Scored) -> bool {
        self.limit > 0 && (!self.is_full() || self.worst().is_none_or(|worst| *scored > worst))
    }

    /// Returns the score below which no document is among the best.
    pub(super) fn threshold(&mut self) -> f64 {
        match self.is_full() {
            true => self.worst().map_or(f64::INFINITY, |worst| worst.score),
            false => f64::NEG_INFINITY,
        }
    }

    fn worst(&mut self) -> Option<Scored> {
        while let Some(Reverse((scored, group))) = self.heap.peek() {
            if self.is_in_force(scored, *group) {
                return Some(*scored);
            }
            self.heap.pop();
        }
        None
    }

    fn is_in_force(&self, scored: &Scored, group: Option<u64>) -> bool {
        group.is_none_or(|group| self.best.get(&group) == Some(scored))
    }

    /// Counts a near-duplicate that is a result.
    pub(super) fn count(&mut self, group: u64) {
        if self.counts.len() < GROUPS_MAX || self.counts.contains_key(&group) {
            *self.counts.entry(group).or_default() += 1;
        }
    }

    /// Adds a document, which may be of a group.
    pub(super) fn push(&mut self, scored: Scored, group: Option<u64>) {
        match group {
            None => self.n_single += 1,
            Some(group) => {
                if self.best.get(&group).is_some_and(|known| *known >= scored) {
                    return;
                }
                self.best.insert(group, scored);
            }
        }
        self.heap.push(Reverse((scored, group)));
        while self.len() > self.limit {
            self.worst();
            match self.heap.pop() {
                Some(Reverse((_, Some(group)))) => drop(self.best.remove(&group)),
                Some(Reverse((_, None))) => self.n_single -= 1,
                None => return,
            }
        }
    }

    /// Returns the best documents, and their groups, the best first; and the numbers of results by group.
    pub(super) fn finish(mut self) -> (Vec<Grouped>, HashMap<u64, u64>) {
        let all = std::mem::take(&mut self.heap).into_iter().map(|Reverse(entry)| entry);
        let mut best: Vec<_> =
            all.filter(|(scored, group)| self.is_in_force(scored, *group)).collect();
        best.sort_unstable_by_key(|(one, _)| Reverse(*one));
        (best, self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn the_best_of_each_group_are_those_of_a_sort() {
        let mut rng = crate::tests::rng();
        for _ in 0..500 {
            let (n, limit) = (rng.random_range(0..60), rng.random_range(0..12));
            let all: Vec<(Scored, Option<u64>)> = (0..n)
                .map(|document| {
                    let score = f64::from(rng.random_range(0..20));
                    let order = rng.random_range(0..3);
                    let group = rng.random_bool(0.7).then(|| rng.random_range(0..30));
                    (Scored { score, order, segment: 0, document }, group)
                })
                .collect();
            let mut top = Top::new(limit);
            for (scored, group) in &all {
                let is_below = scored.score < top.threshold();
                assert!(!is_below || !top.admits(scored));
                if top.admits(scored) {
                    top.push(*scored, *group);
                }
            }
            let mut expected = all.clone();
            expected.sort_by_key(|(one, _)| Reverse(*one));
            let mut groups = std::collections::HashSet::new();
            expected.retain(|(_, group)| group.is_none_or(|group| groups.insert(group)));
            expected.truncate(limit);
            assert_eq!(top.finish().0, expected);
        }
    }
}
