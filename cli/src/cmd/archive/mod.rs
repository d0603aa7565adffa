//! `crivello archive`: lists, shows, checks and extracts the records of WARC files.
//!
//! Files may be of any program. Damage is reported on standard error, and reading goes on after it.

mod cat;
mod check;
mod extract;
pub mod files;
mod ls;

use crate::args::{ArchiveArgs, ArchiveCommand};
use crate::exit::{CliError, Exit};

/// Runs a subcommand. The exit code is 1 if there is damage, or nothing to extract.
///
/// # Errors
/// Fails if a file cannot be read.
pub fn run(args: &ArchiveArgs) -> Result<Exit, CliError> {
    match &args.command {
        ArchiveCommand::Ls { paths } => ls::run(paths),
        ArchiveCommand::Cat { file, offset, payload } => cat::run(file, *offset, *payload),
        ArchiveCommand::Check { paths } => check::run(paths),
        ArchiveCommand::Extract { url, paths, at } => extract::run(url, paths, at.as_deref()),
    }
}
