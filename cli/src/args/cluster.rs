//! Arguments of the subcommands that run, query and steer a cluster.

use super::connection::{ConnectArgs, CoordinatorUrl, NodeArgs, TokenArgs};
use super::settings::SettingsArgs;
use super::tail::TailArgs;
use super::traces::TracesArgs;
use clap::Subcommand;
use crivello_common::view::WEIGHT_MAX;
use std::net::SocketAddr;
use std::path::PathBuf;

/// The subcommands of a cluster.
#[derive(Debug, Subcommand)]
pub enum ClusterCommand {
    /// Run the coordinator of a crawl with many agents, or resume the one in --data.
    ///
    /// The coordinator holds the settings of the crawl, which are the same for all agents. A
    /// resumed crawl keeps its settings, including changes by `crivello set`. Flags and --config
    /// override a setting only if they differ from those of the last start.
    Coordinator(Box<CoordinatorArgs>),
    /// Show the state of a crawl: its agents, what they have done and what is left to do.
    Status(AgentsArgs),
    /// Send seed URLs to a crawl.
    ///
    /// Exits once agents have stored all URLs safely.
    Seed(SeedArgs),
    /// Ask a crawl to fetch pages again soon, for example from a program that learns of changes.
    ///
    /// Moves the due times of pages that the crawl knows, and adds no URL. A page is fetched again after
    /// `recrawl.interval-min` at the earliest. Exits once the agents that own the pages have stored the
    /// requests.
    Recrawl(RecrawlArgs),
    /// Wait until a crawl has nothing left to do.
    Wait(WaitArgs),
    /// Explain why a host waits, or what happened to a URL: the agent that owns it, the rule it
    /// waits for, its robots.txt, its last fetches, the location of its record.
    ///
    /// Exits with 1 if no agent knows it.
    Why(WhyArgs),
    /// Print captures as they are archived, of all agents.
    ///
    /// Each agent's captures come in their order, once they are synced. Its places stay valid over restarts.
    Tail(TailArgs),
    /// List the agents of a crawl.
    Agents(AgentsArgs),
    /// Make an agent hand over its work and leave.
    Drain(AgentArgs),
    /// Remove an agent that is dead and will not return. Reports what is lost with it.
    Remove(RemoveArgs),
    /// Confirm that the process of a silent agent does not run, so that it can be declared dead.
    ///
    /// Needed only if all agents that could tell are silent as well: `crivello status` says so.
    DeclareDead(DeclareDeadArgs),
    /// Let an agent join with another certificate, in addition to the last one.
    ///
    /// The refusal of the coordinator names the certificate.
    AcceptCertificate(AcceptCertificateArgs),
    /// Make an agent obey a coordinator with another signing key.
    ///
    /// Run on the agent's own machine, after `crivello coordinator rebuild`, which shows the key.
    AcceptCoordinatorKey(AcceptKeyArgs),
    /// Pause all agents, or some hosts.
    Pause(PauseArgs),
    /// Resume all agents after a pause or a stop, or some hosts after a pause.
    Resume(PauseArgs),
    /// Change settings of a running crawl.
    ///
    /// Exits once every live agent uses them. Reports which settings take effect only when the
    /// agents start again.
    Set(SetArgs),
    /// Print the settings in force with their meaning, or the value of one setting.
    Settings(SettingsOfArgs),
    /// Stop visiting some hosts and drop their queued URLs.
    ///
    /// Exits once the URLs are dropped, and reports how many there were.
    Block(BlockArgs),
    /// Visit blocked hosts again. Dropped URLs are not restored.
    Unblock(BlockArgs),
    /// Change the log filter of running processes until they end.
    LogLevel(LogLevelArgs),
    /// Make all agents save their state and exit.
    Stop(ConnectArgs),
}

