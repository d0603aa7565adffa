//! `crivello tail`: prints captures as they are archived, of all agents.

mod follow;
mod places;

use super::archive::files::printable;
use crate::args::tail::TailArgs;
use crate::cluster::{MemberList, connect};
use crate::exit::{CliError, Exit};
use crate::screen;
use anyhow::{Context as _, anyhow};
use crivello_archive::{TailLine, TailPosition};
use crivello_common::view::{AgentId, View};
use crivello_proto::v1::TailResponse;
use follow::{Follower, TailEvent};
use places::Places;
use serde_json::Value;
use std::collections::HashSet;
use std::io::Write as _;
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::time::{MissedTickBehavior, interval};

/// Time between two looks for new agents.
const LOOK_UP: Duration = Duration::from_secs(5);
/// Number of responses that wait to be printed. Further ones wait at their agents.
const QUEUE: usize = 4;

/// Prints captures until stopped; with `--no-follow`, those until now.
///
/// # Errors
/// Returns a usage error for an invalid place. Fails if the coordinator does not respond, or if the state cannot
/// be written.
pub async fn run(args: &TailArgs) -> Result<Exit, CliError> {
    let mut places = Places::open(&args.after, args.state.as_deref())?;
    let (client, credentials) = connect(&args.coordinator).await?;
    let clients = credentials.agent_clients(client.clone());
    let mut members = MemberList::new(client);
    let (events, mut arriving) = mpsc::channel::<TailEvent>(QUEUE);
    let (views, view) = watch::channel(View::default());
    let mut followed = HashSet::new();
    let mut look_up = interval(LOOK_UP);
    look_up.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            Some((agent, response)) = arriving.recv() => match response {
                Some(response) => {
                    if print(agent, &response, args.json).is_err() {
                        // Whoever read the output has left.
                        return Ok(Exit::Finished);
                    }
                    places.moved(agent, &response)?;
                }
                None => {
                    followed.remove(&agent);
                    if args.no_follow && followed.is_empty() {
                        return Ok(Exit::Finished);
                    }
                }
            },
            _ = look_up.tick(), if followed.is_empty() || !args.no_follow => {
                let listing = members.refresh().await.context("cannot list the agents")?;
                views.send_replace(listing.view.clone());
                for agent in listing.view.living().filter(|agent| followed.insert(agent.id)) {
                    let after = places.of(agent.id, args.all);
                    let (view, clients) = (view.clone(), clients.clone());
                    let follower = Follower { agent: agent.id, view, clients, after };
                    tokio::spawn(follower.run(!args.no_follow, events.clone()));
                }
                if followed.is_empty() && args.no_follow {
                    return Err(CliError::Internal(anyhow!("no agent is alive")));
                }
            }
        }
    }
}

/// Prints the captures of a response.
fn print(agent: AgentId, response: &TailResponse, json: bool) -> std::io::Result<()> {
    if response.files_missing > 0 {
        screen::print_line(&format!(
            "agent {agent}: {} archive files were deleted before they were read; their captures are left out",
            response.files_missing
        ));
    }
    let mut out = std::io::stdout().lock();
    for capture in &response.captures {
        let place = capture.after.unwrap_or_default();
        let position = TailPosition { file: place.file, offset: place.offset };
        let line = TailLine { position, line: capture.line.clone() };
        let Some(text) = line.to_json(agent.0) else {
            screen::print_line(&format!("agent {agent}: the index is damaged before {position}"));
            continue;
        };
        writeln!(out, "{}", if json { text } else { for_people(&text) })?;
    }
    out.flush()
}

/// Returns time, status, media type and URL of a capture.
fn for_people(json: &str) -> String {
    let capture: Value = serde_json::from_str(json).unwrap_or_default();
    let member = |name: &str| capture[name].as_str().unwrap_or("-").to_owned();
    let parts = ["timestamp", "status", "mime", "url"].map(member);
    printable(&parts.join(" "))
}
