//! `crivello simweb`: serves the simulated web in a separate process, or judges its visitor.

use crate::args::{JudgeArgs, SimwebArgs, SimwebCommand, SimwebServeArgs};
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use anyhow::Context;
use crivello_common::units::parse_duration;
use simweb::{Judge, JudgeLimits, Log, Pace, Spec};
use std::path::Path;
use tokio::runtime::Runtime;

/// Serves until a signal arrives or, if requested, standard input ends; or judges an access log.
///
/// # Errors
/// Fails if a file cannot be read, an address cannot be bound, or other machines could connect
/// without `--insecure`.
pub fn run(args: &SimwebArgs) -> Result<Exit, CliError> {
    match &args.command {
        Some(SimwebCommand::Judge(args)) => judge(args),
        None => serve(&args.serve),
    }
}

/// Serves the simulated web. Prints one line of JSON on standard output once it is ready.
fn serve(args: &SimwebServeArgs) -> Result<Exit, CliError> {
    let spec = read_spec(args.spec.as_deref())?;
    if let Some(what) = spec.beyond_loopback().filter(|_| !args.insecure) {
        return Err(usage!(
            "other machines could reach {what}; give --insecure if only trusted machines can reach \
             it"
        ));
    }
    let web = simweb::serve::ServeOptions {
        spec,
        log: args.access_log.clone(),
        until_stdin_ends: args.until_stdin_ends,
    };
    let runtime = Runtime::new().context("cannot start the threads of the simulated web")?;
    runtime
        .block_on(simweb::serve::serve(web, std::io::stdout()))
        .context("cannot serve the simulated web")?;
    Ok(Exit::Finished)
}

/// Prints the verdict on an access log.
fn judge(args: &JudgeArgs) -> Result<Exit, CliError> {
    let time = |flag, text| parse_duration(text).map_err(|error| usage!("{flag} {text}: {error}"));
    let delay = time("--delay", &args.delay)?;
    let ip_delay = time("--ip-delay", &args.ip_delay)?;
    let mut spec = read_spec(args.spec.as_deref())?;
    let log = Log::read(&args.access_log)
        .with_context(|| format!("cannot read the access log {}", args.access_log.display()))?;
    if let (0, Some(first)) = (spec.port, log.first()) {
        // The specification gets the port that was free when the web was served.
        spec.port = first.port;
    }
    let judge = Judge::new(spec, JudgeLimits::default(), Pace::delays(delay, ip_delay))
        .allow_repeats(args.repeats_max);
    let judge = if args.unfinished { judge.unfinished() } else { judge };
    let report = judge.judge(&log);
    screen::print_out(&format!("{report}\n"));
    Ok(if report.is_clean() { Exit::Finished } else { Exit::Impolite })
}

fn read_spec(path: Option<&Path>) -> anyhow::Result<Spec> {
    let Some(path) = path else { return Ok(Spec::demo()) };
    let json = std::fs::read(path)
        .with_context(|| format!("cannot read the specification {}", path.display()))?;
    serde_json::from_slice(&json)
        .with_context(|| format!("{} is not a specification of a simulated web", path.display()))
}
