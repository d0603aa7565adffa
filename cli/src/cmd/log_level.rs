//! `crivello log-level`: what the processes of a crawl log.

use crate::args::steer::LogLevelArgs;
use crate::cluster::edits::Steer;
use crate::exit::{Exit, Trouble};
use crate::screen;
use crivello_common::runtime::log_filter;
use crivello_proto::v1;
use std::time::Duration;
use tokio::time::timeout;

/// For one agent's answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Changes it in the coordinator and all agents, or in one agent.
///
/// # Errors
/// When the filter cannot be read, there is no such agent, or the coordinator cannot be reached.
pub async fn run(typed: &LogLevelArgs) -> Result<Exit, Trouble> {
    let filter = &typed.filter;
    log_filter(filter).map_err(|why| Trouble::usage(format!("{filter}: {why}")))?;
    let mut steer = Steer::at(&typed.coordinator).await?;
    let agents = steer.agents().await?;
    let meant = |name: &str, id: u32| match &typed.agent {
        Some(agent) => agent == name || *agent == id.to_string(),
        None => true,
    };
    if typed.agent.is_none() {
        let before = steer.set_log_level(filter).await?;
        screen::say(&format!("coordinator: {filter}, before {before}"));
    }
    let (mut n, mut exit) = (0, Exit::Finished);
    for (name, _, client) in agents.into_iter().filter(|(name, id, _)| meant(name, *id)) {
        n += 1;
        let asked = async {
            let request = v1::SetLogLevelRequest { filter: filter.clone() };
            let answer = timeout(PATIENCE, client?.set_log_level(request)).await;
            let answer = answer.map_err(|_| "does not answer".to_owned())?;
            answer.map_err(|status| status.message().to_owned())
        };
        match asked.await {
            Ok(answer) => {
                let before = answer.into_inner().before;
                screen::say(&format!("{name}: {filter}, before {before}"));
            }
            Err(why) => {
                screen::say(&format!("{name}: {why}"));
                exit = Exit::NotYet;
            }
        }
    }
    match &typed.agent {
        Some(agent) if n == 0 => {
            Err(Trouble::usage(format!("{agent}: no agent that is alive has this name or id")))
        }
        _ => Ok(exit),
    }
}
