//! `crivello search`: pages of an index, or of the indexes of all agents.

mod cluster;
#[cfg(feature = "search")]
mod local;
mod output;

use crate::args::search::SearchArgs;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use output::FoundPages;

/// Time of a search in seconds at most.
const TIME_MAX: f64 = 86_400.0;
/// Weight of static ranks, or of words of links, at most.
const WEIGHT_MAX: f64 = 1_000.0;

/// Searches, and prints the results. The exit code is 1 if nothing is found.
///
/// # Errors
/// Returns a usage error for a wrong query. Fails if the index cannot be read, or if no agent answers.
pub fn run(args: &SearchArgs) -> Result<Exit, CliError> {
    if !(0.0..=TIME_MAX).contains(&args.time) {
        return Err(usage!("--time: from 0 to {TIME_MAX} seconds"));
    }
    for (option, weight) in
        [("--rank-weight", args.rank_weight), ("--anchor-weight", args.anchor_weight)]
    {
        if !(0.0..=WEIGHT_MAX).contains(&weight) {
            return Err(usage!("{option}: from 0 to {WEIGHT_MAX}"));
        }
    }
    let query = args.query.join(" ");
    let found = if args.cluster { cluster::search(args, &query)? } else { local(args, &query)? };
    screen::print_out(&match args.json {
        true => format!("{}\n", found.to_json(&query)),
        false => found.to_text(args.explain),
    });
    Ok(if found.pages.is_empty() { Exit::Unknown } else { Exit::Finished })
}

#[cfg(feature = "search")]
fn local(args: &SearchArgs, query: &str) -> Result<FoundPages, CliError> {
    local::search(args, query)
}

#[cfg(not(feature = "search"))]
fn local(_: &SearchArgs, _: &str) -> Result<FoundPages, CliError> {
    Err(crate::cmd::index::without_search())
}
