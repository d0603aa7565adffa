//! Complement: all documents of the segment in the gaps of a part.

use super::{BoxedOperator, Calls, Explained, Halt, Operator, Scoring};

/// All documents of a segment.
pub(crate) struct All {
    n_documents: u32,
    /// The next document.
    next: u32,
    document: Option<u32>,
    calls: Calls,
}

impl All {
    pub(crate) fn new(n_documents: u32) -> Self {
        Self { n_documents, next: 0, document: None, calls: Calls::default() }
    }

    fn settle(&mut self, document: u32) -> Option<u32> {
        self.document = (document < self.n_documents).then_some(document);
        self.next = document.saturating_add(1);
        self.calls.returns(self.document)
    }
}

impl Operator for All {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        Ok(self.settle(self.next))
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        if self.document.is_some_and(|document| document >= target) {
            return Ok(self.document);
        }
        Ok(self.settle(self.next.max(target)))
    }

    fn estimate(&self) -> u64 {
        u64::from(self.n_documents)
    }

    fn score(&mut self, _: &Scoring<'_>) -> Result<f64, Halt> {
        Ok(0.0)
    }

    fn explain(&self) -> Explained {
        Explained::new("all", self.estimate(), self.calls)
    }
}

/// The documents that a part does not have.
pub(crate) struct Not<'s> {
    part: BoxedOperator<'s>,
    all: All,
}

impl<'s> Not<'s> {
    pub(crate) fn new(part: BoxedOperator<'s>, n_documents: u32) -> Self {
        Self { part, all: All::new(n_documents) }
    }

    /// Passes the documents that the part has.
    fn pass(&mut self, mut candidate: Option<u32>) -> Result<Option<u32>, Halt> {
        while let Some(document) = candidate
            && self.part.skip_to(document)? == Some(document)
        {
            self.all.calls.returned -= 1;
            candidate = self.all.settle(document.saturating_add(1));
        }
        Ok(candidate)
    }
}

impl Operator for Not<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        let candidate = self.all.next()?;
        self.pass(candidate)
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        let candidate = self.all.skip_to(target)?;
        self.pass(candidate)
    }

    /// A part that has few documents leaves nearly all.
    fn estimate(&self) -> u64 {
        self.all.estimate()
    }

    fn score(&mut self, _: &Scoring<'_>) -> Result<f64, Halt> {
        Ok(0.0)
    }

    fn explain(&self) -> Explained {
        let part = std::iter::once(self.part.explain());
        Explained::new("not", self.estimate(), self.all.calls).with_parts(part)
    }
}
