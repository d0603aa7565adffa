//! The four encodings, each a decoder that is made once and used again.

use super::decode::DecodeProblem;
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{DParameter, Decoder as ZstdDecoder, InBuffer, Operation, OutBuffer};

/// A content-encoding.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Coding {
    Gzip,
    /// zlib (RFC 1950), or raw deflate as some servers send.
    Deflate,
    Brotli,
    Zstd,
    /// Not an encoding: a file that is itself compressed.
    GzipFile,
}

impl Coding {
    /// The registered names and `x-gzip`.
    pub(super) fn of(name: &[u8]) -> Option<Self> {
        let is = |known: &str| name.eq_ignore_ascii_case(known.as_bytes());
        if is("gzip") || is("x-gzip") {
            Some(Self::Gzip)
        } else if is("deflate") {
            Some(Self::Deflate)
        } else if is("br") {
            Some(Self::Brotli)
        } else if is("zstd") {
            Some(Self::Zstd)
        } else {
            None
        }
    }

    /// Whether `bytes` begin as this encoding does, as far as that can be told.
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
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// The least that a buffer grows by.
const STEP: usize = 16 << 10;
/// What a first guess takes text to shrink to.
const RATIO: usize = 4;

/// Decoders that are used again.
#[derive(Default)]
pub(super) struct Decoders {
    inflate: Option<Decompress>,
    zstd: Option<ZstdDecoder<'static>>,
}

impl Decoders {
    /// Appends what `input` decodes to, until `out` holds `cap` bytes.
    pub(super) fn decode(
        &mut self,
        coding: Coding,
        input: &[u8],
        out: &mut Vec<u8>,
        cap: usize,
    ) -> Option<DecodeProblem> {
        out.reserve(input.len().saturating_mul(RATIO).clamp(STEP, cap.max(STEP)));
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

    /// RFC 1952: one member after another. Check sums are not verified; what follows the last
    /// member is not looked at.
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

    /// How much of `input` was used up at the end of the stream.
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
            make_room(out, cap)?;
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
            make_room(out, cap)?;
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

/// RFC 7932, windows of at most 16 MiB.
fn brotli(input: &[u8], out: &mut Vec<u8>, cap: usize) -> Result<(), DecodeProblem> {
    let alloc = StandardAlloc::default;
    let mut state = BrotliState::new_strict(alloc(), alloc(), alloc());
    let (mut available, mut at, mut total) = (input.len(), 0, 0);
    loop {
        make_room(out, cap)?;
        let mut end = out.len();
        out.resize(out.capacity(), 0);
        let mut room = out.len() - end;
        let result = BrotliDecompressStream(
            &mut available,
            &mut at,
            input,
            &mut room,
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

/// Grows `out` where it is full, unless it holds more than `cap` already. One byte more than the
/// cap is decoded, to tell a body of just that length from a longer one.
fn make_room(out: &mut Vec<u8>, cap: usize) -> Result<(), DecodeProblem> {
    if out.len() > cap {
        return Err(DecodeProblem::TooLong);
    }
    if out.len() == out.capacity() {
        out.reserve_exact((cap - out.len()).min(out.len().max(STEP)) + 1);
    }
    Ok(())
}

/// Check sum and length.
const GZIP_TRAILER: usize = 8;

/// RFC 1952 section 2.3.
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

/// RFC 1950 section 2.2: the check bits of the header tell it from raw deflate.
fn is_zlib(bytes: &[u8]) -> bool {
    match *bytes {
        [cmf, flg, ..] => cmf & 0x0f == 8 && (u16::from(cmf) * 256 + u16::from(flg)) % 31 == 0,
        _ => false,
    }
}
