//! Runs a fleet to its end: hands over the seeds, shows how it goes, listens for signals and keys.

use super::Fleet;
use crate::args::cluster::HttpArgs;
use crate::cluster::sower::{Basket, Sower, Sown};
use crate::cluster::{Guide, Papers};
use crate::display::{Display, FRAME};
use crate::drive::{Driven, Stage};
use crate::exit::Trouble;
use crate::keys::{Keys, Mode};
use crate::plan::Plan;
use crate::screen;
use crate::seeds::{Account, Seeds};
use crate::signals::Signals;
use anyhow::anyhow;
use crivello_agent::progress::Snapshot;
use crivello_agent::report::{Ended, SeedCounts};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Below the lines of the agents, where there are keys.
const HINT: &str = "keys     k kills an agent   a adds one   Ctrl-C stops";

/// A crawl by several agents that has ended.
pub struct FleetDriven {
    /// As of one agent.
    pub driven: Driven,
    /// Pages that may have been fetched twice, because agents were killed.
    pub repeats_max: u64,
}

/// Begins or resumes the crawl of `plan` and runs it until nothing is left, a signal comes, or an
/// agent fails. With `keys` it listens to the terminal, if there is one; with `http` there is a
/// dashboard.
///
/// # Errors
/// When it cannot be begun.
pub fn drive<F: FnOnce() + Send + 'static>(
    plan: Plan,
    stage: Stage<F>,
    keys: bool,
    http: Option<&HttpArgs>,
) -> Result<FleetDriven, Trouble> {
    let keys = keys.then(Keys::listen).flatten();
    let mode: Option<Mode> = keys.as_ref().map(Keys::mode);
    let farewell = stage.farewell;
    let signals = Signals::listen(move || {
        if let Some(mode) = mode {
            mode.restore();
        }
        farewell();
    })?;
    let tellers = (plan.meters.clone(), plan.otlp);
    let settings = (&plan.settings, &plan.given);
    let fleet = Fleet::open(&plan.out, settings, plan.agents, tellers, signals.token(), http);
    let fleet = fleet.map_err(|trouble| match trouble {
        Trouble::Internal(error) if signals.came() => {
            Trouble::Stopped(anyhow!("stopped before all agents were members: {error:#}"))
        }
        trouble => trouble,
    })?;
    if !plan.quiet {
        screen::say(&format!("{} agents; the coordinator is {}", plan.agents, fleet.url()));
    }
    let account = Account::default();
    let seeds = Seeds::new(plan.seeds, signals.clone(), account.clone());
    let display = Display::new(stage.title, plan.quiet);
    let mut voyage = Voyage { fleet, keys, display, note: String::new(), repeats_max: 0 };
    let sown = voyage.sow(seeds, account.clone());
    let ended = sown.and_then(|sowing| voyage.run(sowing, &signals));
    screen::restore();
    drop(voyage.keys.take());
    let InboundMsg { how, taken, seeds_done, error } = ended.unwrap_or_else(|trouble| InboundMsg {
        error: Some(trouble.to_string()),
        ..InboundMsg::default()
    });
    let counts = SeedCounts { taken, refused: account.refused() };
    let (report, repeats_max) = (voyage.fleet.finish(how, counts), voyage.repeats_max);
    let seeds_error = account.error().map(str::to_owned).or(error);
    Ok(FleetDriven { driven: Driven { report, seeds_done, seeds_error }, repeats_max })
}

/// How it ended.
#[derive(Default)]
struct InboundMsg {
    how: Ended,
    /// Seeds.
    taken: u64,
    /// All of them.
    seeds_done: bool,
    /// Why not.
    error: Option<String>,
}

type Sowing = JoinHandle<(Result<Sown, Trouble>, bool)>;

struct Voyage {
    fleet: Fleet,
    keys: Option<Keys>,
    display: Display,
    /// What came of the last key.
    note: String,
    repeats_max: u64,
}

impl Voyage {
    /// Begins to hand over the seeds.
    fn sow(&self, seeds: Seeds, account: Account) -> Result<Sowing, Trouble> {
        let mut guide = Guide::new(self.fleet.client()?);
        let mut basket = Basket::fill(seeds)?;
        Ok(self.fleet.runtime.spawn(async move {
            let (crowd, mut told) = (Papers::default().crowd(), |_: &Sown| {});
            let sower = Sower::new(&mut guide, &crowd, &account, &mut told);
            let sown = sower.sow(&mut basket).await;
            (sown, basket.is_complete())
        }))
    }

    fn run(&mut self, sowing: Sowing, signals: &Signals) -> Result<InboundMsg, Trouble> {
        let mut arrival = InboundMsg::default();
        let (mut sowing, mut lookout) = (Some(sowing), None::<JoinHandle<()>>);
        loop {
            // It is woken by a signal.
            let frame = async { timeout(FRAME, signals.token().cancelled()).await };
            let _ = self.fleet.runtime.block_on(frame);
            if signals.came() {
                screen::say("stopping: ending visits in flight (once more leaves at once)");
                return Ok(arrival);
            }
            self.hear_keys()?;
            let snapshot = self.fleet.snapshot();
            let limit = snapshot.pages_left == Some(0);
            self.show(snapshot);
            if let Some((what, how)) = self.fleet.fallen() {
                screen::say(&what);
                arrival.how = how;
                return Ok(arrival);
            }
            if let Some(done) = sowing.take_if(|sowing| sowing.is_finished()) {
                let (sown, complete) =
                    self.fleet.runtime.block_on(done).map_err(anyhow::Error::from)?;
                arrival.taken = sown?.safe;
                arrival.seeds_done = complete;
                if !complete {
                    return Ok(arrival);
                }
                // Not before: an end that was seen earlier may have been one without seeds.
                lookout = Some(self.fleet.look_out()?);
            }
            if lookout.as_ref().is_some_and(JoinHandle::is_finished) {
                arrival.how = if limit { Ended::Limit } else { Ended::Exhausted };
                return Ok(arrival);
            }
        }
    }

    fn show(&mut self, snapshot: Snapshot) {
        let (fleet, note, has_keys) = (&self.fleet, &self.note, self.keys.is_some());
        self.display.show(
            || snapshot,
            |width| {
                let mut lines = fleet.lines(width);
                let more = [HINT, note.as_str()].into_iter().filter(|line| !line.is_empty());
                let more = more.filter(|_| has_keys).map(|line| line.chars().take(width).collect());
                lines.extend(more);
                lines
            },
        );
    }

    fn hear_keys(&mut self) -> Result<(), Trouble> {
        while let Some(key) = self.keys.as_ref().and_then(Keys::next) {
            match key {
                'a' => self.note = format!("{} joins", self.fleet.add()?),
                'k' => self.kill()?,
                _ => {}
            }
        }
        Ok(())
    }

    fn kill(&mut self) -> Result<(), Trouble> {
        self.note = if !self.fleet.bury()? {
            "one is dead already, and the others are still making up for it".to_owned()
        } else if let Some((name, repeats)) = self.fleet.kill() {
            self.repeats_max += repeats;
            format!("{name} was killed: the others go on with what it had once its lease is over")
        } else {
            "the last one is not killed".to_owned()
        };
        Ok(())
    }
}
