//! Sets of agents that were chosen before.

/// A bit set that uses no memory while it is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen(Vec<u64>);

impl Seen {
    /// Inserts `i`, which is below `n`. Returns true if it was new.
    pub(super) fn insert(&mut self, i: usize, n: usize) -> bool {
        if self.0.is_empty() {
            self.0.resize(n.div_ceil(64), 0);
        }
        let (word, bit) = (&mut self.0[i / 64], 1 << (i % 64));
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}
