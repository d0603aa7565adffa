//! The log: to standard error, above the panel.

use crate::exit::Trouble;
use crate::screen::{self, LogLine};
use clap::ValueEnum;
use std::io::IsTerminal;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

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
    if let Some(word) = filter.split(',').find(|part| is_nonsense(part.trim())) {
        return Err(Trouble::usage(format!(
            "--log {filter}: {word:?} is no level; write error, warn, info, debug, trace or off, or \
             a directive such as crivello=debug"
        )));
    }
    let filter = EnvFilter::try_new(filter)
        .map_err(|error| Trouble::usage(format!("--log {filter}: {error}")))?;
    let ansi = std::io::stderr().is_terminal() && screen::style().color;
    let lines = fmt::layer().with_target(false).with_writer(LogLine::default);
    let lines = match format {
        Format::Text => lines.with_ansi(ansi).boxed(),
        Format::Json => lines.json().flatten_event(true).with_current_span(false).boxed(),
    };
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(filter));
    #[cfg(feature = "console")]
    let subscriber = subscriber.with(console_subscriber::spawn());
    subscriber.try_init().map_err(|error| anyhow::anyhow!("the log cannot be set up: {error}"))?;
    Ok(())
}

/// A word alone that is no level: it would be taken for the name of a part of the program.
fn is_nonsense(directive: &str) -> bool {
    let is_word = !directive.is_empty() && !directive.contains(['=', '[', ']', '{', '}']);
    is_word && directive.parse::<LevelFilter>().is_err()
}
