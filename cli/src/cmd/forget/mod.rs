//! `crivello forget`: takes hosts and URLs out of the archives, the states and the exports of crawls that do not
//! run, and keeps them from being fetched again.
//!
//! The order is: journal, states, archives, exports. A run that was killed is finished by the next one.

mod exports;
mod journal;
mod search;
mod stored;

use super::archive::files::{print_problem, printable};
use crate::args::forget::ForgetArgs;
use crate::exit::{CliError, Exit};
use crate::format::plural;
use crate::local_cluster::dirs;
use crate::screen;
use anyhow::Error;
use crivello_agent::{AgentError, StoppedCrawl};
use crivello_archive::RedactionCause;
use crivello_common::forget_list::ForgetList;
use crivello_common::time::{Clock, Timestamp};
#[cfg(feature = "data")]
use crivello_common::units::ByteSize;
use crivello_common::url::CrawlUrl;
use journal::ForgetJournal;
use search::{CaptureSearch, FoundFile, archive_files};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use stored::StoredOnly;

/// The directory of a crawl, and what was found there.
struct OpenCrawl {
    dir: PathBuf,
    crawl: StoppedCrawl,
}

/// Numbers for the report.
#[derive(Default)]
struct Report {
    captures: u64,
    urls: BTreeSet<String>,
    /// URLs and dates of redacted revisits of other URLs.
    references: Vec<(String, String)>,
    kept_revisits: u64,
    records: u64,
    /// Paths of the WARC files that were rewritten.
    files: Vec<PathBuf>,
    damaged: u64,
    outputs: Vec<PathBuf>,
    hosts_closed: u64,
    urls_forgotten: u64,
    payloads: u64,
    unreferable: u64,
    elsewhere: u64,
    is_in_cluster: bool,
    has_uploads: bool,
    /// Objects of WARC files that are not here, and may have more.
    stored_only: BTreeSet<StoredOnly>,
}

/// Forgets hosts and URLs. The exit code is 1 if a file is damaged, or is only in a store: it may have more.
///
/// # Errors
/// Returns a usage error for what is no host or URL, and for a crawl that is running. Fails if a file or a state
/// cannot be read or written; the run may then be repeated.
pub fn run(args: &ForgetArgs) -> Result<Exit, CliError> {
    let mut list = ForgetList::parse(&args.what, args.subdomains).map_err(CliError::usage)?;
    let now = Clock::start().now();
    let crawls = open(&args.crawl, now, args.dry_run)?;
    let mut journal = ForgetJournal::default();
    for OpenCrawl { dir, .. } in &crawls {
        journal.merge(ForgetJournal::read(dir)?);
    }
    let begun: Vec<String> = journal.what.iter().cloned().collect();
    list.merge(ForgetList::parse(&begun, false).map_err(CliError::usage)?);
    journal.what = list.texts().into_iter().collect();
    if !args.dry_run {
        for OpenCrawl { crawl, .. } in &crawls {
            crawl.finish_archive().map_err(agent_error)?;
        }
    }
    #[cfg(feature = "data")]
    if args.fetch_stored {
        fetch_stored(&crawls)?;
    }
    let found = search(args, &crawls, &list, &mut journal)?;
    let mut report = Report::of(&found, &crawls);
    report.outputs = exports::outputs_of(&args.exports, &journal.files)?;
    for OpenCrawl { crawl, .. } in &crawls {
        let stored = StoredOnly::find(&crawl.upload_journal(), &crawl.archive_dir())?;
        report.stored_only.extend(stored);
    }
    if !args.dry_run {
        for OpenCrawl { dir, .. } in &crawls {
            journal.write(dir)?;
        }
        forget_in_states(&crawls, &list, &found, &journal, now, &mut report)?;
        redact(&crawls, &found, now)?;
        exports::forget_outputs(&report.outputs)?;
        for OpenCrawl { dir, .. } in &crawls {
            ForgetJournal::remove(dir)?;
        }
    }
    screen::print_out(&match args.json {
        true => format!("{}\n", report.json(args.dry_run)),
        false => report.text(args.dry_run),
    });
    let is_whole = report.damaged == 0 && report.stored_only.is_empty();
    Ok(if is_whole { Exit::Finished } else { Exit::Damaged })
}

/// Copies files back that only stores have.
#[cfg(feature = "data")]
fn fetch_stored(crawls: &[OpenCrawl]) -> Result<(), CliError> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(Error::from)?;
    for OpenCrawl { crawl, .. } in crawls {
        let mut n = 0;
        let restored = crawl.fetch_stored(|name, bytes| {
            n += 1;
            let size = ByteSize(bytes);
            screen::show_line(&format!("copying file {n} back from the store: {name}, {size}"));
        });
        let restored = runtime.block_on(restored);
        screen::restore();
        restored.map_err(|error| CliError::Internal(error.into()))?;
    }
    Ok(())
}

