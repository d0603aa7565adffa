//! `crivello remove`: an agent that is gone for good, and what goes with it.

use crate::args::cluster::RemoveArgs;
use crate::cluster::crowd::{Answers, Crowd, are_settled};
use crate::cluster::{Listing, connect, endpoint, list, refused};
use crate::exit::Trouble;
use crate::human::count;
use crate::screen;
use anyhow::anyhow;
use crivello_common::view::{Agent, AgentState};
use crivello_proto::v1;

/// Says what only the agent has, and forgets it; where that is pages, somebody must have said what
/// is to become of them.
///
/// # Errors
/// When there is no such agent, it is alive, or what it has cannot be counted.
pub async fn run(typed: &RemoveArgs) -> Result<(), Trouble> {
    let at = &typed.agent.coordinator;
    let (_, tls) = endpoint(at)?;
    let mut client = connect(at).await?;
    let listing = list(&mut client).await?;
    let name = &typed.agent.agent;
    let mut pages = 0;
    // Everybody else it is for the coordinator to refuse.
    if let Some(agent) = find(&listing, name).filter(|agent| agent.state == AgentState::Dead) {
        let mut crowd = Crowd::new(tls);
        let answers = crowd.ask(&listing.view, &listing.crawl_id).await;
        // While groups are handed over nobody counts their pages.
        if !typed.give_up && !are_settled(&answers, listing.view.epoch) {
            return Err(Trouble::Internal(anyhow!(
                "the others are still taking over what it had, or cannot be reached: what only it \
                 has cannot be counted yet; try again in a moment (`crivello status` shows it)"
            )));
        }
        pages = only_there(&listing, agent, &mut crowd, typed.give_up).await?;
        let urls = urls_known_to_it_alone(&listing, &answers);
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

/// Asks all agents that are alive. They may have to read all they have.
async fn only_there(
    listing: &Listing,
    gone: &Agent,
    crowd: &mut Crowd,
    give_up: bool,
) -> Result<u64, Trouble> {
    let mut pages = 0;
    for agent in listing.view.agents.iter().filter(|agent| agent.state != AgentState::Dead) {
        let asked = async {
            let mut client = crowd.client(agent)?;
            let request = v1::ArchivedRequest { by: gone.id.0 };
            client.archived(request).await.map_err(|status| status.message().to_owned())
        };
        match asked.await {
            Ok(answer) => pages += answer.into_inner().pages,
            Err(why) if give_up => screen::say(&format!(
                "{} cannot be asked: what it knows of {} is not counted: {why}",
                agent.name, gone.name
            )),
            Err(why) => {
                return Err(Trouble::Internal(anyhow!(
                    "{} cannot be asked what only {} has: {why}",
                    agent.name,
                    gone.name
                )));
            }
        }
    }
    Ok(pages)
}

/// In words: nobody has counted what nobody has told.
fn urls_known_to_it_alone(listing: &Listing, answers: &Answers) -> &'static str {
    let copies = answers.values().flatten().map(|status| status.replication).max();
    let dead = listing.view.agents.iter().filter(|agent| agent.state == AgentState::Dead);
    let gone_alone = listing.view.agents.iter().any(|agent| agent.alone);
    match copies {
        Some(_) if gone_alone => {
            "nobody can tell, for it died before it had copied what it had; start it again if its \
             disk is not lost"
        }
        Some(copies) if dead.count() < copies as usize => "none",
        Some(_) => {
            "nobody can tell, for as many agents are dead as hold each URL; start one of them again \
             if its disk is not lost"
        }
        None => "nobody can tell, for no agent answers",
    }
}
