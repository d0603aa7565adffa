//! `crivello remove`: removes a dead agent, and reports what is lost with it.

use crate::args::cluster::RemoveArgs;
use crate::cluster::{Listing, connect, list};
use crate::exit::{CliError, Exit, usage};
use crate::format::count;
use crate::screen;
use anyhow::anyhow;
use crivello_common::view::{Agent, AgentState};
use crivello_proto::agents::{Answer, ArchivedCount, archived_only_by};
use crivello_proto::v1;

/// Prints the data that only this agent has, and removes the agent. If the data includes pages,
/// `--refetch` or `--give-up` is required.
///
/// # Errors
/// Fails if there is no such agent, it is alive, or its pages cannot be counted.
pub async fn run(args: &RemoveArgs) -> Result<Exit, CliError> {
    let (mut client, credentials) = connect(&args.agent.coordinator).await?;
    let listing = list(&mut client).await?;
    let name = &args.agent.agent;
    let mut pages = 0;
    // The coordinator rejects the removal of any other agent.
    if let Some(agent) = find(&listing, name).filter(|agent| agent.state == AgentState::Dead) {
        let Listing { view, crawl_id, .. } = &listing;
        let clients = credentials.agent_clients(client.clone());
        let counts = archived_only_by(&clients, view, crawl_id, agent.id).await;
        pages = sum(&counts, agent, args.give_up || args.force)?;
        let urls = urls_known_only_to_it(&listing, &counts);
        screen::print_line(&format!(
            "pages that only {name} archived: {}; URLs that only it knew: {urls}",
            count(pages)
        ));
        if pages > 0 && !args.refetch && !args.give_up {
            return Err(usage!(
                "{} pages are only in the archive of {name}: give --refetch to fetch them again, or \
                 --give-up to count them as lost. (An agent whose disk is intact rejoins when it is \
                 started again.)",
                count(pages)
            ));
        }
    }
    let (agent, refetch, force) = (name.clone(), args.refetch, args.force);
    client.remove(v1::RemoveRequest { agent, refetch, force }).await?;
    screen::print_line(&match (pages, args.refetch) {
        (0, _) => format!("{name} was removed"),
        (n, true) => format!("{name} was removed; {} pages will be fetched again", count(n)),
        (n, false) => format!("{name} was removed; {} pages are lost", count(n)),
    });
    Ok(Exit::Finished)
}

/// Finds an agent by name or by id.
fn find<'a>(listing: &'a Listing, name: &str) -> Option<&'a Agent> {
    let agents = &listing.view.agents;
    let by_id = || agents.iter().find(|agent| agent.id.to_string() == name);
    agents.iter().find(|agent| agent.name == name).or_else(by_id)
}

/// Returns the sum of the counts of all live agents.
fn sum(
    counts: &[(Agent, Answer<ArchivedCount>)],
    gone: &Agent,
    give_up: bool,
) -> Result<u64, CliError> {
    let mut pages = 0;
    for (agent, count) in counts {
        let why = match count {
            Ok(count) if count.is_settled || give_up => {
                pages += count.pages;
                continue;
            }
            Ok(_) => "is still taking over its work".to_owned(),
            Err(unreachable) => unreachable.to_string(),
        };
        if !give_up {
            return Err(CliError::Internal(anyhow!(
                "{} {why}: the pages that only {} has cannot be counted yet; try again in a moment \
                 (`crivello status` shows the progress)",
                agent.name,
                gone.name
            )));
        }
        let (name, gone) = (&agent.name, &gone.name);
        screen::print_line(&format!("{name} {why}: its count for {gone} is missing"));
    }
    Ok(pages)
}

/// Returns the text for the number of URLs that only the dead agent knew: "none" or "unknown",
/// because they cannot be counted.
fn urls_known_only_to_it(
    listing: &Listing,
    counts: &[(Agent, Answer<ArchivedCount>)],
) -> &'static str {
    let counts = counts.iter().filter_map(|(_, count)| count.as_ref().ok());
    let replicas = counts.map(|count| count.replication).max();
    let unreplicated = listing.view.agents.iter().any(|agent| agent.unreplicated);
    match replicas {
        Some(_) if unreplicated => {
            "unknown, because a dead agent had not yet replicated its URLs; start it again if its \
             disk is intact"
        }
        Some(replicas) if listing.uncovered.len() < replicas as usize => "none",
        Some(_) => {
            "unknown, because as many agents are dead as hold each URL; start one of them again if \
             its disk is intact"
        }
        None => "unknown, because no agent answers",
    }
}
