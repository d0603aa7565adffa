//! `--otlp`: the collector of traces.

use crate::args::TracesArgs;
use crate::exit::{CliError, usage};
use crivello_agent::Otlp;
use std::path::PathBuf;
use std::{env, fs};

/// Environment variable for `--otlp-ca`.
const CERTIFICATE: &str = "OTEL_EXPORTER_OTLP_CERTIFICATE";

/// Returns the collector, if there is one.
///
/// # Errors
/// Returns a usage error if the URL or the CA certificate is invalid.
pub fn collector(args: &TracesArgs) -> Result<Option<Otlp>, CliError> {
    let Some(url) = args.otlp.as_deref().filter(|url| !url.is_empty()) else { return Ok(None) };
    // As in OpenTelemetry, the variable has no effect without TLS.
    let from_env = || {
        let file = env::var_os(CERTIFICATE).filter(|file| !file.is_empty());
        file.filter(|_| url.starts_with("https://")).map(PathBuf::from)
    };
    let ca = args.otlp_ca.clone().or_else(from_env).map(|file| {
        fs::read(&file).map_err(|error| {
            let file = file.display();
            usage!("CA certificate of the collector, --otlp-ca {file}: {error}")
        })
    });
    Otlp::parse(url, ca.transpose()?.as_deref())
        .map(Some)
        .map_err(|why| usage!("--otlp {}: {why}", url.escape_debug()))
}
