//! Arguments of `crivello forget`.

use clap::ValueEnum;
use std::path::PathBuf;

/// Treatment of revisits of other URLs that refer to captures that are taken back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum RevisitChoice {
    /// They are redacted, too: their payload is that of the capture.
    #[default]
    Redact,
    /// They are kept, and have no original any more.
    Keep,
}

/// Arguments of [`Command::Forget`](crate::Command::Forget).
#[derive(Debug, clap::Args)]
pub struct ForgetArgs {
    /// Hosts (`www.example.com`), domains with all hosts below them (`*.example.com`), or URLs.
    #[arg(value_name = "HOST|URL", required = true)]
    pub what: Vec<String>,
    /// Directory of a crawl that does not run; with --agents that of all of them. Can be repeated: give the
    /// directories of all agents of a cluster.
    #[arg(long, value_name = "DIR", default_value = "crawl")]
    pub crawl: Vec<PathBuf>,
    /// Forget all hosts below the given ones, too.
    #[arg(long)]
    pub subdomains: bool,
    /// Revisits of other URLs that refer to the captures.
    #[arg(
        long,
        value_name = "redact|keep",
        value_enum,
        default_value = "redact",
        hide_possible_values = true
    )]
    pub revisits: RevisitChoice,
    /// First copy WARC files back that only the store of `upload.url` has, so that they are searched, too. The next
    /// run of the crawl uploads those that were changed, and with `upload.delete-after` deletes them here again.
    /// The archive needs the space.
    #[cfg(feature = "data")]
    #[arg(long, conflicts_with = "dry_run")]
    pub fetch_stored: bool,
    /// Directory of `crivello export`: outputs with these captures are deleted. Can be repeated.
    #[arg(long, value_name = "DIR")]
    pub exports: Vec<PathBuf>,
    /// Print what would be done, and change nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Print the result as a JSON object.
    #[arg(long)]
    pub json: bool,
}
