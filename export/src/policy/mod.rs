//! A report of signals: how many sites and pages state what, as archives record it.
//!
//! ```text
//!  captures ─► lines: host, URL, time, signals ─► sorter ─► pages (last captures) ─► sites ─► counts
//! ```
//! Memory grows neither with the number of captures nor with that of sites.

mod site;
mod statements;

pub use site::{PolicyCount, PolicyCounts, SitePolicy};

use crate::counts::Skip;
use crate::lines::{LineSorter, LineSource as _};
use crate::page::{PageReader, PageSource};
use crate::run::{ExportProgress, each_file};
use crate::selection::Selection;
use crate::source::{ArchivedCapture, CaptureReader, Originals};
use crivello_archive::{Damage, WarcReader};
use crivello_common::robots::TDM_FILE;
use crivello_common::url::CrawlUrl;
use parking_lot::Mutex;
use site::SiteReader;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// A report to be made.
#[derive(Debug)]
pub struct PolicyJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// The captures that count; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
    /// Directory of temporary files, which have no names.
    pub scratch: &'a Path,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct PolicyReport {
    /// Counts over all sites.
    pub counts: PolicyCounts,
    /// Captures that do not count, by the reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Number of damaged places in WARC files.
    pub damaged: u64,
    /// True if the run was stopped. Then there are no counts.
    pub is_stopped: bool,
}

/// State that threads share.
struct Gathered {
    sorter: LineSorter,
    report: PolicyReport,
}

impl PolicyJob<'_> {
    /// Makes the report. Sites are passed to `on_site` in the order of their names. `stopped` ends the run.
    ///
    /// # Errors
    /// The first error of a file. Damage inside a file is none: it is passed to `on_damage`.
    pub fn run(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
        on_site: &mut dyn FnMut(&SitePolicy) -> io::Result<()>,
    ) -> io::Result<PolicyReport> {
        let (sorter, report) = (LineSorter::new(self.scratch), PolicyReport::default());
        let gathered = Mutex::new(Gathered { sorter, report });
        let originals = Originals::new(self.files);
        each_file(
            self.files,
            self.threads,
            progress,
            stopped,
            || Reader { job: self, originals: &originals, pages: PageReader::new() },
            |reader, path| reader.read(path, &gathered, progress, stopped, on_damage),
        )?;
        let gathered = gathered.into_inner();
        let Gathered { sorter, mut report } = gathered;
        report.is_stopped = stopped();
        if !report.is_stopped {
            report.counts = count(sorter, on_site)?;
        }
        Ok(report)
    }
}

/// Counts the sites of sorted lines.
fn count(
    sorter: LineSorter,
    on_site: &mut dyn FnMut(&SitePolicy) -> io::Result<()>,
) -> io::Result<PolicyCounts> {
    let (mut lines, mut sites) = (sorter.finish()?, SiteReader::default());
    let (mut line, mut counts) = (Vec::new(), PolicyCounts::default());
    while lines.read_line(&mut line)? {
        let text = str::from_utf8(&line).map_err(io::Error::other)?;
        if let Some(site) = sites.push(text) {
            on_site(&site)?;
            counts.add(&site);
        }
    }
    if let Some(site) = sites.finish() {
        on_site(&site)?;
        counts.add(&site);
    }
    Ok(counts)
}

/// A reader of files, one after another.
struct Reader<'a> {
    job: &'a PolicyJob<'a>,
    originals: &'a Originals<'a>,
    pages: PageReader,
}

impl Reader<'_> {
    fn read(
        &mut self,
        path: &Path,
        gathered: &Mutex<Gathered>,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<()> {
        let mut captures = CaptureReader::new(WarcReader::open(path)?);
        while let Some(item) = captures.next_capture() {
            progress.captures.fetch_add(1, Relaxed);
            match item.map(|capture| self.line(&capture)) {
                Ok(Ok(line)) => gathered.lock().sorter.push(line.as_bytes())?,
                Ok(Err(reason)) => {
                    *gathered.lock().report.skipped.entry(reason).or_default() += 1;
                }
                Err(damage) => {
                    on_damage(path, &damage);
                    gathered.lock().report.damaged += 1;
                }
            }
            if stopped() {
                break;
            }
        }
        Ok(())
    }

    /// Returns the line of a capture, or the reason why it has none.
    fn line(&mut self, capture: &ArchivedCapture) -> Result<String, &'static str> {
        let url = CrawlUrl::parse(capture.url()).map_err(|_| Skip::NotHttp.name())?;
        if url.path() == "/robots.txt" {
            return Err("robots-txt");
        }
        if url.path() == TDM_FILE {
            return Err("tdm-file");
        }
        if !capture.status().is_some_and(|status| (200..300).contains(&status)) {
            return Err(Skip::Status.name());
        }
        if let Some(selection) = self.job.selection {
            self.check(selection, capture, &url).map_err(Skip::name)?;
        }
        let statements = statements::of(capture).join(" ");
        // URLs and dates have no tab, and dates of one form sort as times.
        let date = capture.date().replace('\t', " ");
        Ok(format!("{}\t{}\t{date}\t{statements}", url.host(), url.as_str()))
    }

    fn check(
        &mut self,
        selection: &Selection,
        capture: &ArchivedCapture,
        url: &CrawlUrl,
    ) -> Result<(), Skip> {
        if !selection.needs_page() {
            return selection.check(capture, url, None);
        }
        let original = if capture.is_revisit() { self.originals.find(capture) } else { None };
        let source = PageSource::of(url, capture, original.as_ref());
        let source = source.filter(PageSource::is_success);
        let page = source.and_then(|source| self.pages.facts(&source));
        selection.check(capture, url, page.as_ref())
    }
}
