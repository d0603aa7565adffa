//! What is typed to run a cluster and to look after one.

use super::SettingsArgs;
use clap::Subcommand;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The subcommands of a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Keep the member list of a crawl by many agents, or go on with the one in --data.
    ///
    /// The crawl's settings are given here and are the same for all agents.
    Coordinator(Box<CoordinatorArgs>),
    /// List the agents of a crawl.
    Agents(AgentsArgs),
    /// Have an agent hand over what it has to crawl, and leave.
    Drain(AgentArgs),
    /// Forget an agent that is dead and gone for good.
    Remove(AgentArgs),
    /// Have all agents rest.
    Pause(CoordinatorUrl),
    /// Have all agents go on after a pause or a stop.
    Resume(CoordinatorUrl),
    /// Have all agents save and end.
    Stop(CoordinatorUrl),
}

impl ClusterCommand {
    /// Whether only warnings and errors are to be shown.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Coordinator(typed) => typed.quiet,
            _ => true,
        }
    }
}

/// See [`ClusterCommand::Coordinator`].
#[derive(Debug, clap::Args)]
pub struct CoordinatorArgs {
    /// Where agents and people reach it.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// The coordinator's directory: settings and journal. An existing crawl there is resumed.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Listen on more than this machine although anyone who can connect can take part.
    #[arg(long, conflicts_with = "tls_cert")]
    pub insecure: bool,
    /// Who is let in.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// How to crawl.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Show warnings and errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Mutual TLS: all three, or none.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TlsArgs {
    /// Our certificate, as PEM; with TLS both sides show one.
    #[arg(long, value_name = "FILE", requires_all = ["tls_key", "tls_ca"])]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// The certificate that vouches for the other side's, as PEM.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_ca: Option<PathBuf>,
}

/// Which coordinator is meant.
#[derive(Debug, clap::Args)]
pub struct CoordinatorUrl {
    /// The coordinator; https:// takes the TLS files.
    #[arg(
        long = "coordinator",
        value_name = "URL",
        env = "CRIVELLO_COORDINATOR",
        default_value = "http://127.0.0.1:7070"
    )]
    pub url: String,
    /// How to show who we are.
    #[command(flatten)]
    pub tls: TlsArgs,
}

/// See [`ClusterCommand::Agents`].
#[derive(Debug, clap::Args)]
pub struct AgentsArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Drain`] and [`ClusterCommand::Remove`].
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// The agent, by its name or id.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}
