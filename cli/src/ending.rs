//! The end of a crawl: the table, the report, how to go on, and the exit code.

use crate::drive::Driven;
use crate::exit::{Exit, Trouble};
use crate::report_file::ReportFile;
use crate::{human, screen, summary};
use anyhow::{Context, anyhow};
use crivello_agent::report::{Ended, Report};
use std::io::Write;
use std::path::Path;

/// What is wanted at the end of a crawl.
pub struct Ending<'a> {
    /// No table.
    pub quiet: bool,
    /// Where the report goes as JSON.
    pub report: Option<&'a ReportFile>,
    /// The crawl's directory, if it is kept.
    pub out: Option<&'a Path>,
    /// The command that goes on with the crawl, where there is one.
    pub resume: Option<&'a str>,
}

/// Prints the report, writes it where it is wanted, and chooses how the program ends.
///
/// # Errors
/// When the crawl failed or its seeds did, or when the report of one that finished cannot be
/// written.
pub fn conclude(driven: &Driven, ending: &Ending<'_>) -> Result<Exit, Trouble> {
    let report = &driven.report;
    if !ending.quiet {
        let mut stdout = std::io::stdout().lock();
        // Nobody may be reading.
        let _ = stdout
            .write_all(summary::text(report, ending.out).as_bytes())
            .and_then(|()| stdout.flush());
    }
    let end = told(driven, ending);
    match ending.report.map_or(Ok(()), |file| write(report, file)) {
        Err(error) if matches!(end, Ok(Exit::Finished)) => Err(Trouble::Internal(error)),
        Err(error) => {
            screen::say(&format!("crivello: {error:#}"));
            end
        }
        Ok(()) => end,
    }
}

/// How the crawl ended, and what to type to go on.
fn told(driven: &Driven, ending: &Ending<'_>) -> Result<Exit, Trouble> {
    let report = &driven.report;
    let go_on = ending.resume.map_or(String::new(), |command| format!(" To go on: {command}"));
    if report.ended == Ended::Failed {
        let why = report.failure.as_deref().unwrap_or("for an unknown reason");
        return Err(Trouble::Internal(anyhow!(
            "the crawl failed: {why}. What was committed is safe.{go_on}"
        )));
    }
    let saved = ending.out.map_or("", |_| "; the state is saved");
    if let Some(error) = &driven.seeds_error {
        return Err(Trouble::Internal(anyhow!(
            "the seeds could not be read to their end: {error}{saved}.{go_on}"
        )));
    }
    match report.ended {
        Ended::Stopped => {
            screen::say(&format!("stopped{saved}.{go_on}"));
            Ok(Exit::Stopped)
        }
        Ended::Drained => {
            screen::say("drained: other agents have all it had to crawl; its archive stays here");
            Ok(Exit::Finished)
        }
        Ended::Exhausted if report.totals.urls_seen == 0 => Err(Trouble::usage(
            "nowhere to begin: there was no seed that this crawl may visit, and nothing was \
             fetched; mend the seeds, or the settings in [links], and call it again",
        )),
        _ => Ok(Exit::Finished),
    }
}

fn write(report: &Report, file: &ReportFile) -> anyhow::Result<()> {
    let json = serde_json::to_vec_pretty(report).context("the report as JSON")?;
    file.write(&json)
        .with_context(|| format!("the report cannot be written to {}", file.path().display()))
}

/// The command as it was typed, to be typed again.
pub fn typed_again() -> String {
    let words = std::env::args_os().map(|word| human::shell_word(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

/// The command that goes on with the crawl by so many agents in `out`; `seeds` are those still to
/// be read.
pub fn resume_command(out: &Path, agents: usize, seeds: Option<&Path>) -> String {
    let word = |path: &Path| human::shell_word(&path.display().to_string());
    // As this program was called, so that the line can be typed again where it was typed.
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
