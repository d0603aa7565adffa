//! Arguments for connections to a cluster: the URL of its coordinator, and credentials.

use std::path::PathBuf;

/// Coordinator of the crawl, and the credentials to connect with.
#[derive(Debug, clap::Args)]
pub struct ConnectArgs {
    /// URL.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
    /// TLS.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Token.
    #[command(flatten)]
    pub token: TokenArgs,
}

/// URL of the coordinator.
#[derive(Clone, Debug, clap::Args)]
pub struct CoordinatorUrl {
    /// URL of the coordinator, or those of several, separated by commas. https:// needs the TLS files.
    #[arg(
        long = "coordinator",
        value_name = "URL",
        env = "CRIVELLO_COORDINATOR",
        default_value = "http://127.0.0.1:7070"
    )]
    pub url: String,
}

/// Credentials between the nodes of a cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct NodeArgs {
    /// TLS.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// File with the node secret in its first line. Coordinator and agents have the same one; it is
    /// not the token of people (see `crivello token`). The file is read again when it changes.
    #[arg(long, value_name = "FILE", env = "CRIVELLO_NODE_SECRET_FILE")]
    pub node_secret_file: Option<PathBuf>,
    /// File with nodes that are refused at once, one a line: ids of agents, or SHA-256 of the public
    /// keys of certificates. The file is read again when it changes.
    #[arg(long, value_name = "FILE", env = "CRIVELLO_DENY_FILE")]
    pub deny_file: Option<PathBuf>,
}

/// The token of people.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TokenArgs {
    /// File with the token of people in its first line, for the coordinator and for commands (see
    /// `crivello token`). Agents need no token. The file is read again when it changes.
    #[arg(long, value_name = "FILE", env = "CRIVELLO_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

/// Mutual TLS: all three files, or none. Files that change are read again.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsArgs {
    /// Certificate of this process, as PEM. With TLS both sides present one.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// CA certificate that signs the certificates of the cluster, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_ca: Option<PathBuf>,
}
