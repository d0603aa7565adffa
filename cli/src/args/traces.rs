//! Arguments for the export of traces.

use std::path::PathBuf;

/// Destination of traces.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TracesArgs {
    /// Send traces of sampled URLs to this collector (OTLP over gRPC). https:// uses TLS.
    #[arg(long, value_name = "http[s]://HOST:PORT", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp: Option<String>,
    /// CA certificate of the collector, as PEM, instead of the CAs that the system trusts.
    /// OTEL_EXPORTER_OTLP_CERTIFICATE sets it, too.
    #[arg(long, value_name = "FILE", requires = "otlp")]
    pub otlp_ca: Option<PathBuf>,
}
