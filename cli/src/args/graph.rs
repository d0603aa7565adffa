//! Arguments of `crivello graph`.

use crate::connection::ConnectArgs;
use clap::{Subcommand, ValueEnum};
use crivello_common::units::ByteSize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum GraphCommand {
    /// Build the graphs of pages and hosts, and replace those that are there.
    ///
    /// A build that is stopped or killed leaves the old graphs. Exits with 1 if a file is damaged.
    Build(GraphBuildArgs),
    /// Print the numbers of a graph: nodes, arcs, degrees, dangling nodes, components, bits an arc.
    Stats(GraphStatsArgs),
    /// Print the arcs of a graph, two names a line with a tab between them.
    Arcs(GraphArcsArgs),
}

/// Arguments of a build.
#[derive(Debug, clap::Args)]
pub struct GraphBuildArgs {
    /// Directory of the crawl. The graphs are in the directory `graph` in it.
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// WARC files, or directories that have some. By default those in OUT.
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Where links are taken from: metadata records where they have outlinks and pages otherwise, or pages only.
    #[arg(
        long,
        value_enum,
        value_name = "auto|pages",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub links: LinksArg,
    /// Take only captured pages as nodes, not all targets of links.
    #[arg(long)]
    pub captured_only: bool,
    /// Memory for sorting, about.
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub memory: ByteSize,
    /// Number of threads. By default as many as processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
    /// Build only the graph of hosts, from the sealed archive files of all agents of a running crawl, which make the arcs.
    #[arg(long, conflicts_with_all = ["paths", "links", "captured_only"])]
    pub cluster: bool,
    /// Crawl of --cluster.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Where links are taken from.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum LinksArg {
    /// Metadata records where they have outlinks, pages otherwise.
    Auto,
    /// Pages.
    Pages,
}

/// A graph.
#[derive(Debug, clap::Args)]
pub struct LevelArgs {
    /// Directory of the crawl.
    #[arg(value_name = "OUT")]
    pub out: PathBuf,
    /// The graph of hosts, which is the default.
    #[arg(long, conflicts_with = "pages")]
    pub hosts: bool,
    /// The graph of pages.
    #[arg(long)]
    pub pages: bool,
}

/// Arguments of the numbers of a graph.
#[derive(Debug, clap::Args)]
pub struct GraphStatsArgs {
    /// The graph.
    #[command(flatten)]
    pub level: LevelArgs,
    /// Print a JSON object.
    #[arg(long)]
    pub json: bool,
    /// Write the distribution of degrees to this file.
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Maximum memory for components, which need 28 bytes a node and 4 bytes an arc.
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub memory: ByteSize,
}

/// Arguments of arcs.
#[derive(Debug, clap::Args)]
pub struct GraphArcsArgs {
    /// The graph.
    #[command(flatten)]
    pub level: LevelArgs,
    /// Print only the arcs from this node.
    #[arg(long, value_name = "NAME")]
    pub from: Option<String>,
    /// Print only the arcs to this node.
    #[arg(long, value_name = "NAME", conflicts_with = "from")]
    pub to: Option<String>,
    /// Print numbers of nodes in place of names.
    #[arg(long)]
    pub numbers: bool,
}
