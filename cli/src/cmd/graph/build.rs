//! `crivello graph build`.

use super::open::error_of;
use crate::args::graph::{GraphBuildArgs, LinksArg};
use crate::cmd::archive::files::{print_problem, warc_files};
use crate::cmd::export::options::{print_damage, threads};
use crate::exit::{CliError, Exit};
use crate::progress::with_progress;
use crate::{screen, signals};
use crivello_graph::{
    BuildCounts, BuildProgress, BuildStage, GraphError, GraphJob, LevelNumbers, LinkOrigin,
    Manifest,
};
use std::slice;
use std::sync::atomic::Ordering::Relaxed;

pub fn run(args: &GraphBuildArgs) -> Result<Exit, CliError> {
    let paths = if args.paths.is_empty() { slice::from_ref(&args.out) } else { &args.paths };
    let files = warc_files(paths)?;
    let threads = threads(args.threads);
    let job = GraphJob {
        files: &files,
        out: &args.out,
        origin: match args.links {
            LinksArg::Auto => LinkOrigin::OutlinksOrPages,
            LinksArg::Pages => LinkOrigin::Pages,
        },
        captured_only: args.captured_only,
        memory: args.memory.as_usize(),
        threads,
    };
    let stop = signals::listen(screen::restore)?;
    let progress = BuildProgress::default();
    let pool = pool(threads)?;
    let result = with_progress(
        || progress_line(&progress, files.len()),
        || pool.install(|| job.run(&progress, &|| stop.is_cancelled(), &print_damage)),
    );
    let (manifest, counts) = match result {
        Err(GraphError::Stopped) => {
            print_problem("stopped; the graphs are as before");
            return Ok(Exit::Stopped);
        }
        result => result.map_err(|error| error_of(&error))?,
    };
    screen::print_out(&summary(&manifest, &counts));
    Ok(if counts.damaged > 0 { Exit::Damaged } else { Exit::Finished })
}

/// Returns threads for computations.
///
/// # Errors
/// Fails if the system has none.
pub fn pool(threads: usize) -> Result<rayon::ThreadPool, CliError> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|error| CliError::usage(error.to_string()))
}

fn progress_line(progress: &BuildProgress, n_files: usize) -> String {
    let reading = &progress.reading;
    match progress.stage() {
        BuildStage::Reading => format!(
            "read {} of {n_files} files, {} captures",
            reading.files.load(Relaxed),
            reading.captures.load(Relaxed)
        ),
        BuildStage::Sorting => "sorting names and links".to_owned(),
        BuildStage::Pages => "writing the graph of pages".to_owned(),
        BuildStage::Hosts => "writing the graph of hosts".to_owned(),
        BuildStage::Sealing => "syncing files".to_owned(),
    }
}

fn summary(manifest: &Manifest, counts: &BuildCounts) -> String {
    let of = |name: &str, numbers: &LevelNumbers| {
        format!(
            "{name}: {} nodes ({} captured), {} arcs, {:.2} bits an arc\n",
            numbers.nodes,
            numbers.captured,
            numbers.arcs,
            numbers.bits as f64 / numbers.arcs.max(1) as f64
        )
    };
    format!(
        "{}{}{} captures: links of {} from metadata records, of {} from pages, of {} not known; {} damaged places\n",
        of("pages", &manifest.pages),
        of("hosts", &manifest.hosts),
        counts.captures,
        counts.with_outlinks,
        counts.parsed,
        counts.without_links,
        counts.damaged
    )
}
