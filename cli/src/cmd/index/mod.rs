//! `crivello index`: an index of archived pages.

#[cfg(feature = "search")]
mod codes;
#[cfg(feature = "search")]
mod run;

use crate::args::index::IndexArgs;
#[cfg(not(feature = "search"))]
use crate::exit::usage;
use crate::exit::{CliError, Exit};

/// Indexes archives, or reports on an index. The exit code is 1 if an archive file is damaged.
///
/// # Errors
/// Fails if a file cannot be read or written.
#[cfg(feature = "search")]
pub fn run(args: &IndexArgs) -> Result<Exit, CliError> {
    use crate::args::index::IndexCommand;
    match &args.command {
        None => run::run(args),
        Some(IndexCommand::Codes(args)) => codes::run(args),
    }
}

/// Names the build that has indexes.
///
/// # Errors
/// Always: this program was built without them.
#[cfg(not(feature = "search"))]
pub fn run(_: &IndexArgs) -> Result<Exit, CliError> {
    Err(without_search())
}

/// Returns the error of a program that was built without the feature `search`.
#[cfg(not(feature = "search"))]
pub fn without_search() -> CliError {
    usage!(
        "this program was built without search, as `make demo` does; run `make build`, or cargo with the feature \
         `search`"
    )
}
