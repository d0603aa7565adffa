//! `crivello agents`: lists the agents of a crawl.

use crate::args::cluster::AgentsArgs;
use crate::cluster::{Listing, connect, list};
use crate::exit::CliError;
use crate::format;
use crivello_common::view::{AgentState, RunState, View};
use std::io::Write;
use std::time::Duration;

/// Prints the agents as a table or as JSON.
///
/// # Errors
/// Fails if the coordinator cannot be reached, or its answer is invalid.
pub async fn run(args: &AgentsArgs) -> Result<(), CliError> {
    let (mut client, _) = connect(&args.coordinator).await?;
    let listing = list(&mut client).await?;
    let text = if args.json { json(&listing) } else { table(&listing) };
    // Standard output may be closed.
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(())
}

/// Returns the label of a run state.
pub const fn run_label(run: RunState) -> &'static str {
    match run {
        RunState::Running => "running",
        RunState::Paused => "paused",
        RunState::Stopping => "stopping",
    }
}

/// Returns the label of an agent's state.
pub const fn state_label(state: AgentState) -> &'static str {
    match state {
        AgentState::Active => "active",
        AgentState::Draining => "draining",
        AgentState::Dead => "dead",
    }
}

fn json(listing: &Listing) -> String {
    let agents = listing.view.agents.iter().map(|agent| {
        let lease = listing.leases.get(&agent.id.0);
        serde_json::json!({
            "name": agent.name,
            "id": agent.id.0,
            "state": state_label(agent.state),
            "weight": agent.weight,
            "address": agent.address,
            "lease_left_ms": lease.map(|lease| lease.remaining_ms),
            "epoch": lease.map(|lease| lease.epoch),
        })
    });
    let all = serde_json::json!({
        "crawl": listing.crawl_id,
        "epoch": listing.view.epoch,
        "run": run_label(listing.view.run),
        "agents": agents.collect::<Vec<_>>(),
    });
    format!("{all:#}\n")
}

fn table(listing: &Listing) -> String {
    let mut rows =
        vec![["NAME", "ID", "STATE", "WEIGHT", "ADDRESS", "LEASE LEFT"].map(String::from).to_vec()];
    rows.extend(listing.view.agents.iter().map(|agent| {
        let lease = listing.leases.get(&agent.id.0);
        vec![
            agent.name.clone(),
            agent.id.to_string(),
            state_label(agent.state).to_owned(),
            agent.weight.to_string(),
            agent.address.clone(),
            lease.map_or("-".to_owned(), |l| {
                format::duration(Duration::from_millis(l.remaining_ms))
            }),
        ]
    }));
    let View { epoch, run, .. } = listing.view;
    let crawl = &listing.crawl_id;
    format!("crawl {crawl}, {}, epoch {epoch}\n{}", run_label(run), format::table(&rows))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_proto::v1;

    #[test]
    fn table_columns_are_aligned_and_dead_agents_have_no_lease() {
        let mut view = View::of_one("a-rather-long-name");
        view.agents[0].address = "10.0.0.1:7071".into();
        let mut dead = view.agents[0].clone();
        (dead.name, dead.state) = ("b".into(), AgentState::Dead);
        (dead.id.0, dead.slot) = (12, 1);
        view.agents.push(dead);
        let lease = v1::AgentLease { id: 0, remaining_ms: 12_000, epoch: 1 };
        let listing =
            Listing { crawl_id: "c0ffee".into(), view, leases: [(0, lease)].into_iter().collect() };
        let expected = "\
crawl c0ffee, running, epoch 1
NAME                ID  STATE   WEIGHT  ADDRESS        LEASE LEFT
a-rather-long-name  0   active  1       10.0.0.1:7071  12 s
b                   12  dead    1       10.0.0.1:7071  -
";
        assert_eq!(table(&listing), expected);
        let json: serde_json::Value = serde_json::from_str(&json(&listing)).expect("JSON");
        assert_eq!(json["agents"][0]["lease_left_ms"], 12_000);
        assert_eq!(json["agents"][1]["lease_left_ms"], serde_json::Value::Null);
        assert_eq!((&json["agents"][1]["name"], &json["run"]), (&"b".into(), &"running".into()));
    }
}
