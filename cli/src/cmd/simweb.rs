//! `crivello simweb`: the simulated web as a process of its own, for tests and benchmarks; and its
//! judge.

use crate::adapt::simweb;
use crate::args::simweb::{SimwebArgs, SimwebCommand};
use crate::exit::{Exit, Trouble};
use std::io::Write;

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
    // A closed pipe is no reason for another code.
    let _ = writeln!(std::io::stdout().lock(), "{verdict}");
    Ok(if kept_promises { Exit::Finished } else { Exit::Impolite })
}
