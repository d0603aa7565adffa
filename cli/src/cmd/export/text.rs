//! Exports with one output for each WARC file.

use super::options::{compression, print_damage, selection, threads};
use super::progress::{listed, with_progress};
use crate::args::export::TextExportArgs;
use crate::cmd::archive::files::{printable, warc_files};
use crate::exit::{CliError, Exit, usage};
use crate::{screen, signals};
use crivello_export::{ExportFormat, ExportJob, ExportProgress, ExportReport};
use std::io;
use std::path::Path;

pub fn run(format: ExportFormat, args: &TextExportArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.common.paths)?;
    let selection = selection(args.common.select.as_deref())?;
    let dir = args.common.out.join(format.name());
    let job = ExportJob {
        files: &files,
        dir: &dir,
        format,
        compression: compression(args.compression),
        selection: selection.as_ref(),
        threads: threads(args.common.threads),
    };
    run_job(files.len(), &dir, |progress, stopped| job.run(progress, stopped, &print_damage))
}

/// Runs a job over `n_files` files until it ends or is stopped, prints the last line, and returns the exit code.
pub fn run_job(
    n_files: usize,
    out: &Path,
    job: impl FnOnce(&ExportProgress, &(dyn Fn() -> bool + Sync)) -> io::Result<ExportReport>,
) -> Result<Exit, CliError> {
    let stop = signals::listen(screen::restore)?;
    let report = with_progress(n_files, |progress| job(progress, &|| stop.is_cancelled()));
    let report = report.map_err(|error| usage!("{error}"))?;
    screen::print_out(&summary(&report, n_files, &printable(&out.to_string_lossy())));
    Ok(match () {
        () if report.is_stopped => Exit::Stopped,
        () if report.counts.damaged > 0 => Exit::Damaged,
        () => Exit::Finished,
    })
}

/// Returns the last line.
fn summary(report: &ExportReport, n_files: usize, dir: &str) -> String {
    let counts = &report.counts;
    let mut text = format!("{dir}: {n_files} files");
    if report.files_done_before > 0 {
        text.push_str(&format!(" ({} done before)", report.files_done_before));
    }
    text.push_str(&format!(", {} captures", counts.captures));
    text.push_str(&listed(&counts.by_status));
    text.push_str(&format!(", {} written", counts.written));
    if counts.pages > 0 {
        text.push_str(&format!(", {} pages in lists", counts.pages));
    }
    let skipped: u64 = counts.skipped.values().sum();
    if skipped > 0 {
        text.push_str(&format!(", {skipped} skipped{}", listed(&counts.skipped)));
    }
    let no_article: u64 = counts.no_article.values().sum();
    if no_article > 0 {
        let reasons = listed(&counts.no_article);
        text.push_str(&format!(", {no_article} with the crawler's main text{reasons}"));
    }
    if counts.damaged > 0 {
        text.push_str(&format!(", {} damaged places", counts.damaged));
    }
    text.push('\n');
    text
}
