//! What is typed to steer a crawl that runs.

use super::cluster::CoordinatorUrl;

/// See [`ClusterCommand::Set`](super::cluster::ClusterCommand::Set).
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// Settings and their values, as in `politeness.delay=5s`.
    #[arg(value_name = "KEY=VALUE", required_unless_present_any = ["adds", "removes", "unsets"])]
    pub sets: Vec<String>,
    /// Add an entry to a list: `links.exclude={path-prefix='/cgi-bin/'}`.
    #[arg(long = "add", value_name = "KEY=ENTRY")]
    pub adds: Vec<String>,
    /// Take an entry out of a list.
    #[arg(long = "remove", value_name = "KEY=ENTRY")]
    pub removes: Vec<String>,
    /// Put a setting back to its default.
    #[arg(long = "unset", value_name = "KEY")]
    pub unsets: Vec<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Settings`](super::cluster::ClusterCommand::Settings).
#[derive(Debug, clap::Args)]
pub struct SettingsOfArgs {
    /// Only this one.
    #[arg(value_name = "KEY")]
    pub key: Option<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Block`](super::cluster::ClusterCommand::Block).
#[derive(Debug, clap::Args)]
pub struct BlockArgs {
    /// `example.com` is that host alone, `*.example.com` the host and all below it; an address or a
    /// network, such as `192.0.2.0/24`, is all hosts that are there.
    #[arg(value_name = "HOST|DOMAIN|NETWORK", required = true)]
    pub what: Vec<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Pause`](super::cluster::ClusterCommand::Pause).
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    /// Only these hosts; all agents as a whole without.
    #[arg(value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::LogLevel`](super::cluster::ClusterCommand::LogLevel).
#[derive(Debug, clap::Args)]
pub struct LogLevelArgs {
    /// A level, or directives like `warn,crivello=debug`.
    #[arg(value_name = "FILTER")]
    pub filter: String,
    /// Of this agent only, by its name or id; of the coordinator and all agents without.
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}
