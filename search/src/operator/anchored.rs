//! The documents of a part, whose scores have those of the words of links to them in addition.

use super::{BoxedOperator, Explained, Halt, Operator, Scoring, TermList};

/// A part, and the lists of links.
pub(crate) struct Anchored<'s> {
    part: BoxedOperator<'s>,
    anchors: Vec<TermList<'s>>,
    document: Option<u32>,
}

impl<'s> Anchored<'s> {
    pub(crate) const fn new(part: BoxedOperator<'s>, anchors: Vec<TermList<'s>>) -> Self {
        Self { part, anchors, document: None }
    }
}

impl Operator for Anchored<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.document = self.part.next()?;
        Ok(self.document)
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.document = self.part.skip_to(target)?;
        Ok(self.document)
    }

    fn estimate(&self) -> u64 {
        self.part.estimate()
    }

    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt> {
        let mut sum = self.part.score(scoring)?;
        let Some(document) = self.document else { return Ok(sum) };
        for list in &mut self.anchors {
            if list.reader.skip_to(document)? == Some(document) {
                sum += scoring.score(list.term, list.reader.count()?, document);
            }
        }
        Ok(sum)
    }

    fn explain(&self) -> Explained {
        self.part.explain()
    }
}
