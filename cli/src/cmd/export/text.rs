//! Exports with one output for each WARC file.

use super::options::{compression, print_damage, selection, threads};
use super::progress::{listed, with_progress};
use crate::args::export::TextExportArgs;
use crate::cmd::archive::files::{printable, warc_files};
use crate::exit::{CliError, Exit, usage};
use crate::{screen, signals};
use crivello_export::{ExportFormat, ExportJob, ExportReport};
use std::io;
use std::path::Path;

pub fn run(format: ExportFormat, args: &TextExportArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.paths)?;
    let selection = selection(args.select.as_deref())?;
    let dir = args.out.join(format.name());
    let job = ExportJob {
        files: &files,
        dir: &dir,
        format,
        compression: compression(args.compression),
        selection: selection.as_ref(),
        threads: threads(args.threads),
    };
    let stop = signals::listen(screen::restore)?;
    let report = with_progress(files.len(), |progress| {
        job.run(progress, &|| stop.is_cancelled(), &print_damage)
    });
    print_report(report, files.len(), &dir)
}

/// Prints the last line, and returns the exit code.
pub fn print_report(
    report: io::Result<ExportReport>,
    n_files: usize,
    out: &Path,
) -> Result<Exit, CliError> {
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
