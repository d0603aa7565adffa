//! Runs a crawl to its end: hands over the seeds, shows how it goes, and listens for signals.

use crate::display::{Display, FRAME};
use crate::exit::Trouble;
use crate::plan::Plan;
use crate::screen;
use crate::seeds::{Account, Seeds};
use crate::signals::Signals;
use anyhow::{Context, anyhow};
use crivello_agent::report::Report;
use crivello_agent::{AgentError, Crawl};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A crawl that has ended.
pub struct Driven {
    /// What happened.
    pub report: Report,
    /// Whether all seeds were handed over.
    pub seeds_done: bool,
    /// What went wrong with them, if something did.
    pub seeds_error: Option<String>,
}

/// What a crawl is called, and what is done when it is left at once.
pub struct Stage<F> {
    /// The first line of the panel.
    pub title: String,
    /// Run before a second signal ends the process.
    pub farewell: F,
}

/// Opens the crawl of `plan` and runs it until it ends or a signal comes.
///
/// # Errors
/// When it cannot be opened.
pub fn drive<F: FnOnce() + Send + 'static>(plan: Plan, stage: Stage<F>) -> Result<Driven, Trouble> {
    let signals = Signals::listen(stage.farewell)?;
    let account = Account::default();
    let mut seeds = Seeds::new(plan.seeds, signals.clone(), account.clone());
    let crawl = match Crawl::open(plan.settings, &plan.out, &mut seeds) {
        Err(AgentError::SeedsCut) => return Err(not_begun(&account)),
        opened => Arc::new(opened?),
    };
    plan.meters.add(crawl.meter());
    plan.otlp.iter().for_each(|otlp| crawl.export_traces(otlp));
    let seeding = start_seeding(&crawl, seeds)?;
    let mut display = Display::new(stage.title, plan.quiet);
    watch(&crawl, &signals, &mut display, stop);
    screen::restore();
    let mut report = crawl.finish();
    report.seeds.refused = account.refused();
    // A thread that still waits for whoever writes the seeds is left.
    let result = if seeding.is_finished() { seeding.join() } else { Ok(false) };
    let panicked = result.as_ref().err().map(|_| "the thread that reads them panicked".to_owned());
    let seeds_error = account.error().map(str::to_owned).or(panicked);
    Ok(Driven { report, seeds_done: result.unwrap_or(false), seeds_error })
}

/// The seeds were cut before the crawl was known to be theirs.
fn not_begun(account: &Account) -> Trouble {
    match account.error() {
        Some(error) => Trouble::Internal(anyhow!(
            "the seeds cannot be read to their end ({error}); nothing was changed"
        )),
        None => Trouble::Stopped(anyhow!(
            "stopped before all seeds were known to belong to the crawl; nothing was changed"
        )),
    }
}

/// Hands over the seeds on a thread of their own: reading them may wait for whoever writes them,
/// and handing them over for the sieve.
fn start_seeding(crawl: &Arc<Crawl>, seeds: Seeds) -> anyhow::Result<JoinHandle<bool>> {
    let crawl = Arc::clone(crawl);
    std::thread::Builder::new()
        .name("seeds".to_owned())
        .spawn(move || crawl.seed(seeds))
        .context("no thread for the seeds")
}

/// Stops a crawl, as a signal does.
pub fn stop(crawl: &Crawl) {
    crawl.stop();
    screen::say("stopping: ending visits in flight (once more leaves at once)");
}

/// Shows how the crawl goes until it has ended; a signal makes it `leave`.
pub fn watch(crawl: &Crawl, signals: &Signals, display: &mut Display, leave: impl FnOnce(&Crawl)) {
    let mut leave = Some(leave);
    loop {
        if signals.came()
            && let Some(leave) = leave.take()
        {
            leave(crawl);
        }
        let ended = crawl.wait(FRAME).is_some();
        display.show(|| crawl.snapshot(), |_| Vec::new());
        if ended {
            return;
        }
    }
}
