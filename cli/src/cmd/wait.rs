//! `crivello wait`: returns once a crawl has nothing left to do.

use crate::args::cluster::WaitArgs;
use crate::cluster::crowd::{Answers, ask};
use crate::cluster::lookout::{Lookout, why};
use crate::cluster::{Guide, Listing, connect, list};
use crate::exit::{Exit, Trouble};
use crate::{human, screen, signals};
use anyhow::anyhow;
use crivello_common::time::Clock;
use crivello_common::units::parse_duration;
use crivello_common::view::{AgentState, RunState};
use crivello_proto::crowd::Crowd;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Between two rounds.
const PAUSE: Duration = Duration::from_millis(500);

/// Waits until it is done, or the time is over, or a signal comes.
///
/// # Errors
/// When the coordinator cannot be reached to begin with; when the crawl was stopped.
pub async fn run(typed: &WaitArgs) -> Result<Exit, Trouble> {
    let limit = typed.timeout.as_deref().map(parse_duration).transpose();
    let limit = limit.map_err(|error| Trouble::usage(format!("--timeout: {error}")))?;
    let (mut client, papers) = connect(&typed.coordinator).await?;
    list(&mut client).await?;
    let mut watch = Watch {
        guide: Guide::new(client),
        crowd: papers.crowd(),
        lookout: Lookout::default(),
        doubt: String::new(),
    };
    let ended = tokio::select! {
        ended = watch.until_done(limit) => ended,
        signal = signals::first() => signal.map(|()| Exit::Stopped).map_err(Trouble::from),
    };
    screen::restore();
    if matches!(ended, Ok(Exit::NotYet)) {
        screen::say(&format!("not done in time: {}", watch.doubt));
    }
    ended
}

struct Watch {
    guide: Guide,
    crowd: Arc<Crowd>,
    lookout: Lookout,
    /// Why it was not known to be done at last.
    doubt: String,
}

impl Watch {
    async fn until_done(&mut self, limit: Option<Duration>) -> Result<Exit, Trouble> {
        let clock = Clock::start();
        let began = clock.now();
        loop {
            if self.look().await? {
                return Ok(Exit::Finished);
            }
            if limit.is_some_and(|limit| clock.now().since(began) >= limit) {
                return Ok(Exit::NotYet);
            }
            sleep(PAUSE).await;
        }
    }

    /// One round; says whether it is done.
    async fn look(&mut self) -> Result<bool, Trouble> {
        let listing = match self.guide.listing().await {
            Ok(listing) => listing,
            Err(why) => return Err(Trouble::Internal(anyhow!(why))),
        };
        if listing.view.run == RunState::Stopping {
            return Err(Trouble::Stopped(anyhow!(
                "the crawl was stopped before it was done; `crivello resume`, then starting its \
                 agents again goes on"
            )));
        }
        let answers = ask(&self.crowd, &listing.view, &listing.crawl_id).await;
        let done = self.lookout.look(&listing.view, &answers);
        let mut said = progress(&listing, &answers);
        match done {
            // By a view that may no longer be in force.
            Ok(()) if self.guide.is_lost() => self.lookout.lost(),
            Ok(()) => {
                screen::restore();
                screen::say(&format!("done: {said}"));
                return Ok(true);
            }
            Err(busy) => self.doubt = why(&busy, &listing.view),
        }
        if self.guide.is_lost() {
            self.doubt = "the coordinator does not answer".to_owned();
        }
        said = format!("{said}; {}", self.doubt);
        if screen::can_draw() {
            let line = said.chars().take(screen::width()).collect();
            // A terminal that went away ends nothing.
            let _ = screen::draw(vec![line]);
        }
        Ok(false)
    }
}

/// How far the crawl is, in a line.
fn progress(listing: &Listing, answers: &Answers) -> String {
    let standing = || answers.values().flatten();
    let pages = standing().map(|status| status.snapshot.pages).sum();
    let agents = &listing.view.agents;
    let dead = agents.iter().filter(|agent| agent.state == AgentState::Dead);
    let dead: Vec<&str> = dead.map(|agent| agent.name.as_str()).collect();
    let n = agents.len() - dead.len();
    let by = if n == 1 { "1 agent".to_owned() } else { format!("{n} agents") };
    let mut said = format!("{} pages, {by}", human::count(pages));
    if !dead.is_empty() {
        said = format!("{said}; dead: {}", dead.join(", "));
    }
    if listing.view.run == RunState::Paused {
        said.push_str("; paused");
    }
    said
}
