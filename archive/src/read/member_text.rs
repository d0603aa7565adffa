//! The decoded text of a file, one member after another. A plain file is one member.
//!
//! A zstd file may begin with a dictionary in a skippable frame (IIPC, Zstandard Compression for
//! WARC Files 1.0).

use super::damage::DamageKind;
use super::decoder::{Compression, Decoder, GZIP_MAGIC, ZSTD_MAGIC};
use super::input::Input;
use memchr::memmem;
use std::io::{BufRead, Read as _, Seek};

/// Number of decoded bytes in memory.
const TEXT_BYTES: usize = 64 << 10;
/// Number of bytes at the start of a file in which the compression is looked for.
const RECOGNIZED_BYTES: usize = 64 << 10;
/// Maximum length of a dictionary. The specification sets none; those in use are below 1 MiB.
const DICTIONARY_BYTES_MAX: usize = 8 << 20;
/// First bytes of the frame with the dictionary.
const DICTIONARY_MAGIC: &[u8] = &[0x5d, 0x2a, 0x4d, 0x18];
/// Bytes before the content of a skippable frame: magic number and length.
const SKIPPABLE_HEAD: usize = 8;

pub(super) struct MemberText<R> {
    pub(super) input: Input<R>,
    compression: Option<Compression>,
    dictionary: Vec<u8>,
    /// Decoder of the open member; `None` between members.
    decoder: Option<Decoder>,
    /// Decoder of an earlier member, which has the dictionary.
    spare: Option<Decoder>,
    ended: bool,
    text: Box<[u8]>,
    /// Indexes in `text` of the next byte and of the end.
    at: usize,
    end: usize,
    /// Number of bytes that were decoded.
    n_decoded: u64,
}

