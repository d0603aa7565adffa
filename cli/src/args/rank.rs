//! Arguments of `crivello rank`.

use crate::connection::ConnectArgs;
use crate::graph::LevelArgs;
use clap::{Subcommand, ValueEnum};
use crivello_common::units::ByteSize;
use std::num::NonZeroUsize;
use std::path::PathBuf;

/// The ranks.
#[derive(Debug, Subcommand)]
pub enum RankCommand {
    /// PageRank.
    Pagerank(PageRankArgs),
    /// Harmonic centrality: the sum of the inverse distances of all others to a node.
    Harmonic(HarmonicArgs),
    /// Closeness: the inverse of the sum of the distances of those that reach a node.
    Closeness(ClosenessArgs),
    /// Betweenness: the share of shortest paths, or of random walks, that pass through a node.
    Betweenness(BetweennessArgs),
    /// Eigenvector centrality: the score of a node is proportional to the sum of those of its predecessors.
    Eigenvector(EigenvectorArgs),
    /// Number of predecessors.
    Indegree(IndegreeArgs),
    /// Send ranks of hosts, as `--out` writes them, to all agents of a crawl, which use them at once: `host.rank` in
    /// `links.priority` and `recrawl.weight`, the order of hosts, static ranks of searches.
    Feed(FeedArgs),
}

/// Arguments of a feed.
#[derive(Debug, clap::Args)]
pub struct FeedArgs {
    /// Table of hosts: score, tab, name on each line.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Crawl.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
}

/// Arguments of all ranks.
#[derive(Debug, clap::Args)]
pub struct RankArgs {
    /// The graph.
    #[command(flatten)]
    pub level: LevelArgs,
    /// Number of nodes to print.
    #[arg(long, value_name = "N", default_value = "20")]
    pub top: usize,
    /// Print a JSON object with the parameters, the convergence and the best nodes.
    #[arg(long)]
    pub json: bool,
    /// Write all nodes to this file, by rank: score, tab, name. It must not exist.
    #[arg(long = "out", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// Write the distribution of scores to this file.
    #[arg(long, value_name = "FILE.svg")]
    pub svg: Option<PathBuf>,
    /// Send the ranks of all hosts to the agents of a running crawl, which use them at once (`crivello rank feed`).
    #[arg(long, conflicts_with = "pages")]
    pub feed: bool,
    /// Crawl of --feed.
    #[command(flatten)]
    pub coordinator: ConnectArgs,
    /// Maximum memory.
    #[arg(long, value_name = "SIZE", default_value = "4GiB")]
    pub memory: ByteSize,
    /// Number of threads. By default as many as processors.
    #[arg(long, value_name = "N")]
    pub threads: Option<NonZeroUsize>,
}

/// Arguments of iterations.
#[derive(Debug, clap::Args)]
pub struct IterationArgs {
    /// Maximum number of iterations.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub iterations: usize,
    /// Print the error after each iteration on standard error.
    #[arg(long)]
    pub convergence: bool,
}

/// Arguments of PageRank.
#[derive(Debug, clap::Args)]
pub struct PageRankArgs {
    /// Arguments of all ranks.
    #[command(flatten)]
    pub rank: RankArgs,
    /// Damping factor: the probability to follow a link, from 0 to below 1.
    #[arg(long, value_name = "A", default_value = "0.85")]
    pub alpha: f64,
    /// File of preferred nodes: a name a line, or a weight, a tab and a name. By default all are preferred equally.
    #[arg(long, value_name = "FILE")]
    pub preference: Option<PathBuf>,
    /// Where a surfer goes from a node without links: to a node by the preference, to any node, or nowhere.
    #[arg(
        long,
        value_enum,
        value_name = "preference|uniform|nowhere",
        default_value = "preference",
        hide_possible_values = true
    )]
    pub dangling: DanglingArg,
    /// The method: Gauss and Seidel's, or the power method by rows, by columns, or from triples on disk.
    #[arg(
        long,
        value_enum,
        value_name = "gauss-seidel|rows|columns|triples",
        default_value = "rows",
        hide_possible_values = true
    )]
    pub method: MethodArg,
    /// Bound of the sum of all errors at which iterations end.
    #[arg(long, value_name = "E", default_value = "1e-9")]
    pub tolerance: f64,
    /// Iterations.
    #[command(flatten)]
    pub iterations: IterationArgs,
}

