//! `crivello rank`: ranks of pages and hosts.

#[cfg(feature = "graph")]
mod compute;
#[cfg(feature = "graph")]
mod distances;
#[cfg(feature = "graph")]
mod feed;
#[cfg(feature = "graph")]
mod pagerank;
#[cfg(feature = "graph")]
mod report;

use crate::args::rank::RankCommand;
use crate::exit::{CliError, Exit};

/// Ranks the nodes of a graph.
///
/// # Errors
/// Fails without a graph, for parameters that are out of their ranges, if a file cannot be written, and if ranks cannot
/// be sent.
#[cfg(feature = "graph")]
pub fn run(command: &RankCommand) -> Result<Exit, CliError> {
    match command {
        RankCommand::Pagerank(args) => pagerank::pagerank(args),
        RankCommand::Eigenvector(args) => pagerank::eigenvector(args),
        RankCommand::Harmonic(args) => distances::harmonic(args),
        RankCommand::Closeness(args) => distances::closeness(args),
        RankCommand::Betweenness(args) => distances::betweenness(args),
        RankCommand::Indegree(args) => distances::indegree(args),
        RankCommand::Feed(args) => feed::run(args),
    }
}

/// Names the build that has ranks.
///
/// # Errors
/// Always: this program was built without them.
#[cfg(not(feature = "graph"))]
pub fn run(_: &RankCommand) -> Result<Exit, CliError> {
    Err(super::graph::without_graph())
}
