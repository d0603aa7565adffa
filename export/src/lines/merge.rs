//! A merge of sorted sources of lines.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A source of lines in the order of their bytes.
pub trait LineSource {
    /// Error of reading.
    type Error;

    /// Replaces `line` by the next line, without its newline. Returns false at the end.
    ///
    /// # Errors
    /// Those of the source.
    fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool, Self::Error>;
}

/// The lines of several sources in order. Equal lines come in the order of the sources.
pub struct LineMerge<S> {
    sources: Vec<S>,
    /// The next line of each source that has one.
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
}

impl<S: LineSource> LineMerge<S> {
    /// Creates a merge, and reads the first line of each source.
    ///
    /// # Errors
    /// Those of the sources.
    pub fn new(sources: Vec<S>) -> Result<Self, S::Error> {
        let mut heads = BinaryHeap::with_capacity(sources.len());
        let mut merge = Self { sources, heads: BinaryHeap::new() };
        for number in 0..merge.sources.len() {
            let mut line = Vec::new();
            if merge.sources[number].read_line(&mut line)? {
                heads.push(Reverse((line, number)));
            }
        }
        merge.heads = heads;
        Ok(merge)
    }
}

impl<S: LineSource> LineSource for LineMerge<S> {
    type Error = S::Error;

    fn read_line(&mut self, line: &mut Vec<u8>) -> Result<bool, Self::Error> {
        let Some(Reverse((head, number))) = self.heads.pop() else { return Ok(false) };
        let mut free = std::mem::replace(line, head);
        if self.sources[number].read_line(&mut free)? {
            self.heads.push(Reverse((free, number)));
        }
        Ok(true)
    }
}
