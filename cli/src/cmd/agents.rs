//! `crivello agents`: lists the agents of a crawl.

use crate::args::cluster::AgentsArgs;
use crate::cluster::{connect, list};
use crate::exit::{CliError, Exit};
use crate::{format, screen};
use crivello_common::view::{Agent, View};
use crivello_proto::agents::Listing;
use serde_json::{Value, json};
use std::time::Duration;

/// Prints the agents as a table or as JSON.
///
/// # Errors
/// Fails if the coordinator cannot be reached, or its answer is invalid.
pub async fn run(args: &AgentsArgs) -> Result<Exit, CliError> {
    let (mut client, _) = connect(&args.coordinator).await?;
    let listing = list(&mut client).await?;
    screen::print_out(&if args.json { as_json(&listing) } else { table(&listing) });
    Ok(Exit::Finished)
}

/// Returns an agent and its lease as JSON.
pub fn agent_json(listing: &Listing, agent: &Agent) -> Value {
    let lease = listing.leases.get(&agent.id);
    json!({
        "name": agent.name,
        "id": agent.id.0,
        "state": agent.state.name(),
        "weight": agent.weight,
        "address": agent.address,
        "lease_left_ms": lease.map(|lease| lease.remaining_ms),
    })
}

/// Returns the remaining time of an agent's lease as text.
pub fn lease_left(listing: &Listing, agent: &Agent) -> String {
    let lease = listing.leases.get(&agent.id);
    lease.map_or("-".to_owned(), |l| format::duration(Duration::from_millis(l.remaining_ms)))
}

fn as_json(listing: &Listing) -> String {
    let agents = listing.view.agents.iter().map(|agent| {
        let mut value = agent_json(listing, agent);
        value["epoch"] = json!(listing.leases.get(&agent.id).map(|lease| lease.epoch));
        value
    });
    let all = json!({
        "crawl": listing.crawl_id,
        "epoch": listing.view.epoch,
        "run": listing.view.run.name(),
        "agents": agents.collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn table(listing: &Listing) -> String {
    let mut rows =
        vec![["NAME", "ID", "STATE", "WEIGHT", "ADDRESS", "LEASE LEFT"].map(String::from).to_vec()];
    rows.extend(listing.view.agents.iter().map(|agent| {
        vec![
            agent.name.clone(),
            agent.id.to_string(),
            agent.state.name().to_owned(),
            agent.weight.to_string(),
            agent.address.clone(),
            lease_left(listing, agent),
        ]
    }));
    let View { epoch, run, .. } = listing.view;
    let crawl = &listing.crawl_id;
    format!("crawl {crawl}, {}, epoch {epoch}\n{}", run.name(), format::table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::view::AgentState;
    use crivello_proto::v1;

    #[test]
    fn table_columns_are_aligned_and_dead_agents_have_no_lease() {
        let mut view = View::of_one("a-rather-long-name");
        view.agents[0].address = "10.0.0.1:7071".into();
        let mut dead = view.agents[0].clone();
        (dead.name, dead.state) = ("b".into(), AgentState::Dead);
        (dead.id.0, dead.slot) = (12, 1);
        view.agents.push(dead);
        let agent_id = view.agents[0].id;
        let lease = v1::AgentLease { id: 0, remaining_ms: 12_000, epoch: 1 };
        let listing = Listing {
            crawl_id: "c0ffee".into(),
            view,
            leases: [(agent_id, lease)].into(),
            obstacles: Vec::new(),
            uncovered: Vec::new(),
            safe_files: [].into(),
        };
        let expected = "\
crawl c0ffee, running, epoch 1
NAME                ID  STATE   WEIGHT  ADDRESS        LEASE LEFT
a-rather-long-name  0   active  1       10.0.0.1:7071  12 s
b                   12  dead    1       10.0.0.1:7071  -
";
        assert_eq!(table(&listing), expected);
        let json: Value = serde_json::from_str(&as_json(&listing)).expect("JSON");
        assert_eq!(json["agents"][0]["lease_left_ms"], 12_000);
        assert_eq!(json["agents"][1]["lease_left_ms"], Value::Null);
        assert_eq!((&json["agents"][1]["name"], &json["run"]), (&"b".into(), &"running".into()));
    }
}
