//! Body of a sitemap with its encodings undone while it is read: its `Content-Encoding`, and gzip if
//! the file itself is compressed (`.xml.gz`).
//!
//! Memory is bounded by the windows of the decoders, not by the length of the sitemap. What is
//! decoded is bounded by [`SITEMAP_BYTES_MAX`] and by [`RATIO_MAX`].

use super::content_encoding::{Coding, DecodeProblem, ZSTD_WINDOW_LOG_MAX, codings, is_zlib};
use super::list_summary::SITEMAP_BYTES_MAX;
use brotli_decompressor::{BrotliDecompressStream, BrotliResult, BrotliState, StandardAlloc};
use flate2::bufread::{DeflateDecoder, GzDecoder, ZlibDecoder};
use http::HeaderMap;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};

/// Maximum ratio of the length of a decoded sitemap to that of its body. Lists of similar URLs are
/// compressed 10-fold to 60-fold, a file that is made to expand 1,000-fold and more.
pub(super) const RATIO_MAX: usize = 200;
/// Number of bytes that are decoded whatever the ratio is.
const RATIO_FREE: usize = 1 << 20;
/// Length in bytes of the buffer between two decoders.
const BUFFER_BYTES: usize = 16 << 10;

type Source<'a> = Box<dyn BufRead + 'a>;

/// A decoded body. It ends at the first problem.
pub(super) struct SitemapStream<'a> {
    source: Source<'a>,
    /// Number of bytes read.
    read: usize,
    /// Maximum number of bytes that are read.
    max: usize,
    /// The first problem.
    problem: Option<DecodeProblem>,
    is_ended: bool,
}

impl<'a> SitemapStream<'a> {
    /// Begins to decode `body`.
    ///
    /// # Errors
    /// [`DecodeProblem`] if the encodings in `headers` cannot be undone.
    pub(super) fn open(headers: &HeaderMap, body: &'a [u8]) -> Result<Self, DecodeProblem> {
        let ratio_max = body.len().saturating_mul(RATIO_MAX).max(RATIO_FREE);
        let mut stream = Self {
            source: Box::new(body),
            read: 0,
            max: SITEMAP_BYTES_MAX.min(ratio_max),
            problem: None,
            is_ended: false,
        };
        for coding in codings(headers)? {
            stream.undo(coding);
        }
        stream.undo(Coding::GzipFile);
        Ok(stream)
    }

    /// Returns the number of bytes read.
    pub(super) const fn read_bytes(&self) -> usize {
        self.read
    }

    /// Returns true if the body is cut off or corrupt, as far as it has been read.
    pub(super) const fn is_damaged(&self) -> bool {
        matches!(self.problem, Some(DecodeProblem::CutOff | DecodeProblem::Corrupt))
    }

    /// Returns the first problem so far.
    pub(super) fn problem(self) -> Option<DecodeProblem> {
        self.problem
    }

    /// Reads the next bytes, `n` at most; fewer only at the end.
    pub(super) fn take_bytes(&mut self, n: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(n.min(BUFFER_BYTES));
        // Reading never fails.
        let _ = self.take(n as u64).read_to_end(&mut bytes);
        bytes
    }

    /// Undoes one coding, if the bytes begin like it.
    fn undo(&mut self, coding: Coding) {
        let mut source = std::mem::replace(&mut self.source, Box::new(io::empty()));
        let mut begin = Vec::with_capacity(MAGIC_BYTES);
        if let Err(error) = source.by_ref().take(MAGIC_BYTES as u64).read_to_end(&mut begin) {
            self.note(problem_of(&error));
            return;
        }
        let is_encoded = coding.begins(&begin);
        let is_zlib = is_zlib(&begin);
        let is_file = coding == Coding::GzipFile;
        if !is_encoded && !is_file && !begin.is_empty() {
            self.note(DecodeProblem::NotEncoded);
        }
        let source: Source<'a> = Box::new(io::Cursor::new(begin).chain(source));
        if !is_encoded {
            self.source = source;
            return;
        }
        let decoder: io::Result<Box<dyn Read + 'a>> = match coding {
            Coding::Gzip | Coding::GzipFile => Ok(Box::new(GzipMembers::new(source))),
            Coding::Deflate if is_zlib => Ok(Box::new(ZlibDecoder::new(source))),
            Coding::Deflate => Ok(Box::new(DeflateDecoder::new(source))),
            Coding::Brotli => Ok(Box::new(BrotliReader::new(source))),
            Coding::Zstd => zstd_decoder(source),
        };
        match decoder {
            Ok(decoder) => {
                self.source = Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder));
            }
            Err(error) => self.note(problem_of(&error)),
        }
    }

    fn note(&mut self, problem: DecodeProblem) {
        self.problem.get_or_insert(problem);
    }
}

