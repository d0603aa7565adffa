//! Joins of sorted rows.

use crate::rows::{Row, SortedRows};
use std::io;

/// Sorted rows, with the next one at hand.
pub(super) struct Cursor<const N: usize> {
    rows: SortedRows<N>,
    head: Option<Row<N>>,
}

impl<const N: usize> Cursor<N> {
    pub(super) fn new(mut rows: SortedRows<N>) -> io::Result<Self> {
        let head = rows.next().transpose()?;
        Ok(Self { rows, head })
    }

    /// Returns the next row.
    pub(super) fn next(&mut self) -> io::Result<Option<Row<N>>> {
        let Some(row) = self.head.take() else { return Ok(None) };
        self.head = self.rows.next().transpose()?;
        Ok(Some(row))
    }

    /// Returns the next row that begins with `prefix`, or `None` if none is left. Rows with lesser beginnings are
    /// left out. Prefixes must come in order.
    pub(super) fn next_with(&mut self, prefix: &[u8]) -> io::Result<Option<Row<N>>> {
        while let Some(head) = &self.head {
            match head[..prefix.len()].cmp(prefix) {
                std::cmp::Ordering::Less => self.next()?,
                std::cmp::Ordering::Equal => return self.next(),
                std::cmp::Ordering::Greater => return Ok(None),
            };
        }
        Ok(None)
    }
}
