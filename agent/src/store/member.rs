//! One gzip member a record (WARC/1.1 annex D), so that a reader can begin at any of them.
//!
//! The compressor and its output buffer live as long as the thread: a member costs a reset, no
//! allocation but that of its own bytes.

use super::fields::recycle;
use flate2::{Compress, Compression, FlushCompress, Status};

/// The largest window of deflate: 32 KiB.
const WINDOW_BITS: u8 = 15;
/// Room the output buffer has at least when the compressor is called.
const ROOM_MIN: usize = 8 << 10;

/// A compressor of members.
pub(super) struct Member {
    deflate: Compress,
    out: Vec<u8>,
    used: usize,
}

impl Member {
    /// `level` is gzip's, 1 to 9; others are taken for the nearest.
    pub(super) fn new(level: u32) -> Self {
        let level = Compression::new(level.clamp(1, 9));
        Self { deflate: Compress::new_gzip(level, WINDOW_BITS), out: Vec::new(), used: 0 }
    }

    /// The parts, one after another, as one member.
    pub(super) fn pack(&mut self, parts: &[&[u8]]) -> Vec<u8> {
        self.deflate.reset();
        self.used = 0;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            self.feed(part, FlushCompress::None);
        }
        self.feed(&[], FlushCompress::Finish);
        let member = self.out[..self.used].to_vec();
        recycle(&mut self.out);
        member
    }

    fn feed(&mut self, mut input: &[u8], flush: FlushCompress) {
        loop {
            if self.out.len() - self.used < ROOM_MIN {
                self.out.resize((self.out.len() * 2).max(self.used + ROOM_MIN), 0);
            }
            let (read, written) = (self.deflate.total_in(), self.deflate.total_out());
            let status = self
                .deflate
                .compress(input, &mut self.out[self.used..], flush)
                .expect("deflate refuses only an invalid state, and its state is its own");
            input = &input[(self.deflate.total_in() - read) as usize..];
            self.used += (self.deflate.total_out() - written) as usize;
            let full = self.used == self.out.len();
            let done = match flush {
                FlushCompress::Finish => status == Status::StreamEnd,
                _ => input.is_empty() && !full,
            };
            if done {
                return;
            }
        }
    }
}
