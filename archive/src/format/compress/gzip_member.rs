//! Compression to one gzip member per record (WARC/1.1 annex D), so that a reader can start at any
//! record.
//!
//! The compressor and its output buffer live as long as their owner. A member costs one reset, and
//! one allocation for its own bytes.

use crate::format::fields::clear_buffer;
use flate2::{Compress, Compression, FlushCompress, Status};

/// Largest window of deflate: 32 KiB.
const WINDOW_BITS: u8 = 15;
/// Minimum number of free bytes in the output buffer when the compressor is called.
const FREE_BYTES_MIN: usize = 8 << 10;

/// A compressor of gzip members.
pub(crate) struct MemberCompressor {
    deflate: Compress,
    out: Vec<u8>,
}

impl MemberCompressor {
    /// Creates a compressor. `level` is the gzip level, 1 to 9; other values are clamped.
    pub(crate) fn new(level: u32) -> Self {
        let level = Compression::new(level.clamp(1, 9));
        Self { deflate: Compress::new_gzip(level, WINDOW_BITS), out: Vec::new() }
    }

    /// Compresses the parts, one after another, into one member.
    pub(crate) fn compress(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        self.deflate.reset();
        self.out.clear();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            self.feed(part, FlushCompress::None);
        }
        self.feed(&[], FlushCompress::Finish);
        let member = self.out.to_vec();
        clear_buffer(&mut self.out);
        member
    }

    fn feed(&mut self, mut input: &[u8], flush: FlushCompress) {
        loop {
            self.out.reserve(FREE_BYTES_MIN);
            let read = self.deflate.total_in();
            let status = self
                .deflate
                .compress_vec(input, &mut self.out, flush)
                .expect("deflate fails only in an invalid state, and the state is private");
            input = &input[(self.deflate.total_in() - read) as usize..];
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => input.is_empty() && self.out.len() < self.out.capacity(),
            };
            if done {
                return;
            }
        }
    }
}
