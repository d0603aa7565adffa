//! `crivello export cdxj`: an index for each WARC file, or one over all.

use super::options::{compression, print_damage, selection, threads};
use super::progress::with_progress;
use super::text::print_report;
use crate::args::export::IndexExportArgs;
use crate::cmd::archive::files::warc_files;
use crate::exit::{CliError, Exit};
use crate::{screen, signals};
use crivello_export::IndexJob;

pub fn run(args: &IndexExportArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.paths)?;
    let selection = selection(args.select.as_deref())?;
    let dir = args.out.join("cdxj");
    let job = IndexJob {
        files: &files,
        dir: &dir,
        merge: args.merge,
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
