//! The log: writes to standard error, above the panel.

use crate::args::LogFormat;
use crate::exit::{CliError, usage};
use crate::screen::{self, LogLine};
use crivello_common::runtime::{parse_log_filter, register_log};
use std::io::IsTerminal;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt, reload};

/// Default filter: info of this program, warnings of libraries.
const FILTER: &str = "warn,crivello=info";
const FILTER_QUIET: &str = "warn";

/// Sets up the log. `filter` is the value of `--log` or `CRIVELLO_LOG`.
///
/// # Errors
/// Returns a usage error if `filter` is invalid.
pub fn start(filter: Option<&str>, quiet: bool, format: LogFormat) -> Result<(), CliError> {
    let default = if quiet { FILTER_QUIET } else { FILTER };
    let filter = filter.filter(|f| !f.is_empty()).unwrap_or(default);
    let parsed = parse_log_filter(filter).map_err(|error| usage!("--log {filter}: {error}"))?;
    let (layer, handle) = reload::Layer::new(parsed);
    let ansi = std::io::stderr().is_terminal() && screen::style().color;
    let lines = fmt::layer().with_target(false).with_writer(LogLine::default);
    let lines = match format {
        LogFormat::Text => lines.with_ansi(ansi).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(layer));
    #[cfg(feature = "console")]
    let subscriber = subscriber.with(console_subscriber::spawn());
    subscriber.try_init().map_err(|error| anyhow::anyhow!("cannot set up the log: {error}"))?;
    register_log(filter, move |filter| handle.reload(filter).map_err(|error| error.to_string()));
    Ok(())
}
