//! Near-duplicates among all pages of archives: for each page the nearest earlier one.
//!
//! ```text
//!  captures ─► fingerprints ─► page store ─► ten sorted tables ─► pairs ─► sorted ─► a line for each page
//! ```
//! Memory does not grow with the number of pages: rows, tables and pairs are in unnamed files.

mod page_store;
mod pairs;
mod tables;

use crate::counts::Skip;
use crate::file_names::FileNames;
use crate::page::{PageReader, PageSource, clean};
use crate::run::{ExportProgress, each_file};
use crate::selection::Selection;
use crate::source::{ArchivedCapture, CaptureReader};
use crivello_archive::{Damage, WarcReader};
use crivello_common::url::CrawlUrl;
use crivello_html::{SimHash, SimHasher};
use page_store::{PageStore, PageText, PageWriter};
use pairs::Matches;
use parking_lot::Mutex;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use xxhash_rust::xxh3::xxh3_64;

/// A search for near-duplicates.
#[derive(Debug)]
pub struct NearJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// Maximum number of bits in which fingerprints of near-duplicates differ, at most [`Self::DISTANCE_MAX`].
    pub distance_max: u32,
    /// Directory of temporary files, which have no names.
    pub temporary: &'a Path,
    /// The captures that are compared; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
}

/// Result of a search.
#[derive(Clone, Debug, Default)]
pub struct NearReport {
    /// Pages with a fingerprint.
    pub pages: u64,
    /// Near-duplicates by distance in bits.
    pub near: BTreeMap<u32, u64>,
    /// Captures that were not compared, by the reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Number of damaged places in WARC files.
    pub damaged: u64,
    /// Groups of fingerprints with equal leading bits that were too large to be compared whole.
    pub groups_cut: u64,
    /// True if the search was stopped.
    pub is_stopped: bool,
}

/// The line of a near-duplicate.
#[derive(Serialize)]
struct NearLine<'a> {
    #[serde(flatten)]
    page: &'a PageText,
    simhash: String,
    near_duplicate_of: &'a str,
    near_duplicate_date: &'a str,
    near_duplicate_distance: u32,
}

/// State that threads share.
struct Gathered {
    pages: PageWriter,
    report: NearReport,
}

impl NearJob<'_> {
    /// Greatest value of `distance_max`.
    pub const DISTANCE_MAX: u32 = tables::DISTANCE_MAX;

    /// Writes a JSON object a line for each near-duplicate to `out`, in the order of their times. `stopped` ends the
    /// search.
    ///
    /// # Errors
    /// The first error of a file, or of `out`. Damage inside a file is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        out: &mut dyn Write,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<NearReport> {
        let names = FileNames::of(self.files, "")?;
        let pages = PageWriter::create(self.temporary)?;
        let gathered = Mutex::new(Gathered { pages, report: NearReport::default() });
        each_file(
            self.files,
            self.threads,
            progress,
            stopped,
            || PageHasher::new(self.selection),
            |hasher, path| {
                let mut captures = CaptureReader::new(WarcReader::open(path)?);
                while !stopped()
                    && let Some(capture) = captures.next_capture()
                {
                    progress.captures.fetch_add(1, Relaxed);
                    let capture = match capture {
                        Ok(capture) => capture,
                        Err(damage) => {
                            on_damage(path, &damage);
                            gathered.lock().report.damaged += 1;
                            continue;
                        }
                    };
                    match hasher.hash(&capture, names.name(path)) {
                        Ok((hash, key, text)) => gathered.lock().pages.push(hash, key, &text)?,
                        Err(reason) => {
                            *gathered.lock().report.skipped.entry(reason).or_default() += 1;
                        }
                    }
                }
                Ok(())
            },
        )?;
        let gathered = gathered.into_inner();
        let (store, mut report) = (gathered.pages.finish()?, gathered.report);
        report.pages = store.len();
        let matches = Matches::find(&store, self.distance_max, self.temporary, stopped)?;
        match matches.filter(|_| !stopped()) {
            Some(matches) => write(out, &store, matches, &mut report)?,
            None => report.is_stopped = true,
        }
        Ok(report)
    }
}

fn write(
    out: &mut dyn Write,
    store: &PageStore,
    mut matches: Matches,
    report: &mut NearReport,
) -> io::Result<()> {
    report.groups_cut = matches.groups_cut;
    while let Some(found) = matches.next_match()? {
        let row = store.row(found.page)?;
        let (page, original) = (store.text(&row)?, store.text(&store.row(found.original)?)?);
        let line = NearLine {
            page: &page,
            simhash: row.hash.to_string(),
            near_duplicate_of: &original.url,
            near_duplicate_date: &original.date,
            near_duplicate_distance: found.distance,
        };
        serde_json::to_writer(&mut *out, &line)?;
        out.write_all(b"\n")?;
        *report.near.entry(found.distance).or_default() += 1;
    }
    out.flush()
}

/// A thread's computer of fingerprints.
struct PageHasher {
    selection: Option<Selection>,
    pages: PageReader,
    hasher: SimHasher,
}

/// Fingerprint of a page, its time and the hash of its URL, and its text.
type HashedPage = (SimHash, (u64, u64), PageText);

impl PageHasher {
    fn new(selection: Option<&Selection>) -> Self {
        let (pages, hasher) = (PageReader::new(), SimHasher::default());
        Self { selection: selection.cloned(), pages, hasher }
    }

    /// Returns the page of a capture, or the reason why it is not compared.
    fn hash(
        &mut self,
        capture: &ArchivedCapture,
        warc_file: &str,
    ) -> Result<HashedPage, &'static str> {
        if capture.is_revisit() {
            return Err("revisit");
        }
        let url = CrawlUrl::parse(capture.url()).map_err(|_| Skip::NotHttp.name())?;
        let at = capture.date().parse::<jiff::Timestamp>().map_err(|_| Skip::NoDate.name())?;
        let source = PageSource::of(&url, capture, None).ok_or(Skip::NotHtml.name())?;
        if !source.is_success() {
            return Err(Skip::Status.name());
        }
        let page = self.pages.hashed(&source, &mut self.hasher);
        let (facts, hash) = page.ok_or(Skip::NotHtml.name())?;
        if let Some(selection) = &self.selection {
            selection.check(capture, &url, Some(&facts)).map_err(Skip::name)?;
        }
        let hash = hash.ok_or("short-text")?;
        let text = PageText {
            url: clean(capture.url()),
            date: clean(capture.date()),
            warc_file: warc_file.to_owned(),
            warc_offset: capture.offset,
        };
        let time = u64::try_from(at.as_microsecond()).unwrap_or_default();
        Ok((hash, (time, xxh3_64(url.as_str().as_bytes())), text))
    }
}
