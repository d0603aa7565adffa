//! Commands to the cluster: `POST /api/drain`, `/api/remove`, `/api/run`.

use super::{Answered, Refusal, body};
use crate::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Shared;
use crivello_common::view::RunState;
use crivello_proto::v1;
use serde::Deserialize;
use serde_json::json;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Drain {
    agent: String,
}

/// Drains an agent. Returns before it has left.
pub(crate) async fn drain(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Drain { agent } = body(&bytes)?;
    let request = v1::DrainRequest { agent: agent.clone() };
    state.coordinator.clone().drain(request).await?;
    Ok(Json(json!({ "done": format!("{agent} hands over its groups, then leaves") })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    agent: String,
    /// Treatment of pages that exist only in its archive (`/api/archived` counts them).
    lost: Lost,
    /// Number of its pages that are in a store (`/api/archived` counts them): they are not fetched again.
    #[serde(default)]
    safe_pages: u64,
    /// True to remove it although it may have data that no other agent has.
    #[serde(default)]
    force: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lost {
    Refetch,
    GiveUp,
}

/// Removes a dead agent.
pub(crate) async fn remove(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Remove { agent: name, lost, safe_pages, force } = body(&bytes)?;
    let refetch = lost == Lost::Refetch;
    let request =
        v1::RemoveRequest { agent: name.clone(), refetch, force, safe_pages, ignore_store: false };
    state.coordinator.clone().remove(request).await?;
    Ok(Json(json!({ "done": format!("{name} was removed") })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    /// [`RunState::name`].
    run: String,
}

/// Runs, pauses or stops the crawl. Returns before the agents have changed.
pub(crate) async fn run(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Run { run: name } = body(&bytes)?;
    let unknown = || Refusal::bad(format!("run: {name}: write running, paused or stopping"));
    let run = RunState::from_name(&name).ok_or_else(unknown)?;
    let done = match run {
        RunState::Running => "the crawl is running",
        RunState::Paused => "the crawl is paused",
        RunState::Stopping => "the crawl is stopping: its agents save their state and end",
    };
    let request = v1::SetRunRequest { run: v1::RunState::from(run).into() };
    state.coordinator.clone().set_run(request).await?;
    Ok(Json(json!({ "done": done })))
}
