//! A block of a posting list before it is encoded.

/// The list of a block, as far as its code depends on it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListShape {
    /// Documents of the list.
    pub(super) documents: u32,
    /// Documents of the segment.
    pub(super) of: u32,
}

/// A block that is written.
pub(super) struct BlockParts<'b> {
    /// Gaps between documents.
    pub(super) gaps: &'b [u32],
    /// How often each document has the term; none if the list has no positions.
    pub(super) counts: &'b [u32],
}

/// A block whose positions are written.
pub(super) struct PositionParts<'b> {
    pub(super) counts: &'b [u32],
    /// Lengths of the documents in words.
    pub(super) lengths: &'b [u32],
    /// Positions in each document, those of all documents one after another.
    pub(super) positions: &'b [u32],
}

impl<'b> PositionParts<'b> {
    /// Returns the positions in each document, and its length.
    pub(super) fn documents(&self) -> impl Iterator<Item = (&'b [u32], u32)> {
        let mut rest = self.positions;
        self.counts.iter().zip(self.lengths).map(move |(count, length)| {
            let (positions, others) = rest.split_at(*count as usize);
            rest = others;
            (positions, *length)
        })
    }
}
