//! The pages of archives one after another, with texts and links, for programs that index or rank them.

mod page;

pub use page::{WalkedCapture, WalkedLink, WalkedPage};

use crate::counts::Skip;
use crate::page::{Markup, MarkupLink, PageFacts, PageReader, PageSource, clean};
use crate::selection::Selection;
use crate::source::{ArchivedCapture, CaptureReader, Originals, Payload};
use crivello_archive::{Damage, WarcReader};
use crivello_common::url::CrawlUrl;
use std::fs::File;
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

/// Archives whose pages are read. Revisits refer to captures of all files.
pub struct PageArchives<'f> {
    originals: Originals<'f>,
}

impl<'f> PageArchives<'f> {
    /// Creates the archives of these files. Nothing is read yet.
    pub const fn new(files: &'f [PathBuf]) -> Self {
        Self { originals: Originals::new(files) }
    }
}

/// A reader of the captures of WARC files with their pages. It has at most three payloads in memory, each of
/// at most 64 MiB. Each thread has its own.
pub struct PageWalk<'a, 'f> {
    archives: &'a PageArchives<'f>,
    selection: Option<Selection>,
    with_links: bool,
    pages: PageReader,
    captures: Option<CaptureReader<BufReader<File>>>,
}

impl<'a, 'f> PageWalk<'a, 'f> {
    /// Creates a reader of the captures that `selection` selects, of no file yet. `with_links` has the links of
    /// pages read, too, which takes a second pass over their markup.
    pub fn new(
        archives: &'a PageArchives<'f>,
        selection: Option<&Selection>,
        with_links: bool,
    ) -> Self {
        let selection = selection.cloned();
        Self { archives, selection, with_links, pages: PageReader::new(), captures: None }
    }

    /// Goes to the first capture of a file, which need not be one of [`PageArchives`].
    ///
    /// # Errors
    /// Those of the system.
    pub fn open(&mut self, path: &Path) -> io::Result<()> {
        self.captures = Some(CaptureReader::new(WarcReader::open(path)?));
        Ok(())
    }

    /// Returns the next capture of the file, or the damage before it; `None` at its end.
    ///
    /// # Errors
    /// [`Damage`]; reading goes on after it.
    pub fn next_capture(&mut self) -> Option<Result<WalkedCapture, Damage>> {
        let capture = match self.captures.as_mut()?.next_capture()? {
            Ok(capture) => capture,
            Err(damage) => return Some(Err(damage)),
        };
        let page = self.page(&capture);
        Some(Ok(WalkedCapture {
            url: capture.url().to_owned(),
            date: capture.date().to_owned(),
            status: capture.status(),
            offset: capture.offset,
            page,
        }))
    }

    fn page(&mut self, capture: &ArchivedCapture) -> Result<Box<WalkedPage>, Skip> {
        let url = CrawlUrl::parse(capture.url()).map_err(|_| Skip::NotHttp)?;
        if let Some(selection) = self.selection.as_ref().filter(|rule| !rule.needs_page()) {
            selection.check(capture, &url, None)?;
        }
        let original =
            if capture.is_revisit() { self.archives.originals.find(capture) } else { None };
        let source = source(&url, capture, original.as_ref());
        let read = source.and_then(|source| {
            let facts = self.pages.facts(&source).ok_or(Skip::NotHtml)?;
            Ok((source, facts))
        });
        if let Some(selection) = self.selection.as_ref().filter(|rule| rule.needs_page()) {
            selection.check(capture, &url, read.as_ref().ok().map(|(_, facts)| facts))?;
        }
        let (source, facts) = read?;
        let links = if self.with_links { self.links(&source, &facts) } else { Vec::new() };
        Ok(Box::new(WalkedPage {
            noindex: capture.directive("noindex").unwrap_or(facts.noindex),
            near_duplicate_of: capture.note("nearDuplicateOf").map(clean),
            is_revisit: capture.is_revisit(),
            links,
            url,
            facts,
        }))
    }

    /// Returns the links of `a` and `area` elements to other HTTP URLs, in the order of the page.
    fn links(&mut self, source: &PageSource<'_>, facts: &PageFacts) -> Vec<WalkedLink> {
        let Some(markup) = self.pages.markup(source) else { return Vec::new() };
        let links = Markup::read(&markup).links.into_iter();
        let is_link = |link: &MarkupLink| matches!(link.path, "A@/href" | "AREA@/href");
        let resolved = links.filter(is_link).filter_map(|link| {
            let url = CrawlUrl::join(&facts.base, &link.href).ok()?;
            let mut relations = link.rel.split_ascii_whitespace();
            let nofollow = relations.any(|relation| relation.eq_ignore_ascii_case("nofollow"));
            Some(WalkedLink { url, text: clean(&link.text), nofollow })
        });
        resolved.collect()
    }
}

/// Returns the response of a capture, if it may be a page.
pub(crate) fn source<'a>(
    url: &'a CrawlUrl,
    capture: &'a ArchivedCapture,
    original: Option<&'a ArchivedCapture>,
) -> Result<PageSource<'a>, Skip> {
    if capture.is_revisit() && original.is_none() {
        return Err(Skip::NoOriginal);
    }
    match &original.unwrap_or(capture).payload {
        Payload::Bytes(_) => {}
        Payload::Unread => return Err(Skip::NotHtml),
        Payload::TooLong => return Err(Skip::TooLong),
        Payload::Damaged => return Err(Skip::Damaged),
    }
    let source = PageSource::of(url, capture, original).ok_or(Skip::NotHtml)?;
    if source.is_success() { Ok(source) } else { Err(Skip::Status) }
}
