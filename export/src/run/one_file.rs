//! The export of one WARC file.

use super::job::{ExportJob, RunState};
use crate::article::{AbandonedWorkers, NoArticle};
use crate::counts::{ExportCounts, Skip};
use crate::format::{ExportItem, FormatWriter};
use crate::output::Output;
use crate::page::PageReader;
use crate::selection::Selection;
use crate::source::{ArchivedCapture, CaptureReader, Originals};
use crate::walk;
use crivello_archive::WarcReader;
use crivello_common::url::CrawlUrl;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// A thread's exports, one file after another.
pub(super) struct FileExport<'a> {
    job: &'a ExportJob<'a>,
    originals: &'a Originals<'a>,
    state: RunState<'a>,
    /// A copy of the thread's own, because threads that share regular expressions contend for their caches.
    selection: Option<Selection>,
    pages: PageReader,
    writer: FormatWriter<'a>,
}

impl<'a> FileExport<'a> {
    pub(super) fn new(
        job: &'a ExportJob<'a>,
        originals: &'a Originals<'a>,
        abandoned: &'a AbandonedWorkers,
        state: &RunState<'a>,
    ) -> Self {
        let selection = job.selection.cloned();
        let writer = FormatWriter::new(job.format, abandoned);
        Self { job, originals, state: *state, selection, pages: PageReader::new(), writer }
    }

    /// Exports a file. Returns `None` if the run was stopped.
    pub(super) fn run(
        &mut self,
        path: &Path,
        name: &str,
        output: PathBuf,
    ) -> io::Result<Option<ExportCounts>> {
        let mut captures = CaptureReader::new(WarcReader::open(path)?);
        let mut out = Output::create(output, self.job.compression)?;
        let mut counts = ExportCounts::default();
        while let Some(item) = captures.next_capture() {
            if (self.state.stopped)() {
                return Ok(None);
            }
            match item {
                Ok(capture) => {
                    counts.capture(capture.status());
                    counts.written(self.capture(name, &capture, &mut out)?);
                    self.state.progress.captures.fetch_add(1, Relaxed);
                }
                Err(damage) => {
                    counts.damaged += 1;
                    (self.state.on_damage)(path, &damage);
                }
            }
        }
        out.finish()?;
        Ok(Some(counts))
    }

    fn capture(
        &mut self,
        file_name: &str,
        capture: &ArchivedCapture,
        out: &mut Output,
    ) -> io::Result<Result<Option<NoArticle>, Skip>> {
        let Ok(url) = CrawlUrl::parse(capture.url()) else { return Ok(Err(Skip::NotHttp)) };
        if let Some(selection) = self.selection.as_ref().filter(|rule| !rule.needs_page())
            && let Err(skip) = selection.check(capture, &url, None)
        {
            return Ok(Err(skip));
        }
        let original = if capture.is_revisit() { self.originals.find(capture) } else { None };
        let source = walk::source(&url, capture, original.as_ref());
        let facts = source.and_then(|source| {
            let facts = self.pages.facts(&source).ok_or(Skip::NotHtml)?;
            Ok((source, facts))
        });
        let page = facts.as_ref().map(|(source, page)| (source, page)).map_err(|skip| *skip);
        let facts = page.ok().map(|(_, page)| page);
        if let Some(selection) = self.selection.as_ref().filter(|rule| rule.needs_page())
            && let Err(skip) = selection.check(capture, &url, facts)
        {
            return Ok(Err(skip));
        }
        match page {
            Err(skip) if !self.job.format.has_all() => Ok(Err(skip)),
            page => {
                let item = ExportItem { file_name, capture, url: &url, page };
                self.writer.write(&item, &mut self.pages, out)
            }
        }
    }
}
