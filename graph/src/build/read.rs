//! Captures and their links, as rows to be sorted.

use super::key::{KEY, Key, Keyed};
use crate::rows::RowSorter;
use crivello_archive::{Damage, WarcReader};
use crivello_common::url::CrawlUrl;
use crivello_export::{
    ArchivedCapture, CaptureReader, ExportProgress, LineSorter, LinkReader, Originals, each_file,
};
use serde::Serialize;
use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, PoisonError};

/// Maximum number of links of a page, of their bytes, and of the bytes of one: the defaults of a crawl.
const LINKS_MAX: usize = 10_000;
const LINK_BYTES_MAX: usize = 2 << 20;
const URL_BYTES_MAX: usize = 2_048;

/// Where links of captures are taken from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LinkOrigin {
    /// The outlinks of the metadata record if it has some, and the page otherwise.
    #[default]
    OutlinksOrPages,
    /// The pages.
    Pages,
}

/// Counts of what was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct BuildCounts {
    /// Captures of pages.
    pub captures: u64,
    /// Captures that are not pages: `robots.txt`, other schemes than http.
    pub skipped: u64,
    /// Captures with outlinks in their metadata records.
    pub with_outlinks: u64,
    /// Captures whose links were read from their payloads.
    pub parsed: u64,
    /// Captures whose links are unknown: temporary errors, and payloads that are damaged, too long or not there.
    pub without_links: u64,
    /// Links, with repetitions.
    pub links: u64,
    /// Damaged places in files.
    pub damaged: u64,
}

/// Key of the page, time, number of the capture, and 1 if its links are known.
pub(super) type CaptureRow = [u8; KEY + 17];
/// Key of the target, number of the capture.
pub(super) type LinkRow = [u8; KEY + 8];

/// Rows that were read and are not sorted yet.
pub(super) struct Gathered {
    pub(super) captures: RowSorter<{ KEY + 17 }>,
    pub(super) links: RowSorter<{ KEY + 8 }>,
    pub(super) names: LineSorter,
    pub(super) counts: BuildCounts,
}

/// The input of a build.
pub(super) struct Reading<'a> {
    pub(super) files: &'a [PathBuf],
    pub(super) temporary: &'a Path,
    pub(super) memory: usize,
    pub(super) threads: usize,
    pub(super) origin: LinkOrigin,
    pub(super) captured_only: bool,
    pub(super) keyed: Keyed,
}

