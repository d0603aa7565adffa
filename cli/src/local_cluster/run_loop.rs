//! Run of a local cluster to its end: sends the seeds, shows progress, handles signals and keys.

use super::LocalCluster;
use crate::args::cluster::HttpArgs;
use crate::cluster::seed_sender::{SeedProgress, SeedSender};
use crate::display::{Display, FRAME};
use crate::exit::CliError;
use crate::keys::{self, Keys};
use crate::plan::Plan;
use crate::run_loop::{CrawlOutcome, STOPPING};
use crate::seeds::{SeedErrors, SeedIter};
use crate::{screen, signals};
use anyhow::anyhow;
use crivello_agent::report::{Ended, SeedCounts};
use crivello_proto::v1::Progress;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Last line of the panel, if keys are read.
const KEYS_HINT: &str = "keys     k kills an agent   a adds one   Ctrl-C stops";

/// Result of a crawl by several agents.
pub struct ClusterOutcome {
    /// Result of all agents.
    pub outcome: CrawlOutcome,
    /// Maximum number of pages fetched twice because agents were killed.
    pub repeats_max: u64,
}

/// Starts or resumes the crawl of `plan` and runs it until nothing is left, a signal arrives, or an
/// agent fails. `title` is the first line of the panel. `before_exit` runs before a second signal
/// ends the process. With `keys`, reads keys from the terminal, if there is one; with `http`, serves
/// a dashboard.
///
/// # Errors
/// Fails if the crawl cannot be started.
pub fn run_loop(
    plan: Plan,
    title: String,
    before_exit: impl FnOnce() + Send + 'static,
    keys: bool,
    http: Option<&HttpArgs>,
) -> Result<ClusterOutcome, CliError> {
    let keys = keys.then(Keys::listen).flatten();
    let mode = keys.as_ref().map(|keys| keys.mode.clone());
    let stopped = signals::listen(move || {
        mode.iter().for_each(keys::restore);
        before_exit();
    })?;
    let cluster = LocalCluster::open(&plan, &stopped, http).map_err(|error| match error {
        CliError::Internal(error) if stopped.is_cancelled() => {
            CliError::Stopped(anyhow!("stopped before all agents had joined: {error:#}"))
        }
        error => error,
    })?;
    if !plan.quiet {
        let (agents, url) = (plan.agents, cluster.url());
        screen::print_line(&format!("{agents} agents; coordinator at {url}"));
    }
    let seed_errors = SeedErrors::default();
    let seeds = SeedIter::new(plan.seeds, stopped.clone(), seed_errors.clone());
    let display = Display::new(title, plan.quiet);
    let mut run_loop = RunLoop { cluster, keys, display, note: String::new(), repeats_max: 0 };
    let sending = run_loop.send_seeds(seeds, seed_errors.clone());
    let ended = sending.and_then(|sending| run_loop.run(sending, &stopped));
    screen::restore();
    drop(run_loop.keys.take());
    let RunEnd { how, taken, seeds_done, error } = ended
        .unwrap_or_else(|error| RunEnd { error: Some(error.to_string()), ..RunEnd::default() });
    let counts = SeedCounts { taken, refused: seed_errors.rejected() };
    let (report, repeats_max) = (run_loop.cluster.finish(how, counts), run_loop.repeats_max);
    let seeds_error = seed_errors.error().map(str::to_owned).or(error);
    Ok(ClusterOutcome { outcome: CrawlOutcome { report, seeds_done, seeds_error }, repeats_max })
}

/// End of the loop.
#[derive(Default)]
struct RunEnd {
    how: Ended,
    /// Number of seeds that agents have stored.
    taken: u64,
    /// True if all seeds were read.
    seeds_done: bool,
    /// Error while sending the seeds.
    error: Option<String>,
}

/// Task that sends the seeds.
type SeedTask = JoinHandle<Result<SeedProgress, CliError>>;

struct RunLoop {
    cluster: LocalCluster,
    keys: Option<Keys>,
    display: Display,
    /// Result of the last key.
    note: String,
    repeats_max: u64,
}

impl RunLoop {
    fn send_seeds(&self, seeds: SeedIter, seed_errors: SeedErrors) -> Result<SeedTask, CliError> {
        let (members, clients) = (self.cluster.members(), self.cluster.clients.clone());
        let sender = SeedSender::start((seeds, seed_errors), members, clients, |_| {})?;
        Ok(self.cluster.runtime.spawn(sender.send_all()))
    }

    fn run(&mut self, seeds: SeedTask, stopped: &CancellationToken) -> Result<RunEnd, CliError> {
        let mut end = RunEnd::default();
        let (mut seeds, mut completion) = (Some(seeds), None::<JoinHandle<()>>);
        loop {
            // A signal ends the pause.
            let frame = async { timeout(FRAME, stopped.cancelled()).await };
            let _ = self.cluster.runtime.block_on(frame);
            if stopped.is_cancelled() {
                screen::print_line(STOPPING);
                return Ok(end);
            }
            self.handle_keys()?;
            let snapshot = self.cluster.snapshot();
            let limit = snapshot.pages_left == Some(0);
            self.show(snapshot);
            if let Some((message, how)) = self.cluster.unexpected_end() {
                screen::print_line(&message);
                end.how = how;
                return Ok(end);
            }
            if let Some(done) = seeds.take_if(|seeds| seeds.is_finished()) {
                let sent = self.cluster.runtime.block_on(done).map_err(anyhow::Error::from)??;
                (end.taken, end.seeds_done) = (sent.stored, sent.all_read);
                if !sent.all_read {
                    return Ok(end);
                }
                // Started late, because agents without seeds look complete.
                completion = Some(self.cluster.watch_completion());
            }
            if completion.as_ref().is_some_and(JoinHandle::is_finished) {
                end.how = if limit { Ended::Limit } else { Ended::Exhausted };
                return Ok(end);
            }
        }
    }

    fn show(&mut self, snapshot: Progress) {
        let (cluster, note, has_keys) = (&self.cluster, &self.note, self.keys.is_some());
        self.display.show(
            || snapshot,
            |width| {
                let mut lines = cluster.lines(width);
                let more = [KEYS_HINT, note.as_str()].into_iter().filter(|line| !line.is_empty());
                let more = more.filter(|_| has_keys).map(|line| line.chars().take(width).collect());
                lines.extend(more);
                lines
            },
        );
    }

    fn handle_keys(&mut self) -> Result<(), CliError> {
        while let Some(key) = self.keys.as_ref().and_then(Keys::next) {
            match key {
                'a' => self.note = format!("{} joins", self.cluster.add()?),
                'k' => self.kill()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn kill(&mut self) -> Result<(), CliError> {
        self.note = if !self.cluster.remove_dead()? {
            "an agent is dead already, and the others are still taking over its work".to_owned()
        } else if let Some((name, repeats)) = self.cluster.kill() {
            self.repeats_max += repeats;
            format!("{name} was killed: the others take over its work once its lease has expired")
        } else {
            "the last agent cannot be killed".to_owned()
        };
        Ok(())
    }
}
