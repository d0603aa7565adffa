//! Commands to the cluster: `POST /api/drain`, `/api/remove`, `/api/run`.

use super::{Answered, body};
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
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lost {
    Refetch,
    GiveUp,
}

/// Removes a dead agent.
pub(crate) async fn remove(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Remove { agent: name, lost } = body(&bytes)?;
    let request = v1::RemoveRequest { agent: name.clone(), refetch: lost == Lost::Refetch };
    state.coordinator.clone().remove(request).await?;
    Ok(Json(json!({ "done": format!("{name} was removed") })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    run: WantedRun,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WantedRun {
    Running,
    Paused,
    Stopping,
}

/// Runs, pauses or stops the crawl. Returns before the agents have changed.
pub(crate) async fn run(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Run { run } = body(&bytes)?;
    let (run, done) = match run {
        WantedRun::Running => (RunState::Running, "the crawl is running"),
        WantedRun::Paused => (RunState::Paused, "the crawl is paused"),
        WantedRun::Stopping => {
            (RunState::Stopping, "the crawl is stopping: its agents save their state and end")
        }
    };
    let request = v1::SetRunRequest { run: v1::RunState::from(run).into() };
    state.coordinator.clone().set_run(request).await?;
    Ok(Json(json!({ "done": done })))
}
