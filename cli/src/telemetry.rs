//! The log: to standard error, above the panel.

use crate::exit::Trouble;
use crate::screen::{self, LogLine};
use crivello_common::runtime::{log_began, log_filter};
use std::io::IsTerminal;

/// What is logged unless something else is asked for: ourselves, and others' warnings.
const FILTER: &str = "warn,crivello=info";
const FILTER_QUIET: &str = "warn";

/// Sets up the log. `filter` is what `--log` or `CRIVELLO_LOG` says.
///
/// # Errors
/// A usage error when `filter` cannot be read.
pub fn start(filter: Option<&str>, quiet: bool) -> Result<(), Trouble> {
    let default = if quiet { FILTER_QUIET } else { FILTER };
    let filter = filter.filter(|f| !f.is_empty()).unwrap_or(default);
    let wrong = |error| Trouble::usage(format!("--log {filter}: {error}"));
    let read = log_filter(filter).map_err(wrong)?;
    let log = tracing_subscriber::fmt()
        .with_env_filter(read)
        .with_ansi(std::io::stderr().is_terminal() && screen::style().color)
        .with_target(false)
        .with_writer(LogLine::default)
        .with_filter_reloading();
    let handle = log.reload_handle();
    log.try_init().map_err(|error| anyhow::anyhow!("the log cannot be set up: {error}"))?;
    log_began(filter, move |filter| handle.reload(filter).map_err(|error| error.to_string()));
    Ok(())
}
