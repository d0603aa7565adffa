//! Opening of a graph.

use crate::args::graph::LevelArgs;
use crate::exit::{CliError, usage};
use crate::screen;
use crivello_graph::{GraphError, Level, LinkGraph};

/// Returns which graph is asked for: by default that of hosts.
pub const fn level(args: &LevelArgs) -> Level {
    if args.pages { Level::Pages } else { Level::Hosts }
}

/// Opens a graph, and shows which file is checked.
///
/// # Errors
/// Fails if there is none, or if a file is damaged.
pub fn open(args: &LevelArgs) -> Result<LinkGraph, CliError> {
    let check = &mut |name: &str| screen::show_line(&format!("checking {name}"));
    let graph = LinkGraph::open(&args.out, level(args), check);
    screen::restore();
    graph.map_err(|error| error_of(&error))
}

/// Returns the error of a graph as that of a command.
pub fn error_of(error: &GraphError) -> CliError {
    usage!("{error}")
}