impl Reading<'_> {
    /// Reads all captures and their links, in threads that each read a file.
    pub(super) fn run(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<Gathered> {
        let numbers: HashMap<&Path, u64> =
            self.files.iter().map(PathBuf::as_path).zip(0..).collect();
        let originals = Originals::new(self.files);
        let gathered = Mutex::new(Gathered {
            captures: RowSorter::new(self.temporary, self.memory / 8),
            links: RowSorter::new(self.temporary, self.memory / 4),
            names: LineSorter::new(self.temporary),
            counts: BuildCounts::default(),
        });
        each_file(
            self.files,
            self.threads,
            progress,
            stopped,
            || CaptureLinks::new(self, &originals),
            |reader, path| {
                let mut captures = CaptureReader::with_outlinks(WarcReader::open(path)?);
                // 2^24 files of 2^40 captures.
                let first = numbers.get(path).copied().unwrap_or_default() << 40;
                let mut number = first;
                while !stopped()
                    && let Some(capture) = captures.next_capture()
                {
                    progress.captures.fetch_add(1, Relaxed);
                    match capture {
                        Ok(capture) => reader.read(&capture, number),
                        Err(damage) => {
                            reader.counts.damaged += 1;
                            on_damage(path, &damage);
                        }
                    }
                    number += 1;
                    reader.flush(&gathered)?;
                }
                Ok(())
            },
        )?;
        Ok(gathered.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A thread's reader of captures.
struct CaptureLinks<'a> {
    reading: &'a Reading<'a>,
    originals: &'a Originals<'a>,
    pages: LinkReader,
    recent: RecentNames,
    captures: Vec<CaptureRow>,
    links: Vec<LinkRow>,
    names: Vec<String>,
    counts: BuildCounts,
}

impl<'a> CaptureLinks<'a> {
    fn new(reading: &'a Reading<'a>, originals: &'a Originals<'a>) -> Self {
        Self {
            reading,
            originals,
            pages: LinkReader::new(),
            recent: RecentNames::new(),
            captures: Vec::new(),
            links: Vec::new(),
            names: Vec::new(),
            counts: BuildCounts::default(),
        }
    }

    fn read(&mut self, capture: &ArchivedCapture, number: u64) {
        let Ok(url) = CrawlUrl::parse(capture.url()) else {
            self.counts.skipped += 1;
            return;
        };
        if url.path() == "/robots.txt" {
            self.counts.skipped += 1;
            return;
        }
        self.counts.captures += 1;
        if is_temporary(capture.status()) {
            self.counts.without_links += 1;
            return;
        }
        let key = self.reading.keyed.key(url.as_str());
        self.name(key, url.as_str());
        let is_known = self.links(&url, capture, number);
        if !is_known {
            self.counts.without_links += 1;
        }
        self.captures.push(capture_row(key, time(capture), number, is_known));
    }

    /// Adds the links of a capture. Returns false if they are not known.
    fn links(&mut self, url: &CrawlUrl, capture: &ArchivedCapture, number: u64) -> bool {
        let takes_outlinks = self.reading.origin == LinkOrigin::OutlinksOrPages;
        if takes_outlinks && !capture.outlinks.is_empty() {
            self.counts.with_outlinks += 1;
            for target in &capture.outlinks {
                if let Ok(target) = CrawlUrl::parse(target) {
                    self.link(&target, number);
                }
            }
            return true;
        }
        let original = capture.is_revisit().then(|| self.originals.find(capture)).flatten();
        if capture.is_revisit() && original.is_none() {
            return false;
        }
        let (mut targets, mut bytes) = (Vec::new(), 0);
        let visit = |target: &CrawlUrl| {
            let length = target.as_str().len();
            let fits = targets.len() < LINKS_MAX && bytes + length <= LINK_BYTES_MAX;
            if fits && length <= URL_BYTES_MAX {
                bytes += length;
                targets.push(target.clone());
            }
        };
        let is_read = self.pages.read(url, capture, original.as_ref(), visit);
        // Images and the like have no links.
        let has_none =
            original.as_ref().unwrap_or(capture).payload == crivello_export::Payload::Unread;
        self.counts.parsed += u64::from(is_read);
        for target in targets {
            self.link(&target, number);
        }
        is_read || has_none
    }

    fn link(&mut self, target: &CrawlUrl, number: u64) {
        self.counts.links += 1;
        let key = self.reading.keyed.key(target.as_str());
        if !self.reading.captured_only {
            self.name(key, target.as_str());
        }
        self.links.push(crate::rows::row(key, number.to_be_bytes()));
    }

    fn name(&mut self, key: Key, name: &str) {
        if self.recent.is_new(key) {
            self.names.push(name.to_owned());
        }
    }

    fn flush(&mut self, gathered: &Mutex<Gathered>) -> io::Result<()> {
        let mut gathered = gathered.lock().unwrap_or_else(PoisonError::into_inner);
        let Gathered { captures, links, names, counts } = &mut *gathered;
        self.captures.drain(..).try_for_each(|row| captures.push(row))?;
        self.links.drain(..).try_for_each(|row| links.push(row))?;
        self.names.drain(..).try_for_each(|name| names.push(name.as_bytes()))?;
        counts.add(&std::mem::take(&mut self.counts));
        Ok(())
    }
}

impl BuildCounts {
    fn add(&mut self, other: &Self) {
        let Self { captures, skipped, with_outlinks, parsed, without_links, links, damaged } =
            other;
        self.captures += captures;
        self.skipped += skipped;
        self.with_outlinks += with_outlinks;
        self.parsed += parsed;
        self.without_links += without_links;
        self.links += links;
        self.damaged += damaged;
    }
}

/// Returns true for an answer that says nothing about the page: the links of an earlier capture stay known.
const fn is_temporary(status: Option<u16>) -> bool {
    matches!(status, Some(408 | 425 | 429 | 500..))
}

/// Returns the time of a capture in microseconds; 0 if it has none.
fn time(capture: &ArchivedCapture) -> u64 {
    let time = capture.date().parse::<jiff::Timestamp>();
    time.map_or(0, |time| u64::try_from(time.as_microsecond()).unwrap_or_default())
}

fn capture_row(key: Key, time: u64, number: u64, is_known: bool) -> CaptureRow {
    let end: [u8; 9] = crate::rows::row(number.to_be_bytes(), [u8::from(is_known)]);
    let head: [u8; KEY + 8] = crate::rows::row(key, time.to_be_bytes());
    crate::rows::row(head, end)
}

/// Names that were seen recently. Most links of a page repeat those of the page before it.
struct RecentNames {
    keys: Vec<Key>,
}

impl RecentNames {
    /// Number of names, a power of two.
    const SLOTS: usize = 1 << 16;

    fn new() -> Self {
        Self { keys: vec![[0; KEY]; Self::SLOTS] }
    }

    /// Adds a name. Returns false if it is there.
    fn is_new(&mut self, key: Key) -> bool {
        let slot = crate::rows::number(&key, 0) as usize % Self::SLOTS;
        std::mem::replace(&mut self.keys[slot], key) != key
    }
}
