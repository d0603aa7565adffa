//! Arguments of `crivello near`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of a search for near-duplicates.
#[derive(Debug, clap::Args)]
pub struct NearArgs {
    /// WARC files, or directories that have some, as those of crawls.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Maximum number of bits in which the fingerprints of near-duplicates differ, 0 to 3.
    #[arg(long, value_name = "BITS", default_value = "3", value_parser = clap::value_parser!(u32).range(0..=3))]
    pub threshold: u32,
    /// File of the result, which must not exist. By default standard output.
    #[arg(long, value_name = "FILE")]
    pub out: Option<PathBuf>,
    /// Compare only captures for which this expression is true, as `url.domain == "example.org"`
    /// (docs/expressions.md).
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Directory of temporary files: at most 2 KB for each page. By default that of the system.
    #[arg(long, value_name = "DIR")]
    pub temporary: Option<PathBuf>,
    /// Number of threads, each with a file of its own. By default as many as processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}
