//! The lines that an index has of WARC files.

use super::record::IndexedRecord;
use crate::counts::Skip;
use crate::page::{PageFacts, PageReader, PageSource};
use crate::run::stem;
use crate::selection::Selection;
use crate::source::{ArchivedCapture, CaptureReader, Originals};
use crivello_archive::{Damage, IndexNotes, WarcReader};
use crivello_common::url::CrawlUrl;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

/// The result of reading a file.
pub(crate) enum IndexItem {
    /// A capture.
    Capture(Box<IndexedCapture>),
    /// Damage before it.
    Damage(Damage),
}

/// A capture, and its record or the reason why the index does not have it.
pub(crate) struct IndexedCapture {
    /// HTTP status.
    pub(crate) status: Option<u16>,
    /// Its record.
    pub(crate) record: Result<IndexedRecord, Skip>,
}

/// A reader of files, one after another.
pub(crate) struct IndexReader<'a> {
    selection: Option<Selection>,
    originals: &'a Originals<'a>,
    pages: PageReader,
    has_pages: bool,
}

impl<'a> IndexReader<'a> {
    /// Creates a reader, which reads the pages of records if `has_pages`.
    pub(crate) fn new(
        selection: Option<&Selection>,
        originals: &'a Originals<'a>,
        has_pages: bool,
    ) -> Self {
        Self { selection: selection.cloned(), originals, pages: PageReader::new(), has_pages }
    }

    /// Passes each capture of a file to `each`, until that returns false. Members of further kinds in an
    /// index beside the file are kept.
    pub(crate) fn read(
        &mut self,
        path: &Path,
        mut each: impl FnMut(IndexItem) -> io::Result<bool>,
    ) -> io::Result<()> {
        let notes = notes_beside(path);
        let mut captures = CaptureReader::indexed(WarcReader::open(path)?);
        while let Some(item) = captures.next_capture() {
            let item = match item {
                Ok(capture) => {
                    let status = capture.status();
                    let record = self.record(&capture, &notes);
                    IndexItem::Capture(Box::new(IndexedCapture { status, record }))
                }
                Err(damage) => IndexItem::Damage(damage),
            };
            if !each(item)? {
                break;
            }
        }
        Ok(())
    }

    fn record(
        &mut self,
        capture: &ArchivedCapture,
        notes: &IndexNotes,
    ) -> Result<IndexedRecord, Skip> {
        let mut record = IndexedRecord::of(capture, notes)?;
        let needs_page = self.selection.as_ref().is_some_and(Selection::needs_page);
        if !needs_page {
            self.select(capture, None)?;
        }
        if needs_page || self.has_pages {
            record.page = facts(&mut self.pages, self.originals, capture);
        }
        if needs_page {
            self.select(capture, record.page.as_ref())?;
        }
        Ok(record)
    }

    fn select(&self, capture: &ArchivedCapture, page: Option<&PageFacts>) -> Result<(), Skip> {
        let Some(selection) = &self.selection else { return Ok(()) };
        let url = CrawlUrl::parse(capture.url()).map_err(|_| Skip::NotHttp)?;
        selection.check(capture, &url, page)
    }
}

/// Returns the facts of the page of a capture; `None` if it is none.
fn facts(
    pages: &mut PageReader,
    originals: &Originals<'_>,
    capture: &ArchivedCapture,
) -> Option<PageFacts> {
    let url = &CrawlUrl::parse(capture.url()).ok()?;
    let original = if capture.is_revisit() { Some(originals.find(capture)?) } else { None };
    let source = PageSource::of(url, capture, original.as_ref())?;
    pages.facts(&source).filter(|_| source.is_success())
}

/// Returns the notes of the index beside a file; none if it has no index, or one that cannot be read.
fn notes_beside(path: &Path) -> IndexNotes {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let names = [".cdxj", ".cdxj.part"].map(|suffix| [stem(&name), suffix].concat());
    let index = names.iter().find_map(|index| File::open(path.with_file_name(index)).ok());
    let notes = index.map(|index| IndexNotes::read(BufReader::new(index), &name));
    notes.and_then(Result::ok).unwrap_or_default()
}
