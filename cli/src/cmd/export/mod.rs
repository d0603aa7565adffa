//! `crivello export`: archives in formats for other programs.

#[cfg(feature = "data")]
mod index;
#[cfg(feature = "data")]
pub mod options;
#[cfg(feature = "data")]
mod package;
#[cfg(feature = "data")]
pub mod progress;
#[cfg(feature = "data")]
mod table;
#[cfg(feature = "data")]
mod text;

use crate::args::export::ExportCommand;
#[cfg(not(feature = "data"))]
use crate::exit::usage;
use crate::exit::{CliError, Exit};

/// Runs an export. The exit code is 1 if a file is damaged.
///
/// # Errors
/// Fails if a file cannot be read or written, or if the directory has other outputs.
#[cfg(feature = "data")]
pub fn run(command: &ExportCommand) -> Result<Exit, CliError> {
    use crivello_export::ExportFormat;
    match command {
        ExportCommand::Jsonl(args) => text::run(ExportFormat::Jsonl, args),
        ExportCommand::Markdown(args) => text::run(ExportFormat::Markdown, args),
        ExportCommand::Text(args) => text::run(ExportFormat::Text, args),
        ExportCommand::Wet(args) => text::run(ExportFormat::Wet, args),
        ExportCommand::Wat(args) => text::run(ExportFormat::Wat, args),
        ExportCommand::Parquet(args) => table::run(args),
        ExportCommand::Cdxj(args) => index::run(args),
        ExportCommand::Wacz(args) => package::run(args),
    }
}

/// Names the build that has exports.
///
/// # Errors
/// Always: this program was built without them.
#[cfg(not(feature = "data"))]
pub fn run(_: &ExportCommand) -> Result<Exit, CliError> {
    Err(without_data())
}

/// Returns the error of a program that was built without the feature `data`.
#[cfg(not(feature = "data"))]
pub fn without_data() -> CliError {
    usage!(
        "this program was built without exports, as `make demo` does; run `make build`, or cargo with the \
         feature `data`"
    )
}
