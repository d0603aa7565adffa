//! The log: to standard error, above the panel.

use crate::exit::Trouble;
use crate::screen::{self, LogLine};
use clap::ValueEnum;
use crivello_common::runtime::{log_began, log_filter};
use std::io::IsTerminal;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, reload};

/// What is logged unless something else is asked for: ourselves, and others' warnings.
const FILTER: &str = "warn,crivello=info";
const FILTER_QUIET: &str = "warn";

/// How a line of the log is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Sets up the log. `filter` is what `--log` or `CRIVELLO_LOG` says.
///
/// # Errors
/// A usage error when `filter` cannot be read.
pub fn start(filter: Option<&str>, quiet: bool, format: Format) -> Result<(), Trouble> {
    let default = if quiet { FILTER_QUIET } else { FILTER };
    let filter = filter.filter(|f| !f.is_empty()).unwrap_or(default);
    let wrong = |error| Trouble::usage(format!("--log {filter}: {error}"));
    let read = log_filter(filter).map_err(wrong)?;
    let (read, handle) = reload::Layer::new(read);
    let ansi = std::io::stderr().is_terminal() && screen::style().color;
    let lines = fmt::layer().with_target(false).with_writer(LogLine::default);
    let lines = match format {
        Format::Text => lines.with_ansi(ansi).boxed(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(read));
    #[cfg(feature = "console")]
    let subscriber = subscriber.with(console_subscriber::spawn());
    subscriber.try_init().map_err(|error| anyhow::anyhow!("the log cannot be set up: {error}"))?;
    log_began(filter, move |filter| handle.reload(filter).map_err(|error| error.to_string()));
    Ok(())
}
