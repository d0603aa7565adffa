//! `crivello graph`: link graphs of archives.

#[cfg(feature = "graph")]
mod arcs;
#[cfg(feature = "graph")]
pub mod build;
#[cfg(feature = "graph")]
mod cluster;
#[cfg(feature = "graph")]
pub mod open;
#[cfg(feature = "graph")]
mod stats;

use crate::args::graph::GraphCommand;
#[cfg(not(feature = "graph"))]
use crate::exit::usage;
use crate::exit::{CliError, Exit};

/// Builds or shows graphs. The exit code of a build is 1 if a file is damaged.
///
/// # Errors
/// Fails if a file cannot be read or written, and without a graph.
#[cfg(feature = "graph")]
pub fn run(command: &GraphCommand) -> Result<Exit, CliError> {
    match command {
        GraphCommand::Build(args) if args.cluster => cluster::run(args),
        GraphCommand::Build(args) => build::run(args),
        GraphCommand::Stats(args) => stats::run(args),
        GraphCommand::Arcs(args) => arcs::run(args),
    }
}

/// Names the build that has graphs.
///
/// # Errors
/// Always: this program was built without them.
#[cfg(not(feature = "graph"))]
pub fn run(_: &GraphCommand) -> Result<Exit, CliError> {
    Err(without_graph())
}

/// Returns the error of a program that was built without the feature `graph`.
#[cfg(not(feature = "graph"))]
pub fn without_graph() -> CliError {
    usage!(
        "this program was built without graphs, as `make demo` does; run `make build`, or cargo with the feature \
         `graph`"
    )
}
