//! Undoes `Content-Encoding` (RFC 9110 section 8.4.1) under a cap.
//!
//! Memory is bounded by two buffers of the cap each, whatever the body says of itself. A stream
//! that breaks off or goes wrong yields what was decoded so far, with the reason.

use super::coding::{Coding, Decoders};
use compact_str::CompactString;
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use smallvec::SmallVec;

/// Encodings on top of one another that are undone.
pub const CODINGS_MAX: usize = 3;
/// Letters of an unknown encoding's name that are kept.
const NAME_KEPT: usize = 32;
/// Bytes of each buffer that are kept allocated between pages.
const KEPT: usize = 1 << 20;

/// Why a body is not, or not wholly, what the server meant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeProblem {
    /// Not read.
    #[error("unknown content-encoding {0:?}")]
    UnknownCoding(CompactString),
    /// More than [`CODINGS_MAX`]; not read.
    #[error("too many content-encodings")]
    TooManyCodings,
    /// Read up to the cap.
    #[error("longer than allowed once decoded")]
    TooLong,
    /// Read up to where it breaks off.
    #[error("the encoded stream breaks off")]
    CutOff,
    /// Read up to where it goes wrong.
    #[error("the encoded stream is corrupt")]
    Corrupt,
    /// Read as it stands: it does not begin as the encoding that the header names.
    #[error("not encoded as the header says")]
    NotEncoded,
}

impl DecodeProblem {
    /// The name used in reports and metrics.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UnknownCoding(_) => "unknown-coding",
            Self::TooManyCodings => "too-many-codings",
            Self::TooLong => "decoded-too-long",
            Self::CutOff => "coding-cut-off",
            Self::Corrupt => "coding-corrupt",
            Self::NotEncoded => "not-encoded",
        }
    }
}

/// Undoes encodings, with buffers that are used again.
#[derive(Default)]
pub(super) struct Decoder {
    decoders: Decoders,
    front: Vec<u8>,
    back: Vec<u8>,
}

/// A body without its encodings.
pub(super) struct Decoded<'a> {
    pub bytes: &'a [u8],
    pub problem: Option<DecodeProblem>,
}

impl Decoder {
    /// Undoes what `headers` name, at most `cap` bytes. With `or_file`, a body that is then still a
    /// gzip file is unpacked too (sitemaps).
    pub(super) fn decode<'a>(
        &'a mut self,
        headers: &HeaderMap,
        body: &'a [u8],
        cap: usize,
        or_file: bool,
    ) -> Decoded<'a> {
        let mut codings = match codings(headers) {
            Ok(codings) => codings,
            Err(problem) => {
                return Decoded { bytes: &[], problem: Some(problem) };
            }
        };
        if or_file {
            codings.push(Coding::GzipFile);
        }
        self.undo(&codings, body, cap)
    }

    /// Bytes held by the buffers.
    #[cfg(test)]
    pub(super) fn allocated(&self) -> usize {
        self.front.capacity() + self.back.capacity()
    }

    fn undo<'a>(&'a mut self, codings: &[Coding], body: &'a [u8], cap: usize) -> Decoded<'a> {
        for buffer in [&mut self.front, &mut self.back] {
            buffer.clear();
            buffer.shrink_to(KEPT);
        }
        let mut problem = None;
        let mut in_front = false;
        for &coding in codings {
            let input = if in_front { &self.front } else { body };
            if input.is_empty() || coding == Coding::GzipFile && !coding.begins(input) {
                continue;
            }
            if !coding.begins(input) {
                problem = problem.or(Some(DecodeProblem::NotEncoded));
                continue;
            }
            self.back.clear();
            let found = self.decoders.decode(coding, input, &mut self.back, cap);
            problem = problem.or(found);
            std::mem::swap(&mut self.front, &mut self.back);
            in_front = true;
        }
        let bytes = if in_front { &self.front } else { body };
        if bytes.len() > cap {
            problem = problem.or(Some(DecodeProblem::TooLong));
        }
        Decoded { bytes: &bytes[..bytes.len().min(cap)], problem }
    }
}

/// The encodings of a body, the last applied first.
fn codings(headers: &HeaderMap) -> Result<SmallVec<[Coding; 4]>, DecodeProblem> {
    let mut codings = SmallVec::new();
    for value in headers.get_all(CONTENT_ENCODING) {
        for name in value.as_bytes().split(|&b| b == b',') {
            let name = name.trim_ascii();
            if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
                continue;
            }
            let coding = Coding::of(name).ok_or_else(|| unknown(name))?;
            if codings.len() == CODINGS_MAX {
                return Err(DecodeProblem::TooManyCodings);
            }
            codings.push(coding);
        }
    }
    codings.reverse();
    Ok(codings)
}

fn unknown(name: &[u8]) -> DecodeProblem {
    let kept = &name[..name.len().min(NAME_KEPT)];
    DecodeProblem::UnknownCoding(CompactString::from_utf8_lossy(kept))
}
