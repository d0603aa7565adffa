//! Command-line arguments of `crivello`. Only their form is checked here; the program checks the
//! rest. They are a library so that man pages and completions can be generated without the program.

pub mod cluster;
pub mod connection;
pub mod export;
pub mod forget;
pub mod graph;
pub mod identity;
pub mod index;
pub mod near;
pub mod policy;
pub mod rank;
pub mod search;
mod settings;
pub mod tail;
mod traces;

use clap::builder::NonEmptyStringValueParser;
use clap::{Parser, Subcommand, ValueEnum};
use cluster::{ClusterCommand, HttpArgs, HttpsArgs, JoinArgs};
use crivello_common::fields::link::LINK_KINDS;
use export::ExportCommand;
use forget::ForgetArgs;
use graph::GraphCommand;
use identity::IdentityArgs;
use index::IndexArgs;
use near::NearArgs;
use policy::PolicyArgs;
use rank::RankCommand;
use search::SearchArgs;
pub use settings::SettingsArgs;
use std::net::SocketAddr;
use std::path::PathBuf;
pub use traces::TracesArgs;

/// Maximum number of agents in one process.
const AGENTS_MAX: i64 = 64;
/// Maximum validity in days. Some TLS implementations reject certificates that are valid for
/// longer.
const CERT_DAYS_MAX: i64 = 825;
const EXIT_CODES: &str = "Exit codes: 0 finished, 1 disallowed (robots), not admitted (check-expression), unknown (why), impolite (simweb judge), damaged or absent (archive, export, forget, graph), \
                          64 usage error, 70 internal error, 75 timed out (wait) or not yet in force everywhere \
                          (set, pause, block, log-level), 130 stopped, state saved.";

/// Format of log lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// Text for people.
    #[default]
    Text,
    /// One JSON object per line.
    Json,
}

/// A polite, crash-safe web crawler.
#[derive(Debug, Parser)]
#[command(name = "crivello", version, after_help = EXIT_CODES)]
pub struct Args {
    /// Log filter: a level, or directives such as `warn,crivello=debug`.
    #[arg(long, global = true, env = "CRIVELLO_LOG", value_name = "FILTER")]
    pub log: Option<String>,
    /// Format of log lines.
    #[arg(
        long,
        global = true,
        env = "CRIVELLO_LOG_FORMAT",
        value_name = "text|json",
        value_enum,
        default_value = "text",
        hide_possible_values = true
    )]
    pub log_format: LogFormat,
    /// Subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Start a crawl, or resume the crawl in --out.
    Crawl(Box<CrawlArgs>),
    /// Join a crawl as an agent, or rejoin it with the state in --data.
    ///
    /// The coordinator provides the settings of the crawl.
    Agent(Box<JoinArgs>),
    /// Subcommands of a cluster.
    #[command(flatten)]
    Cluster(ClusterCommand),
    /// Create certificates for the nodes of a small cluster, and the authority that signs them.
    ///
    /// Run it again to add nodes. With --renew it replaces the certificates of existing nodes.
    Certs(CertsArgs),
    /// Create a secret for --token-file or --node-secret-file. It is printed unless --out is given.
    Token(TokenOutArgs),
    /// Create the key with which the crawler signs its requests, and the directory in which sites find it.
    Identity(IdentityArgs),
    /// Crawl a simulated web inside this process. Nothing leaves the machine.
    Demo(DemoArgs),
    /// Report whether a robots.txt allows URLs, and which of its lines decides.
    ///
    /// Exits with 0 if all URLs are allowed, with 1 otherwise.
    Robots(RobotsArgs),
    /// Report whether a condition on links (`links.admit`) admits URLs and which of its parts decides, or
    /// which priorities URLs have (`links.priority`).
    ///
    /// Exits with 1 if a condition does not admit a URL, with 0 otherwise. docs/expressions.md describes the
    /// language and the fields.
    CheckExpression(CheckExpressionArgs),
    /// List, show, check or extract the records of WARC files.
    ///
    /// Files may be of any program: WARC/1.0 or 1.1; plain, gzip or zstd. Damage is reported, and reading goes
    /// on after it. Exits with 1 if what was asked for is damaged or absent.
    Archive(ArchiveArgs),
    /// Write what archives have in formats for other programs: text, Markdown, JSON Lines, WET, WAT.
    ///
    /// Files may be of any program, and of several crawls or agents. A run that was stopped or killed goes on
    /// when it is started again. Damage is reported and counted. Exits with 1 if a file is damaged.
    #[command(subcommand)]
    Export(ExportCommand),
    /// Report how many sites and pages of archives state what may be done with them: robots directives, AIPREF,
    /// Content-Signal, TDMRep, RSL (docs/signals.md).
    ///
    /// Pages are the URLs that were answered with success, each with the signals of its last such capture.
    /// Exits with 1 if a file is damaged.
    Policy(PolicyArgs),
    /// List the near-duplicates among all pages of archives: a JSON object a line for each page whose text is like
    /// that of an earlier page with another URL.
    ///
    /// Files may be of any program, and of several crawls or agents. Exits with 1 if a file is damaged.
    /// docs/near-duplicates.md has the fingerprints that are compared.
    Near(NearArgs),
    /// Index the pages of a crawl, or of other archives, for `crivello search`.
    ///
    /// Only archive files that are new or were changed are read; those that a crawl still writes are left out. A run
    /// that was stopped or killed goes on when it is started again. Exits with 1 if an archive file is damaged.
    /// docs/search.md describes the index.
    Index(IndexArgs),
    /// Search the pages that `crivello index` has indexed.
    ///
    /// Words are joined by "and": a b; a | b; -a; "a b" (a phrase); [a b]~8 (near one another); pre*; title:a;
    /// site:example.org; lang:en; (parentheses). docs/search.md describes the language and the ranks. Exits with 1 if
    /// nothing is found.
    Search(SearchArgs),
    /// Build the link graphs of a crawl's archives, of pages and of hosts, and show them.
    ///
    /// They are in the directory `graph` of the crawl, in the format of the WebGraph framework.
    #[command(subcommand)]
    Graph(GraphCommand),
    /// Rank the pages or hosts of a link graph that `crivello graph build` has made (docs/graph.md).
    #[command(subcommand)]
    Rank(RankCommand),
    /// Take hosts and URLs out of archives, states and exports, and never fetch them again.
    ///
    /// The crawls must not be running. Their records are redacted, and so are revisits that refer to them. A run
    /// that was killed is finished by the next one. Exits with 1 if a file is damaged: it may have more.
    Forget(ForgetArgs),
    /// Print every setting with its default, unit and meaning, as a TOML file.
    Config,
    /// Serve the simulated web until stopped, for tests and benchmarks, or judge its visitor.
    Simweb(SimwebArgs),
}

