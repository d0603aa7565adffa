//! The run of a computation, with its progress.

use super::feed;
use super::report::{Ranking, report};
use crate::args::rank::RankArgs;
use crate::cmd::archive::files::print_problem;
use crate::cmd::export::options::threads;
use crate::cmd::graph::build::pool;
use crate::cmd::graph::open::{error_of, level, open};
use crate::exit::{CliError, Exit, usage};
use crate::progress::with_progress;
use crate::{screen, signals};
use crivello_graph::{Adjacency, GraphError, Level, LinkGraph, RankProgress};

/// The input of a computation.
pub struct Input<'a> {
    /// The graph.
    pub graph: &'a LinkGraph,
    /// Maximum memory in bytes.
    pub memory: u64,
    /// Its progress.
    pub progress: &'a RankProgress,
}

impl Input<'_> {
    /// Reads the arcs into memory, or with `transposed` their opposites.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`] if they need more than is allowed. `remedy` says what to do then.
    pub fn adjacency(
        &self,
        transposed: bool,
        remedy: &'static str,
    ) -> Result<Adjacency, GraphError> {
        let (nodes, arcs) = (self.graph.numbers.nodes, self.graph.numbers.arcs);
        let needed = Adjacency::bytes(nodes, arcs);
        if needed > self.memory {
            let what = "the graph";
            return Err(GraphError::TooLarge { what, needed, allowed: self.memory, remedy });
        }
        let lists = if transposed { &self.graph.transpose } else { &self.graph.forward };
        Ok(Adjacency::of(lists))
    }
}

/// Opens the graph, computes a ranking, and reports it.
///
/// # Errors
/// Those of the graph and of the computation.
pub fn run(
    args: &RankArgs,
    compute: impl FnOnce(&Input<'_>) -> Result<Ranking, CliError> + Send,
) -> Result<Exit, CliError> {
    if let Some(path) = args.file.as_ref().filter(|path| path.exists()) {
        return Err(usage!("{}: it is there already", path.display()));
    }
    let graph = open(&args.level)?;
    let pool = pool(threads(args.threads))?;
    let stop = signals::listen(screen::restore)?;
    let progress = RankProgress::default();
    let line = || {
        if stop.is_cancelled() {
            progress.stop();
        }
        progress_line(&progress)
    };
    let input = Input { graph: &graph, memory: args.memory.0, progress: &progress };
    let ranking = with_progress(line, || pool.install(|| compute(&input)));
    match ranking {
        Err(_) if stop.is_cancelled() => {
            print_problem("stopped");
            Ok(Exit::Stopped)
        }
        ranking => {
            let ranking = ranking?;
            report(args, &graph, level_name(args), &ranking)?;
            match args.feed {
                true => feed::send(&ranking.hosts(&graph)?, &args.coordinator),
                false => Ok(Exit::Finished),
            }
        }
    }
}

/// Converts an error of a computation.
pub fn computed<T>(result: Result<T, GraphError>) -> Result<T, CliError> {
    result.map_err(|error| error_of(&error))
}

const fn level_name(args: &RankArgs) -> Level {
    level(&args.level)
}

fn progress_line(progress: &RankProgress) -> String {
    match (progress.steps(), progress.error()) {
        ((0, 0), _) => "reading the graph".to_owned(),
        ((done, 0), Some(error)) => format!("iteration {done}, error {error:.2e}"),
        ((done, 0), None) => format!("iteration {done}"),
        ((done, total), _) => format!("{done} of {total} steps"),
    }
}
