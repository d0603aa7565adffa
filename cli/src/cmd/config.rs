//! `crivello config`: every setting with its default, unit and meaning.

use crate::exit::{CliError, Exit};
use anyhow::Context;
use crivello_common::config::commented_toml;
use std::io::{ErrorKind, Write};

/// Prints the settings as a TOML file on standard output.
///
/// # Errors
/// I/O errors of standard output, except a closed pipe.
pub fn run() -> Result<Exit, CliError> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(commented_toml().as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Ok(Err(error).context("cannot write the settings to standard output")?)
        }
        _ => Ok(Exit::Finished),
    }
}
