//! Intersection: the two rarest parts are aligned first, then the third, and so on; a part that is beyond sends the
//! rarest one there. So the long lists are only skipped in.

use super::{BoxedOperator, Calls, Explained, Halt, Operator, Scoring};

/// The documents of all parts.
pub(crate) struct And<'s> {
    /// By their estimates, ascending.
    parts: Vec<BoxedOperator<'s>>,
    /// The index in `parts` of each part of the query.
    order: Vec<usize>,
    document: Option<u32>,
    calls: Calls,
}

impl<'s> And<'s> {
    /// Creates the intersection of at least one part.
    pub(crate) fn new(parts: Vec<BoxedOperator<'s>>) -> Self {
        let mut parts: Vec<_> = parts.into_iter().enumerate().collect();
        parts.sort_by_key(|(_, part)| part.estimate());
        let mut order = vec![0; parts.len()];
        parts.iter().enumerate().for_each(|(index, (place, _))| order[*place] = index);
        let parts = parts.into_iter().map(|(_, part)| part).collect();
        Self { parts, order, document: None, calls: Calls::default() }
    }

    /// Aligns all parts with the first one, at its document or later.
    fn align(&mut self, first: Option<u32>) -> Result<Option<u32>, Halt> {
        self.document = align(&mut self.parts, first)?;
        Ok(self.calls.returns(self.document))
    }
}

/// Moves operators to the first document that all have, from that of the first one on.
pub(super) fn align<'o, O: Operator + 'o>(
    parts: &mut [O],
    first: Option<u32>,
) -> Result<Option<u32>, Halt> {
    let Some((rarest, others)) = parts.split_first_mut() else { return Ok(None) };
    let mut candidate = first;
    'candidates: while let Some(document) = candidate {
        for part in others.iter_mut() {
            match part.skip_to(document)? {
                None => return Ok(None),
                Some(found) if found > document => {
                    candidate = rarest.skip_to(found)?;
                    continue 'candidates;
                }
                Some(_) => {}
            }
        }
        return Ok(Some(document));
    }
    Ok(None)
}

impl<O: Operator + ?Sized> Operator for Box<O> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        (**self).next()
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        (**self).skip_to(target)
    }

    fn estimate(&self) -> u64 {
        (**self).estimate()
    }

    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt> {
        (**self).score(scoring)
    }

    fn set_threshold(&mut self, score: f64) {
        (**self).set_threshold(score);
    }

    fn passed(&self) -> Option<u64> {
        (**self).passed()
    }

    fn explain(&self) -> Explained {
        (**self).explain()
    }
}

impl Operator for And<'_> {
    fn next(&mut self) -> Result<Option<u32>, Halt> {
        self.calls.next += 1;
        let first = self.parts.first_mut().map_or(Ok(None), |part| part.next())?;
        self.align(first)
    }

    fn skip_to(&mut self, target: u32) -> Result<Option<u32>, Halt> {
        self.calls.skip += 1;
        if self.document.is_some_and(|document| document >= target) {
            return Ok(self.document);
        }
        let first = self.parts.first_mut().map_or(Ok(None), |part| part.skip_to(target))?;
        self.align(first)
    }

    fn estimate(&self) -> u64 {
        self.parts.first().map_or(0, |part| part.estimate())
    }

    fn score(&mut self, scoring: &Scoring<'_>) -> Result<f64, Halt> {
        // In the order of the query, so that sums are rounded alike in all segments.
        let mut sum = 0.0;
        for index in &self.order {
            sum += self.parts[*index].score(scoring)?;
        }
        Ok(sum)
    }

    fn explain(&self) -> Explained {
        // In the order of the query, which is the same in all segments.
        let parts = self.order.iter().map(|index| self.parts[*index].explain());
        Explained::new("and", self.estimate(), self.calls).with_parts(parts)
    }
}
