//! `crivello drain`, `pause`, `resume`, `stop`: one request each.

use crate::args::cluster::PauseArgs;
use crate::args::cluster::{AgentArgs, CoordinatorUrl};
use crate::cluster::edits::{SettingsClient, add, remove};
use crate::cluster::{call_error, connect};
use crate::exit::{CliError, Exit};
use crate::screen;
use crivello_common::view::RunState;
use crivello_proto::v1;

/// Makes an agent hand over its groups and leave, without waiting for it.
///
/// # Errors
/// Fails if there is no such agent, or it cannot be drained.
pub async fn drain(args: AgentArgs) -> Result<(), CliError> {
    let (mut client, _) = connect(&args.coordinator).await?;
    let request = v1::DrainRequest { agent: args.agent.clone() };
    client.drain(request).await.map_err(|status| call_error(&status))?;
    screen::print_line(&format!("{} hands over its work, then leaves", args.agent));
    Ok(())
}

/// Pauses or resumes the crawl, or only some hosts.
///
/// # Errors
/// Fails if the coordinator cannot be reached or cannot save the change, or if an argument is not a
/// host.
pub async fn pause_or_resume(args: &PauseArgs, run: RunState) -> Result<Exit, CliError> {
    if args.hosts.is_empty() {
        set_run(&args.coordinator, run).await?;
        return Ok(Exit::Finished);
    }
    let edit = if run == RunState::Paused { add } else { remove };
    let edits = args.hosts.iter().map(|host| edit("politeness.paused", host)).collect();
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let answer = client.edit(edits).await?;
    client.wait(answer.revision()).await
}

/// Resumes, pauses or stops the crawl, without waiting for the agents.
///
/// # Errors
/// Fails if the coordinator cannot be reached or cannot save the change.
pub async fn set_run(at: &CoordinatorUrl, run: RunState) -> Result<(), CliError> {
    let (mut client, _) = connect(at).await?;
    let request = v1::SetRunRequest { run: v1::RunState::from(run).into() };
    client.set_run(request).await.map_err(|status| call_error(&status))?;
    screen::print_line(match run {
        RunState::Running => "the crawl is running",
        RunState::Paused => "the crawl is paused: `crivello resume` resumes it",
        RunState::Stopping => {
            "the crawl is stopping: its agents save their state and exit. To resume: `crivello resume`, \
             then start the agents again"
        }
    });
    Ok(())
}
