//! Equations over cells.

use crate::hash::{KeyHash, place};

/// Number of cells of an equation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Arity {
    Two,
    Three,
}

/// Cells of an equation. The last one is unused with an arity of two.
pub(super) type Cells = [u32; 3];

impl Arity {
    /// Returns the number of cells that are used.
    pub(super) const fn n(self) -> usize {
        match self {
            Self::Two => 2,
            Self::Three => 3,
        }
    }

    /// Returns the different cells of a key among `m`, of which there are at least as many.
    #[inline]
    pub(super) const fn cells(self, hash: KeyHash, m: usize) -> Cells {
        match self {
            Self::Two => {
                let first = place(hash.low, m);
                let second = place(hash.high, m - 1);
                [first as u32, if second < first { second } else { second + 1 } as u32, 0]
            }
            Self::Three => {
                let third = m / 3;
                let other =
                    hash.low.rotate_left(32) ^ hash.high.wrapping_mul(0x9e37_79b9_7f4a_7c15);
                let places = [place(hash.low, third), place(hash.high, third), place(other, third)];
                [places[0] as u32, (places[1] + third) as u32, (places[2] + 2 * third) as u32]
            }
        }
    }
}

/// An equation for each key.
pub(super) struct System {
    pub(super) arity: Arity,
    /// Number of cells.
    pub(super) m: usize,
    /// Cells of each equation.
    pub(super) equations: Vec<Cells>,
}

impl System {
    pub(super) fn new(arity: Arity, m: usize, hashes: impl Iterator<Item = KeyHash>) -> Self {
        Self { arity, m, equations: hashes.map(|hash| arity.cells(hash, m)).collect() }
    }

    /// Returns the cells of an equation.
    pub(super) fn cells(&self, equation: u32) -> &[u32] {
        &self.equations[equation as usize][..self.arity.n()]
    }
}
