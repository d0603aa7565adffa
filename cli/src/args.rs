//! What was typed: nothing here is checked beyond its shape. [`crate::plan`] makes of it what may
//! be relied on.

pub mod cluster;
pub mod safety;
pub mod simweb;
pub mod steer;

use crate::telemetry::Format;
use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand};
use cluster::{ClusterCommand, HttpArgs, HttpsArgs, JoinArgs};
use safety::{CertsArgs, TokenOutArgs};
use simweb::SimwebArgs;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Agents in one process.
const AGENTS_MAX: i64 = 64;
const EXIT_CODES: &str = "Exit codes: 0 finished, 1 disallowed (robots), unknown (why) or impolite \
                          (simweb judge), 64 usage, 70 internal, 75 not done in time (wait) or not yet in force \
                          everywhere (set, pause, block, log-level), 130 stopped with the state saved.";

/// A polite, crash-safe web crawler.
#[derive(Debug, Parser)]
#[command(name = "crivello", version, after_help = EXIT_CODES)]
pub struct Args {
    /// What is logged: a level, or directives like `warn,crivello=debug`.
    #[arg(long, global = true, env = "CRIVELLO_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// How a line of the log is written.
    #[arg(
        long,
        global = true,
        env = "CRIVELLO_LOG_FORMAT",
        value_name = "text|json",
        value_enum,
        default_value = "text",
        hide_possible_values = true
    )]
    pub log_format: Format,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Crawl, or go on with the crawl in --out.
    Crawl(Box<CrawlArgs>),
    /// Crawl as one of the agents of a crawl, or come back to it with what is in --data.
    ///
    /// How to crawl is the coordinator's to say.
    Agent(Box<JoinArgs>),
    /// A crawl by many agents.
    #[command(flatten)]
    Cluster(ClusterCommand),
    /// Make certificates for the nodes of a small cluster, and the authority that vouches for them.
    ///
    /// Run it again to add nodes, and with --renew to give nodes new certificates.
    Certs(CertsArgs),
    /// Make a token for --token-file; it is printed unless there is --out.
    Token(TokenOutArgs),
    /// Crawl a simulated web inside this process: nothing leaves the machine.
    Demo(DemoArgs),
    /// Say whether URLs are allowed by a robots.txt, and by which of its lines.
    ///
    /// Exits with 0 when all are allowed and with 1 when any is not.
    Robots(RobotsArgs),
    /// Print every setting with its default, unit and meaning, as a TOML file.
    Config,
    /// Serve the simulated web until stopped, for tests and benchmarks; or judge its visitor.
    Simweb(SimwebArgs),
}

impl Command {
    /// Whether only warnings and errors are to be shown.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Crawl(typed) => typed.quiet,
            Self::Agent(typed) => typed.quiet,
            Self::Demo(typed) => typed.quiet,
            Self::Cluster(typed) => typed.is_quiet(),
            Self::Robots(_) | Self::Config | Self::Simweb(_) | Self::Certs(_) | Self::Token(_) => {
                true
            }
        }
    }
}

/// See [`Command::Crawl`].
#[derive(Debug, clap::Args)]
pub struct CrawlArgs {
    /// Where to begin.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// A file of seeds, one a line (`#` begins a comment line); `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub seeds: Option<PathBuf>,
    /// The crawl's directory: archive and state. An existing crawl there is resumed.
    #[arg(long, value_name = "DIR", default_value = "crawl")]
    pub out: PathBuf,
    /// How to crawl.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Write what happened to this file, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Where the traces of single URLs go.
    #[command(flatten)]
    pub traces: TracesArgs,
    /// Crawl with so many agents, all in this process; for good, but for more of them.
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=AGENTS_MAX))]
    pub agents: u16,
    /// Tell numbers for Prometheus there, at `/metrics`; port 0 takes a free one.
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,
    /// With TLS.
    #[command(flatten)]
    pub https: HttpsArgs,
    /// A file with a token in its first line: --http tells the numbers to those who show it (see
    /// `crivello token`).
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
    /// Let --http be more than this machine without TLS or without a token, although anyone who can
    /// connect can then read the numbers.
    #[arg(long, requires = "http")]
    pub insecure: bool,
    /// Show warnings and errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where the traces of single URLs go.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct TracesArgs {
    /// Send the traces of single URLs to this collector (OTLP over gRPC), with TLS where it is
    /// https://.
    #[arg(long, value_name = "http[s]://HOST:PORT", env = "OTEL_EXPORTER_OTLP_ENDPOINT")]
    pub otlp: Option<String>,
    /// Who vouches for the collector's certificate, as PEM, instead of those that the system trusts;
    /// OTEL_EXPORTER_OTLP_CERTIFICATE says so as well.
    #[arg(long, value_name = "FILE", requires = "otlp")]
    pub otlp_ca: Option<PathBuf>,
}

