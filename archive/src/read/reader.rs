//! The reader of a WARC file, and the record that it is at.

use super::damage::{Damage, DamageKind};
use super::head::{RecordHead, read_head};
use super::http_message::HttpMessageHead;
use super::member_text::MemberText;
use super::resync::resync;
use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek};
use std::path::Path;

/// A reader of the records of one WARC file, in order: WARC/1.0 and 1.1; plain, or compressed by
/// gzip or zstd, as the content shows.
///
/// Blocks are streamed. Memory is bounded: the last 16 to 32 MiB of the file, which are read again
/// after damage, and one head of at most 1 MiB; with zstd also a window of at most 128 MiB and a
/// dictionary of at most 8 MiB.
///
/// Damage is returned as an item, and reading goes on at the next valid record. A `Content-Length`
/// that is too large in a plain file, or a broken member, hides records further back than those
/// 16 MiB.
pub struct WarcReader<R> {
    text: MemberText<R>,
    /// Offset of the open member, or in a plain file of the record.
    offset: u64,
    /// Number of bytes of the record's block that are not read yet.
    left: u64,
    /// True if the open member has had a record.
    is_after_record: bool,
    /// Length of the line ends after the last finished record of a plain file.
    plain_end: u64,
    /// The record after damage.
    found: Option<RecordHead>,
    /// Damage that reading a block met.
    met: Option<DamageKind>,
    failed: bool,
}

/// A record, whose block is read from it. Blocks may be left unread.
pub struct ArchivedRecord<'r, R> {
    /// Head of the record.
    pub head: RecordHead,
    reader: &'r mut WarcReader<R>,
}

impl WarcReader<BufReader<File>> {
    /// Opens a file.
    ///
    /// # Errors
    /// The error of the system.
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self::new(BufReader::with_capacity(256 << 10, File::open(path)?)))
    }
}

impl<R: BufRead + Seek> WarcReader<R> {
    /// Continues at a record's offset, which may be before or after the current one.
    ///
    /// # Errors
    /// The error of the system, or of a dictionary that cannot be read.
    pub fn seek(&mut self, offset: u64) -> io::Result<()> {
        self.text.seek(offset)?;
        (self.left, self.found, self.met, self.failed) = (0, None, None, false);
        Ok(())
    }
}

impl<R: BufRead> WarcReader<R> {
    /// Creates a reader of a file from its start.
    pub fn new(source: R) -> Self {
        Self {
            text: MemberText::new(source),
            offset: 0,
            left: 0,
            is_after_record: false,
            plain_end: 0,
            found: None,
            met: None,
            failed: false,
        }
    }

