//! `--otlp`, as the agent wants it.

use crate::args::TracesArgs;
use crate::exit::Trouble;
use crivello_agent::Otlp;
use std::path::PathBuf;
use std::{env, fs};

/// Names the file of `--otlp-ca` where that is not given.
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// The collector, if one was named.
///
/// # Errors
/// A usage error when it can be none.
pub fn collector(typed: &TracesArgs) -> Result<Option<Otlp>, Trouble> {
    let Some(url) = typed.otlp.as_deref().filter(|url| !url.is_empty()) else { return Ok(None) };
    let wrong = |why| Trouble::usage(format!("--otlp {}: {why}", url.escape_debug()));
    // As OpenTelemetry has it, the variable says nothing where there is no TLS.
    let by_variable = || {
        let file = env::var_os(CERTIFICATE).filter(|file| !file.is_empty());
        file.filter(|_| url.starts_with("https://")).map(PathBuf::from)
    };
    let ca = typed.otlp_ca.clone().or_else(by_variable).map(|file| {
        fs::read(&file).map_err(|error| {
            let file = file.display();
            Trouble::usage(format!("the collector's authority, --otlp-ca {file}: {error}"))
        })
    });
    let ca = ca.transpose()?;
    Otlp::parse(url, ca.as_deref()).map(Some).map_err(wrong)
}
