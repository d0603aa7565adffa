//! `crivello remove`: removes a dead agent, and reports what is lost with it.

use crate::args::cluster::RemoveArgs;
use crate::cluster::{connect, list};
use crate::exit::{CliError, Exit, usage};
use crate::format::count;
use crate::screen;
use anyhow::anyhow;
use crivello_common::view::{Agent, AgentState, LostArchive};
use crivello_proto::agents::{Answer, ArchivedCount, Listing, archived_only_by, sum_archived};
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
    let (mut pages, mut safe_pages) = (0, 0);
    // The coordinator rejects the removal of any other agent.
    if let Some(agent) = listing.view.find(name).filter(|agent| agent.state == AgentState::Dead) {
        let Listing { view, crawl_id, .. } = &listing;
        let clients = credentials.agent_clients(client.clone());
        let safe_files = match args.ignore_store {
            true => 0,
            false => listing.safe_files.get(&agent.id).copied().unwrap_or_default(),
        };
        let lost = LostArchive { agent: agent.id, safe_files };
        let counts = archived_only_by(&clients, view, crawl_id, lost).await;
        (pages, safe_pages) = sum(&counts, agent, args.give_up || args.force)?;
        let urls = urls_known_only_to_it(&listing, &counts);
        screen::print_line(&format!(
            "pages that only {name} archived: {}{}; URLs that only it knew: {urls}",
            count(pages),
            in_store(safe_pages)
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
    let request = v1::RemoveRequest {
        agent: name.clone(),
        refetch: args.refetch,
        force: args.force,
        safe_pages,
        ignore_store: args.ignore_store,
    };
    client.remove(request).await?;
    screen::print_line(&match (pages, args.refetch) {
        (0, _) => format!("{name} was removed"),
        (n, true) => format!("{name} was removed; {} pages will be fetched again", count(n)),
        (n, false) => format!("{name} was removed; {} pages are lost", count(n)),
    });
    Ok(Exit::Finished)
}

fn in_store(pages: u64) -> String {
    if pages == 0 { String::new() } else { format!(", beside {} in a store", count(pages)) }
}

/// Returns the sums of the counts of all live agents ([`sum_archived`]). With `give_up`, a missing count is
/// reported and counts as zero.
fn sum(
    counts: &[(Agent, Answer<ArchivedCount>)],
    gone: &Agent,
    give_up: bool,
) -> Result<(u64, u64), CliError> {
    if !give_up {
        return sum_archived(counts, gone).map_err(|why| {
            CliError::Internal(anyhow!("{why} (`crivello status` shows the progress)"))
        });
    }
    let (mut pages, mut safe_pages) = (0, 0);
    for (agent, count) in counts {
        match count {
            Ok(count) => {
                pages += count.pages;
                safe_pages += count.safe_pages;
            }
            Err(unreachable) => screen::print_line(&format!(
                "{} {unreachable}: its count for {} is missing",
                agent.name, gone.name
            )),
        }
    }
    Ok((pages, safe_pages))
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
