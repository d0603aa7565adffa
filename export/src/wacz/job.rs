//! Packages to be made.

use super::package::{PackageWriter, Storage};
use super::pages::PageLists;
use super::parts::FileParts;
use super::warc_names::warc_names;
use super::zip_num::ZipNumWriter;
use crate::counts::ExportCounts;
use crate::file_names::FileNames;
use crate::index::{IndexItem, IndexReader};
use crate::lines::{LineSorter, LineSource as _};
use crate::run::{ExportProgress, ExportReport, InputState, ProgressFile, each_file};
use crate::selection::Selection;
use crate::source::Originals;
use crivello_archive::Damage;
use crivello_common::url::CrawlUrl;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc;

/// Packages to be made.
#[derive(Debug)]
pub struct PackageJob<'a> {
    /// WARC files.
    pub files: &'a [PathBuf],
    /// Directory of the packages.
    pub dir: &'a Path,
    /// Name of the package, without its suffix. With [`Self::split_bytes`] a number follows.
    pub name: &'a str,
    /// Title of the collection.
    pub title: Option<&'a str>,
    /// URLs whose pages come first, beside home pages.
    pub seeds: &'a HashSet<CrawlUrl>,
    /// True if the lists of pages have their texts, for search.
    pub has_text: bool,
    /// Bytes of WARC files after which the next package begins; `None` for one package.
    pub split_bytes: Option<u64>,
    /// The captures that are in the packages; `None` for all.
    pub selection: Option<&'a Selection>,
    /// Number of threads, at least 1. Each reads a file of its own.
    pub threads: usize,
}

/// State that a run shares with its caller.
#[derive(Clone, Copy)]
struct Watch<'a> {
    progress: &'a ExportProgress,
    stopped: &'a (dyn Fn() -> bool + Sync),
    on_damage: &'a (dyn Fn(&Path, &Damage) + Sync),
}

/// Data that threads gather from the files of a package.
struct Gathered<'a> {
    lines: LineSorter,
    pages: PageLists<'a>,
    counts: ExportCounts,
}

