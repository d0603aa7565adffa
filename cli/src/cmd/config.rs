//! `crivello config`: every setting with its default, unit and meaning.

use crate::adapt::settings;
use crate::exit::{Exit, Trouble};
use std::io::{ErrorKind, Write};

/// Prints them as a TOML file on standard output.
///
/// # Errors
/// Of standard output, but for a reader that has seen enough.
pub fn run() -> Result<Exit, Trouble> {
    match std::io::stdout().lock().write_all(settings::commented().as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Finished),
    }
}
