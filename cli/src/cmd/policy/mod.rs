//! `crivello policy`: sites and pages by what they permit, over archives.

#[cfg(feature = "data")]
mod report;
#[cfg(feature = "data")]
mod run;

use crate::args::policy::PolicyArgs;
use crate::exit::{CliError, Exit};

/// Prints the report. The exit code is 1 if a file is damaged.
///
/// # Errors
/// Fails if a file cannot be read.
#[cfg(feature = "data")]
pub fn run(args: &PolicyArgs) -> Result<Exit, CliError> {
    run::run(args)
}

/// Names the build that has the report.
///
/// # Errors
/// Always: this program was built without it.
#[cfg(not(feature = "data"))]
pub fn run(_: &PolicyArgs) -> Result<Exit, CliError> {
    Err(crate::exit::usage!(
        "this program was built without reports of archives, as `make demo` does; run `make build`, or cargo \
         with the feature `data`"
    ))
}
