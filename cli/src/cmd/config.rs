//! `crivello config`: every setting with its default, unit and meaning.

use crate::adapt::settings;
use crate::exit::{Exit, Trouble};
use anyhow::Context;
use std::io::{ErrorKind, Write};

/// Prints them as a TOML file on standard output.
///
/// # Errors
/// Of standard output, but for a reader that has seen enough.
pub fn run() -> Result<Exit, Trouble> {
    let mut stdout = std::io::stdout().lock();
    match stdout.write_all(settings::commented().as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Ok(Err(error).context("the settings cannot be written to standard output")?)
        }
        _ => Ok(Exit::Finished),
    }
}
