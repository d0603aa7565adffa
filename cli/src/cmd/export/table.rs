//! `crivello export parquet`: one table over all files.

use super::options::{print_damage, selection, threads};
use super::progress::{listed, with_progress};
use crate::args::export::TableExportArgs;
use crate::cmd::archive::files::{printable, warc_files};
use crate::exit::{CliError, Exit, usage};
use crate::{screen, signals};
use crivello_export::TableJob;

pub fn run(args: &TableExportArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.common.paths)?;
    let selection = selection(args.common.select.as_deref())?;
    let dir = args.common.out.join("parquet");
    let job = TableJob {
        files: &files,
        dir: &dir,
        crawl: args.crawl.as_deref(),
        selection: selection.as_ref(),
        threads: threads(args.common.threads),
    };
    let stop = signals::listen(screen::restore)?;
    let result = with_progress(files.len(), |progress| {
        job.run(progress, &|| stop.is_cancelled(), &print_damage)
    });
    let report = result.map_err(|error| usage!("{error}"))?;
    if report.is_stopped {
        screen::print_out("stopped; no table was made\n");
        return Ok(Exit::Stopped);
    }
    let (rows, skipped) = (report.rows.values().sum::<u64>(), report.skipped.values().sum::<u64>());
    screen::print_out(&format!(
        "{}: {rows} rows{} in {} files, {skipped} captures skipped{}, {} damaged places\n",
        printable(&dir.to_string_lossy()),
        listed(&report.rows),
        report.files,
        listed(&report.skipped),
        report.damaged,
    ));
    Ok(if report.damaged > 0 { Exit::Damaged } else { Exit::Finished })
}
