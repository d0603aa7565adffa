//! `crivello export cdxj`: an index for each WARC file, or one over all.

use super::options::{compression, print_damage, selection, threads};
use super::text::run_job;
use crate::args::export::IndexExportArgs;
use crate::cmd::archive::files::warc_files;
use crate::exit::{CliError, Exit};
use crivello_export::IndexJob;

pub fn run(args: &IndexExportArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.common.paths)?;
    let selection = selection(args.common.select.as_deref())?;
    let dir = args.common.out.join("cdxj");
    let job = IndexJob {
        files: &files,
        dir: &dir,
        merge: args.merge,
        compression: compression(args.compression),
        selection: selection.as_ref(),
        threads: threads(args.common.threads),
    };
    run_job(files.len(), &dir, |progress, stopped| job.run(progress, stopped, &print_damage))
}
