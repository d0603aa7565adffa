//! Arguments of `crivello export`.

use clap::{Subcommand, ValueEnum};
use crivello_common::units::ByteSize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The formats.
#[derive(Debug, Subcommand)]
pub enum ExportCommand {
    /// A JSON object a line for each capture: URL, date, status, title, language, text, JSON-LD, OpenGraph,
    /// links, and the notes of the crawl.
    Jsonl(TextExportArgs),
    /// The main text of each page as Markdown.
    Markdown(TextExportArgs),
    /// The main text of each page.
    Text(TextExportArgs),
    /// WET files as Common Crawl's: a WARC record with the title and the main text of each page.
    Wet(TextExportArgs),
    /// WAT files as Common Crawl's: a WARC record with the heads, metadata and links of each capture.
    Wat(TextExportArgs),
    /// One table over all captures as Parquet, in the schema of Common Crawl's columnar index and more:
    /// OUT/parquet/crawl=NAME/subset=NAME/*.parquet, sorted by URL key. The directory OUT/parquet must not exist.
    Parquet(TableExportArgs),
    /// CDXJ indexes, made anew from the records: OUT/cdxj/NAME.cdxj for each WARC file, sorted, as pywb and
    /// others read them.
    Cdxj(IndexExportArgs),
    /// A WACZ file, which ReplayWeb.page opens: the WARC files, an index, and lists of pages with their titles:
    /// OUT/wacz/NAME.wacz. With --select, other records are not in the package.
    Wacz(PackageExportArgs),
}

/// Arguments of all formats.
#[derive(Debug, clap::Args)]
pub struct ExportArgs {
    /// WARC files, or directories that have some, as those of crawls.
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Directory of the outputs. Each format has a directory in it.
    #[arg(long, value_name = "DIR", default_value = "export")]
    pub out: PathBuf,
    /// Export only captures for which this expression is true, as `page.status == 200 && url.domain ==
    /// "example.org"` (docs/expressions.md).
    #[arg(long, value_name = "EXPR")]
    pub select: Option<String>,
    /// Number of threads, each with a file of its own. By default as many as processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Arguments of packages.
#[derive(Debug, clap::Args)]
pub struct PackageExportArgs {
    /// Input and output.
    #[command(flatten)]
    pub common: ExportArgs,
    /// Name of the package, without `.wacz`. By default the crawl in the name of the first file, as
    /// crivello-1f0c6a3d, or `archive`.
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Title of the collection.
    #[arg(long, value_name = "TEXT")]
    pub title: Option<String>,
    /// File of seeds, as for `crivello crawl`. Their pages come first in the lists of pages, beside home pages.
    #[arg(long, value_name = "FILE")]
    pub seeds: Option<PathBuf>,
    /// Put the main text of each page into the lists of pages, for search.
    #[arg(long)]
    pub text: bool,
    /// Make several packages, NAME-00000.wacz and so on, each with about this many bytes of WARC files, as
    /// 8GiB. A WARC file is not divided.
    #[arg(long, value_name = "SIZE")]
    pub split_size: Option<ByteSize>,
}

/// Arguments of indexes.
#[derive(Debug, clap::Args)]
pub struct IndexExportArgs {
    /// Input and output.
    #[command(flatten)]
    pub common: ExportArgs,
    /// Write one index over all files, OUT/cdxj/index.cdxj (.gz or .zst if it is compressed), in place of one for each.
    #[arg(long)]
    pub merge: bool,
    /// Compression of the outputs.
    #[arg(
        long,
        value_enum,
        value_name = "gzip|zstd|none",
        default_value = "none",
        hide_possible_values = true
    )]
    pub compression: CompressionArg,
}

/// Arguments of a table over all files.
#[derive(Debug, clap::Args)]
pub struct TableExportArgs {
    /// Input and output.
    #[command(flatten)]
    pub common: ExportArgs,
    /// Name of the crawl. By default that in the names of files, as crivello-1f0c6a3d.
    #[arg(long, value_name = "NAME")]
    pub crawl: Option<String>,
}

/// Arguments of formats with one output for each WARC file.
#[derive(Debug, clap::Args)]
pub struct TextExportArgs {
    /// Input and output.
    #[command(flatten)]
    pub common: ExportArgs,
    /// Compression of the outputs.
    #[arg(
        long,
        value_enum,
        value_name = "gzip|zstd|none",
        default_value = "gzip",
        hide_possible_values = true
    )]
    pub compression: CompressionArg,
}

/// Compression of outputs.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CompressionArg {
    /// gzip.
    Gzip,
    /// zstd.
    Zstd,
    /// None.
    None,
}
