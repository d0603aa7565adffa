//! `--otlp`, as the agent wants it.

use crate::args::TracesArgs;
use crate::exit::Trouble;
use crivello_agent::Otlp;

/// The collector, if one was named.
///
/// # Errors
/// A usage error when it can be none.
pub fn collector(typed: &TracesArgs) -> Result<Option<Otlp>, Trouble> {
    let Some(url) = typed.otlp.as_deref().filter(|url| !url.is_empty()) else { return Ok(None) };
    let wrong = |why| Trouble::usage(format!("--otlp {}: {why}", url.escape_debug()));
    Otlp::parse(url).map(Some).map_err(wrong)
}
