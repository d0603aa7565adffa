//! `crivello remove`: an agent that is gone for good, and what goes with it.

use crate::args::cluster::RemoveArgs;
use crate::cluster::{Listing, connect, list, refused};
use crate::exit::Trouble;
use crate::human::count;
use crate::screen;
use anyhow::anyhow;
use crivello_common::view::{Agent, AgentState};
use crivello_proto::crowd::{Answer, Count, only_there};
use crivello_proto::v1;

/// Says what only the agent has, and forgets it; where that is pages, somebody must have said what
/// is to become of them.
///
/// # Errors
/// When there is no such agent, it is alive, or what it has cannot be counted.
pub async fn run(typed: &RemoveArgs) -> Result<(), Trouble> {
    let (mut client, papers) = connect(&typed.agent.coordinator).await?;
    let listing = list(&mut client).await?;
    let name = &typed.agent.agent;
    let mut pages = 0;
    // Everybody else it is for the coordinator to refuse.
    if let Some(agent) = find(&listing, name).filter(|agent| agent.state == AgentState::Dead) {
        let Listing { view, crawl_id, .. } = &listing;
        let counts = only_there(&papers.crowd(), view, crawl_id, agent.id).await;
        pages = sum(&counts, agent, typed.give_up)?;
        let urls = urls_known_to_it_alone(&listing, &counts);
        screen::say(&format!(
            "pages that only {name} has in its archive: {}; URLs that only it knew: {urls}",
            count(pages)
        ));
        if pages > 0 && !typed.refetch && !typed.give_up {
            return Err(Trouble::usage(format!(
                "what is to become of the {} pages of {name}? --refetch has them fetched again by \
                 others, --give-up counts them as lost. (An agent whose disk is not lost comes back \
                 when it is started again.)",
                count(pages)
            )));
        }
    }
    let request = v1::RemoveRequest { agent: name.clone(), refetch: typed.refetch };
    client.remove(request).await.map_err(|status| refused(&status))?;
    screen::say(&match (pages, typed.refetch) {
        (0, _) => format!("{name} is no member any more"),
        (n, true) => format!("{name} is no member any more; {} pages are fetched again", count(n)),
        (n, false) => format!("{name} is no member any more; {} pages are lost", count(n)),
    });
    Ok(())
}

/// By its name, or by its id.
fn find<'a>(listing: &'a Listing, name: &str) -> Option<&'a Agent> {
    let agents = &listing.view.agents;
    let by_id = || agents.iter().find(|agent| agent.id.to_string() == name);
    agents.iter().find(|agent| agent.name == name).or_else(by_id)
}

/// Adds up what all agents that are alive have counted.
fn sum(counts: &[(Agent, Answer<Count>)], gone: &Agent, give_up: bool) -> Result<u64, Trouble> {
    let mut pages = 0;
    for (agent, count) in counts {
        let why = match count {
            Ok(count) if count.is_settled || give_up => {
                pages += count.pages;
                continue;
            }
            Ok(_) => "is still taking over what it had".to_owned(),
            Err(silence) => silence.to_string(),
        };
        if !give_up {
            return Err(Trouble::Internal(anyhow!(
                "{} {why}: what only {} has cannot be counted yet; try again in a moment (`crivello \
                 status` shows how they stand)",
                agent.name,
                gone.name
            )));
        }
        let (name, gone) = (&agent.name, &gone.name);
        screen::say(&format!("{name} {why}: what it knows of {gone} is not counted"));
    }
    Ok(pages)
}

/// In words: nobody has counted what nobody has told.
fn urls_known_to_it_alone(listing: &Listing, counts: &[(Agent, Answer<Count>)]) -> &'static str {
    let told = counts.iter().filter_map(|(_, count)| count.as_ref().ok());
    let copies = told.map(|count| count.replication).max();
    let dead = listing.view.agents.iter().filter(|agent| agent.state == AgentState::Dead);
    let gone_alone = listing.view.agents.iter().any(|agent| agent.alone);
    match copies {
        Some(_) if gone_alone => {
            "nobody can tell, for one that is dead had not yet copied what it had; start it again \
             if its disk is not lost"
        }
        Some(copies) if dead.count() < copies as usize => "none",
        Some(_) => {
            "nobody can tell, for as many agents are dead as hold each URL; start one of them again \
             if its disk is not lost"
        }
        None => "nobody can tell, for no agent answers",
    }
}
