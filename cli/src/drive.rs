//! Runs a crawl to its end: hands over the seeds, shows how it goes, listens for signals, and
//! says what happened.

use crate::exit::{Exit, Trouble};
use crate::plan::Plan;
use crate::rate::Rates;
use crate::seeds::{Refused, SeedFile, from_arguments, known_seeds};
use crate::signals::Signals;
use crate::{human, panel, screen, summary};
use anyhow::Context;
use crivello_agent::Crawl;
use crivello_agent::report::{Ended, Report};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, View};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Between two frames of the panel: five a second.
const FRAME: Duration = Duration::from_millis(200);
/// Between two progress lines of a log.
const LOG_EVERY: Duration = Duration::from_secs(10);

/// A crawl that has ended.
pub struct Driven {
    /// What happened.
    pub report: Report,
    /// Whether all seeds were handed over.
    pub seeds_done: bool,
}

/// What a crawl is called, and what is done when it is left at once.
pub struct Stage<F> {
    /// The first line of the panel.
    pub title: String,
    /// Run before a second signal ends the process.
    pub farewell: F,
}

/// Opens the crawl of `plan` as the agent `me` under `view` and runs it until it ends or a signal
/// comes.
///
/// # Errors
/// When it cannot be opened, or the seeds cannot be read to their end.
pub fn drive<F: FnOnce() + Send + 'static>(
    plan: Plan,
    me: (View, AgentId),
    stage: Stage<F>,
) -> Result<Driven, Trouble> {
    let signals = Signals::listen(stage.farewell)?;
    let known = known_seeds(&plan.seeds.urls);
    let crawl = Arc::new(Crawl::open(plan.settings, &plan.out, known.iter(), me)?);
    let seeding = Seeding::start(&crawl, plan.seeds)?;
    let mut display = Display::new(stage.title, plan.quiet);
    watch(&crawl, &signals, &seeding, &mut display);
    screen::restore();
    let mut report = crawl.finish();
    let seeds_done = seeding.thread.is_finished();
    report.seeds.refused = seeding.refused.count();
    seeding.result()?;
    Ok(Driven { report, seeds_done })
}

/// Shows how the crawl goes until it has ended.
fn watch(crawl: &Crawl, signals: &Signals, seeding: &Seeding, display: &mut Display) {
    let mut stopping = false;
    loop {
        if !stopping && (signals.came() || seeding.broke()) {
            stopping = true;
            crawl.stop();
            screen::say("stopping: ending visits in flight (once more leaves at once)");
        }
        let ended = crawl.wait(FRAME).is_some();
        display.show(crawl);
        if ended {
            return;
        }
    }
}

/// The seeds on their way, on a thread of their own: reading them may wait for whoever writes
/// them, and handing them over for the sieve.
struct Seeding {
    thread: JoinHandle<Result<(), crivello_agent::AgentError>>,
    refused: Refused,
    read_error: Arc<Mutex<Option<std::io::Error>>>,
    /// The crawl would not take them.
    refused_all: Arc<AtomicBool>,
}

impl Seeding {
    fn start(crawl: &Arc<Crawl>, seeds: crate::plan::Seeds) -> anyhow::Result<Self> {
        let refused = Refused::default();
        let read_error = Arc::default();
        let file = seeds
            .file
            .map(|f| SeedFile::new(f.reader, f.name, refused.clone(), Arc::clone(&read_error)));
        let urls = from_arguments(seeds.urls, refused.clone()).chain(file.into_iter().flatten());
        let crawl = Arc::clone(crawl);
        let refused_all = Arc::<AtomicBool>::default();
        let failed = Arc::clone(&refused_all);
        let thread = std::thread::Builder::new()
            .name("seeds".to_owned())
            .spawn(move || {
                let taken = crawl.seed(urls).map(drop);
                failed.store(taken.is_err(), Ordering::Release);
                taken
            })
            .context("no thread for the seeds")?;
        Ok(Self { thread, refused, read_error, refused_all })
    }

    /// Whether the seeds could not be read to their end, or are those of another crawl.
    fn broke(&self) -> bool {
        self.refused_all.load(Ordering::Acquire)
            || self.read_error.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// What became of it, as far as it has ended: a thread that still waits for a pipe is left.
    fn result(self) -> Result<(), Trouble> {
        if self.thread.is_finished() || self.refused_all.load(Ordering::Acquire) {
            self.thread.join().map_err(|_| anyhow::anyhow!("the seeds' thread panicked"))??;
        }
        match self.read_error.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(Trouble::Internal(
                anyhow::Error::new(error).context("the seeds could not be read to their end"),
            )),
            None => Ok(()),
        }
    }
}

