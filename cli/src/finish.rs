//! End of a crawl: summary table, report file, resume command and exit code.

use crate::exit::{CliError, Exit};
use crate::report_file::ReportFile;
use crate::run_loop::CrawlOutcome;
use crate::{format, screen, summary};
use anyhow::{Context, anyhow};
use crivello_agent::report::{Ended, Report};
use std::path::Path;

/// Output options for the end of a crawl.
pub struct FinishOptions<'a> {
    /// True if no summary is printed.
    pub quiet: bool,
    /// File for the JSON report.
    pub report: Option<&'a ReportFile>,
    /// Directory of the crawl, if it is kept.
    pub out: Option<&'a Path>,
    /// Command that resumes the crawl, if there is one.
    pub resume: Option<&'a str>,
}

/// Prints the summary, writes the report, and chooses the exit code.
///
/// # Errors
/// Fails if the crawl or its seeds failed, or if the report of a finished crawl cannot be written.
pub fn finish(outcome: &CrawlOutcome, options: &FinishOptions<'_>) -> Result<Exit, CliError> {
    let report = &outcome.report;
    if !options.quiet {
        screen::print_out(&summary::text(report, options.out));
    }
    let exit = exit_of(outcome, options);
    match options.report.map_or(Ok(()), |file| write(report, file)) {
        Err(error) if matches!(exit, Ok(Exit::Finished)) => Err(CliError::Internal(error)),
        Err(error) => {
            screen::print_line(&format!("crivello: {error:#}"));
            exit
        }
        Ok(()) => exit,
    }
}

/// Returns the exit of a crawl and prints how to resume the crawl.
fn exit_of(outcome: &CrawlOutcome, options: &FinishOptions<'_>) -> Result<Exit, CliError> {
    let report = &outcome.report;
    let resume = options.resume.map_or(String::new(), |command| format!(" To resume: {command}"));
    if report.ended == Ended::Failed {
        let why = report.failure.as_deref().unwrap_or("for an unknown reason");
        return Err(CliError::Internal(anyhow!(
            "the crawl failed: {why}. Committed pages are safe.{resume}"
        )));
    }
    let saved = options.out.map_or("", |_| "; the state is saved");
    if let Some(error) = &outcome.seeds_error {
        return Err(CliError::Internal(anyhow!(
            "the seeds could not be read to their end: {error}{saved}.{resume}"
        )));
    }
    match report.ended {
        Ended::Stopped => {
            screen::print_line(&format!("stopped{saved}.{resume}"));
            Ok(Exit::Stopped)
        }
        Ended::Drained => {
            screen::print_line("drained: other agents own its work now; its archive stays here");
            Ok(Exit::Finished)
        }
        Ended::Exhausted if report.totals.urls_seen == 0 => Err(CliError::usage(
            "no seeds: this crawl may visit none of the given seeds, and nothing was fetched; \
             correct the seeds, or the settings in [links], and start it again",
        )),
        _ => Ok(Exit::Finished),
    }
}

fn write(report: &Report, file: &ReportFile) -> anyhow::Result<()> {
    file.write(&serde_json::to_vec_pretty(report).context("the report as JSON")?)
}

/// Returns the command line of this process, quoted for a shell.
pub fn command_line() -> String {
    let words = std::env::args_os().map(|word| format::shell_word(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// Returns the command that resumes the crawl by `agents` agents in `out`. `seeds` is the file that
/// is not yet read to its end.
pub fn resume_command(out: &Path, agents: usize, seeds: Option<&Path>) -> String {
    let word = |path: &Path| format::shell_word(&path.display().to_string());
    // The program has the same path, so that the command works in the same directory.
    let program = std::env::args_os().next().unwrap_or_else(|| "crivello".into());
    let mut command = format!("{} crawl --out {}", word(Path::new(&program)), word(out));
    if agents > 1 {
        command = format!("{command} --agents {agents}");
    }
    match seeds {
        None => command,
        Some(path) if path.as_os_str() == "-" => {
            format!("{command} --seeds -   (with the same input again)")
        }
        Some(path) => format!("{command} --seeds {}", word(path)),
    }
}
