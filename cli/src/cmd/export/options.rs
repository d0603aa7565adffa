//! Options that several exports have.

use crate::args::export::CompressionArg;
use crate::cmd::archive::files::print_problem;
use crate::exit::{CliError, usage};
use crivello_archive::Damage;
use crivello_export::{OutputCompression, Selection};
use std::num::NonZeroUsize;
use std::path::Path;
use std::thread::available_parallelism;

/// Compiles `--select`.
///
/// # Errors
/// The problem of the expression.
pub fn selection(text: Option<&str>) -> Result<Option<Selection>, CliError> {
    let selection = text.map(Selection::compile).transpose();
    selection.map_err(|error| usage!("--select: {error}"))
}

/// Returns the number of threads: by default that of processors.
pub fn threads(arg: Option<NonZeroUsize>) -> usize {
    arg.map_or_else(|| available_parallelism().map_or(1, usize::from), usize::from)
}

/// Returns the compression of outputs.
pub const fn compression(arg: CompressionArg) -> OutputCompression {
    match arg {
        CompressionArg::Gzip => OutputCompression::Gzip,
        CompressionArg::Zstd => OutputCompression::Zstd,
        CompressionArg::None => OutputCompression::None,
    }
}

/// Prints damage in a file.
pub fn print_damage(path: &Path, damage: &Damage) {
    print_problem(&format!("{}: {damage}", path.display()));
}
