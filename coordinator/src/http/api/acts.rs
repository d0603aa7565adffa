//! What changes who takes part: `POST /api/drain`, `/api/remove`, `/api/run`.

use super::super::poll::members;
use super::super::state::State;
use super::{Answered, Refusal, body};
use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use crivello_common::view::{Agent, AgentState, RunState, View};
use crivello_proto::crowd::only_there;
use crivello_proto::v1;
use crivello_proto::v1::coordinator_server::Coordinator;
use serde::Deserialize;
use serde_json::json;
use tonic::Request;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drain {
    agent: String,
}

/// Has an agent hand everything over and leave; does not wait for it.
pub(crate) async fn drain(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Drain { agent } = body(&bytes)?;
    let request = v1::DrainRequest { agent: agent.clone() };
    state.rpc.drain(Request::new(request)).await?;
    Ok(Json(json!({ "done": format!("{agent} hands over what it has to crawl, then leaves") })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    agent: String,
    /// What is to become of the pages that are only in its archive.
    lost: Option<Lost>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lost {
    Refetch,
    GiveUp,
}

/// Forgets an agent that is dead. Where pages are lost with it, somebody must have said what is to
/// become of them: else the answer is 409, with their number.
pub(crate) async fn remove(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Remove { agent: name, lost } = body(&bytes)?;
    // What was put up may be older than the death of somebody.
    let (crawl, view, _) = members(&state.rpc).await?;
    let by_id = || view.agents.iter().find(|agent| agent.id.0.to_string() == name);
    let agent = view.agents.iter().find(|agent| agent.name == name).or_else(by_id);
    // Everybody else it is for the coordinator to refuse.
    if let Some(agent) = agent.filter(|agent| agent.state == AgentState::Dead && lost.is_none()) {
        let pages = pages_of(&state, &crawl, &view, agent).await?;
        if pages > 0 {
            let why = format!(
                "{pages} pages are only in the archive of {name}: are they to be fetched again, or \
                 counted as lost?"
            );
            return Err(Refusal::new(StatusCode::CONFLICT, why));
        }
    }
    let refetch = lost == Some(Lost::Refetch);
    let request = v1::RemoveRequest { agent: name.clone(), refetch };
    state.rpc.remove(Request::new(request)).await?;
    Ok(Json(json!({ "done": format!("{name} is no member any more") })))
}

/// Pages that are in the archive of `gone` alone. All others must have settled: before, nobody
/// counts their pages.
async fn pages_of(state: &State, crawl: &str, view: &View, gone: &Agent) -> Result<u64, Refusal> {
    let mut sum = 0;
    for (agent, count) in only_there(&state.crowd, view, crawl, gone.id).await {
        let why = match count {
            Ok(count) if count.is_settled => {
                sum += count.pages;
                continue;
            }
            Ok(_) => "is still taking over what it had".to_owned(),
            Err(silence) => silence.to_string(),
        };
        let why = format!(
            "{} {why}: what only {} has cannot be counted yet; try again in a moment",
            agent.name, gone.name
        );
        return Err(Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why));
    }
    Ok(sum)
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    run: Wish,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Wish {
    Running,
    Paused,
    Stopping,
}

/// Has the crawl go on, rest or end; does not wait for the agents.
pub(crate) async fn run(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Run { run } = body(&bytes)?;
    let (run, done) = match run {
        Wish::Running => (RunState::Running, "the crawl goes on"),
        Wish::Paused => (RunState::Paused, "the crawl is paused"),
        Wish::Stopping => (RunState::Stopping, "the crawl is stopping: its agents save and end"),
    };
    let request = v1::SetRunRequest { run: v1::RunState::from(run).into() };
    state.rpc.set_run(Request::new(request)).await?;
    Ok(Json(json!({ "done": done })))
}
