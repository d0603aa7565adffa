//! What was typed about the simulated web.

use clap::Subcommand;
use std::path::PathBuf;

/// See [`super::Command::Simweb`].
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SimwebArgs {
    /// What else to do than to serve.
    #[command(subcommand)]
    pub command: Option<SimwebCommand>,
    /// What to serve.
    #[command(flatten)]
    pub serve: ServeArgs,
}

/// What else than to serve.
#[derive(Debug, Subcommand)]
pub enum SimwebCommand {
    /// Say from its access log whether the visitor was complete and polite.
    ///
    /// Exits with 0 when it kept every promise and with 1 when it broke any.
    Judge(JudgeArgs),
}

/// Serve it.
#[derive(Debug, clap::Args)]
pub struct ServeArgs {
    /// The web to simulate, as JSON; the demo's without it.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// Append the access log to this file, one JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,
    /// Let the spec's `network`, `dns_ip` and the `ip` of hosts be more than this machine although
    /// anyone who can connect can visit.
    #[arg(long)]
    pub insecure: bool,
    /// Stop when standard input ends, so as not to outlive whoever started it.
    #[arg(long)]
    pub until_stdin_ends: bool,
}

/// Judge its visitor.
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// What `simweb --access-log` wrote.
    #[arg(value_name = "LOG")]
    pub access_log: PathBuf,
    /// The web that was simulated, as JSON; the demo's without it.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// What the visitor promised: from the end of one request to a host to the start of the next.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub delay: String,
    /// The same for all hosts of one IP address.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub ip_delay: String,
    /// Allow so many pages to be fetched again: what was in flight when agents were killed.
    #[arg(long, value_name = "N", default_value = "0")]
    pub repeats_max: u64,
    /// The visitor was stopped before its end: what is missing is no broken promise.
    #[arg(long)]
    pub unfinished: bool,
}
