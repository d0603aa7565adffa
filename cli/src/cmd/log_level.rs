//! `crivello log-level`: changes the log filter of the processes of a crawl.

use crate::args::cluster::LogLevelArgs;
use crate::cluster::edits::SettingsClient;
use crate::exit::{CliError, Exit};
use crate::screen;
use crivello_common::runtime::parse_log_filter;
use crivello_proto::v1;
use std::time::Duration;
use tokio::time::timeout;

/// Maximum time for an agent's answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Changes the filter of the coordinator and all agents, or of one agent.
///
/// # Errors
/// Fails if the filter is invalid, there is no such agent, or the coordinator cannot be reached.
pub async fn run(args: &LogLevelArgs) -> Result<Exit, CliError> {
    let filter = &args.filter;
    parse_log_filter(filter).map_err(|why| CliError::usage(format!("{filter}: {why}")))?;
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    let agents = client.agents().await?;
    let is_selected = |name: &str, id: u32| match &args.agent {
        Some(agent) => agent == name || *agent == id.to_string(),
        None => true,
    };
    if args.agent.is_none() {
        let before = client.set_log_level(filter).await?;
        screen::print_line(&format!("coordinator: {filter}, before {before}"));
    }
    let (mut n, mut exit) = (0, Exit::Finished);
    for (name, _, client) in agents.into_iter().filter(|(name, id, _)| is_selected(name, *id)) {
        n += 1;
        let answer = async {
            let request = v1::SetLogLevelRequest { filter: filter.clone() };
            let answer = timeout(ANSWER_TIMEOUT, client?.set_log_level(request)).await;
            let answer = answer.map_err(|_| "does not answer".to_owned())?;
            answer.map_err(|status| status.message().to_owned())
        };
        match answer.await {
            Ok(answer) => {
                let before = answer.into_inner().previous;
                screen::print_line(&format!("{name}: {filter}, before {before}"));
            }
            Err(why) => {
                screen::print_line(&format!("{name}: {why}"));
                exit = Exit::NotYet;
            }
        }
    }
    match &args.agent {
        Some(agent) if n == 0 => {
            Err(CliError::usage(format!("{agent}: no live agent has this name or id")))
        }
        _ => Ok(exit),
    }
}
