//! `crivello drain`, `pause`, `resume`, `stop`: one request each.

use crate::args::cluster::{AgentArgs, PauseArgs};
use crate::args::connection::ConnectArgs;
use crate::cluster::connect;
use crate::cluster::edits::{SettingsClient, edit};
use crate::exit::{CliError, Exit};
use crate::screen;
use crivello_common::view::RunState;
use crivello_proto::v1::{self, setting_edit::Change};

/// Makes an agent hand over its groups and leave, without waiting for it.
///
/// # Errors
/// Fails if there is no such agent, or it cannot be drained.
pub async fn drain(AgentArgs { agent, coordinator }: AgentArgs) -> Result<Exit, CliError> {
    let (mut client, _) = connect(&coordinator).await?;
    client.drain(v1::DrainRequest { agent: agent.clone() }).await?;
    screen::print_line(&format!("{agent} hands over its work, then leaves"));
    Ok(Exit::Finished)
}

/// Pauses or resumes the crawl, or only some hosts.
///
/// # Errors
/// Fails if the coordinator cannot be reached or cannot save the change, or if an argument is not a
/// host.
pub async fn pause_or_resume(args: &PauseArgs, run: RunState) -> Result<Exit, CliError> {
    if args.hosts.is_empty() {
        return set_run(&args.coordinator, run).await;
    }
    let change = if run == RunState::Paused { Change::Add } else { Change::Remove };
    let edits = args.hosts.iter().map(|host| edit("politeness.paused", change(host.clone())));
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let (settings, _) = client.edit(edits.collect()).await?;
    client.wait(settings.revision).await
}

/// Resumes, pauses or stops the crawl, without waiting for the agents.
///
/// # Errors
/// Fails if the coordinator cannot be reached or cannot save the change.
pub async fn set_run(at: &ConnectArgs, run: RunState) -> Result<Exit, CliError> {
    let (mut client, _) = connect(at).await?;
    client.set_run(v1::SetRunRequest { run: v1::RunState::from(run).into() }).await?;
    screen::print_line(match run {
        RunState::Running => "the crawl is running",
        RunState::Paused => "the crawl is paused: `crivello resume` resumes it",
        RunState::Stopping => {
            "the crawl is stopping: its agents save their state and exit. To resume: `crivello resume`, \
             then start the agents again"
        }
    });
    Ok(Exit::Finished)
}
