//! Arguments of `crivello tail`.

use crate::connection::ConnectArgs;
use std::path::PathBuf;

/// Arguments of [`ClusterCommand::Tail`](crate::cluster::ClusterCommand::Tail).
#[derive(Debug, clap::Args)]
pub struct TailArgs {
    /// Print each capture as a JSON object on one line: agent, position, timestamp, and the members of its
    /// line in the index.
    #[arg(long)]
    pub json: bool,
    /// Begin after the capture with this `position`, as printed. Can be repeated, once for each agent.
    #[arg(long, value_name = "AGENT:FILE:OFFSET")]
    pub after: Vec<String>,
    /// Begin with the oldest capture that is kept, for agents without --after or a place in --state. By default
    /// they begin now.
    #[arg(long)]
    pub all: bool,
    /// File with the places of all agents: read at the start, if it exists, and written after each batch that
    /// was printed.
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,
    /// Stop when all captures until now are printed, instead of waiting for more.
    #[arg(long)]
    pub no_follow: bool,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}
