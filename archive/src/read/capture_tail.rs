//! Captures in the order in which they were archived, read from the indexes up to a committed position.
//!
//! The index of the growing file is in the order of writing; that of a finished file is sorted by URL, and so may
//! be the first lines of one that was reopened. Offsets of records order both.

use crate::format::file_names::{FileStem, INDEX, PART, is_warc};
use crate::index::cdxj::offset_of;
use crate::recover;
use crate::write::position::ArchivePosition;
use serde_json::{Map, Value};
use std::collections::{BinaryHeap, VecDeque};
use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Maximum number of lines that one pass over an index selects, with 24 bytes each. A file of the default size has
/// fewer.
const SELECTED_MAX: usize = 1 << 17;
/// Maximum length of a line in bytes. Longer ones are not of this program.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Number of bytes of lines after which a batch ends.
const BATCH_BYTES: usize = 1 << 20;

/// A place between two captures of an archive. It stays valid for the life of the archive.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct TailPosition {
    /// Serial number of the file.
    pub file: u32,
    /// Records that begin before this offset in the file are before the place.
    pub offset: u64,
}

/// A capture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TailLine {
    /// The place after it.
    pub position: TailPosition,
    /// Its line in the index, without the end of the line.
    pub line: String,
}

/// Captures in their order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TailBatch {
    /// The captures.
    pub lines: Vec<TailLine>,
    /// Number of files that are no longer there: their captures are left out.
    pub files_missing: u32,
}

/// Reader of the captures of one archive, from a place to its committed end.
pub struct CaptureTail {
    dir: PathBuf,
    position: TailPosition,
    index: Option<OpenIndex>,
    /// Next lines, in order.
    selected: VecDeque<Place>,
    pub(crate) selected_max: usize,
}

/// The index of the file of the current place.
struct OpenIndex {
    file: File,
    /// True if it was open for writing: then it may have lines that are not committed.
    grows: bool,
    /// Begin of the lines that have not been selected.
    from: u64,
}

/// Place of a line, ordered by the offset of its record.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    record: u64,
    at: u64,
    length: u64,
}

impl TailPosition {
    /// Returns the place at the end of a committed archive; the start, if it has no file.
    #[must_use]
    pub fn end_of(end: &ArchivePosition) -> Self {
        let stem = FileStem::of_warc(&end.file);
        stem.map_or_else(
            |_| Self::default(),
            |stem| Self { file: stem.serial, offset: end.warc_len },
        )
    }
}

/// `FILE:OFFSET`.
impl fmt::Display for TailPosition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)
    }
}

impl FromStr for TailPosition {
    type Err = &'static str;

    /// Parses `FILE:OFFSET`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (file, offset) = text.split_once(':')?;
            Some(Self { file: file.parse().ok()?, offset: offset.parse().ok()? })
        };
        parse().ok_or("not a place in an archive, FILE:OFFSET")
    }
}

impl TailLine {
    /// Returns the capture as a JSON object on one line, without control characters: `agent`, `position`,
    /// `timestamp`, and the members of its line. `None` if the line is damaged.
    #[must_use]
    pub fn to_json(&self, agent: u32) -> Option<String> {
        let mut parts = self.line.splitn(3, ' ');
        let (_, timestamp, members) = (parts.next()?, parts.next()?, parts.next()?);
        let _: Map<String, Value> = serde_json::from_str(members).ok()?;
        if timestamp.is_empty() || !timestamp.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let (position, members) = (self.position, members.trim_start().strip_prefix('{')?);
        let mut json = format!(
            r#"{{"agent": {agent}, "position": "{agent}:{position}", "timestamp": "{timestamp}", "#
        );
        for c in members.chars() {
            // The index escapes those of ASCII.
            if c.is_control() {
                let _ = write!(json, "\\u{:04x}", u32::from(c));
            } else {
                json.push(c);
            }
        }
        Some(json)
    }
}

impl CaptureTail {
    /// Creates a reader of the archive in `dir` that begins at `position`.
    #[must_use]
    pub fn new(dir: &Path, position: TailPosition) -> Self {
        let (dir, selected) = (dir.to_owned(), VecDeque::new());
        Self { dir, position, index: None, selected, selected_max: SELECTED_MAX }
    }

    /// Returns the current place: that after the last capture that was returned, or the begin of a later file.
    pub const fn position(&self) -> TailPosition {
        self.position
    }

