//! Decoding of `Content-Encoding` (RFC 9110 section 8.4.1) up to a cap.
//!
//! Memory is bounded by two buffers of the size of the cap, regardless of what the body declares. A
//! truncated or corrupt stream yields the bytes decoded before the error, with the reason.

use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use compact_str::CompactString;
use flate2::{Decompress, FlushDecompress, Status};
use http::HeaderMap;
use http::header::CONTENT_ENCODING;
use smallvec::SmallVec;
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

/// Maximum number of nested encodings that are undone.
pub const CODINGS_MAX: usize = 3;
/// Number of bytes kept from the name of an unknown encoding.
const NAME_KEPT: usize = 32;
/// Number of bytes of each buffer that stay allocated between pages.
const KEPT_BYTES: usize = 1 << 20;

/// The reason why a body was not decoded, or not completely.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DecodeProblem {
    /// Not decoded.
    #[error("unknown content-encoding {0:?}")]
    UnknownCoding(CompactString),
    /// More than [`CODINGS_MAX`]; not decoded.
    #[error("too many content-encodings")]
    TooManyCodings,
    /// Decoded only up to the cap.
    #[error("longer than allowed once decoded")]
    TooLong,
    /// Decoded only up to a multiple of the length of the body: the body of a sitemap was made to
    /// expand.
    #[error("expands too much")]
    Ratio,
    /// Decoded up to the end of the truncated stream.
    #[error("the encoded stream is cut off")]
    CutOff,
    /// Decoded up to the first error.
    #[error("the encoded stream is corrupt")]
    Corrupt,
    /// Used as received: it does not start like the encoding named by the header.
    #[error("not encoded as the header declares")]
    NotEncoded,
}

impl DecodeProblem {
    /// Returns the name used in reports and metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::UnknownCoding(_) => "unknown-coding",
            Self::TooManyCodings => "too-many-codings",
            Self::TooLong => "decoded-too-long",
            Self::Ratio => "decoded-ratio",
            Self::CutOff => "coding-cut-off",
            Self::Corrupt => "coding-corrupt",
            Self::NotEncoded => "not-encoded",
        }
    }
}

/// Decoder of content-encodings, with reused buffers.
#[derive(Default)]
pub(super) struct Decoder {
    decoders: Decoders,
    pub(super) front: Vec<u8>,
    pub(super) back: Vec<u8>,
}

/// A body with its encodings undone.
pub(super) struct Decoded<'a> {
    pub bytes: &'a [u8],
    pub problem: Option<DecodeProblem>,
}

impl Decoder {
    /// Decodes the encodings named by `headers`, up to `cap` bytes. With `or_file`, a result that
    /// is a gzip file is also decompressed (sitemaps).
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

