//! Run of a crawl by one agent to its end: sends the seeds, shows progress, handles signals.

use crate::display::{Display, FRAME};
use crate::exit::CliError;
use crate::plan::Plan;
use crate::screen;
use crate::seeds::{SeedErrors, SeedIter};
use crate::signals;
use crate::tables::TABLES;
use anyhow::{Context, anyhow};
use crivello_agent::report::Report;
use crivello_agent::{AgentError, Crawl};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};
use tokio_util::sync::CancellationToken;

/// Result of a crawl that has ended.
pub struct CrawlOutcome {
    /// Report of the crawl.
    pub report: Report,
    /// True if all seeds were read.
    pub seeds_done: bool,
    /// First error while reading the seeds.
    pub seeds_error: Option<String>,
}

/// Opens the crawl of `plan` and runs it until it ends or a signal arrives. `title` is the first
/// line of the panel. `before_exit` runs before a second signal ends the process.
///
/// # Errors
/// Fails if the crawl cannot be opened.
pub fn run_loop(
    plan: Plan,
    title: String,
    before_exit: impl FnOnce() + Send + 'static,
) -> Result<CrawlOutcome, CliError> {
    let stopped = signals::listen(before_exit)?;
    let seed_errors = SeedErrors::default();
    let mut seeds = SeedIter::new(plan.seeds, stopped.clone(), seed_errors.clone());
    let crawl = match Crawl::open(plan.settings, &plan.out, &mut seeds, TABLES) {
        Err(AgentError::SeedsCut) => return Err(not_started(&seed_errors)),
        opened => Arc::new(opened?),
    };
    plan.meters.add(crawl.meter());
    plan.otlp.iter().for_each(|otlp| crawl.export_traces(otlp));
    let seeding = start_seeding(&crawl, seeds)?;
    watch(&crawl, &stopped, Display::new(title, plan.quiet), stop);
    let mut report = crawl.finish();
    report.seeds.refused = seed_errors.rejected();
    // The thread is abandoned if it still waits for input.
    let result = if seeding.is_finished() { seeding.join() } else { Ok(false) };
    let panicked = result.as_ref().err().map(|_| "the seed thread panicked".to_owned());
    let seeds_error = seed_errors.error().map(str::to_owned).or(panicked);
    Ok(CrawlOutcome { report, seeds_done: result.unwrap_or(false), seeds_error })
}

/// Returns the error for seeds that ended before they were known to belong to the crawl.
fn not_started(seed_errors: &SeedErrors) -> CliError {
    match seed_errors.error() {
        Some(error) => CliError::Internal(anyhow!(
            "the seeds cannot be read to their end ({error}); nothing was changed"
        )),
        None => CliError::Stopped(anyhow!(
            "stopped before all seeds were known to belong to the crawl; nothing was changed"
        )),
    }
}

/// Starts a thread that sends the seeds. It may block on input and on the sieve.
fn start_seeding(crawl: &Arc<Crawl>, seeds: SeedIter) -> anyhow::Result<JoinHandle<bool>> {
    let crawl = Arc::clone(crawl);
    Builder::new()
        .name("seeds".to_owned())
        .spawn(move || crawl.seed(seeds))
        .context("cannot start the seed thread")
}

/// Stops a crawl in order, as the first signal does.
pub fn stop(crawl: &Crawl) {
    crawl.stop();
    screen::print_line(STOPPING);
}

/// Text printed at the first signal.
pub const STOPPING: &str = "stopping: waiting for visits in flight (a second signal exits at once)";

/// Shows progress until the crawl has ended. The first signal, which cancels `stopped`, calls
/// `on_signal`.
pub fn watch(
    crawl: &Crawl,
    stopped: &CancellationToken,
    mut display: Display,
    on_signal: impl FnOnce(&Crawl),
) {
    let mut on_signal = Some(on_signal);
    let mut ended = false;
    while !ended {
        if let Some(on_signal) = on_signal.take_if(|_| stopped.is_cancelled()) {
            on_signal(crawl);
        }
        ended = crawl.wait(FRAME).is_some();
        display.show(|| crawl.snapshot(), |_| Vec::new());
    }
    screen::restore();
}
