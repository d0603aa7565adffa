//! Bytes of a file, of which the last ones can be read again: damage is often noticed long after
//! its place.

use memchr::memmem;
use std::io::{self, BufRead, ErrorKind, Seek, SeekFrom};

/// Maximum number of bytes that are kept to be read again.
const KEPT_BYTES_MAX: usize = 16 << 20;
/// Minimum number of bytes that are dropped at once.
const DROP_BYTES_MIN: usize = 64 << 10;
/// Number of times that all bytes may be read again, on average. It bounds the time for a file in
/// which everything is damaged.
const REREADS_MAX: u64 = 4;

pub(super) struct Input<R> {
    source: R,
    bytes: Vec<u8>,
    /// Offset of `bytes` in the file.
    start: u64,
    /// Index in `bytes` of the next byte.
    at: usize,
    /// Offset from which bytes are kept.
    keep_from: u64,
    /// Number of bytes that were read again.
    reread: u64,
}

impl<R: BufRead> Input<R> {
    pub(super) const fn new(source: R) -> Self {
        Self { source, bytes: Vec::new(), start: 0, at: 0, keep_from: 0, reread: 0 }
    }

    /// Returns the offset of the next byte.
    pub(super) const fn position(&self) -> u64 {
        self.start + self.at as u64
    }

    /// Returns the next bytes: at least `n`, unless the file ends.
    pub(super) fn fill(&mut self, n: usize) -> io::Result<&[u8]> {
        while self.bytes.len() - self.at < n {
            self.drop_old();
            match self.source.fill_buf() {
                Ok([]) => break,
                Ok(chunk) => {
                    let read = chunk.len();
                    self.bytes.extend_from_slice(chunk);
                    self.source.consume(read);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.bytes[self.at..])
    }

    /// Skips `n` bytes of those that [`Self::fill`] returned.
    pub(super) fn consume(&mut self, n: usize) {
        self.at += n;
    }

    /// Keeps the bytes from here on, as many as the bound allows, and no earlier ones.
    pub(super) const fn keep_from_here(&mut self) {
        self.keep_from = self.position();
    }

    fn drop_old(&mut self) {
        let wanted = (self.keep_from - self.start) as usize;
        let old = wanted.max(self.bytes.len().saturating_sub(KEPT_BYTES_MAX)).min(self.at);
        // Half of the buffer at a time, so that each byte is moved once on average.
        if old >= DROP_BYTES_MIN && old >= self.bytes.len() / 2 {
            self.bytes.drain(..old);
            self.start += old as u64;
            self.at -= old;
            self.keep_from = self.keep_from.max(self.start);
        }
    }

    /// Goes back to the byte after `offset`, or to the first byte that is kept. Stays here and returns
    /// false if too much was read again already. Goes forward if nothing after `offset` was read.
    pub(super) fn rewind_behind(&mut self, offset: u64) -> bool {
        let end = self.start + self.bytes.len() as u64;
        let target = (offset + 1).clamp(self.start, end);
        let back = self.position().saturating_sub(target);
        let is_allowed =
            back == 0 || self.reread + back <= KEPT_BYTES_MAX as u64 + REREADS_MAX * end;
        if is_allowed {
            self.reread += back;
            self.at = (target - self.start) as usize;
        }
        is_allowed
    }

    /// Moves to the next occurrence of `pattern`, or to the end. Returns true if there is one.
    pub(super) fn find(&mut self, pattern: &[u8]) -> io::Result<bool> {
        loop {
            self.keep_from_here();
            let bytes = self.fill(pattern.len())?;
            let found = memmem::find(bytes, pattern);
            let ended = bytes.len() < pattern.len();
            let passed = if ended { bytes.len() } else { bytes.len() + 1 - pattern.len() };
            self.consume(found.unwrap_or(passed));
            if ended || found.is_some() {
                return Ok(found.is_some());
            }
        }
    }
}

impl<R: BufRead + Seek> Input<R> {
    /// Continues at `offset`.
    pub(super) fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.source.seek(SeekFrom::Start(offset))?;
        self.bytes.clear();
        (self.start, self.at, self.keep_from, self.reread) = (offset, 0, offset, 0);
        Ok(())
    }
}
