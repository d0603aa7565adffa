//! Arguments that set settings.

use clap::builder::NonEmptyStringValueParser;
use std::path::PathBuf;

/// Settings that have a flag of their own, and `--config` and `--set` for all others.
#[derive(Debug, Default, clap::Args)]
pub struct SettingsArgs {
    /// URL or e-mail address for site owners. Sent with every request. Required to start a crawl.
    #[arg(long, value_name = "URL|EMAIL")]
    pub contact: Option<String>,
    /// Settings file (see `crivello config`).
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Change one setting by its name in the settings file: `fetch.visits-max=200`.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Maximum number of pages to fetch.
    #[arg(long, value_name = "N")]
    pub max_pages: Option<u64>,
    /// Maximum number of links between a seed and a page.
    #[arg(long, value_name = "D")]
    pub max_depth: Option<u16>,
    /// Maximum number of pages to fetch from one host.
    #[arg(long, value_name = "N")]
    pub max_pages_per_host: Option<u64>,
    /// Delay from the end of a request to a host to the start of the next.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub delay: Option<String>,
    /// Delay between two requests to one IP address.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub ip_delay: Option<String>,
    /// Requests on one connection before the delay.
    #[arg(long, value_name = "N")]
    pub burst: Option<u32>,
    /// DNS server to use instead of the system's.
    #[arg(long, value_name = "ADDR:PORT")]
    pub dns: Option<String>,
    /// Allow visits to this private, loopback or link-local network. Can be repeated.
    #[arg(long = "allow-network", value_name = "CIDR", value_parser = NonEmptyStringValueParser::new())]
    pub allow_networks: Vec<String>,
    /// CDXJ index of an earlier crawl: payloads that it lists are archived as revisits. Can be repeated.
    #[arg(long, value_name = "FILE.cdxj", value_parser = NonEmptyStringValueParser::new())]
    pub known: Vec<String>,
    /// Use SHA-1 digests of --known, which others can forge.
    #[arg(long)]
    pub accept_sha1: bool,
    /// Product name in the user agent, also matched in robots.txt.
    #[arg(long, value_name = "NAME")]
    pub user_agent_name: Option<String>,
}
