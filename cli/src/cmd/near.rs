//! `crivello near`: near-duplicates among all pages of archives.

use crate::args::near::NearArgs;
use crate::cmd::archive::files::{print_problem, warc_files};
use crate::cmd::export::options::{print_damage, selection, threads};
use crate::cmd::export::progress::{listed, with_progress};
use crate::exit::{CliError, Exit, usage};
use crate::{screen, signals};
use crivello_export::{NearJob, NearReport};
use std::fs::File;
use std::io::{self, BufWriter, Write};

/// Searches near-duplicates. The exit code is 1 if a file is damaged.
///
/// # Errors
/// Fails if a file cannot be read or written.
pub fn run(args: &NearArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.paths)?;
    let selection = selection(args.select.as_deref())?;
    let job = NearJob {
        files: &files,
        distance_max: args.threshold.min(NearJob::DISTANCE_MAX),
        temporary: &args.temporary.clone().unwrap_or_else(std::env::temp_dir),
        selection: selection.as_ref(),
        threads: threads(args.threads),
    };
    let mut out: Box<dyn Write> = match &args.out {
        None => Box::new(BufWriter::new(io::stdout())),
        Some(path) => {
            let file = File::create_new(path).map_err(|e| usage!("{}: {e}", path.display()))?;
            Box::new(BufWriter::new(file))
        }
    };
    let stop = signals::listen(screen::restore)?;
    let result = with_progress(files.len(), |progress| {
        job.run(&mut *out, progress, &|| stop.is_cancelled(), &print_damage)
    });
    let report = match result {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Finished),
        result => result.map_err(|error| usage!("{error}"))?,
    };
    print_problem(&summary(&report));
    Ok(match () {
        () if report.is_stopped => Exit::Stopped,
        () if report.damaged > 0 => Exit::Damaged,
        () => Exit::Finished,
    })
}

/// Returns the last line, for standard error.
fn summary(report: &NearReport) -> String {
    if report.is_stopped {
        return "stopped; the result is not complete".to_owned();
    }
    let near: u64 = report.near.values().sum();
    let by_distance = report.near.iter().map(|(bits, n)| (format!("{bits} bits"), *n)).collect();
    let skipped: u64 = report.skipped.values().sum();
    let mut text = format!(
        "{} pages, {near} near-duplicates{}, {skipped} captures not compared{}, {} damaged places",
        report.pages,
        listed(&by_distance),
        listed(&report.skipped),
        report.damaged,
    );
    if report.groups_cut > 0 {
        text.push_str(&format!(
            ", {} groups too large to be compared whole: some near-duplicates may be missing",
            report.groups_cut
        ));
    }
    text
}