    /// Returns the next captures before the committed position `end`, at most `max`; none if there are no more yet.
    ///
    /// # Errors
    /// Those of the file system. The same captures are then returned by the next call.
    pub fn next_batch(&mut self, end: &ArchivePosition, max: usize) -> io::Result<TailBatch> {
        let mut batch = TailBatch::default();
        let Ok(stem) = FileStem::of_warc(&end.file) else { return Ok(batch) };
        let last = TailPosition::end_of(end);
        while batch.lines.is_empty() && self.position < last {
            if !self.selected.is_empty() {
                self.read_selected(&mut batch, max)?;
                continue;
            }
            let is_last = self.position.file == last.file;
            if self.index.is_none() {
                self.index = OpenIndex::open(&self.dir, (stem.crawl, self.position.file))?;
            }
            if let Some(index) = &mut self.index {
                let to = if is_last && index.grows { Some(end.index_len) } else { None };
                let before = if is_last { last.offset } else { u64::MAX };
                let (first, is_all) =
                    index.select(self.position.offset..before, to, self.selected_max)?;
                // A finished index may have lines that are not committed yet: they are read again.
                if let Some(end) = is_all.filter(|_| index.grows || !is_last) {
                    index.from = end;
                }
                self.selected = first;
                if !self.selected.is_empty() {
                    continue;
                }
            }
            if is_last {
                break;
            }
            let next = self.next_file(&stem)?;
            // A reader from the beginning starts with the oldest file, and misses none.
            if self.index.is_some() || self.position != TailPosition::default() {
                let is_there = u32::from(self.index.is_some());
                batch.files_missing += next - self.position.file - is_there;
            }
            self.position = TailPosition { file: next, offset: 0 };
            self.index = None;
        }
        Ok(batch)
    }

    fn read_selected(&mut self, batch: &mut TailBatch, max: usize) -> io::Result<()> {
        let Some(index) = &self.index else { return Ok(()) };
        let mut bytes = 0;
        while bytes < BATCH_BYTES
            && batch.lines.len() < max
            && let Some(place) = self.selected.front()
        {
            let mut line = vec![0; usize::try_from(place.length).unwrap_or_default()];
            match index.file.read_exact_at(&mut line, place.at) {
                Ok(()) => {}
                Err(error) if batch.lines.is_empty() => return Err(error),
                // The next call meets it again.
                Err(_) => break,
            }
            bytes += line.len();
            self.position.offset = place.record + 1;
            self.selected.pop_front();
            let line = String::from_utf8_lossy(line.trim_ascii_end()).into_owned();
            batch.lines.push(TailLine { position: self.position, line });
        }
        Ok(())
    }

    /// Returns the serial number of the next file that exists, at most that of `last`.
    fn next_file(&self, last: &FileStem) -> io::Result<u32> {
        let mut next = last.serial;
        for (name, _) in recover::files(&self.dir).map_err(io::Error::other)? {
            if let Some((stem, suffix)) = FileStem::split(&name)
                && is_warc(suffix)
                && stem.crawl == last.crawl
                && stem.serial > self.position.file
            {
                next = next.min(stem.serial);
            }
        }
        Ok(next)
    }
}

impl OpenIndex {
    /// Opens the index of the file of this crawl with this serial number; `None` if there is none.
    fn open(dir: &Path, (crawl, serial): (u32, u32)) -> io::Result<Option<Self>> {
        let files = recover::files(dir).map_err(io::Error::other)?;
        let mut stems = files.iter().filter_map(|(name, _)| Some(FileStem::split(name)?.0));
        let is_wanted = |stem: &FileStem| stem.crawl == crawl && stem.serial == serial;
        let Some(stem) = stems.find(is_wanted) else { return Ok(None) };
        // A finished index appears before the unsorted one goes.
        for (suffix, grows) in [(PART, true), (INDEX, false)] {
            match File::open(stem.path(dir, suffix)) {
                Ok(file) => return Ok(Some(Self { file, grows, from: 0 })),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Selects the first lines, by the offsets of their records, whose records begin in `records`: of the lines
    /// up to the byte `to` of the index, or of all. If these are all lines, also returns their end. Lines that are
    /// not of this program are left out.
    fn select(
        &self,
        records: Range<u64>,
        to: Option<u64>,
        selected_max: usize,
    ) -> io::Result<(VecDeque<Place>, Option<u64>)> {
        let to = to.map_or_else(|| Ok(self.file.metadata()?.len()), Ok::<_, io::Error>)?;
        let mut first = BinaryHeap::new();
        let mut source = BufReader::new(&self.file);
        source.seek(SeekFrom::Start(self.from))?;
        let (mut at, mut line, mut is_all) = (self.from, Vec::new(), true);
        while at < to {
            line.clear();
            let most = LINE_BYTES_MAX.min(to - at);
            let length = source.by_ref().take(most).read_until(b'\n', &mut line)? as u64;
            if length == 0 {
                break;
            }
            if line.ends_with(b"\n")
                && let Some(record) = offset_of(&line)
                && records.contains(&record)
            {
                first.push(Place { record, at, length });
                if first.len() > selected_max {
                    first.pop();
                    is_all = false;
                }
            }
            at += length;
        }
        Ok((first.into_sorted_vec().into(), is_all.then_some(at)))
    }
}
