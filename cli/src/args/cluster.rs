//! What is typed to run a cluster and to look after one.

use super::steer::{BlockArgs, LogLevelArgs, PauseArgs, SetArgs, SettingsOfArgs};
use super::{SettingsArgs, TracesArgs};
use clap::Subcommand;
use crivello_common::view::WEIGHT_MAX;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The subcommands of a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Keep the member list of a crawl by many agents, or go on with the one in --data.
    ///
    /// The crawl's settings are given here and are the same for all agents. Those of a crawl that is
    /// gone on with stay as they are, with all that `crivello set` has changed, but for what is given
    /// now and was not given, or was given otherwise, at the last start.
    Coordinator(Box<CoordinatorArgs>),
    /// Say how a crawl stands: all its agents, and what they have done and have to do.
    Status(AgentsArgs),
    /// Tell a crawl where to begin.
    ///
    /// Exits once all URLs are safe with the agents.
    Seed(SeedArgs),
    /// Wait until a crawl has nothing left to do.
    Wait(WaitArgs),
    /// Say why a host waits, or what became of a URL: which agent has it, what it waits for and by
    /// which rule, its robots.txt, its last fetches, where its record is.
    ///
    /// Exits with 1 when nobody knows of it.
    Why(WhyArgs),
    /// List the agents of a crawl.
    Agents(AgentsArgs),
    /// Have an agent hand over what it has to crawl, and leave.
    Drain(AgentArgs),
    /// Forget an agent that is dead and gone for good; says what is lost with it.
    Remove(RemoveArgs),
    /// Have all agents rest, or some hosts.
    Pause(PauseArgs),
    /// Have all agents go on after a pause or a stop, or some hosts after a pause.
    Resume(PauseArgs),
    /// Change settings of a crawl while it runs.
    ///
    /// Exits once every agent that is alive goes by them, and says which settings take effect only
    /// when the agents start again.
    Set(SetArgs),
    /// Print the settings in force, each with its meaning, or the value of one.
    Settings(SettingsOfArgs),
    /// Visit some hosts no more, and drop what is queued for them.
    ///
    /// Exits once all of it is dropped, and says how much it was.
    Block(BlockArgs),
    /// Visit hosts again that were blocked. What was dropped stays dropped.
    Unblock(BlockArgs),
    /// Change what is logged, for as long as the processes live.
    LogLevel(LogLevelArgs),
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
    /// Listen on more than this machine without TLS or without a token, although anyone who can
    /// connect can then take part or give orders.
    #[arg(long)]
    pub insecure: bool,
    /// Who is let in.
    #[command(flatten)]
    pub tls: TlsArgs,
    /// Who may give orders.
    #[command(flatten)]
    pub token: TokenArgs,
    /// The dashboard.
    #[command(flatten)]
    pub http: HttpArgs,
    /// How to crawl.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Show warnings and errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where people look at a crawl with a browser.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HttpArgs {
    /// Where the dashboard is, and `/metrics` beside it; port 0 takes a free one [default: 127.0.0.1:8080, if that is free].
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "no_http")]
    pub http: Option<SocketAddr>,
    /// No dashboard, and no `/metrics`.
    #[arg(long, conflicts_with_all = ["http_cert", "http_key"])]
    pub no_http: bool,
    /// A name that browsers may call it by, besides `localhost`; may be repeated.
    #[arg(long = "http-host", value_name = "NAME", conflicts_with = "no_http")]
    pub http_hosts: Vec<String>,
    /// With TLS.
    #[command(flatten)]
    pub https: HttpsArgs,
}

/// See [`Command::Agent`](super::Command::Agent).
#[derive(Debug, clap::Args)]
pub struct JoinArgs {
    /// Which crawl, and how to show who we are, to the coordinator and to the other agents.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
    /// Where the other agents and people reach it; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Where they reach it if not there: behind a translation of addresses, or with 0.0.0.0.
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise: Option<String>,
    /// The agent's directory: its part of the state, and its archive.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// What people call it.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Its share of the crawl, relative to the others'; for good.
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(WEIGHT_MAX)))]
    pub weight: u16,
    /// Tell numbers for Prometheus there, at `/metrics`, to those who show the token, where there is
    /// one; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,
    /// With TLS.
    #[command(flatten)]
    pub https: HttpsArgs,
    /// Listen on more than this machine without TLS or without a token, although anyone who can
    /// connect can then take part or give orders; and let --http tell them the numbers.
    #[arg(long)]
    pub insecure: bool,
    /// On Ctrl-C and SIGTERM hand everything over to the other agents and leave for good, as after
    /// `crivello drain`. Where that cannot be, it stops, and comes back when started again.
    #[arg(long, env = "CRIVELLO_DRAIN_ON_STOP", value_parser = clap::builder::FalseyValueParser::new())]
    pub drain_on_stop: bool,
    /// Where the traces of single URLs go.
    #[command(flatten)]
    pub traces: TracesArgs,
    /// Write what happened to this file, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Show warnings and errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// The cluster's token.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TokenArgs {
    /// A file with the cluster's token in its first line: who shows it may ask and give orders. The
    /// same at the coordinator, the agents, and for those who ask (see `crivello token`). Read again
    /// when it changes.
    #[arg(long, value_name = "FILE", env = "CRIVELLO_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
}

/// TLS of `--http`: both, or none. Files that change are read again.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HttpsArgs {
    /// Have --http speak HTTPS with this certificate (and those between it and an authority that
    /// browsers know), as PEM. Nobody is asked for one.
    #[arg(long, value_name = "FILE", requires = "http_key")]
    pub http_cert: Option<PathBuf>,
    /// Its private key, as PEM.
    #[arg(long, value_name = "FILE", requires = "http_cert")]
    pub http_key: Option<PathBuf>,
}

/// Mutual TLS: all three, or none. Files that change are read again.
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
    /// And that we may ask.
    #[command(flatten)]
    pub token: TokenArgs,
}

/// See [`ClusterCommand::Agents`] and [`ClusterCommand::Status`].
#[derive(Debug, clap::Args)]
pub struct AgentsArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Seed`].
#[derive(Debug, clap::Args)]
pub struct SeedArgs {
    /// URLs, and a file of them, one a line (`#` begins a comment line); `-` is standard input.
    #[arg(value_name = "FILE|-|URL", required = true)]
    pub seeds: Vec<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Why`].
#[derive(Debug, clap::Args)]
pub struct WhyArgs {
    /// A host, or a URL that begins with http:// or https://.
    #[arg(value_name = "HOST|URL")]
    pub about: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Read the directory of a crawl that is not running instead of asking agents.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Wait`].
#[derive(Debug, clap::Args)]
pub struct WaitArgs {
    /// Not longer than this, as in `10m`; it ends with exit code 75 then.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}

/// See [`ClusterCommand::Remove`].
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// The agent.
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Fetch the pages again that are in its archive only, as far as the limits of pages for each host
    /// and domain allow.
    #[arg(long, conflicts_with = "give_up")]
    pub refetch: bool,
    /// Count them as lost.
    #[arg(long)]
    pub give_up: bool,
}

/// See [`ClusterCommand::Drain`].
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// The agent, by its name or id.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Which crawl.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
}