/// Opens all directories, before anything is changed.
fn open(dirs: &[PathBuf], now: Timestamp, read_only: bool) -> Result<Vec<OpenCrawl>, CliError> {
    let mut crawls: Vec<OpenCrawl> = Vec::new();
    for dir in dirs {
        let dirs = match dirs::agents_in(dir) {
            None => vec![dir.clone()],
            Some(n) => (1..=n).map(|n| dir.join(dirs::agent(n))).collect(),
        };
        for dir in dirs {
            let opened = match read_only {
                true => StoppedCrawl::open_read_only(&dir),
                false => StoppedCrawl::open(&dir, now),
            };
            let crawl = opened.map_err(|error| agent_error(AgentError::from(error)))?;
            crawls.push(OpenCrawl { dir, crawl });
        }
    }
    Ok(crawls)
}

fn agent_error(error: AgentError) -> CliError {
    CliError::from(error)
}

/// Searches all archives. Returns what was found for each crawl, and adds it to the journal.
fn search(
    args: &ForgetArgs,
    crawls: &[OpenCrawl],
    list: &ForgetList,
    journal: &mut ForgetJournal,
) -> Result<Vec<Vec<FoundFile>>, CliError> {
    let (mut files, mut ends) = (Vec::new(), Vec::new());
    for OpenCrawl { crawl, .. } in crawls {
        files.extend(archive_files(&crawl.archive_dir())?);
        ends.push(files.len());
    }
    let search = CaptureSearch { list, revisits: args.revisits };
    let mut found = search.run(&files, journal)?.into_iter();
    let mut start = 0;
    let mut by_crawl = Vec::with_capacity(crawls.len());
    for end in ends {
        by_crawl.push(found.by_ref().take(end - start).collect::<Vec<_>>());
        start = end;
    }
    let affected = by_crawl.iter().flatten().filter(|file| file.is_affected());
    journal.files.extend(affected.map(FoundFile::name));
    Ok(by_crawl)
}

fn forget_in_states(
    crawls: &[OpenCrawl],
    list: &ForgetList,
    found: &[Vec<FoundFile>],
    journal: &ForgetJournal,
    now: Timestamp,
    report: &mut Report,
) -> Result<(), CliError> {
    let captures = found.iter().flatten().flat_map(|file| &file.redaction.captures);
    let by_url = captures.filter(|capture| capture.cause == RedactionCause::Url);
    let urls = by_url.filter_map(|capture| CrawlUrl::parse(&capture.url).ok()).collect();
    let references = journal.references.iter();
    let unreferable = references.filter_map(|(url, _)| CrawlUrl::parse(url).ok()).collect();
    for OpenCrawl { crawl, .. } in crawls {
        let counts = crawl.forget(list, &urls, &unreferable, now).map_err(agent_error)?;
        report.hosts_closed += counts.hosts;
        report.urls_forgotten += counts.urls;
        report.payloads += counts.payloads;
        report.unreferable += counts.unreferable;
        report.elsewhere += counts.elsewhere;
    }
    Ok(())
}

fn redact(crawls: &[OpenCrawl], found: &[Vec<FoundFile>], now: Timestamp) -> Result<(), CliError> {
    for (OpenCrawl { crawl, .. }, found) in crawls.iter().zip(found) {
        let files: Vec<_> = found.iter().filter(|file| !file.redaction.is_empty()).collect();
        let last = crawl.last_file().map_err(agent_error)?;
        if files.iter().any(|file| file.name() == last) {
            crawl.start_new_file(now).map_err(agent_error)?;
        }
        for (n, file) in files.iter().enumerate() {
            screen::show_line(&format!("rewriting file {} of {}", n + 1, files.len()));
            remove_table(&file.path)?;
            file.redaction.apply(&file.path, crawl.digest(), now).map_err(Error::from)?;
        }
        screen::restore();
    }
    Ok(())
}

/// Removes the table of a WARC file, if it was copied back from a store with it.
fn remove_table(warc: &Path) -> Result<(), CliError> {
    let name = warc.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split('.').next().unwrap_or_default();
    let table = warc.with_file_name(format!("{stem}.parquet"));
    match fs::remove_file(&table) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(Error::from(error).context(table.display().to_string()).into())
        }
        _ => Ok(()),
    }
}