impl PackageJob<'_> {
    /// Makes the packages that are not there yet. `stopped` ends the run.
    ///
    /// # Errors
    /// The first error of a file, or that no capture is selected. Damage inside a file is none: it is passed
    /// to `on_damage`.
    pub fn run(
        &self,
        progress: &ExportProgress,
        stopped: &(dyn Fn() -> bool + Sync),
        on_damage: &(dyn Fn(&Path, &Damage) + Sync),
    ) -> io::Result<ExportReport> {
        FileNames::of(self.files, "")?;
        let watch = Watch { progress, stopped, on_damage };
        let mut done = ProgressFile::open(self.dir, &self.options())?;
        let originals = Originals::new(self.files);
        let mut report = ExportReport::default();
        for (number, files) in self.groups()?.into_iter().enumerate() {
            let name = match self.split_bytes {
                Some(_) => format!("{}-{number:05}.wacz", self.name),
                None => format!("{}.wacz", self.name),
            };
            let input = InputState::of_all(files)?;
            if let Some(counts) = done.done(&name, input) {
                report.counts.add(counts);
                report.files_done_before += files.len();
                progress.files.fetch_add(files.len(), Relaxed);
                continue;
            }
            let Some(counts) = self.package(files, self.dir.join(&name), &originals, watch)? else {
                report.is_stopped = true;
                break;
            };
            report.counts.add(&counts);
            done.note(name, input, counts)?;
        }
        Ok(report)
    }

    fn options(&self) -> BTreeMap<String, String> {
        let mut seeds: Vec<&str> = self.seeds.iter().map(CrawlUrl::as_str).collect();
        seeds.sort_unstable();
        let options = [
            ("format", "wacz".to_owned()),
            ("title", self.title.unwrap_or_default().to_owned()),
            ("seeds", seeds.join(" ")),
            ("text", self.has_text.to_string()),
            ("split", self.split_bytes.unwrap_or_default().to_string()),
            ("select", self.selection.map_or("", Selection::text).to_owned()),
        ];
        options.map(|(name, value)| (name.to_owned(), value)).into()
    }

    /// Returns the files of each package.
    fn groups(&self) -> io::Result<Vec<&[PathBuf]>> {
        let mut groups = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (number, path) in self.files.iter().enumerate() {
            let length = path.metadata()?.len();
            if number > start && self.split_bytes.is_some_and(|max| bytes + length > max) {
                groups.push(&self.files[start..number]);
                (start, bytes) = (number, 0);
            }
            bytes += length;
        }
        groups.push(&self.files[start..]);
        Ok(groups)
    }

    /// Makes a package. Returns `None` if the run was stopped.
    fn package(
        &self,
        files: &[PathBuf],
        path: PathBuf,
        originals: &Originals<'_>,
        watch: Watch<'_>,
    ) -> io::Result<Option<ExportCounts>> {
        let names = warc_names(files)?;
        let mut package = PackageWriter::create(path)?;
        let gathered = Mutex::new(Gathered {
            lines: LineSorter::new(self.dir),
            pages: PageLists::new(self.dir, self.seeds, self.has_text),
            counts: ExportCounts::default(),
        });
        let n_files = self.add_files(&mut package, files, &names, &gathered, originals, watch)?;
        if (watch.stopped)() {
            return Ok(None);
        }
        if n_files == 0 {
            return Err(io::Error::other("no capture is selected, so no package was made"));
        }
        let Gathered { lines, pages, mut counts } = gathered.into_inner();
        counts.pages = pages.len();
        add_index(&mut package, lines)?;
        let (pages, others) = pages.finish();
        package.add("pages/pages.jsonl", Storage::Deflated, |out| pages.write(out))?;
        if let Some(others) = others {
            package.add("pages/extraPages.jsonl", Storage::Deflated, |out| others.write(out))?;
        }
        let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        package.finish(self.title, &created)?;
        Ok(Some(counts))
    }

    /// Adds the WARC files in their order, while threads read those that follow. Returns their number.
    fn add_files(
        &self,
        package: &mut PackageWriter,
        files: &[PathBuf],
        names: &[String],
        gathered: &Mutex<Gathered<'_>>,
        originals: &Originals<'_>,
        watch: Watch<'_>,
    ) -> io::Result<usize> {
        let (sender, receiver) = mpsc::sync_channel(self.threads);
        let has_failed = AtomicBool::new(false);
        let is_over = || has_failed.load(Relaxed) || (watch.stopped)();
        std::thread::scope(|scope| {
            let readers = scope.spawn(|| {
                let sender = sender;
                each_file(
                    files,
                    self.threads,
                    watch.progress,
                    &is_over,
                    || (IndexReader::new(self.selection, originals, true), sender.clone()),
                    |(reader, sender), path| {
                        let number = files.iter().position(|file| file == path).unwrap_or_default();
                        let name = &names[number];
                        let parts = self.read(reader, path, name, gathered, watch, &is_over)?;
                        // The receiver is gone after an error, which is reported.
                        let _ = sender.send((number, parts));
                        Ok(())
                    },
                )
            });
            let copied = copy(package, files, names, &receiver);
            has_failed.store(copied.is_err(), Relaxed);
            drop(receiver);
            readers.join().unwrap_or_else(|_| Err(io::Error::other("a thread failed")))?;
            copied
        })
    }

    /// Reads a file. Returns the parts that the package has, if it has any.
    fn read(
        &self,
        reader: &mut IndexReader<'_>,
        path: &Path,
        name: &str,
        gathered: &Mutex<Gathered<'_>>,
        watch: Watch<'_>,
        is_over: &dyn Fn() -> bool,
    ) -> io::Result<Option<FileParts>> {
        let mut selected = Vec::new();
        reader.read(path, |item| {
            match item {
                IndexItem::Damage(damage) => {
                    (watch.on_damage)(path, &damage);
                    gathered.lock().counts.damaged += 1;
                }
                IndexItem::Capture(capture) => {
                    watch.progress.captures.fetch_add(1, Relaxed);
                    let mut gathered = gathered.lock();
                    gathered.counts.capture(capture.status);
                    gathered.counts.written(capture.record.as_ref().map(|_| None).map_err(|s| *s));
                    if let Ok(mut record) = capture.record {
                        if let Some(page) = record.page.take() {
                            gathered.pages.push(&record, &page)?;
                        }
                        match self.selection {
                            Some(_) => selected.push(record),
                            None => gathered.lines.push(&record.line(name, record.offset))?,
                        }
                    }
                }
            }
            Ok(!is_over())
        })?;
        if self.selection.is_none() {
            return Ok(Some(FileParts::Whole));
        }
        if selected.is_empty() {
            return Ok(None);
        }
        let offsets: HashSet<u64> = selected.iter().map(|record| record.offset).collect();
        let parts = FileParts::with_captures(path, &offsets)?;
        let mut gathered = gathered.lock();
        for record in &selected {
            gathered.lines.push(&record.line(name, parts.offset(record.offset)))?;
        }
        Ok(Some(parts))
    }
}

/// Copies the files in their order, as their parts become known. Returns their number.
fn copy(
    package: &mut PackageWriter,
    files: &[PathBuf],
    names: &[String],
    parts: &mpsc::Receiver<(usize, Option<FileParts>)>,
) -> io::Result<usize> {
    let mut known = BTreeMap::new();
    let (mut next, mut n_files) = (0, 0);
    while let Ok((number, parts)) = parts.recv() {
        known.insert(number, parts);
        while let Some(parts) = known.remove(&next) {
            if let Some(parts) = parts {
                let path = format!("archive/{}", names[next]);
                package.add(&path, Storage::Plain, |out| parts.copy(&files[next], out))?;
                n_files += 1;
            }
            next += 1;
        }
    }
    Ok(n_files)
}

/// Adds the index: blocks of lines, and where they are.
fn add_index(package: &mut PackageWriter, lines: LineSorter) -> io::Result<()> {
    let name = "index.cdx.gz";
    let blocks = package.add(&format!("indexes/{name}"), Storage::Plain, |out| {
        let mut writer = ZipNumWriter::new(name, out);
        let mut lines = lines.finish()?;
        let mut line = Vec::new();
        while lines.read_line(&mut line)? {
            writer.push(&line)?;
        }
        writer.finish()
    })?;
    package.add("indexes/index.idx", Storage::Deflated, |out| out.write_all(&blocks))
}
