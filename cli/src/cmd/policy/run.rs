//! The run of a report.

use super::report;
use crate::args::policy::PolicyArgs;
use crate::cmd::archive::files::{print_problem, warc_files};
use crate::cmd::export::options::{print_damage, selection, threads};
use crate::cmd::export::progress::with_progress;
use crate::exit::{CliError, Exit, usage};
use crate::{screen, signals};
use crivello_export::PolicyJob;
use std::io::{self, BufWriter, Write};

pub fn run(args: &PolicyArgs) -> Result<Exit, CliError> {
    let files = warc_files(&args.paths)?;
    let selection = selection(args.select.as_deref())?;
    let job = PolicyJob {
        files: &files,
        selection: selection.as_ref(),
        threads: threads(args.threads),
        scratch: &std::env::temp_dir(),
    };
    let stop = signals::listen(screen::restore)?;
    let mut out = BufWriter::new(io::stdout());
    let result = with_progress(files.len(), |progress| {
        job.run(progress, &|| stop.is_cancelled(), &print_damage, &mut |site| match args.sites
            && site.pages_with_signals > 0
        {
            true => out.write_all(report::of_site(site, args.json).as_bytes()),
            false => Ok(()),
        })
    });
    let report = match result {
        Ok(report) => report,
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(Exit::Finished),
        Err(error) => return Err(usage!("{error}")),
    };
    if report.is_stopped {
        print_problem("stopped");
        return Ok(Exit::Stopped);
    }
    let text = match (args.sites, args.json) {
        (true, _) => String::new(),
        (false, true) => report::as_json(&report),
        (false, false) => report::table(&report),
    };
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        return Err(error.into());
    }
    Ok(if report.damaged > 0 { Exit::Damaged } else { Exit::Finished })
}