impl Command {
    /// Returns true if only warnings and errors are logged.
    pub fn is_quiet(&self) -> bool {
        match self {
            Self::Crawl(args) => args.quiet,
            Self::Agent(args) => args.quiet,
            Self::Demo(args) => args.quiet,
            Self::Cluster(ClusterCommand::Coordinator(args)) => args.quiet,
            _ => true,
        }
    }
}

/// Arguments of [`Command::Crawl`].
#[derive(Debug, Default, clap::Args)]
pub struct CrawlArgs {
    /// Seed URLs.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// File of seeds, one per line (`#` starts a comment line). `-` is standard input.
    #[arg(long, value_name = "FILE|-")]
    pub seeds: Option<PathBuf>,
    /// Directory of the crawl: archive and state. An existing crawl there is resumed.
    #[arg(long, value_name = "DIR", default_value = "crawl")]
    pub out: PathBuf,
    /// Settings of the crawl.
    #[command(flatten)]
    pub settings: SettingsArgs,
    /// Write a report to this file at the end, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Traces.
    #[command(flatten)]
    pub traces: TracesArgs,
    /// Number of agents to run in this process. Can be raised later, not lowered.
    #[arg(long, value_name = "N", default_value = "1",
        value_parser = clap::value_parser!(u16).range(1..=AGENTS_MAX))]
    pub agents: u16,
    /// Serve Prometheus metrics at `/metrics`. Port 0 picks a free port.
    #[arg(long, value_name = "ADDR:PORT")]
    pub http: Option<SocketAddr>,
    /// TLS of `--http`.
    #[command(flatten)]
    pub https: HttpsArgs,
    /// File with a token in its first line. --http then requires it of its readers (see
    /// `crivello token`).
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
    /// Allow --http on a non-loopback address without TLS or without a token. Anyone who can
    /// connect can then read the metrics.
    #[arg(long, requires = "http")]
    pub insecure: bool,
    /// Show only warnings and errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of [`Command::Demo`].