/// The rule for nodes without links.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum DanglingArg {
    /// By the preference.
    Preference,
    /// To any node.
    Uniform,
    /// Nowhere.
    Nowhere,
}

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MethodArg {
    /// Gauss and Seidel's.
    GaussSeidel,
    /// The power method by rows.
    Rows,
    /// The power method by columns.
    Columns,
    /// The power method from triples on disk.
    Triples,
}

/// How distances are computed.
#[derive(Debug, clap::Args)]
pub struct DistanceArgs {
    /// Take paths that lead from a node, not those that lead to it.
    #[arg(long)]
    pub outward: bool,
    /// All nodes are visited (exact), a sample of them, or nodes are counted by HyperBall.
    #[arg(
        long,
        value_enum,
        value_name = "exact|sample|hyperball",
        default_value = "exact",
        hide_possible_values = true
    )]
    pub method: DistanceMethodArg,
    /// Number of nodes of a sample.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub sample: usize,
    /// Binary logarithm of the number of registers of a counter of HyperBall, 4 to 16. Memory: twice as many bytes a
    /// node as registers.
    #[arg(long, value_name = "N", default_value = "8")]
    pub log2_registers: u32,
    /// Seed of samples and counters.
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

/// A method for distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum DistanceMethodArg {
    /// All nodes are visited.
    Exact,
    /// Some nodes are visited.
    Sample,
    /// Nodes are counted by HyperBall.
    Hyperball,
}

/// Arguments of harmonic centrality.
#[derive(Debug, clap::Args)]
pub struct HarmonicArgs {
    /// Arguments of all ranks.
    #[command(flatten)]
    pub rank: RankArgs,
    /// Distances.
    #[command(flatten)]
    pub distances: DistanceArgs,
    /// Count each other node by its captured pages: a host by their number, a page as 0 or 1. Not with HyperBall.
    #[arg(long)]
    pub weighted: bool,
}

/// Arguments of closeness.
#[derive(Debug, clap::Args)]
pub struct ClosenessArgs {
    /// Arguments of all ranks.
    #[command(flatten)]
    pub rank: RankArgs,
    /// Distances.
    #[command(flatten)]
    pub distances: DistanceArgs,
    /// The form, where r others reach a node by distances of sum D: 1/D, (r+1)²/D, r²/((n−1)D) or r/D.
    #[arg(
        long,
        value_enum,
        value_name = "plain|lin|wasserman-faust|mean",
        default_value = "plain",
        hide_possible_values = true
    )]
    pub form: FormArg,
}

/// A form of closeness.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum FormArg {
    /// The inverse of the sum.
    Plain,
    /// Lin's.
    Lin,
    /// Wasserman's and Faust's.
    WassermanFaust,
    /// The inverse of the mean.
    Mean,
}

/// Arguments of betweenness.
#[derive(Debug, clap::Args)]
pub struct BetweennessArgs {
    /// Arguments of all ranks.
    #[command(flatten)]
    pub rank: RankArgs,
    /// Estimate it from this number of sources. By default all are taken, and the result is exact.
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Seed of the sample.
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
    /// Count random walks in place of shortest paths; components may have 5,000 nodes.
    #[arg(long, conflicts_with = "sample")]
    pub random_walks: bool,
}

/// Arguments of eigenvector centrality.
#[derive(Debug, clap::Args)]
pub struct EigenvectorArgs {
    /// Arguments of all ranks.
    #[command(flatten)]
    pub rank: RankArgs,
    /// Difference between two vectors in a row, in the Euclidean norm, at which iterations end.
    #[arg(long, value_name = "E", default_value = "1e-9")]
    pub tolerance: f64,
    /// Iterations.
    #[command(flatten)]
    pub iterations: IterationArgs,
}

/// Arguments of the number of predecessors.
#[derive(Debug, clap::Args)]
pub struct IndegreeArgs {
    /// Arguments of all ranks.
    #[command(flatten)]
    pub rank: RankArgs,
}