    fn undo<'a>(&'a mut self, codings: &[Coding], body: &'a [u8], cap: usize) -> Decoded<'a> {
        for buffer in [&mut self.front, &mut self.back] {
            buffer.clear();
            buffer.shrink_to(KEPT_BYTES);
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

/// Returns the encodings of a body, the last applied first.
pub(super) fn codings(headers: &HeaderMap) -> Result<SmallVec<[Coding; 4]>, DecodeProblem> {
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

/// A content-encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coding {
    Gzip,
    /// zlib (RFC 1950), or raw deflate as some servers send.
    Deflate,
    Brotli,
    Zstd,
    /// A compressed file; not an encoding.
    GzipFile,
}

impl Coding {
    /// Parses a registered name, or `x-gzip`.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        match &*name.to_ascii_lowercase() {
            b"gzip" | b"x-gzip" => Some(Self::Gzip),
            b"deflate" => Some(Self::Deflate),
            b"br" => Some(Self::Brotli),
            b"zstd" => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Returns true if `bytes` can be the beginning of this encoding.
    pub(super) fn begins(self, bytes: &[u8]) -> bool {
        match self {
            Self::Gzip | Self::GzipFile => bytes.starts_with(&[0x1f, 0x8b]),
            Self::Zstd => {
                bytes.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
                    || bytes.len() >= 4
                        && bytes[0] & 0xf0 == 0x50
                        && bytes[1..4] == [0x2a, 0x4d, 0x18]
            }
            Self::Deflate | Self::Brotli => true,
        }
    }
}

/// log2 of the largest zstd window (RFC 9659): 8 MiB.
pub(super) const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// Minimum number of bytes by which a buffer grows.
const GROWTH_MIN: usize = 16 << 10;
/// Compression ratio assumed by the first allocation.
const RATIO: usize = 4;

/// Reused decoders.
#[derive(Default)]
pub(super) struct Decoders {
    inflate: Option<Decompress>,
    zstd: Option<ZstdDecoder<'static>>,
}

impl Decoders {
    /// Appends the decoded `input` to `out`, up to `cap` bytes in total.
    pub(super) fn decode(
        &mut self,
        coding: Coding,
        input: &[u8],
        out: &mut Vec<u8>,
        cap: usize,
    ) -> Option<DecodeProblem> {
        out.reserve(input.len().saturating_mul(RATIO).clamp(GROWTH_MIN, cap.max(GROWTH_MIN)));
        let problem = match coding {
            Coding::Gzip | Coding::GzipFile => self.gzip(input, out, cap),
            Coding::Deflate => self.inflate(input, is_zlib(input), out, cap).err(),
            Coding::Brotli => brotli(input, out, cap).err(),
            Coding::Zstd => self.zstd(input, out, cap).err(),
        };
        if out.len() > cap {
            out.truncate(cap);
            return Some(DecodeProblem::TooLong);
        }
        problem
    }

    /// Decodes one member after another (RFC 1952). Checksums are not verified; data after the last
    /// member is ignored.
    fn gzip(&mut self, input: &[u8], out: &mut Vec<u8>, cap: usize) -> Option<DecodeProblem> {
        let mut rest = input;
        while Coding::Gzip.begins(rest) {
            let Some(head) = gzip_head_len(rest) else {
                return Some(DecodeProblem::CutOff);
            };
            match self.inflate(&rest[head..], false, out, cap) {
                Ok(consumed) => rest = rest.get(head + consumed + GZIP_TRAILER..).unwrap_or(&[]),
                Err(problem) => return Some(problem),
            }
        }
        None
    }

    /// Decodes a deflate stream. Returns its length in bytes of `input`.
    fn inflate(
        &mut self,
        input: &[u8],
        zlib: bool,
        out: &mut Vec<u8>,
        cap: usize,
    ) -> Result<usize, DecodeProblem> {
        let inflate = self.inflate.get_or_insert_with(|| Decompress::new(zlib));
        inflate.reset(zlib);
        loop {
            grow(out, cap)?;
            let (consumed, written) = (inflate.total_in() as usize, out.len());
            let status = inflate.decompress_vec(&input[consumed..], out, FlushDecompress::None);
            match status {
                Ok(Status::StreamEnd) => return Ok(inflate.total_in() as usize),
                Ok(_) if out.len() == written && inflate.total_in() as usize == consumed => {
                    return Err(DecodeProblem::CutOff);
                }
                Ok(_) => {}
                Err(_) => return Err(DecodeProblem::Corrupt),
            }
        }
    }

    fn zstd(&mut self, input: &[u8], out: &mut Vec<u8>, cap: usize) -> Result<(), DecodeProblem> {
        let decoder = match &mut self.zstd {
            Some(decoder) => decoder,
            none => none.insert(zstd_decoder()?),
        };
        decoder.reinit().map_err(|_| DecodeProblem::Corrupt)?;
        let mut source = InBuffer::around(input);
        loop {
            grow(out, cap)?;
            let (read, written) = (source.pos(), out.len());
            let mut target = OutBuffer::around_pos(out, written);
            let hint = decoder.run(&mut source, &mut target).map_err(|_| DecodeProblem::Corrupt)?;
            let advanced = target.pos() > written || source.pos() > read;
            if hint == 0 && source.pos() == input.len() {
                return Ok(());
            }
            if !advanced {
                return Err(DecodeProblem::CutOff);
            }
        }
    }
}

fn zstd_decoder() -> Result<ZstdDecoder<'static>, DecodeProblem> {
    let mut decoder = ZstdDecoder::new().map_err(|_| DecodeProblem::Corrupt)?;
    decoder
        .set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG_MAX))
        .map_err(|_| DecodeProblem::Corrupt)?;
    Ok(decoder)
}

/// Decodes brotli (RFC 7932) with windows of at most 16 MiB.
fn brotli(input: &[u8], out: &mut Vec<u8>, cap: usize) -> Result<(), DecodeProblem> {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut available, mut at, mut total) = (input.len(), 0, 0);
    loop {
        grow(out, cap)?;
        let mut end = out.len();
        out.resize(out.capacity(), 0);
        let mut free = out.len() - end;
        let result = BrotliDecompressStream(
            &mut available,
            &mut at,
            input,
            &mut free,
            &mut end,
            out,
            &mut total,
            &mut state,
        );
        out.truncate(end);
        match result {
            BrotliResult::ResultSuccess => return Ok(()),
            BrotliResult::NeedsMoreOutput => {}
            BrotliResult::NeedsMoreInput => return Err(DecodeProblem::CutOff),
            BrotliResult::ResultFailure => return Err(DecodeProblem::Corrupt),
        }
    }
}

/// Grows `out` if it is full, unless it has more than `cap` bytes. One byte beyond the cap is
/// decoded, to distinguish a body of exactly that length from a longer one.
fn grow(out: &mut Vec<u8>, cap: usize) -> Result<(), DecodeProblem> {
    if out.len() > cap {
        return Err(DecodeProblem::TooLong);
    }
    if out.len() == out.capacity() {
        out.reserve_exact((cap - out.len()).min(out.len().max(GROWTH_MIN)) + 1);
    }
    Ok(())
}

/// Length of checksum and size field in bytes.
const GZIP_TRAILER: usize = 8;

/// Returns the length of a gzip header (RFC 1952 section 2.3).
fn gzip_head_len(bytes: &[u8]) -> Option<usize> {
    let flags = *bytes.get(3)?;
    let mut len = 10;
    if flags & 4 != 0 {
        let extra = bytes.get(len..len + 2)?;
        len += 2 + usize::from(u16::from_le_bytes([extra[0], extra[1]]));
    }
    for flag in [8, 16] {
        if flags & flag != 0 {
            len += memchr::memchr(0, bytes.get(len..)?)? + 1;
        }
    }
    if flags & 2 != 0 {
        len += 2;
    }
    (len <= bytes.len()).then_some(len)
}

/// Returns true if the stream has a zlib header, according to its check bits (RFC 1950 section
/// 2.2).
pub(super) fn is_zlib(bytes: &[u8]) -> bool {
    match *bytes {
        [cmf, flg, ..] => cmf & 0x0f == 8 && (u16::from(cmf) * 256 + u16::from(flg)) % 31 == 0,
        _ => false,
    }
}
