//! The documents of a word: those of its list, or of the lists of its stems, or of all words with its prefix.

use super::{Budget, Calls, Explained, Halt, Operator, Scoring};
use crate::postings::PostingReader;

/// A list of a term.
pub(crate) struct TermList<'s> {
    /// Number of the term in the query.
    pub(crate) term: usize,
    pub(crate) reader: PostingReader<'s>,
}

/// The union of some lists. A query has few of them, except for prefixes.
pub(crate) struct Terms<'s> {
    name: String,
    budget: &'s Budget<'s>,
    lists: Vec<TermList<'s>>,
    document: Option<u32>,
    charged: u64,
    calls: Calls,
}

impl<'s> Terms<'s> {
    pub(crate) fn new(name: String, lists: Vec<TermList<'s>>, budget: &'s Budget<'s>) -> Self {
        let calls = Calls::default();
        Self { name, budget, lists, document: None, charged: 0, calls }
    }

    fn settle(&mut self) -> Result<Option<u32>, Halt> {
        let documents = self.lists.iter().filter_map(|list| list.reader.document());
        self.document = documents.min();
        let decoded: u64 = self.lists.iter().map(|list| list.reader.stats().postings).sum();
        self.settled(decoded)
    }

    /// Returns the document, once what was decoded is charged. A call that decodes nothing is charged, too, if it ends.
    #[inline]
    fn settled(&mut self, decoded: u64) -> Result<Option<u32>, Halt> {
        if decoded != self.charged || self.document.is_none() {
            self.budget.charge(decoded - self.charged)?;
            self.charged = decoded;
        }
        Ok(self.calls.returns(self.document))
    }

    /// Replaces `out` by the positions of the words in the document, ascending.
    pub(super) fn positions(&mut self, out: &mut Vec<u32>) -> Result<(), Halt> {
        let document = self.document;
        out.clear();
        let mut n = 0;
        for list in self.lists.iter_mut().filter(|list| list.reader.document() == document) {
            list.reader.push_positions(out)?;
            n += 1;
        }
        if n > 1 {
            out.sort_unstable();
            out.dedup();
        }
        self.budget.charge(out.len() as u64)
    }
}

impl Operator for Terms<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        if let [list] = self.lists.as_mut_slice() {
            self.document = list.reader.next()?;
            let decoded = list.reader.stats().postings;
            return self.settled(decoded);
        }
        let before = self.document;
        for list in &mut self.lists {
            // A list that has not begun is before all documents.
            if before.is_none() || list.reader.document() == before {
                list.reader.next()?;
            }
        }
        self.settle()
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        if let [list] = self.lists.as_mut_slice() {
            self.document = list.reader.skip_to(target)?;
            let decoded = list.reader.stats().postings;
            return self.settled(decoded);
        }
        for list in &mut self.lists {
            list.reader.skip_to(target)?;
        }
        self.settle()
    }

    fn estimate(&self) -> u64 {
        self.lists.iter().map(|list| u64::from(list.reader.n_documents())).sum()
    }

    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt> {
        let (document, mut sum) = (self.document, 0.0);
        let Some(at) = document else { return Ok(sum) };
        for list in self.lists.iter_mut().filter(|list| list.reader.document() == document) {
            sum += scoring.score(list.term, list.reader.count()?, at);
        }
        Ok(sum)
    }

    fn explain(&self) -> Explained {
        let mut explained = Explained::new(&self.name, self.estimate(), self.calls);
        self.lists.iter().for_each(|list| explained.add_stats(list.reader.stats()));
        explained
    }
}