/// Length in bytes of the longest mark by which an encoding is recognized.
const MAGIC_BYTES: usize = 4;

fn zstd_decoder<'a>(source: Source<'a>) -> io::Result<Box<dyn Read + 'a>> {
    let mut decoder = zstd::Decoder::with_buffer(source)?;
    decoder.window_log_max(ZSTD_WINDOW_LOG_MAX)?;
    Ok(Box::new(decoder))
}

fn problem_of(error: &io::Error) -> DecodeProblem {
    match error.kind() {
        ErrorKind::UnexpectedEof => DecodeProblem::CutOff,
        _ => DecodeProblem::Corrupt,
    }
}

impl BufRead for SitemapStream<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.is_ended {
            return Ok(&[]);
        }
        let left = self.max - self.read;
        let problem = match self.source.fill_buf() {
            Ok(bytes) if left > 0 || bytes.is_empty() => return Ok(&bytes[..bytes.len().min(left)]),
            Ok(_) if self.max < SITEMAP_BYTES_MAX => DecodeProblem::Ratio,
            Ok(_) => DecodeProblem::TooLong,
            Err(error) => problem_of(&error),
        };
        self.is_ended = true;
        self.problem.get_or_insert(problem);
        Ok(&[])
    }

    fn consume(&mut self, n: usize) {
        self.read += n;
        self.source.consume(n);
    }
}

impl Read for SitemapStream<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let n = bytes.read(out)?;
        self.consume(n);
        Ok(n)
    }
}

/// Members of a gzip file, one after another (RFC 1952). Data after the last one is ignored.
struct GzipMembers<R>(Option<GzDecoder<R>>);

impl<R: BufRead> GzipMembers<R> {
    fn new(source: R) -> Self {
        Self(Some(GzDecoder::new(source)))
    }
}

impl<R: BufRead> Read for GzipMembers<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while let Some(member) = &mut self.0 {
            let n = member.read(out)?;
            if n > 0 || out.is_empty() {
                return Ok(n);
            }
            let mut source = self.0.take().map(GzDecoder::into_inner);
            let begins =
                |source: &mut R| Ok::<_, io::Error>(source.fill_buf()?.starts_with(&[0x1f]));
            if let Some(source) = &mut source
                && !begins(source)?
            {
                return Ok(0);
            }
            self.0 = source.map(GzDecoder::new);
        }
        Ok(0)
    }
}

/// Decoder of brotli (RFC 7932) with windows of at most 16 MiB.
struct BrotliReader<R> {
    source: R,
    state: Box<BrotliState<StandardAlloc, StandardAlloc, StandardAlloc>>,
    total: usize,
    is_ended: bool,
}

impl<R: BufRead> BrotliReader<R> {
    fn new(source: R) -> Self {
        let alloc = StandardAlloc::default;
        let state = Box::new(BrotliState::new_strict(alloc(), alloc(), alloc()));
        Self { source, state, total: 0, is_ended: false }
    }
}

impl<R: BufRead> Read for BrotliReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let (mut free, mut end) = (out.len(), 0);
        while end == 0 && free > 0 && !self.is_ended {
            let input = self.source.fill_buf()?;
            let is_last = input.is_empty();
            let (mut available, mut at) = (input.len(), 0);
            let result = BrotliDecompressStream(
                &mut available,
                &mut at,
                input,
                &mut free,
                &mut end,
                out,
                &mut self.total,
                &mut self.state,
            );
            self.source.consume(at);
            match result {
                BrotliResult::ResultSuccess => self.is_ended = true,
                BrotliResult::ResultFailure if end == 0 => {
                    return Err(ErrorKind::InvalidData.into());
                }
                BrotliResult::NeedsMoreInput if end == 0 && is_last => {
                    return Err(ErrorKind::UnexpectedEof.into());
                }
                _ => {}
            }
        }
        Ok(end)
    }
}
