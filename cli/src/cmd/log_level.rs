//! `crivello log-level`: changes the log filter of the processes of a crawl.

use crate::args::cluster::LogLevelArgs;
use crate::cluster::edits::SettingsClient;
use crate::exit::{CliError, Exit, usage};
use crate::screen;
use crivello_common::runtime::parse_log_filter;
use crivello_proto::agents::{Client, Scope};
use crivello_proto::v1;

/// Changes the filter of the coordinator and all agents, or of one agent.
///
/// # Errors
/// Fails if the filter is invalid, there is no such agent, or the coordinator cannot be reached.
pub async fn run(args: &LogLevelArgs) -> Result<Exit, CliError> {
    let filter = &args.filter;
    parse_log_filter(filter).map_err(|why| usage!("{filter}: {why}"))?;
    let mut client = SettingsClient::connect_to(&args.coordinator).await?;
    if args.agent.is_none() {
        let before = client.set_log_level(filter).await?;
        screen::print_line(&format!("coordinator: {filter}, before {before}"));
    }
    let call = async |mut client: Client| {
        client.set_log_level(v1::SetLogLevelRequest { filter: filter.clone() }).await
    };
    let answers = client.ask_agents(Scope::Order, args.agent.as_deref(), call).await?;
    if let (Some(agent), true) = (&args.agent, answers.is_empty()) {
        return Err(usage!("{agent}: no live agent has this name or id"));
    }
    let mut exit = Exit::Finished;
    for (agent, answer) in answers {
        let result = match answer {
            Ok(answer) => format!("{filter}, before {}", answer.previous),
            Err(why) => {
                exit = Exit::NotYet;
                why.to_string()
            }
        };
        screen::print_line(&format!("{}: {result}", agent.name));
    }
    Ok(exit)
}