/// Arguments of [`ClusterCommand::Coordinator`].
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct CoordinatorArgs {
    /// Subcommand; without one, the coordinator runs.
    #[command(subcommand)]
    pub command: Option<CoordinatorCommand>,
    /// Address to listen on for agents and commands.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:7070")]
    pub listen: SocketAddr,
    /// Directory of the coordinator: settings and member list. An existing crawl there is resumed.
    #[arg(long, value_name = "DIR", required = true)]
    pub data: Option<PathBuf>,
    /// etcd.
    #[command(flatten)]
    pub etcd: EtcdArgs,
    /// Listen on a non-loopback address without TLS, without a node secret or without a token, or
    /// have only one of the two secrets. Anyone who can connect can then join the crawl or control it.
    #[arg(long)]
    pub insecure: bool,
    /// TLS, node secret and deny list.
    #[command(flatten)]
    pub node: NodeArgs,
    /// Token.
    #[command(flatten)]
    pub token: TokenArgs,
    /// Dashboard.
    #[command(flatten)]
    pub http: HttpArgs,
    /// Settings of the crawl.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Show only warnings and errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// The record in etcd, for several coordinators of which one is active.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct EtcdArgs {
    /// Keep the record in etcd, at these URLs separated by commas, and stand by while another coordinator is active.
    /// https:// needs the TLS files.
    #[arg(long, value_name = "URL", env = "CRIVELLO_ETCD")]
    pub etcd: Option<String>,
    /// Beginning of the keys in etcd. Each crawl needs another.
    #[arg(long, value_name = "PREFIX", default_value = "/crivello", requires = "etcd")]
    pub etcd_prefix: String,
    /// Time of silence after which another coordinator becomes active, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "5", requires = "etcd",
        value_parser = clap::value_parser!(u16).range(2..=600))]
    pub etcd_lease: u16,
    /// Directory of identity.key and signing.key, if it is not --data. All coordinators of a crawl have the same keys.
    #[arg(long, value_name = "DIR")]
    pub keys: Option<PathBuf>,
}

/// Address of the dashboard.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HttpArgs {
    /// Address of the dashboard and of `/metrics`. Port 0 picks a free port [default: 127.0.0.1:8080, if free].
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "no_http")]
    pub http: Option<SocketAddr>,
    /// File with a token that opens `/metrics` and nothing else, in its first line. The file is read
    /// again when it changes.
    #[arg(long, value_name = "FILE", env = "CRIVELLO_HTTP_TOKEN_FILE", conflicts_with = "no_http")]
    pub http_token_file: Option<PathBuf>,
    /// Serve no dashboard and no `/metrics`.
    #[arg(long, conflicts_with_all = ["http_cert", "http_key"])]
    pub no_http: bool,
    /// Host name that browsers may use for the dashboard, besides `localhost`. Can be repeated.
    #[arg(long = "http-host", value_name = "NAME", conflicts_with = "no_http")]
    pub http_hosts: Vec<String>,
    /// TLS of `--http`.
    #[command(flatten)]
    pub https: HttpsArgs,
}

