//! `crivello simweb`: the simulated web as a process of its own, for tests and benchmarks.

use crate::adapt::simweb;
use crate::args::simweb::{SimwebArgs, SimwebCommand};
use crate::exit::{Exit, Trouble};

/// Serves until a signal comes or, when asked, standard input ends; or judges.
///
/// # Errors
/// When a file cannot be read, an address cannot be bound, or others than this machine could visit
/// although nobody asked for it.
pub fn run(typed: &SimwebArgs) -> Result<Exit, Trouble> {
    let Some(SimwebCommand::Judge(judged)) = &typed.command else {
        simweb::serve(&typed.serve)?;
        return Ok(Exit::Finished);
    };
    let (verdict, kept_promises) = simweb::judge(judged)?;
    println!("{verdict}");
    Ok(if kept_promises { Exit::Finished } else { Exit::Impolite })
}
