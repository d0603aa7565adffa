//! Numbers of the terms of a batch. Short terms are keys without memory of their own.

use std::collections::HashMap;

/// Bytes of a short term at most. The last byte of its key is its length.
const SHORT_MAX: usize = 15;

/// Terms by their numbers.
#[derive(Default)]
pub(super) struct TermIds {
    short: HashMap<u128, u32>,
    long: HashMap<Box<[u8]>, u32>,
}

/// A term. Their order is that of their bytes.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SortedTerm {
    key: u128,
    /// Bytes of a long term.
    long: Option<Box<[u8]>>,
    pub(super) id: u32,
}

/// Returns the first bytes of a term, and its length, or a greater number if it is long.
fn key(term: &[u8]) -> u128 {
    let n = term.len().min(SHORT_MAX);
    let mut bytes = [0; SHORT_MAX + 1];
    bytes[..n].copy_from_slice(&term[..n]);
    bytes[SHORT_MAX] = if term.len() > SHORT_MAX { u8::MAX } else { n as u8 };
    u128::from_be_bytes(bytes)
}

impl TermIds {
    /// Returns the number of a term, which is `new` if it has none yet.
    pub(super) fn of(&mut self, term: &[u8], new: u32) -> u32 {
        if term.len() <= SHORT_MAX {
            return *self.short.entry(key(term)).or_insert(new);
        }
        if let Some(id) = self.long.get(term) {
            return *id;
        }
        self.long.insert(term.into(), new);
        new
    }

    /// Returns the terms in their order.
    pub(super) fn sorted(self) -> Vec<SortedTerm> {
        let short = self.short.into_iter().map(|(key, id)| SortedTerm { key, long: None, id });
        let long = self.long.into_iter();
        let long = long.map(|(term, id)| SortedTerm { key: key(&term), long: Some(term), id });
        let mut terms: Vec<SortedTerm> = short.chain(long).collect();
        terms.sort_unstable();
        terms
    }
}

impl SortedTerm {
    /// Returns the bytes. `buffer` is changed.
    pub(super) fn bytes<'b>(&'b self, buffer: &'b mut Vec<u8>) -> &'b [u8] {
        if let Some(long) = &self.long {
            return long;
        }
        let bytes = self.key.to_be_bytes();
        buffer.clear();
        buffer.extend_from_slice(&bytes[..usize::from(bytes[SHORT_MAX])]);
        buffer
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;
    use std::collections::BTreeMap;

    #[test]
    fn terms_have_one_number_each_and_are_sorted() {
        let mut rng = crate::tests::rng();
        let (mut ids, mut expected) = (TermIds::default(), BTreeMap::<Vec<u8>, u32>::new());
        for _ in 0..5_000 {
            let n = [3, 14, 15, 16, 17, 40][rng.random_range(0..6)];
            let term: Vec<u8> =
                (0..rng.random_range(0..=n)).map(|_| rng.random_range(0..2) * 255).collect();
            let new = expected.len() as u32;
            let id = *expected.entry(term.clone()).or_insert(new);
            assert_eq!(ids.of(&term, new), id);
        }
        let mut buffer = Vec::new();
        let found: Vec<(Vec<u8>, u32)> =
            ids.sorted().iter().map(|one| (one.bytes(&mut buffer).to_vec(), one.id)).collect();
        assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
    }
}