impl Report {
    fn of(found: &[Vec<FoundFile>], crawls: &[OpenCrawl]) -> Self {
        let mut report = Self::default();
        for file in found.iter().flatten() {
            for capture in &file.redaction.captures {
                match capture.cause {
                    RedactionCause::Url => {
                        report.captures += 1;
                        report.urls.insert(capture.url.clone());
                    }
                    RedactionCause::Reference => {
                        report.references.push((capture.url.clone(), capture.date.clone()));
                    }
                }
            }
            for damage in &file.redaction.damage {
                report.damaged += 1;
                print_problem(&format!("{}: {damage}", file.path.display()));
            }
            report.records += file.redaction.n_records() as u64;
            report.kept_revisits += file.n_kept;
            if !file.redaction.is_empty() {
                report.files.push(file.path.clone());
            }
        }
        report.has_uploads = crawls.iter().any(|open| open.crawl.has_uploads());
        report.is_in_cluster = crawls.iter().any(|open| open.crawl.is_in_cluster());
        report
    }

    fn is_empty(&self) -> bool {
        let changes = [self.records, self.hosts_closed, self.urls_forgotten, self.payloads];
        changes.iter().all(|n| *n == 0) && self.unreferable == 0 && self.outputs.is_empty()
    }

    fn json(&self, is_dry_run: bool) -> String {
        let paths = |paths: &[PathBuf]| {
            paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>()
        };
        let references =
            self.references.iter().map(|(url, date)| json!({"url": url, "date": date}));
        json!({
            "dry_run": is_dry_run,
            "captures": self.captures,
            "urls": self.urls.len(),
            "records": self.records,
            "revisits": references.collect::<Vec<_>>(),
            "revisits_kept": self.kept_revisits,
            "files": paths(&self.files),
            "uploaded_again": self.has_uploads,
            "damaged": self.damaged,
            "only_in_store": self.stored_only.iter().map(StoredOnly::json).collect::<Vec<_>>(),
            "exports": paths(&self.outputs),
            "state": {
                "hosts_closed": self.hosts_closed,
                "urls": self.urls_forgotten,
                "payloads": self.payloads,
                "unconditional": self.unreferable,
                "elsewhere": self.elsewhere,
            },
        })
        .to_string()
    }

    fn text(&self, is_dry_run: bool) -> String {
        let mut lines = Vec::new();
        let mut line = |text: String| lines.push(printable(&text));
        if self.is_empty() {
            let places = match self.stored_only.is_empty() {
                true => "no archive, state or export",
                false => "no local archive, state or export",
            };
            line(format!("nothing to forget: {places} has it any more"));
        }
        line(format!(
            "archives: {} of {}, {} in {}",
            plural(self.captures, "capture"),
            plural(self.urls.len() as u64, "URL"),
            plural(self.records, "redacted record"),
            plural(self.files.len() as u64, "file"),
        ));
        for (url, date) in &self.references {
            line(format!("  revisit of another URL: {date} {url}"));
        }
        if self.kept_revisits > 0 {
            let revisits = plural(self.kept_revisits, "revisit");
            line(format!("  {revisits} of other URLs kept, without their originals"));
        }
        for path in &self.files {
            line(format!("  {}", path.display()));
        }
        if !is_dry_run {
            line(format!(
                "state: {} closed, {} forgotten, {} forgotten, {} of other URLs unconditional",
                plural(self.hosts_closed, "host"),
                plural(self.urls_forgotten, "URL"),
                plural(self.payloads, "payload"),
                plural(self.unreferable, "next request"),
            ));
        }
        for path in &self.outputs {
            line(format!("export: {}", path.display()));
        }
        if self.has_uploads && !self.files.is_empty() {
            line("uploads: the next run of the crawl uploads these files again, with their indexes and tables".to_owned());
        }
        if self.damaged > 0 {
            line(format!("{} skipped: they may have more", plural(self.damaged, "damaged place")));
        }
        if !self.stored_only.is_empty() {
            let n = plural(self.stored_only.len() as u64, "WARC file");
            line(format!(
                "stores: {n} not searched, because only the store has them; repeat this with --fetch-stored, or copy \
                 them and their indexes back to warc/"
            ));
        }
        for StoredOnly { store, object } in &self.stored_only {
            line(format!("  {store}: {object}"));
        }
        if self.elsewhere > 0 || self.is_in_cluster {
            line(
                "cluster: also run `crivello block` for the hosts, for agents that join later"
                    .to_owned(),
            );
        }
        if is_dry_run {
            line("dry run: nothing was changed".to_owned());
        }
        lines.join("\n") + "\n"
    }
}