/// Arguments of [`Command::Agent`](super::Command::Agent).
#[derive(Debug, clap::Args)]
pub struct JoinArgs {
    /// Coordinator.
    #[command(flatten)]
    pub coordinator: CoordinatorUrl,
    /// TLS, node secret and deny list, for the coordinator and the other agents.
    #[command(flatten)]
    pub node: NodeArgs,
    /// Address to listen on for other agents and commands. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Address at which others reach this agent, if it differs from --listen (NAT, 0.0.0.0).
    #[arg(long, value_name = "HOST:PORT")]
    pub advertise: Option<String>,
    /// Directory of the agent: its share of the state, and its archive.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// Name of the agent.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Share of the crawl relative to other agents. Cannot be changed later.
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=i64::from(WEIGHT_MAX)))]
    pub weight: u16,
    /// Serve Prometheus metrics at `/metrics`, to readers that send the token of --http-token-file if
    /// there is one. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,
    /// File with the token that readers of --http must send, in its first line (see `crivello
    /// token`). It permits nothing else. The file is read again when it changes.
    #[arg(long, value_name = "FILE", env = "CRIVELLO_HTTP_TOKEN_FILE")]
    pub http_token_file: Option<PathBuf>,
    /// TLS of `--http`.
    #[command(flatten)]
    pub https: HttpsArgs,
    /// Listen on a non-loopback address without TLS or without a node secret. Anyone who can connect
    /// can then act as an agent, or read the metrics of --http.
    #[arg(long)]
    pub insecure: bool,
    /// On Ctrl-C and SIGTERM hand over all work to the other agents and leave, as after
    /// `crivello drain`. If that is impossible, stop and rejoin at the next start.
    #[arg(long, env = "CRIVELLO_DRAIN_ON_STOP", value_parser = clap::builder::FalseyValueParser::new())]
    pub drain_on_stop: bool,
    /// Traces.
    #[command(flatten)]
    pub traces: TracesArgs,
    /// Write a report to this file at the end, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Show only warnings and errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// TLS of `--http`: both files, or none. Files that change are read again.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct HttpsArgs {
    /// Serve --http over HTTPS with this certificate chain, as PEM. Clients need no certificate.
    #[arg(long, value_name = "FILE", requires = "http_key")]
    pub http_cert: Option<PathBuf>,
    /// Private key of --http-cert, as PEM.
    #[arg(long, value_name = "FILE", requires = "http_cert")]
    pub http_key: Option<PathBuf>,
}

/// Arguments of [`ClusterCommand::Agents`] and [`ClusterCommand::Status`].
#[derive(Debug, clap::Args)]
pub struct AgentsArgs {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Recrawl`].
#[derive(Debug, clap::Args)]
pub struct RecrawlArgs {
    /// URLs, and names of hosts (all of their pages). `-` is standard input: URLs, one per line (`#`
    /// starts a comment line).
    #[arg(value_name = "URL|HOST|-", required = true)]
    pub pages: Vec<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Seed`].
#[derive(Debug, clap::Args)]
pub struct SeedArgs {
    /// Seed URLs, and at most one file of them, one per line (`#` starts a comment line). `-` is
    /// standard input.
    #[arg(value_name = "FILE|-|URL", required = true)]
    pub seeds: Vec<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Why`].
#[derive(Debug, clap::Args)]
pub struct WhyArgs {
    /// A host, or a URL that begins with http:// or https://.
    #[arg(value_name = "HOST|URL")]
    pub subject: String,
    /// Print the explanation as JSON: the message Explanation of explanation.proto.
    #[arg(long)]
    pub json: bool,
    /// Read the directory of a crawl that is not running, instead of asking agents.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Wait`].
