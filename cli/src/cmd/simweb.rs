//! `crivello simweb`: the simulated web as a process of its own, for tests and benchmarks.

use crate::adapt::simweb;
use crate::args::SimwebArgs;
use crate::exit::{Exit, Trouble};

/// Serves until a signal comes or, when asked, standard input ends.
///
/// # Errors
/// When the description cannot be read or an address cannot be bound.
pub fn run(typed: &SimwebArgs) -> Result<Exit, Trouble> {
    simweb::serve(typed)?;
    Ok(Exit::Finished)
}
