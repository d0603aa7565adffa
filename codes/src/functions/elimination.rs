//! Solution of equations over GF(2) by Gaussian elimination, in time cubic in their number.

use super::system::System;

/// Solves some equations, and sets their cells. Returns `false` if they depend on each other.
pub(super) fn solve(system: &System, core: &[u32], values: &[u64], cells: &mut [u64]) -> bool {
    // Cells that occur, numbered.
    let mut columns: Vec<u32> = core.iter().flat_map(|&e| system.cells(e)).copied().collect();
    columns.sort_unstable();
    columns.dedup();
    let mut column_of = vec![0; system.m];
    (0..).zip(&columns).for_each(|(column, &cell)| column_of[cell as usize] = column);
    let words = columns.len().div_ceil(64);

    // Row of each column in which it is the first one with a bit.
    let mut pivots: Vec<Option<Row>> = vec![None; columns.len()];
    for &equation in core {
        let mut row = Row { bits: vec![0; words], value: values[equation as usize] };
        for &cell in system.cells(equation) {
            let column: usize = column_of[cell as usize];
            row.bits[column / 64] ^= 1 << (column % 64);
        }
        loop {
            let Some(column) = row.first() else { return false };
            match &pivots[column] {
                Some(pivot) => row.add(pivot, column / 64),
                None => {
                    pivots[column] = Some(row);
                    break;
                }
            }
        }
    }
    for (column, pivot) in pivots.iter().enumerate().rev() {
        if let Some(row) = pivot {
            let sum = row.columns().fold(row.value, |sum, c| sum ^ cells[columns[c] as usize]);
            cells[columns[column] as usize] = sum;
        }
    }
    true
}

/// An equation over numbered cells.
#[derive(Clone)]
struct Row {
    bits: Vec<u64>,
    value: u64,
}

impl Row {
    fn first(&self) -> Option<usize> {
        let word = self.bits.iter().position(|&word| word != 0)?;
        Some(word * 64 + self.bits[word].trailing_zeros() as usize)
    }

    /// Adds an equation without bits before this word.
    fn add(&mut self, other: &Self, from: usize) {
        self.value ^= other.value;
        self.bits[from..].iter_mut().zip(&other.bits[from..]).for_each(|(a, b)| *a ^= b);
    }

    fn columns(&self) -> impl Iterator<Item = usize> {
        let words = self.bits.iter().enumerate();
        words.flat_map(|(at, &word)| {
            (0..64).filter(move |&i| word >> i & 1 == 1).map(move |i| at * 64 + i)
        })
    }
}
