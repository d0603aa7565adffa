//! The captures of several segments, in the order of the hashes of their URLs, and of times.

use crate::error::IndexError;
use crate::segment::{CaptureRow, Segment};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Captures that are read at once.
const CHUNK: u64 = 4096;

/// The captures of a segment.
struct CaptureStream<'s> {
    segment: &'s Segment,
    rows: std::vec::IntoIter<CaptureRow>,
    read: u64,
}

impl CaptureStream<'_> {
    fn next(&mut self) -> Result<Option<CaptureRow>, IndexError> {
        if self.rows.len() == 0 && self.read < self.segment.n_captures() {
            let rows = self.segment.captures(self.read, CHUNK)?;
            self.read += rows.len() as u64;
            self.rows = rows.into_iter();
        }
        Ok(self.rows.next())
    }
}

/// A merge of the captures of segments.
pub(super) struct Captures<'s> {
    streams: Vec<CaptureStream<'s>>,
    heap: BinaryHeap<Reverse<(CaptureRow, usize)>>,
}

impl<'s> Captures<'s> {
    /// Reads the first captures of each segment.
    pub(super) fn of(segments: impl Iterator<Item = &'s Segment>) -> Result<Self, IndexError> {
        let stream = |segment| CaptureStream { segment, rows: Vec::new().into_iter(), read: 0 };
        let mut streams: Vec<CaptureStream<'_>> = segments.map(stream).collect();
        let mut heap = BinaryHeap::new();
        for (index, stream) in streams.iter_mut().enumerate() {
            heap.extend(stream.next()?.map(|row| Reverse((row, index))));
        }
        Ok(Self { streams, heap })
    }

    /// Returns the next capture, and the index of its segment.
    pub(super) fn next(&mut self) -> Result<Option<(CaptureRow, usize)>, IndexError> {
        let Some(Reverse((row, index))) = self.heap.pop() else { return Ok(None) };
        let next = self.streams[index].next()?;
        self.heap.extend(next.map(|row| Reverse((row, index))));
        Ok(Some((row, index)))
    }
}