#[derive(Debug, clap::Args)]
pub struct DemoArgs {
    /// Keep the crawl in this directory. By default a temporary directory is used and removed.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Delay from the end of a request to a host to the start of the next.
    #[arg(long, value_name = "TIME", default_value = "250ms", allow_hyphen_values = true)]
    pub delay: String,
    /// Traces.
    #[command(flatten)]
    pub traces: TracesArgs,
    /// Dashboard.
    #[command(flatten)]
    pub http: HttpArgs,
    /// Maximum number of pages to fetch.
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Write a report to this file at the end, as JSON.
    #[arg(long, value_name = "FILE.json")]
    pub report: Option<PathBuf>,
    /// Show only warnings and errors.
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of [`Command::Archive`].
#[derive(Debug, clap::Args)]
pub struct ArchiveArgs {
    /// The subcommand.
    #[command(subcommand)]
    pub command: ArchiveCommand,
}

/// Subcommands of `crivello archive`.
#[derive(Debug, Subcommand)]
pub enum ArchiveCommand {
    /// List records: file, offset, date, type, HTTP status, length of the block in bytes, URL.
    Ls {
        /// WARC files, or directories that have some.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Write the record at an offset to standard output; if it is that of a gzip member with several
    /// records, all of them.
    Cat {
        /// WARC file.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Offset of the record, as printed by `ls`.
        #[arg(value_name = "OFFSET")]
        offset: u64,
        /// Only the payload: the body of the HTTP message, as it was sent.
        #[arg(long)]
        payload: bool,
    },
    /// Compare digests and lengths of all records, and the CDXJ index NAME.cdxj beside each file NAME.warc.gz
    /// with it.
    Check {
        /// WARC files, or directories that have some.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
    },
    /// Write the payload of the last capture of a URL to standard output. Revisits are resolved over all
    /// files.
    Extract {
        /// URL, as printed by `ls`.
        #[arg(value_name = "URL")]
        url: String,
        /// WARC files, or directories that have some.
        #[arg(value_name = "PATH", required = true)]
        paths: Vec<PathBuf>,
        /// The last capture until this date, such as 2026-11-27 or 2026-11-27T12:00:00Z.
        #[arg(long, value_name = "DATE")]
        at: Option<String>,
    },
}

/// Arguments of [`Command::CheckExpression`].
#[derive(Debug, clap::Args)]
pub struct CheckExpressionArgs {
    /// The expression, such as `link.depth < 5 && url.host.endsWith(".org")`.
    #[arg(value_name = "EXPRESSION")]
    pub expression: String,
    /// URLs of links, or of pages.
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// Setting that it is a value of. By default the first one that it fits.
    #[arg(long = "for", value_name = "SETTING")]
    pub setting: Option<ExpressionSetting>,
    /// URL of the page that has the links. Without it they are seeds.
    #[arg(long, value_name = "URL")]
    pub parent: Option<String>,
    /// Number of links from a seed to the page; its links are one further.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub depth: u16,
    /// Place of the links (`link.kind`).
    #[arg(long, value_name = "KIND", default_value = "anchor", requires = "parent",
        value_parser = clap::builder::PossibleValuesParser::new(LINK_KINDS))]
    pub kind: String,
    /// Number of pages with a link to each URL (`url.inlinks`).
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub inlinks: u64,
    /// Rank of the host (`host.rank`).
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub host_rank: u8,
    /// The links, or all links of the page, have `nofollow`.
    #[arg(long)]
    pub nofollow: bool,
    /// Values of the page.
    #[command(flatten)]
    pub page: PageValues,
}

/// A setting whose value is an expression.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub enum ExpressionSetting {
    /// Condition for each link.
    #[value(name = "links.admit")]
    Admit,
    /// Order of the links of a host.
    #[value(name = "links.priority")]
    Priority,
    /// Treatment of a page.
    #[value(name = "pages.keep")]
    Keep,
    /// Weight of a page when it is fetched again.
    #[value(name = "recrawl.weight")]
    Weight,
    /// Time until a page is fetched again.
    #[value(name = "recrawl.interval")]
    Interval,
}

impl ExpressionSetting {
    /// The settings of which the first one that an expression fits is taken. An interval is a number as a
    /// weight is, and has to be named.
    pub const FIRST_FITS: &[Self] = &[Self::Admit, Self::Priority, Self::Keep, Self::Weight];
}

/// Values of the page, or of the page that has the links.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Values of the page, or of the page that has the links")]
pub struct PageValues {
    /// HTTP status.
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub status: u16,
    /// Media type.
    #[arg(long, value_name = "TYPE", default_value = "text/html")]
    pub media: String,
    /// Bytes of the body.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub bytes: u64,
    /// The body was cut.
    #[arg(long)]
    pub truncated: bool,
    /// The text is nearly that of an earlier page.
    #[arg(long)]
    pub near_duplicate: bool,
    /// Character encoding.
    #[arg(long, value_name = "NAME", default_value = "UTF-8")]
    pub charset: String,
    /// Title.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub title: String,
    /// Number of links.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub links: usize,
    /// The page has `noindex`.
    #[arg(long)]
    pub noindex: bool,
    /// The page has `noarchive`.
    #[arg(long)]
    pub noarchive: bool,
    /// Characters of the main text, without white space.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub text_length: u64,
    /// Language of the main text, by ISO 639-3.
    #[arg(long, value_name = "CODE", default_value = "und")]
    pub language: String,
}