/// How the crawl is shown: a panel, a line in the log now and then, or not at all.
struct Display {
    clock: Clock,
    mode: Mode,
    rates: Rates,
    title: String,
    shown: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Panel(panel::Style),
    Log,
    Nothing,
}

impl Display {
    fn new(title: String, quiet: bool) -> Self {
        let mode = match (quiet, screen::can_draw()) {
            (true, _) => Mode::Nothing,
            (false, true) => Mode::Panel(screen::style()),
            (false, false) => Mode::Log,
        };
        Self { clock: Clock::start(), mode, rates: Rates::default(), title, shown: None }
    }

    fn show(&mut self, crawl: &Crawl) {
        let (now, pause) = match self.mode {
            Mode::Nothing => return,
            Mode::Panel(_) => (self.clock.now(), FRAME),
            Mode::Log => (self.clock.now(), LOG_EVERY),
        };
        let snapshot = crawl.snapshot();
        self.rates.observe(&snapshot);
        if self.shown.is_some_and(|last| now.since(last) < pause) {
            return;
        }
        self.shown = Some(now);
        match self.mode {
            Mode::Panel(style) => {
                let width = screen::width();
                let lines = panel::lines(&snapshot, &self.rates, &self.title, width, style);
                // A terminal that went away ends nothing.
                let _ = screen::draw(lines);
            }
            Mode::Log => tracing::info!("{}", panel::one_line(&snapshot, &self.rates)),
            Mode::Nothing => {}
        }
    }
}

/// What is wanted at the end of a crawl.
pub struct Ending<'a> {
    /// No table.
    pub quiet: bool,
    /// Where the report goes as JSON.
    pub report: Option<&'a Path>,
    /// The crawl's directory, if it is kept.
    pub out: Option<&'a Path>,
    /// The command that goes on with the crawl, where there is one.
    pub resume: Option<&'a str>,
}

/// Prints the report, writes it where it is wanted, and chooses how the program ends.
///
/// # Errors
/// When the crawl failed, or the report cannot be written.
pub fn conclude(driven: &Driven, ending: &Ending<'_>) -> Result<Exit, Trouble> {
    let report = &driven.report;
    if !ending.quiet {
        let mut stdout = std::io::stdout().lock();
        // Nobody may be reading.
        let _ = stdout
            .write_all(summary::text(report, ending.out).as_bytes())
            .and_then(|()| stdout.flush());
    }
    if let Some(file) = ending.report {
        let json = serde_json::to_vec_pretty(report).context("the report as JSON")?;
        std::fs::write(file, json)
            .with_context(|| format!("the report cannot be written to {}", file.display()))?;
    }
    let go_on = ending.resume.map_or(String::new(), |command| format!(" To go on: {command}"));
    match report.ended {
        Ended::Exhausted | Ended::Limit => Ok(Exit::Finished),
        Ended::Stopped => {
            let saved = ending.out.map_or("", |_| "; the state is saved");
            screen::say(&format!("stopped{saved}.{go_on}"));
            Ok(Exit::Stopped)
        }
        Ended::Failed => {
            let why = report.failure.as_deref().unwrap_or("for an unknown reason");
            Err(Trouble::Internal(anyhow::anyhow!(
                "the crawl failed: {why}. What was committed is safe.{go_on}"
            )))
        }
    }
}

/// The command that goes on with the crawl in `out`; `seeds` are those still to be read.
pub fn resume_command(out: &Path, seeds: Option<&Path>) -> String {
    let word = |path: &Path| human::shell_word(&path.display().to_string());
    // As this program was called, so that the line can be typed again where it was typed.
    let program = std::env::args_os().next().unwrap_or_else(|| "crivello".into());
    let command = format!("{} crawl --out {}", word(Path::new(&program)), word(out));
    match seeds {
        None => command,
        Some(path) if path.as_os_str() == "-" => {
            format!("{command} --seeds -   (with the same input again)")
        }
        Some(path) => format!("{command} --seeds {}", word(path)),
    }
}