#[derive(Debug, clap::Args)]
pub struct WaitArgs {
    /// Maximum time to wait, such as `10m`. Exits with 75 if the crawl is not done by then.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Remove`].
#[derive(Debug, clap::Args)]
pub struct RemoveArgs {
    /// Agent.
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Fetch the pages that only this agent archived again, within the page limits of each host
    /// and domain.
    #[arg(long, conflicts_with = "give_up")]
    pub refetch: bool,
    /// With --refetch: also fetch pages of files again that the agent has reported to be in a store
    /// (docs/uploads.md), because the agent or the store is not trusted.
    #[arg(long, requires = "refetch")]
    pub ignore_store: bool,
    /// Give up the pages that only this agent archived.
    #[arg(long)]
    pub give_up: bool,
    /// Remove it although its groups are not fully copied, or although it may have URLs that no
    /// other agent has: these URLs are lost.
    #[arg(long)]
    pub force: bool,
}

/// Arguments of [`ClusterCommand::DeclareDead`].
#[derive(Debug, clap::Args)]
pub struct DeclareDeadArgs {
    /// Agent.
    #[command(flatten)]
    pub agent: AgentArgs,
    /// Confirm that the process of the agent does not run.
    #[arg(long)]
    pub confirm: bool,
}

/// Subcommands of [`ClusterCommand::Coordinator`].
#[derive(Debug, Subcommand)]
pub enum CoordinatorCommand {
    /// Make a new record for a coordinator whose directory is lost, from the copies that its agents
    /// keep.
    ///
    /// Give the addresses of as many agents as possible: the newest copy counts. The coordinator is
    /// started afterwards, with the same --data.
    Rebuild(RebuildArgs),
}

/// Arguments of [`CoordinatorCommand::Rebuild`].
#[derive(Debug, clap::Args)]
pub struct RebuildArgs {
    /// Addresses of running agents, or files `cluster.view` from the directories of agents.
    #[arg(value_name = "HOST:PORT|FILE", required = true)]
    pub from: Vec<String>,
    /// Directory of the new coordinator. It must not exist, or contain only the keys of the crawl and of the
    /// lost coordinator.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
    /// TLS and node secret, which the agents require.
    #[command(flatten)]
    pub node: NodeArgs,
}

/// Arguments of [`ClusterCommand::AcceptCertificate`].
#[derive(Debug, clap::Args)]
pub struct AcceptCertificateArgs {
    /// Name or id of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// SHA-256 of the public key of the certificate, in hexadecimal.
    #[arg(value_name = "SHA-256")]
    pub certificate: String,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::AcceptCoordinatorKey`].
#[derive(Debug, clap::Args)]
pub struct AcceptKeyArgs {
    /// Public key of the coordinator, in hexadecimal.
    #[arg(value_name = "KEY")]
    pub key: String,
    /// Directory of the agent.
    #[arg(long, value_name = "DIR")]
    pub data: PathBuf,
}

/// Arguments of [`ClusterCommand::Drain`].
#[derive(Debug, clap::Args)]
pub struct AgentArgs {
    /// Name or id of the agent.
    #[arg(value_name = "AGENT")]
    pub agent: String,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Set`].
#[derive(Debug, clap::Args)]
pub struct SetArgs {
    /// Settings and their new values, such as `politeness.delay=5s`.
    #[arg(value_name = "KEY=VALUE", required_unless_present_any = ["adds", "removes", "unsets"])]
    pub sets: Vec<String>,
    /// Add an entry to a list: `links.exclude={path-prefix='/cgi-bin/'}`.
    #[arg(long = "add", value_name = "KEY=ENTRY")]
    pub adds: Vec<String>,
    /// Remove an entry from a list.
    #[arg(long = "remove", value_name = "KEY=ENTRY")]
    pub removes: Vec<String>,
    /// Reset a setting to its default.
    #[arg(long = "unset", value_name = "KEY")]
    pub unsets: Vec<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Settings`].
#[derive(Debug, clap::Args)]
pub struct SettingsOfArgs {
    /// Print only the value of this setting.
    #[arg(value_name = "KEY")]
    pub key: Option<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Block`] and [`ClusterCommand::Unblock`].
#[derive(Debug, clap::Args)]
pub struct BlockArgs {
    /// `example.com` is that host only, `*.example.com` the host and all hosts below it. An
    /// address or a network, such as `192.0.2.0/24`, is all hosts at these addresses.
    #[arg(value_name = "HOST|DOMAIN|NETWORK", required = true)]
    pub what: Vec<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::Pause`] and [`ClusterCommand::Resume`].
#[derive(Debug, clap::Args)]
pub struct PauseArgs {
    /// Hosts. Without hosts the command applies to all agents.
    #[arg(value_name = "HOST")]
    pub hosts: Vec<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of [`ClusterCommand::LogLevel`].
#[derive(Debug, clap::Args)]
pub struct LogLevelArgs {
    /// Log filter: a level, or directives such as `warn,crivello=debug`.
    #[arg(value_name = "FILTER")]
    pub filter: String,
    /// Name or id of the only agent to change. Default: the coordinator and all agents.
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}
