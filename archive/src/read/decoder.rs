//! Decoders of a member: plain text, a gzip member (RFC 1952) or a zstd frame (RFC 8878).

use super::damage::DamageKind;
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder as ZstdDecoder, InBuffer, Operation as _, OutBuffer};

pub(super) const GZIP_MAGIC: &[u8] = &[0x1f, 0x8b, 0x08];
pub(super) const ZSTD_MAGIC: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Largest window of deflate: 32 KiB.
const WINDOW_BITS: u8 = 15;

/// The compression of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// Returns the first bytes of each member; in a plain file, of each record.
    pub(super) const fn magic(self) -> &'static [u8] {
        match self {
            Self::None => b"WARC/1.",
            Self::Gzip => GZIP_MAGIC,
            Self::Zstd => ZSTD_MAGIC,
        }
    }
}

/// Decoder of one member.
pub(super) enum Decoder {
    Plain,
    Gzip(Decompress),
    Zstd(ZstdDecoder<'static>),
}

/// Progress of a decoder.
#[derive(Default)]
pub(super) struct Step {
    /// Number of bytes of the file that were read.
    pub(super) read: usize,
    /// Number of bytes of text that were written.
    pub(super) written: usize,
    /// True if the member is complete and its checksum is correct.
    pub(super) ended: bool,
}

impl Decoder {
    /// Creates the decoder of one member. `dictionary` is that of a zstd file; it may be empty.
    pub(super) fn new(compression: Compression, dictionary: &[u8]) -> Result<Self, DamageKind> {
        Ok(match compression {
            Compression::None => Self::Plain,
            Compression::Gzip => Self::Gzip(Decompress::new_gzip(WINDOW_BITS)),
            Compression::Zstd => Self::Zstd(
                ZstdDecoder::with_dictionary(dictionary).map_err(|_| DamageKind::Compression)?,
            ),
        })
    }

    /// Returns the decoder for another member, if it can be used again: one of zstd, which keeps its
    /// dictionary.
    pub(super) fn reset(self) -> Option<Self> {
        match self {
            Self::Zstd(mut zstd) => zstd.reinit().ok().map(|()| Self::Zstd(zstd)),
            Self::Plain | Self::Gzip(_) => None,
        }
    }

    /// Decodes some bytes of `input`. An `input` without bytes is the end of the file.
    pub(super) fn step(&mut self, input: &[u8], out: &mut [u8]) -> Result<Step, DamageKind> {
        let step = match self {
            Self::Plain => {
                let n = input.len().min(out.len());
                out[..n].copy_from_slice(&input[..n]);
                return Ok(Step { read: n, written: n, ended: input.is_empty() });
            }
            Self::Gzip(gzip) => inflate(gzip, input, out)?,
            Self::Zstd(zstd) => {
                let (mut from, mut to) = (InBuffer::around(input), OutBuffer::around(out));
                let hint = zstd.run(&mut from, &mut to).map_err(|_| DamageKind::Compression)?;
                Step { read: from.pos(), written: to.pos(), ended: hint == 0 }
            }
        };
        let stopped = step.read == 0 && step.written == 0 && !step.ended;
        match (stopped, input.is_empty()) {
            (true, true) => Err(DamageKind::CutTail),
            (true, false) => Err(DamageKind::Compression),
            _ => Ok(step),
        }
    }
}

fn inflate(gzip: &mut Decompress, input: &[u8], out: &mut [u8]) -> Result<Step, DamageKind> {
    let (read, written) = (gzip.total_in(), gzip.total_out());
    let status =
        gzip.decompress(input, out, FlushDecompress::None).map_err(|_| DamageKind::Compression)?;
    Ok(Step {
        read: (gzip.total_in() - read) as usize,
        written: (gzip.total_out() - written) as usize,
        ended: status == Status::StreamEnd,
    })
}