/// How to crawl: the settings that have a flag, and the way to all others.
#[derive(Debug, Default, clap::Args)]
pub struct SettingsArgs {
    /// Where the owners of sites can reach you; sent with every request. Required to begin.
    #[arg(long, value_name = "URL|EMAIL")]
    pub contact: Option<String>,
    /// A settings file (see `crivello config`).
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Change one setting, by its name in the settings file: `fetch.visits-max=200`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Stop after so many pages.
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Follow links at most so far from a seed.
    #[arg(long, value_name = "D")]
    pub max_depth: Option<u16>,
    /// Fetch at most so many pages of one host.
    #[arg(long, value_name = "N")]
    pub max_pages_per_host: Option<u64>,
    /// From the end of one request to a host to the start of the next.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// The same for all hosts of one IP address.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub ip_delay: Option<String>,
    /// Requests on one connection before the delay.
    #[arg(long, value_name = "N")]
    pub burst: Option<u32>,
    /// Ask this name server instead of the system's.
    #[arg(long, value_name = "ADDR:PORT")]
    pub dns: Option<String>,
    /// Visit this network although it is private, loopback or link-local.
    #[arg(long = "allow-network", value_name = "CIDR", value_parser = NonEmptyStringValueParser::new())]
    pub allow_networks: Vec<String>,
    /// The name in the user agent, and the one looked for in robots.txt.
    #[arg(long, value_name = "NAME")]
    pub user_agent_name: Option<String>,
}

/// See [`Command::Demo`].
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Keep the crawl in this directory; a temporary one is removed at the end otherwise.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// From the end of one request to a host to the start of the next.
    #[arg(long, value_name = "TIME", default_value = "250ms", allow_hyphen_values = true)]
    pub delay: String,
    /// Where the traces of single URLs go.
    #[command(flatten)]
    pub traces: TracesArgs,
    /// The dashboard.
    #[command(flatten)]
    pub http: HttpArgs,
    /// Stop after so many pages.
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Write what happened to this file, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Show warnings and errors only.
    #[arg(long, short)]
    pub quiet: bool,
}

/// See [`Command::Robots`].
#[derive(Debug, clap::Args)]
pub struct RobotsArgs {
    /// The robots.txt: a file, or a URL to fetch (of a site, or of its robots.txt).
    #[arg(value_name = "FILE|URL")]
    pub robots: String,
    /// The crawler's product token, as it is looked for in `User-agent` lines.
    #[arg(long, value_name = "NAME")]
    pub agent: String,
    /// What to ask about: URLs, or paths beginning with `/`.
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// Where the site's owner can reach you; required to fetch.
    #[arg(long, value_name = "URL|EMAIL")]
    pub contact: Option<String>,
    /// Ask this name server instead of the system's.
    #[arg(long, value_name = "ADDR:PORT")]
    pub dns: Option<String>,
    /// Visit this network although it is private, loopback or link-local.
    #[arg(long = "allow-network", value_name = "CIDR", value_parser = NonEmptyStringValueParser::new())]
    pub allow_networks: Vec<String>,
}
