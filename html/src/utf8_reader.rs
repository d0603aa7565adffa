//! Conversion of a stream of text to UTF-8, piece by piece.

use encoding_rs::{CoderResult, Decoder, Encoding};
use std::io::{self, BufRead, Read};

/// Length of the buffer in bytes.
const BUFFER_BYTES: usize = 16 << 10;

/// A text in UTF-8. Malformed sequences become U+FFFD.
pub(super) struct Utf8Reader<R> {
    inner: R,
    decoder: Decoder,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    is_ended: bool,
}

impl<R: BufRead> Utf8Reader<R> {
    /// Creates a reader of a text in `encoding` without a byte order mark.
    pub(super) fn new(inner: R, encoding: &'static Encoding) -> Self {
        let decoder = encoding.new_decoder_without_bom_handling();
        let buffer = vec![0; BUFFER_BYTES].into_boxed_slice();
        Self { inner, decoder, buffer, start: 0, end: 0, is_ended: false }
    }
}

impl<R: BufRead> BufRead for Utf8Reader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.start == self.end && !self.is_ended {
            let input = self.inner.fill_buf()?;
            let is_last = input.is_empty();
            let (result, read, written, _) =
                self.decoder.decode_to_utf8(input, &mut self.buffer, is_last);
            self.inner.consume(read);
            (self.start, self.end) = (0, written);
            self.is_ended = is_last && result == CoderResult::InputEmpty;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, n: usize) {
        self.start = self.end.min(self.start + n);
    }
}

impl<R: BufRead> Read for Utf8Reader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let n = bytes.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use encoding_rs::{ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16LE};
    use proptest::prelude::*;
    use std::io::BufReader;

    proptest! {
        /// Pieces of any length give the text that the whole gives.
        #[test]
        fn a_text_is_the_same_in_pieces(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            text in "\\PC{0,50}",
            n_copies in 1..200_usize,
            piece in 1..50_usize,
            encoding in prop::sample::select(vec![UTF_8, UTF_16LE, SHIFT_JIS, ISO_2022_JP]),
        ) {
            let input = [text.repeat(n_copies).into_bytes(), bytes].concat();
            let reader = BufReader::with_capacity(piece, &input[..]);
            let mut found = Vec::new();
            Utf8Reader::new(reader, encoding).read_to_end(&mut found).expect("no error");
            let whole = encoding.decode_without_bom_handling(&input).0;
            prop_assert_eq!(String::from_utf8(found).expect("UTF-8"), whole);
        }
    }
}
