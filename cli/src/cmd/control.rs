//! `crivello drain`, `pause`, `resume`, `stop`: one request each.

use crate::args::cluster::{AgentArgs, CoordinatorUrl};
use crate::args::steer::PauseArgs;
use crate::cluster::edits::{Steer, add, remove};
use crate::cluster::{connect, refused};
use crate::exit::{Exit, Trouble};
use crate::screen;
use crivello_common::view::RunState;
use crivello_proto::v1;

/// Asks an agent to hand over its groups and leave; does not wait for it.
///
/// # Errors
/// When there is no such agent, or it cannot be drained.
pub async fn drain(typed: AgentArgs) -> Result<(), Trouble> {
    let (mut client, _) = connect(&typed.coordinator).await?;
    let request = v1::DrainRequest { agent: typed.agent.clone() };
    client.drain(request).await.map_err(|status| refused(&status))?;
    screen::say(&format!("{} hands over what it has to crawl, then leaves", typed.agent));
    Ok(())
}

/// Has the crawl go on or rest, or only some hosts of it.
///
/// # Errors
/// When the coordinator cannot be reached or cannot write it down; when it is no host.
pub async fn rest(typed: &PauseArgs, run: RunState) -> Result<Exit, Trouble> {
    if typed.hosts.is_empty() {
        set_run(&typed.coordinator, run).await?;
        return Ok(Exit::Finished);
    }
    let edit = if run == RunState::Paused { add } else { remove };
    let edits = typed.hosts.iter().map(|host| edit("politeness.paused", host)).collect();
    let mut steer = Steer::at(&typed.coordinator).await?;
    let answer = steer.edit(edits).await?;
    steer.wait(answer.revision()).await
}

/// Has the crawl go on, rest or end; does not wait for the agents.
///
/// # Errors
/// When the coordinator cannot be reached or cannot write it down.
pub async fn set_run(at: &CoordinatorUrl, run: RunState) -> Result<(), Trouble> {
    let (mut client, _) = connect(at).await?;
    let request = v1::SetRunRequest { run: v1::RunState::from(run).into() };
    client.set_run(request).await.map_err(|status| refused(&status))?;
    screen::say(match run {
        RunState::Running => "the crawl goes on",
        RunState::Paused => "the crawl is paused: `crivello resume` goes on",
        RunState::Stopping => {
            "the crawl is stopping: its agents save and end; `crivello resume`, then starting them \
             again goes on"
        }
    });
    Ok(())
}
