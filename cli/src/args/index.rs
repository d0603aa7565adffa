//! Arguments of `crivello index`.

use clap::{Subcommand, ValueEnum};
use crivello_common::units::ByteSize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// Arguments of the index of a crawl.
#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct IndexArgs {
    /// Reports on an index.
    #[command(subcommand)]
    pub command: Option<IndexCommand>,
    /// WARC files, or directories that have some. By default the directory of --out.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Directory of the crawl. The index is the directory `index` in it.
    #[arg(long, value_name = "DIR", default_value = "crawl")]
    pub out: PathBuf,
    /// Codes of the index: `small`, or `fast`, which is larger. By default small; an index keeps its preset.
    #[arg(long, value_enum, value_name = "small|fast", hide_possible_values = true)]
    pub preset: Option<PresetArg>,
    /// Index the stems of words by the language of each page, or words as they are. By default stems; an index
    /// keeps this choice.
    #[arg(long, value_enum, value_name = "language|none", hide_possible_values = true)]
    pub stem: Option<StemArg>,
    /// Index only captures for which this expression is true, as `url.domain == "example.org"`
    /// (docs/expressions.md).
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Memory for documents that are being indexed, of all threads together.
    #[arg(long, value_name = "SIZE", default_value = "256MiB")]
    pub memory: ByteSize,
    /// Add static ranks, of hosts or pages, as `crivello rank --out` writes them: lines of score, tab, name. They
    /// replace those of an earlier run, and count in `crivello search --rank-weight`.
    #[arg(long, value_name = "FILE")]
    pub ranks: Option<PathBuf>,
    /// Merge the whole index into one segment, which makes it smaller and searches faster.
    #[arg(long)]
    pub merge: bool,
    /// Check all bytes of the index first, and make damaged parts again from the archives.
    #[arg(long)]
    pub check: bool,
    /// Number of threads, each with a file of its own. By default as many as processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Reports on an index.
#[derive(Debug, Subcommand)]
pub enum IndexCommand {
    /// Print the size of the lists of the index under each code, in bits a posting, beside the entropy.
    Codes(IndexCodesArgs),
}

/// Arguments of the report on codes.
#[derive(Debug, clap::Args)]
pub struct IndexCodesArgs {
    /// Directory of the crawl, whose index is the directory `index` in it.
    #[arg(long, value_name = "DIR", default_value = "crawl")]
    pub out: PathBuf,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Preset of codes.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum PresetArg {
    /// Smallest.
    Small,
    /// Fastest.
    Fast,
}

/// Stemming.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum StemArg {
    /// By the language of the page.
    Language,
    /// None.
    None,
}
