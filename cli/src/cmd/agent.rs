//! `crivello agent`: one of the agents of a crawl.

use crate::adapt::traces::collector;
use crate::args::cluster::JoinArgs;
use crate::cluster::{Papers, check_listen, endpoint};
use crate::display::Display;
use crate::drive::{Driven, stop, watch};
use crate::ending::{Ending, conclude, typed_again};
use crate::exit::{Exit, Trouble};
use crate::http::{Meters, Place, Site};
use crate::report_file::ReportFile;
use crate::screen;
use crate::signals::Signals;
use anyhow::anyhow;
use crivello_agent::report::{Ended, Report};
use crivello_agent::{AgentError, Crawl, JoinOptions, Otlp};
use crivello_common::view::{check_address, check_name};

/// Joins, and crawls until a signal comes, the crawl is stopped, or the agent was drained.
///
/// # Errors
/// Usage errors before anything is begun, and when the coordinator does not let it in; breakdowns
/// after.
pub fn run(typed: &JoinArgs) -> Result<Exit, Trouble> {
    let (mut options, http) = check(typed)?;
    let otlp = collector(&typed.traces)?;
    let report = typed.report.as_deref().map(|path| {
        ReportFile::prepare(path, &typed.data)
            .map_err(|error| Trouble::usage(format!("--report {}: {error}", path.display())))
    });
    let report = report.transpose()?;
    let again = typed_again();
    let farewell = {
        let again = again.clone();
        move || {
            screen::say(&format!(
                "left at once; what was committed is safe. To come back: {again}"
            ));
        }
    };
    let meters = Meters::default();
    let _site = Site::open(http, meters.clone())?;
    let signals = Signals::listen(farewell)?;
    let report_of_it = loop {
        let report_of_it = take_part(typed, (&mut options, otlp.as_ref()), &signals, &meters)?;
        if report_of_it.ended != Ended::Lost || signals.came() {
            break report_of_it;
        }
        screen::say("the cluster counted this agent as dead: joining again");
    };
    let was_told = report_of_it.ended == Ended::Stopped && !signals.came();
    let resume = if was_told { format!("`crivello resume`, then {again}") } else { again };
    let driven = Driven { report: report_of_it, seeds_done: true, seeds_error: None };
    let ending = Ending {
        quiet: typed.quiet,
        report: report.as_ref(),
        out: Some(&typed.data),
        resume: Some(&resume),
    };
    match conclude(&driven, &ending)? {
        // The coordinator said so, and that was all there was to do.
        Exit::Stopped if was_told => Ok(Exit::Finished),
        end => Ok(end),
    }
}

/// One membership, from joining to its end.
fn take_part(
    typed: &JoinArgs,
    (options, otlp): (&mut JoinOptions, Option<&Otlp>),
    signals: &Signals,
    meters: &Meters,
) -> Result<Report, Trouble> {
    let crawl = match Crawl::join(options, signals.token()) {
        // Whatever it says to that: it was asked to.
        Err(error) if signals.came() && !error.is_usage() => {
            return Err(Trouble::Stopped(anyhow!("stopped before it was a member: {error}")));
        }
        joined => joined.map_err(|error| told(error, typed))?,
    };
    meters.add(crawl.meter());
    otlp.iter().for_each(|otlp| crawl.export_traces(otlp));
    // Should it join again, the others find it where it was.
    options.listen = crawl.address().unwrap_or(options.listen);
    let at = options.listen;
    let name = typed.name.as_deref().unwrap_or("agent");
    let title = format!("{name} at {at} of {}", typed.coordinator.url);
    if !typed.quiet {
        screen::say(&format!("agent listening on {at}, saving to {}", typed.data.display()));
    }
    let mut display = Display::new(title, typed.quiet);
    watch(&crawl, signals, &mut display, |crawl| leave(crawl, typed.drain_on_stop));
    screen::restore();
    Ok(crawl.finish())
}

/// A signal has come.
fn leave(crawl: &Crawl, drains: bool) {
    if drains {
        match crawl.drain() {
            Ok(()) => {
                screen::say(
                    "leaving: handing everything over to the other agents (once more leaves at \
                     once)",
                );
                return;
            }
            Err(why) => screen::say(&format!("nothing can be handed over: {why}")),
        }
    }
    stop(crawl);
}

/// What was typed, as far as it can be checked before anybody is asked.
fn check(typed: &JoinArgs) -> Result<(JoinOptions, Place), Trouble> {
    let (_, papers) = endpoint(&typed.coordinator)?;
    check_listen(typed.listen, &papers, typed.insecure)?;
    let Papers { tls, token } = papers;
    let http = Place::check(typed.http, &typed.https, token.clone(), typed.insecure)?;
    let wrong = |flag: &str, text: &str, why: &str| {
        Trouble::usage(format!("{flag} {}: {why}", text.escape_debug()))
    };
    match &typed.advertise {
        Some(address) => {
            check_address(address).map_err(|why| wrong("--advertise", address, why))?;
        }
        None if typed.listen.ip().is_unspecified() => {
            return Err(wrong(
                "--listen",
                &typed.listen.to_string(),
                "that stands for every address of a machine; say with --advertise HOST:PORT where \
                 the other agents reach this one",
            ));
        }
        None => {}
    }
    if let Some(name) = &typed.name {
        check_name(name).map_err(|why| wrong("--name", name, why))?;
    }
    let options = JoinOptions {
        coordinator: typed.coordinator.url.clone(),
        listen: typed.listen,
        advertise: typed.advertise.clone(),
        dir: typed.data.clone(),
        name: typed.name.clone(),
        weight: typed.weight,
        tls,
        token,
    };
    Ok((options, http))
}

/// Why it did not become a member.
fn told(error: AgentError, typed: &JoinArgs) -> Trouble {
    match Trouble::from(error) {
        Trouble::Internal(error) => Trouble::Internal(
            error.context(format!("the agent in {} cannot join", typed.data.display())),
        ),
        trouble => trouble,
    }
}
