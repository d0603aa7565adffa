//! The log: to standard error, above the panel.

use crate::exit::Trouble;
use crate::screen::{self, LogLine};
use std::io::IsTerminal;
use tracing_subscriber::EnvFilter;

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
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Trouble::usage(format!("--log {filter}: {error}")))?;
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal() && screen::style().color)
        .with_target(false)
        .with_writer(LogLine::default)
        .try_init()
        .map_err(|error| anyhow::anyhow!("the log cannot be set up: {error}"))?;
    Ok(())
}