    /// Returns the next record, or the damage before it; `None` at the end of the file.
    ///
    /// # Errors
    /// [`Damage`]. Only after [`DamageKind::Io`] there are no more records.
    pub fn next_record(&mut self) -> Option<Result<ArchivedRecord<'_, R>, Damage>> {
        if self.failed {
            return None;
        }
        match self.advance() {
            Ok(None) => None,
            Ok(Some(head)) => {
                self.left = head.content_length;
                self.is_after_record = true;
                Some(Ok(ArchivedRecord { head, reader: self }))
            }
            Err(kind) => Some(Err(self.recover(kind))),
        }
    }

    fn advance(&mut self) -> Result<Option<RecordHead>, DamageKind> {
        if let Some(head) = self.found.take() {
            return Ok(Some(head));
        }
        if let Some(kind) = self.met.take() {
            return Err(kind);
        }
        self.skip_block()?;
        loop {
            if !self.text.is_open() {
                self.offset = self.text.input.position();
                self.is_after_record = false;
                if !self.text.begin_member()? {
                    return Ok(None);
                }
                self.offset = self.text.input.position();
            }
            if self.skip_record_end()? {
                self.text.close();
                continue;
            }
            if self.text.is_plain() {
                self.offset = self.text.position();
            }
            return match read_head(&mut self.text) {
                Err(DamageKind::Version) if self.is_after_record => Err(DamageKind::LongBlock),
                head => head.map(Some),
            };
        }
    }

    fn recover(&mut self, kind: DamageKind) -> Damage {
        let offset = self.offset;
        self.left = 0;
        self.is_after_record = false;
        let resumed = match kind {
            DamageKind::Io(error) => Err(error),
            _ => resync(&mut self.text, offset, &kind).map(|resumed| (kind, resumed)),
        };
        let (kind, resumed) = resumed.unwrap_or_else(|error| {
            self.failed = true;
            (DamageKind::Io(error), None)
        });
        match resumed {
            Some(resumed) => {
                self.offset = resumed.offset;
                self.found = Some(resumed.head);
            }
            None => self.offset = self.text.position(),
        }
        Damage { offset, skipped: self.offset.saturating_sub(offset), kind }
    }

    /// Makes bytes of the block available, unless it has been read.
    fn fill_block(&mut self) -> Result<(), DamageKind> {
        if self.left > 0 && self.text.fill(1)?.is_empty() {
            return Err(self.text.end_kind(DamageKind::ShortBlock));
        }
        Ok(())
    }

    fn block(&self) -> &[u8] {
        let decoded = self.text.decoded();
        &decoded[..decoded.len().min(usize::try_from(self.left).unwrap_or(usize::MAX))]
    }

    fn consume_block(&mut self, n: usize) {
        self.text.consume(n);
        self.left -= n as u64;
    }

    fn skip_block(&mut self) -> Result<(), DamageKind> {
        while self.left > 0 {
            self.fill_block()?;
            self.consume_block(self.block().len());
        }
        Ok(())
    }

    /// Skips the line ends after a record, which other programs write in other numbers. Returns true
    /// if the member ends there.
    fn skip_record_end(&mut self) -> Result<bool, DamageKind> {
        loop {
            let bytes = self.text.fill(1)?;
            let n = bytes.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            let (is_end, is_all) = (bytes.is_empty(), n == bytes.len());
            self.text.consume(n);
            if is_end || !is_all {
                return Ok(is_end);
            }
        }
    }

    fn finish(&mut self) -> Result<Option<u64>, DamageKind> {
        self.skip_block()?;
        let block_end = self.text.position();
        let has_ended = self.skip_record_end()?;
        let (end, is_plain) = (self.text.position(), self.text.is_plain());
        self.plain_end = if is_plain { end - block_end } else { 0 };
        Ok((has_ended || is_plain).then_some(end - self.offset))
    }

    /// Converts damage to an error for the reader of a block, and keeps it for
    /// [`Self::next_record`].
    fn meet(&mut self, kind: DamageKind) -> io::Error {
        let (error, kept) = match kind {
            DamageKind::Io(error) => {
                let copy = io::Error::new(error.kind(), error.to_string());
                (error, DamageKind::Io(copy))
            }
            kind => (io::Error::new(ErrorKind::InvalidData, kind.to_string()), kind),
        };
        self.left = 0;
        self.met = Some(kept);
        error
    }
}

impl<R: BufRead> ArchivedRecord<'_, R> {
    /// Returns the offset of the record's gzip member or zstd frame in bytes; of the record in a
    /// plain file.
    pub const fn offset(&self) -> u64 {
        self.reader.offset
    }

    /// Skips the rest of the block and returns the length in bytes of what begins at
    /// [`Self::offset`]; `None` if more records follow in the same member.
    ///
    /// # Errors
    /// As for reading the block.
    pub fn finish(&mut self) -> io::Result<Option<u64>> {
        self.check_met()?;
        self.reader.finish().map_err(|kind| self.reader.meet(kind))
    }

    /// Returns how many bytes of the length that [`Self::finish`] returned are line ends after the record of a
    /// plain file; 0 in a compressed one. Indexes of other programs do not count them.
    pub const fn plain_end_length(&self) -> u64 {
        self.reader.plain_end
    }

    /// Returns the rest of the block.
    ///
    /// # Errors
    /// As for reading the block; [`ErrorKind::FileTooLarge`] if it is longer than `max` bytes.
    pub fn read_block(&mut self, max: u64) -> io::Result<Vec<u8>> {
        if self.reader.left > max {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let mut block = Vec::new();
        self.read_to_end(&mut block)?;
        Ok(block)
    }

    /// Reads the head of an HTTP message at the start of the block. What remains is the payload.
    ///
    /// # Errors
    /// As for reading the block. Invalid heads are no errors.
    pub fn read_http_head(&mut self) -> io::Result<HttpMessageHead> {
        HttpMessageHead::read(self)
    }

    fn check_met(&self) -> io::Result<()> {
        match &self.reader.met {
            Some(kind) => Err(io::Error::new(ErrorKind::InvalidData, kind.to_string())),
            None => Ok(()),
        }
    }
}

/// Damage inside the block is an error of kind [`ErrorKind::InvalidData`], and the next item of the
/// reader says how much of the file was skipped.
impl<R: BufRead> BufRead for ArchivedRecord<'_, R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.check_met()?;
        self.reader.fill_block().map_err(|kind| self.reader.meet(kind))?;
        Ok(self.reader.block())
    }

    fn consume(&mut self, n: usize) {
        self.reader.consume_block(n.min(self.reader.block().len()));
    }
}

impl<R: BufRead> Read for ArchivedRecord<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(out)?;
        self.consume(n);
        Ok(n)
    }
}