/// Arguments of [`Command::Robots`].
#[derive(Debug, clap::Args)]
pub struct RobotsArgs {
    /// The robots.txt: a file, or a URL to fetch (of a site or of its robots.txt).
    #[arg(value_name = "FILE|URL")]
    pub robots: String,
    /// Product token of the crawler, as matched in `User-agent` lines.
    #[arg(long, value_name = "NAME")]
    pub agent: String,
    /// URLs to check, or paths that begin with `/`.
    #[arg(value_name = "URL", required = true)]
    pub urls: Vec<String>,
    /// URL or e-mail address for the site owner. Required to fetch.
    #[arg(long, value_name = "URL|EMAIL")]
    pub contact: Option<String>,
    /// DNS server to use instead of the system's.
    #[arg(long, value_name = "ADDR:PORT")]
    pub dns: Option<String>,
    /// Allow visits to this private, loopback or link-local network. Can be repeated.
    #[arg(long = "allow-network", value_name = "CIDR", value_parser = NonEmptyStringValueParser::new())]
    pub allow_networks: Vec<String>,
}

/// Arguments of [`Command::Certs`].
#[derive(Debug, clap::Args)]
pub struct CertsArgs {
    /// Directory of the certificates: ca.pem and ca.key, and NAME.pem and NAME.key for each node.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Nodes, each with the DNS names and IP addresses by which others reach it. NAME,
    /// localhost and 127.0.0.1 are added.
    #[arg(value_name = "NAME[,SAN...]", required_unless_present = "renew")]
    pub nodes: Vec<String>,
    /// Validity of a node's certificate in days.
    #[arg(long, value_name = "DAYS", default_value = "365",
        value_parser = clap::value_parser!(u16).range(1..=CERT_DAYS_MAX))]
    pub days: u16,
    /// Replace certificates and keys of the named nodes, or of all nodes if none is named. A node
    /// without names and addresses keeps those of its certificate.
    #[arg(long)]
    pub renew: bool,
}

/// Arguments of [`Command::Token`].
#[derive(Debug, clap::Args)]
pub struct TokenOutArgs {
    /// Write the secret to this new file, readable only by its owner.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
}

/// Arguments of [`Command::Simweb`].
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct SimwebArgs {
    /// Subcommand. Without one, the simulated web is served.
    #[command(subcommand)]
    pub command: Option<SimwebCommand>,
    /// Web to serve.
    #[command(flatten)]
    pub serve: SimwebServeArgs,
}

/// Subcommands of `crivello simweb`.
#[derive(Debug, Subcommand)]
pub enum SimwebCommand {
    /// Report from its access log whether the visitor was complete and polite.
    ///
    /// Exits with 0 if the visitor kept every promise, with 1 otherwise.
    Judge(JudgeArgs),
}

/// Arguments of `crivello simweb`.
#[derive(Debug, clap::Args)]
pub struct SimwebServeArgs {
    /// Specification of the simulated web, as JSON. Default: the web of `crivello demo`.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// Append the access log to this file, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    pub access_log: Option<PathBuf>,
    /// Allow non-loopback addresses in `network`, `dns_ip` and the `ip` of hosts. Anyone who can
    /// connect can then visit.
    #[arg(long)]
    pub insecure: bool,
    /// Stop at the end of standard input, so that the server ends with its parent process.
    #[arg(long)]
    pub until_stdin_ends: bool,
}

/// Arguments of [`SimwebCommand::Judge`].
#[derive(Debug, clap::Args)]
pub struct JudgeArgs {
    /// Access log, as written by `simweb --access-log`.
    #[arg(value_name = "LOG")]
    pub access_log: PathBuf,
    /// Specification of the simulated web, as JSON. Default: the web of `crivello demo`.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// Promised delay from the end of a request to a host to the start of the next.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    pub delay: String,
    /// Promised delay between two requests to one IP address.
    #[arg(long, value_name = "TIME", default_value = "2s")]
    pub ip_delay: String,
    /// Number of pages that may be fetched twice: those in flight when agents were killed.
    #[arg(long, value_name = "N", default_value = "0")]
    pub repeats_max: u64,
    /// The visitor was stopped early. Missing pages are not a broken promise.
    #[arg(long)]
    pub unfinished: bool,
}