impl<R: BufRead> MemberText<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            input: Input::new(source),
            compression: None,
            dictionary: Vec::new(),
            decoder: None,
            spare: None,
            ended: false,
            text: vec![0; TEXT_BYTES].into(),
            at: 0,
            end: 0,
            n_decoded: 0,
        }
    }

    /// Returns the compression, which the content of the file shows, whatever its name.
    pub(super) fn compression(&mut self) -> Result<Compression, DamageKind> {
        if let Some(compression) = self.compression {
            return Ok(compression);
        }
        let compression = recognize(self.input.fill(RECOGNIZED_BYTES)?);
        self.compression = Some(compression);
        if compression == Compression::Zstd && self.input.fill(4)?.starts_with(DICTIONARY_MAGIC) {
            self.read_dictionary()?;
        }
        Ok(compression)
    }

    fn read_dictionary(&mut self) -> Result<(), DamageKind> {
        let length = skippable_length(self.input.fill(SKIPPABLE_HEAD)?)
            .filter(|&length| length <= DICTIONARY_BYTES_MAX)
            .ok_or(DamageKind::Compression)?;
        let frame = self.input.fill(SKIPPABLE_HEAD + length)?;
        let content =
            frame.get(SKIPPABLE_HEAD..SKIPPABLE_HEAD + length).ok_or(DamageKind::CutTail)?;
        let mut dictionary = content.to_vec();
        if content.starts_with(ZSTD_MAGIC) {
            dictionary.clear();
            zstd::Decoder::new(content)
                .and_then(|decoder| {
                    decoder.take(DICTIONARY_BYTES_MAX as u64).read_to_end(&mut dictionary)
                })
                .map_err(|_| DamageKind::Compression)?;
        }
        self.input.consume(SKIPPABLE_HEAD + length);
        self.dictionary = dictionary;
        Ok(())
    }

    /// Begins the member at the position of the input. Returns false at the end of the file.
    pub(super) fn begin_member(&mut self) -> Result<bool, DamageKind> {
        self.close();
        let compression = self.compression()?;
        self.skip_extension_frames(compression)?;
        self.input.keep_from_here();
        let bytes = self.input.fill(4)?;
        if bytes.is_empty() {
            return Ok(false);
        }
        if compression != Compression::None && !bytes.starts_with(compression.magic()) {
            return Err(match compression.magic().starts_with(bytes) {
                true => DamageKind::CutTail,
                false => DamageKind::BetweenMembers,
            });
        }
        self.decoder = Some(match self.spare.take().and_then(Decoder::reset) {
            Some(decoder) => decoder,
            None => Decoder::new(compression, &self.dictionary)?,
        });
        Ok(true)
    }

    fn skip_extension_frames(&mut self, compression: Compression) -> Result<(), DamageKind> {
        if compression != Compression::Zstd {
            return Ok(());
        }
        while let Some(length) = skippable_length(self.input.fill(SKIPPABLE_HEAD)?) {
            let mut left = SKIPPABLE_HEAD + length;
            while left > 0 {
                let n = self.input.fill(1)?.len().min(left);
                if n == 0 {
                    return Err(DamageKind::CutTail);
                }
                self.input.consume(n);
                left -= n;
            }
        }
        Ok(())
    }

    /// Drops the rest of the open member's text.
    pub(super) fn close(&mut self) {
        self.spare = self.decoder.take().or_else(|| self.spare.take());
        (self.ended, self.at, self.end) = (false, 0, 0);
    }

    /// Returns true between [`Self::begin_member`] and [`Self::close`].
    pub(super) const fn is_open(&self) -> bool {
        self.decoder.is_some()
    }

    /// Returns true if the file is known to be plain.
    pub(super) const fn is_plain(&self) -> bool {
        matches!(self.compression, Some(Compression::None))
    }

    /// Returns the offset of the next byte that is not read: in a plain file of the text, else of the
    /// compressed data.
    pub(super) const fn position(&self) -> u64 {
        let unread = if self.is_plain() { self.end - self.at } else { 0 };
        self.input.position() - unread as u64
    }

    /// Continues the text of a plain file after `offset`: see [`Input::rewind_behind`].
    pub(super) fn rewind_behind(&mut self, offset: u64) {
        if self.input.rewind_behind(offset) {
            (self.ended, self.at, self.end) = (false, 0, 0);
        }
    }

    /// Returns the next bytes of the member's text: at least `n`, unless the member ends.
    ///
    /// # Errors
    /// [`DamageKind::Io`], [`DamageKind::Compression`] and [`DamageKind::CutTail`].
    pub(super) fn fill(&mut self, n: usize) -> Result<&[u8], DamageKind> {
        while self.end - self.at < n && !self.ended {
            let Some(decoder) = &mut self.decoder else { break };
            self.text.copy_within(self.at..self.end, 0);
            (self.at, self.end) = (0, self.end - self.at);
            let step = decoder.step(self.input.fill(1)?, &mut self.text[self.end..])?;
            self.input.consume(step.read);
            self.end += step.written;
            self.n_decoded += step.written as u64;
            self.ended = step.ended;
        }
        Ok(self.decoded())
    }

    /// Returns the text that is decoded and not read yet.
    pub(super) fn decoded(&self) -> &[u8] {
        &self.text[self.at..self.end]
    }

    /// Returns true if all text of the open member is read, and its checksum is correct.
    pub(super) const fn has_ended(&self) -> bool {
        self.ended && self.at == self.end
    }

    /// Skips `n` bytes of those that [`Self::fill`] returned.
    pub(super) const fn consume(&mut self, n: usize) {
        self.at += n;
    }

    /// Returns the kind of damage of a text that ends too early: in a plain file that is the end of
    /// the file, else `in_member`.
    pub(super) fn end_kind(&self, in_member: DamageKind) -> DamageKind {
        if self.is_plain() { DamageKind::CutTail } else { in_member }
    }

    /// Returns the number of bytes of text that were decoded so far, of all members.
    pub(super) const fn n_decoded(&self) -> u64 {
        self.n_decoded
    }

    /// Skips the rest of the line. Returns false if the member ends, or more than `decoded_max`
    /// bytes were decoded.
    pub(super) fn skip_line(&mut self, decoded_max: u64) -> Result<bool, DamageKind> {
        while self.n_decoded <= decoded_max {
            let bytes = self.fill(1)?;
            let newline = memchr::memchr(b'\n', bytes);
            let n = newline.map_or(bytes.len(), |at| at + 1);
            self.consume(n);
            if n == 0 || newline.is_some() {
                return Ok(n > 0);
            }
        }
        Ok(false)
    }
}

impl<R: BufRead + Seek> MemberText<R> {
    /// Closes the member and continues at `offset`.
    pub(super) fn seek(&mut self, offset: u64) -> Result<(), DamageKind> {
        self.compression()?;
        self.close();
        Ok(self.input.seek(offset)?)
    }
}

fn recognize(bytes: &[u8]) -> Compression {
    if bytes.starts_with(b"WARC/") {
        return Compression::None;
    }
    let magics = [
        (Compression::None, &b"\nWARC/1."[..]),
        (Compression::Gzip, GZIP_MAGIC),
        (Compression::Zstd, ZSTD_MAGIC),
        (Compression::Zstd, DICTIONARY_MAGIC),
    ];
    let found = magics.map(|(compression, magic)| (memmem::find(bytes, magic), compression));
    let first = found.into_iter().filter_map(|(at, compression)| Some((at?, compression)));
    first.min_by_key(|(at, _)| *at).map_or(Compression::None, |(_, compression)| compression)
}

/// Returns the length of the content of a skippable frame (RFC 8878 section 3.1.2).
fn skippable_length(head: &[u8]) -> Option<usize> {
    let (magic, rest) = head.split_first_chunk()?;
    let (length, _) = rest.split_first_chunk()?;
    let is_skippable = u32::from_le_bytes(*magic) & !0xf == 0x184d_2a50;
    is_skippable.then_some(u32::from_le_bytes(*length) as usize)
}
