//! Arguments of `crivello policy`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of [`Command::Policy`](super::Command::Policy).
#[derive(Debug, clap::Args)]
pub struct PolicyArgs {
    /// WARC files, or directories that have some, as those of crawls.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Print a line for each site with signals, instead of counts over all.
    #[arg(long)]
    pub sites: bool,
    /// Print JSON: one object, or one a line for each site.
    #[arg(long)]
    pub json: bool,
    /// Count only captures for which this expression is true, as `url.domain == "example.org"`
    /// (docs/expressions.md).
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Number of threads, each with a file of its own. By default as many as processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}
