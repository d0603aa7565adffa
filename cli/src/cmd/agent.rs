//! `crivello agent`: one of the agents of a crawl.

use crate::args::cluster::JoinArgs;
use crate::cluster::{check_listen, node_auth, secret_in, target};
use crate::display::Display;
use crate::exit::{CliError, Exit, usage};
use crate::finish::{FinishOptions, command_line, finish};
use crate::http::{Meters, MetricsEndpoint, MetricsServer};
use crate::otlp::collector;
use crate::report_file::ReportFile;
use crate::run_loop::{CrawlOutcome, stop, watch};
use crate::tables::TABLES;
use crate::{screen, signals};
use anyhow::anyhow;
use crivello_agent::report::{Ended, Report};
use crivello_agent::{AgentError, Crawl, JoinOptions, Otlp};
use crivello_common::view::{check_address, check_name};
use tokio_util::sync::CancellationToken;

/// Joins, and crawls until a signal arrives, the crawl is stopped, or the agent is drained.
///
/// # Errors
/// Returns usage errors, including those of the coordinator, before it has joined; internal errors
/// afterwards.
pub fn run(args: &JoinArgs) -> Result<Exit, CliError> {
    let (mut options, http) = check(args)?;
    let otlp = collector(&args.traces)?;
    let report_file = ReportFile::from_arg(args.report.as_deref(), &args.data)?;
    let again = command_line();
    let at_exit = format!("exited at once; committed pages are safe. To rejoin: {again}");
    let meters = Meters::default();
    let _metrics = MetricsServer::open(http, meters.clone())?;
    let stopped = signals::listen(move || screen::print_line(&at_exit))?;
    let report = loop {
        let report = run_once(args, (&mut options, otlp.as_ref()), &stopped, &meters)?;
        if report.ended != Ended::Lost || stopped.is_cancelled() {
            break report;
        }
        screen::print_line("the cluster declared this agent dead: rejoining");
    };
    let stopped_by_coordinator = report.ended == Ended::Stopped && !stopped.is_cancelled();
    let resume =
        if stopped_by_coordinator { format!("`crivello resume`, then {again}") } else { again };
    let outcome = CrawlOutcome { report, seeds_done: true, seeds_error: None };
    let options = FinishOptions {
        quiet: args.quiet,
        report: report_file.as_ref(),
        out: Some(&args.data),
        resume: Some(&resume),
    };
    match finish(&outcome, &options)? {
        // `crivello stop` is a normal end.
        Exit::Stopped if stopped_by_coordinator => Ok(Exit::Finished),
        end => Ok(end),
    }
}

/// Joins once and crawls until this membership ends.
fn run_once(
    args: &JoinArgs,
    (options, otlp): (&mut JoinOptions, Option<&Otlp>),
    stopped: &CancellationToken,
    meters: &Meters,
) -> Result<Report, CliError> {
    let crawl = match Crawl::join(options, stopped) {
        // A signal interrupted joining.
        Err(error) if stopped.is_cancelled() && !error.is_usage() => {
            return Err(CliError::Stopped(anyhow!("stopped before it had joined: {error}")));
        }
        joined => joined.map_err(|error| join_error(error, args))?,
    };
    meters.add(crawl.meter());
    otlp.iter().for_each(|otlp| crawl.export_traces(otlp));
    // The agent keeps its address if it rejoins.
    options.listen = crawl.address().unwrap_or(options.listen);
    let at = options.listen;
    let name = args.name.as_deref().unwrap_or("agent");
    let title = format!("{name} at {at} of {}", args.coordinator.url);
    if !args.quiet {
        screen::print_line(&format!("agent listening on {at}, saving to {}", args.data.display()));
    }
    let display = Display::new(title, args.quiet);
    watch(&crawl, stopped, display, |crawl| leave(crawl, args.drain_on_stop));
    Ok(crawl.finish())
}

/// Handles the first signal.
fn leave(crawl: &Crawl, drains: bool) {
    if drains {
        match crawl.drain() {
            Ok(()) => {
                screen::print_line(
                    "draining: handing over all work to the other agents (a second signal exits at \
                     once)",
                );
                return;
            }
            Err(why) => screen::print_line(&format!("cannot hand over: {why}")),
        }
    }
    stop(crawl);
}

/// Checks the arguments without connecting.
fn check(args: &JoinArgs) -> Result<(JoinOptions, MetricsEndpoint), CliError> {
    let auth = node_auth(&args.node)?;
    target(&args.coordinator.url, auth.tls.as_ref())?;
    check_listen(args.listen, &auth, None, args.insecure)?;
    let token = secret_in(args.http_token_file.as_deref())?;
    let http = MetricsEndpoint::check(
        args.http,
        &args.https,
        ("--http-token-file", token),
        args.insecure,
    )?;
    let wrong = |flag: &str, text: &str, why: &str| usage!("{flag} {}: {why}", text.escape_debug());
    match &args.advertise {
        Some(address) => {
            check_address(address).map_err(|why| wrong("--advertise", address, why))?;
        }
        None if args.listen.ip().is_unspecified() => {
            return Err(wrong(
                "--listen",
                &args.listen.to_string(),
                "that is every address of this machine; give the address at which other agents reach \
                 it with --advertise HOST:PORT",
            ));
        }
        None => {}
    }
    if let Some(name) = &args.name {
        check_name(name).map_err(|why| wrong("--name", name, why))?;
    }
    let options = JoinOptions {
        coordinator: args.coordinator.url.clone(),
        listen: args.listen,
        advertise: args.advertise.clone(),
        dir: args.data.clone(),
        name: args.name.clone(),
        weight: args.weight,
        auth,
        tables: TABLES,
    };
    Ok((options, http))
}

/// Returns the error of a failed join.
fn join_error(error: AgentError, args: &JoinArgs) -> CliError {
    match CliError::from(error) {
        CliError::Internal(error) => CliError::Internal(
            error.context(format!("the agent in {} cannot join", args.data.display())),
        ),
        error => error,
    }
}
