//! Union: a merge of the parts with a heap of their documents. Which parts have the document is known.

use super::{BoxedOperator, Calls, Explained, Halt, Operator, Scoring};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The documents of any part.
pub(crate) struct Or<'s> {
    parts: Vec<BoxedOperator<'s>>,
    /// Documents of the parts that are beyond the document, and the index of the part.
    heap: BinaryHeap<Reverse<(u32, usize)>>,
    /// Parts that have the document; before the first one, all.
    at: Vec<usize>,
    document: Option<u32>,
    calls: Calls,
}

impl<'s> Or<'s> {
    pub(crate) fn new(parts: Vec<BoxedOperator<'s>>) -> Self {
        let at = (0..parts.len()).collect();
        Self { parts, heap: BinaryHeap::new(), at, document: None, calls: Calls::default() }
    }

    /// Goes to the least document of the heap, with all parts that have it.
    fn settle(&mut self) -> Option<u32> {
        self.document = self.heap.peek().map(|Reverse((document, _))| *document);
        while let Some(&Reverse((document, part))) = self.heap.peek()
            && Some(document) == self.document
        {
            self.heap.pop();
            self.at.push(part);
        }
        self.calls.returns(self.document)
    }
}

impl Operator for Or<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        for &part in &self.at {
            let document = self.parts[part].next()?;
            self.heap.extend(document.map(|document| Reverse((document, part))));
        }
        self.at.clear();
        Ok(self.settle())
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        if self.document.is_some_and(|document| document >= target) {
            return Ok(self.document);
        }
        while let Some(&Reverse((document, part))) = self.heap.peek()
            && document < target
        {
            self.heap.pop();
            self.at.push(part);
        }
        for &part in &self.at {
            let document = self.parts[part].skip_to(target)?;
            self.heap.extend(document.map(|document| Reverse((document, part))));
        }
        self.at.clear();
        Ok(self.settle())
    }

    fn estimate(&self) -> u64 {
        self.parts.iter().map(|part| part.estimate()).sum()
    }

    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt> {
        let mut sum = 0.0;
        for &part in &self.at {
            sum += self.parts[part].score(scoring)?;
        }
        Ok(sum)
    }

    fn explain(&self) -> Explained {
        let parts = self.parts.iter().map(|part| part.explain());
        Explained::new("or", self.estimate(), self.calls).with_parts(parts)
    }
}
