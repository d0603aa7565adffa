//! Rows of the captures of WARC files.

use super::cell::Micros;
use super::columns::Row;
use super::input_file::InputFile;
use super::url_parts::set_url_parts;
use crate::counts::Skip;
use crate::page::{PageFacts, PageReader, PageSource};
use crate::selection::Selection;
use crate::source::{ArchivedCapture, CaptureReader, Originals};
use crivello_archive::{Damage, WarcReader};
use crivello_common::url::CrawlUrl;
use std::io;
use std::path::Path;

/// The data that are read of a capture.
pub(super) enum RowItem {
    /// Its row and its time in a form that sorts, or the reason why it has none.
    Capture(Result<(Box<Row>, String), Skip>),
    /// Damage before it.
    Damage(Damage),
}

/// A reader of files, one after another.
pub(super) struct RowReader<'a> {
    selection: Option<Selection>,
    originals: &'a Originals<'a>,
    pages: PageReader,
}

impl<'a> RowReader<'a> {
    pub(super) fn new(selection: Option<&Selection>, originals: &'a Originals<'a>) -> Self {
        Self { selection: selection.cloned(), originals, pages: PageReader::new() }
    }

    /// Passes each capture of a file to `each`, until that returns false.
    pub(super) fn read(
        &mut self,
        path: &Path,
        file: &InputFile,
        mut each: impl FnMut(RowItem) -> io::Result<bool>,
    ) -> io::Result<()> {
        let mut captures = CaptureReader::new(WarcReader::open(path)?);
        while let Some(item) = captures.next_capture() {
            let item = match item {
                Ok(capture) => RowItem::Capture(self.row(&capture, file)),
                Err(damage) => RowItem::Damage(damage),
            };
            if !each(item)? {
                break;
            }
        }
        Ok(())
    }

    fn row(
        &mut self,
        capture: &ArchivedCapture,
        file: &InputFile,
    ) -> Result<(Box<Row>, String), Skip> {
        let url = CrawlUrl::parse(capture.url()).map_err(|_| Skip::NotHttp)?;
        let length = capture.length.ok_or(Skip::NoLength)?;
        let at = capture.date().parse::<jiff::Timestamp>().map_err(|_| Skip::NoDate)?;
        if let Some(selection) = self.selection.as_ref().filter(|rule| !rule.needs_page()) {
            selection.check(capture, &url, None)?;
        }
        let of_page = self.selection.as_ref().filter(|rule| rule.needs_page());
        let needs_original = capture.is_revisit() && of_page.is_some();
        let original = if needs_original { self.originals.find(capture) } else { None };
        let source = PageSource::of(&url, capture, original.as_ref());
        let source = source.filter(PageSource::is_success);
        let page = source.and_then(|source| self.pages.facts(&source));
        if let Some(selection) = of_page {
            selection.check(capture, &url, page.as_ref())?;
        }
        let mut row = row(capture, file, page.as_ref().filter(|_| !capture.is_revisit()));
        set_url_parts(&mut row, &url);
        row.fetch_time = Micros(at.as_microsecond());
        (row.warc_record_offset, row.warc_record_length) = (capture.offset as i64, length as i64);
        Ok((Box::new(row), format!("{:020}", at.as_microsecond().max(0))))
    }
}

/// Returns the row of a capture without its URL's parts, its time and its place in the file.
fn row(capture: &ArchivedCapture, file: &InputFile, page: Option<&PageFacts>) -> Row {
    let owned = |text: Option<&str>| text.map(str::to_owned);
    let field = |name| capture.head.fields.get(name);
    let default_status = if capture.head.kind() == "resource" { 200 } else { -1 };
    let status = capture.status().and_then(|status| i16::try_from(status).ok());
    let digest = field("WARC-Payload-Digest");
    let media = Some(capture.media()).filter(|media| !media.is_empty());
    let detected = page.map(|_| {
        let is_xml = media.as_deref() == Some("application/xhtml+xml");
        if is_xml { "application/xhtml+xml" } else { "text/html" }
    });
    Row {
        url: capture.url().to_owned(),
        fetch_status: status.unwrap_or(default_status),
        fetch_redirect: redirect(capture),
        content_digest: owned(digest.map(|digest| digest.strip_prefix("sha1:").unwrap_or(digest))),
        content_mime_detected: owned(detected.or(field("WARC-Identified-Payload-Type"))),
        content_mime_type: media,
        content_charset: owned(page.and_then(|page| page.charset)),
        content_languages: page.map(|page| page.language.clone()).filter(|code| code != "und"),
        content_truncated: owned(field("WARC-Truncated").filter(|_| !capture.is_revisit())),
        warc_filename: file.name.clone(),
        warc_segment: file.segment.clone(),
        warc_record_type: capture.head.kind().to_owned(),
        agent: file.agent.clone(),
        // Names of Heritrix: one letter for each link from a seed.
        depth: capture.note("hopsFromSeed").and_then(|hops| i32::try_from(hops.len()).ok()),
        found_on: owned(capture.note("via")),
        near_of: owned(capture.note("nearDuplicateOf")),
        near_distance: capture.note("nearDuplicateDistance").and_then(|bits| bits.parse().ok()),
        simhash: owned(capture.note("simHash")),
        robots_noindex: capture.directive("noindex"),
        robots_noarchive: capture.directive("noarchive"),
        usage_train_ai: either(capture, "usageTrainAi", ["allow", "disallow"]),
        usage_search: either(capture, "usageSearch", ["allow", "disallow"]),
        signal_ai_input: either(capture, "signalAiInput", ["yes", "no"]),
        signal_ai_train: either(capture, "signalAiTrain", ["yes", "no"]),
        signal_search: either(capture, "signalSearch", ["yes", "no"]),
        tdm_reservation: either(capture, "tdmReservation", ["1", "0"]),
        license_url: owned(capture.note("license")),
        ..Row::default()
    }
}

/// Returns true or false for the values of a note; `None` for any other.
fn either(capture: &ArchivedCapture, name: &str, [yes, no]: [&str; 2]) -> Option<bool> {
    let value = capture.note(name)?;
    if value == yes { Some(true) } else { (value == no).then_some(false) }
}

/// Returns the URL to which a response redirects.
fn redirect(capture: &ArchivedCapture) -> Option<String> {
    let is_redirect = matches!(capture.status(), Some(301 | 302 | 303 | 307 | 308));
    let location = capture.http.fields.get("Location").filter(|_| is_redirect)?;
    let target = url::Url::parse(capture.url()).ok()?.join(location).ok()?;
    Some(target.into())
}

impl Row {
    /// Returns the partition of the row, as Common Crawl divides captures.
    pub(super) fn subset(&self) -> &'static str {
        match (self.url_path.as_str(), self.fetch_status) {
            ("/robots.txt", _) => "robotstxt",
            (_, 200) => "warc",
            _ => "crawldiagnostics",
        }
    }
}
