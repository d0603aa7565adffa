//! `crivello wait`: waits until a crawl has nothing left to do.

use crate::args::cluster::WaitArgs;
use crate::cluster::completion_watch::{CompletionWatch, has_no_end, why};
use crate::cluster::statuses::{AgentStatuses, query_statuses};
use crate::cluster::{MemberList, connect, list};
use crate::exit::{CliError, Exit, usage};
use crate::{format, screen, signals};
use anyhow::anyhow;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::units::parse_duration;
use crivello_common::view::{AgentState, RunState};
use crivello_proto::agents::{AgentClients, Listing};
use crivello_proto::bottleneck::pace;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// Interval between two rounds.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Interval between two lines about what keeps the crawl open.
const EXPLAIN_INTERVAL: Duration = Duration::from_secs(10);

/// Maximum number of agents with work that are named.
const WORKING_MAX: usize = 5;

/// Waits until the crawl is complete, the timeout expires, or a signal arrives.
///
/// # Errors
/// Fails if the coordinator cannot be reached at the start, or the crawl was stopped.
pub async fn run(args: &WaitArgs) -> Result<Exit, CliError> {
    let limit = args.timeout.as_deref().map(parse_duration).transpose();
    let limit = limit.map_err(|error| usage!("--timeout: {error}"))?;
    let (mut client, credentials) = connect(&args.coordinator).await?;
    list(&mut client).await?;
    let mut waiter = Waiter {
        clients: credentials.agent_clients(client.clone()),
        members: MemberList::new(client),
        completion: CompletionWatch::default(),
        reason: String::new(),
        clock: Clock::start(),
        explained: None,
        idle_since: None,
    };
    let ended = tokio::select! {
        ended = waiter.until_done(limit) => ended,
        signal = signals::first() => signal.map(|()| Exit::Stopped).map_err(CliError::from),
    };
    screen::restore();
    if matches!(ended, Ok(Exit::NotYet)) {
        screen::print_line(&format!("not done in time: {}", waiter.reason));
    }
    ended
}

struct Waiter {
    members: MemberList,
    clients: Arc<AgentClients>,
    completion: CompletionWatch,
    /// Reason why the crawl was not known to be complete in the last round.
    reason: String,
    clock: Clock,
    /// Time of the last line about what keeps the crawl open.
    explained: Option<Timestamp>,
    /// Time since which no agent has had work.
    idle_since: Option<Timestamp>,
}

impl Waiter {
    async fn until_done(&mut self, limit: Option<Duration>) -> Result<Exit, CliError> {
        let began = self.clock.now();
        loop {
            if self.is_done().await? {
                return Ok(Exit::Finished);
            }
            if limit.is_some_and(|limit| self.clock.now().since(began) >= limit) {
                return Ok(Exit::NotYet);
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    /// Runs one round. Returns true if the crawl is complete.
    async fn is_done(&mut self) -> Result<bool, CliError> {
        let listing = self.members.refresh().await?;
        if listing.view.run == RunState::Stopping {
            return Err(CliError::Stopped(anyhow!(
                "the crawl was stopped before it was done. To resume: `crivello resume`, then start the \
                 agents again"
            )));
        }
        let answers = query_statuses(&self.clients, &listing).await;
        if has_no_end(&answers) {
            return Err(CliError::Internal(anyhow!(
                "this crawl has no end, because it comes back to its pages (recrawl.policy). To fetch \
                 each page once: `crivello set recrawl.policy=none`"
            )));
        }
        let done = self.completion.check(&listing, &answers);
        let line = progress(&listing, &answers);
        match done {
            // The view may be outdated.
            Ok(()) if self.members.is_stale => self.completion.reset(),
            Ok(()) => {
                screen::restore();
                screen::print_line(&format!("done: {line}"));
                return Ok(true);
            }
            Err(busy) => self.reason = why(&busy, &listing.view),
        }
        if self.members.is_stale {
            self.reason = "the coordinator does not answer".to_owned();
        }
        screen::show_line(&format!("{line}; {}", self.reason));
        self.explain(&listing, &answers);
        Ok(false)
    }

    /// Prints what keeps the crawl open, at once and from time to time: what the coordinator knows,
    /// or else the agents that work, or else the reason.
    fn explain(&mut self, listing: &Listing, answers: &AgentStatuses) {
        let now = self.clock.now();
        let blocking = listing.obstacles.iter().filter(|obstacle| obstacle.kind.blocks_end());
        let mut lines: Vec<String> =
            blocking.map(|obstacle| obstacle.describe(|id| listing.name(id))).collect();
        if listing.view.run == RunState::Paused {
            lines.push("it is paused; to continue, type `crivello resume`".to_owned());
        }
        for (id, answer) in answers {
            if let Err(why) = answer {
                lines.push(format!("{} {why}", listing.name(*id)));
            }
        }
        let is_idle = answers.values().flatten().all(|(status, _)| status.idle);
        let idle_since = if is_idle { *self.idle_since.get_or_insert(now) } else { now };
        if !is_idle {
            self.idle_since = None;
            if lines.is_empty() {
                lines.push(working(listing, answers));
            }
        }
        if lines.is_empty() && now.since(idle_since) >= EXPLAIN_INTERVAL {
            lines.push(self.reason.clone());
        }
        if lines.is_empty() || self.explained.is_some_and(|at| now.since(at) < EXPLAIN_INTERVAL) {
            return;
        }
        self.explained = Some(now);
        lines.iter().for_each(|line| screen::print_line(&format!("the crawl is open: {line}")));
    }
}

/// Names the agents that work, with what limits each of them.
fn working(listing: &Listing, answers: &AgentStatuses) -> String {
    let working = answers.iter().filter_map(|(id, answer)| {
        let (status, progress) = answer.as_ref().ok().filter(|(status, _)| !status.idle)?;
        let queued = format::count(progress.urls_queued);
        let name = listing.name(*id);
        Some(format!("{name} has work ({}; URLs queued: {queued})", pace(status, progress)))
    });
    let mut working: Vec<String> = working.collect();
    let n_more = working.len().saturating_sub(WORKING_MAX);
    working.truncate(WORKING_MAX);
    if n_more > 0 {
        working.push(format!("{n_more} more"));
    }
    working.join(", ")
}

/// Returns the progress of the crawl on one line.
fn progress(listing: &Listing, answers: &AgentStatuses) -> String {
    let pages = answers.values().flatten().map(|(_, progress)| progress.pages).sum();
    let agents = &listing.view.agents;
    let dead = agents.iter().filter(|agent| agent.state == AgentState::Dead);
    let dead: Vec<&str> = dead.map(|agent| agent.name.as_str()).collect();
    let by = format::plural((agents.len() - dead.len()) as u64, "agent");
    let mut line = format!("{} pages, {by}", format::count(pages));
    if !dead.is_empty() {
        line = format!("{line}; dead: {}", dead.join(", "));
    }
    if listing.view.run == RunState::Paused {
        line.push_str("; paused");
    }
    line
}
