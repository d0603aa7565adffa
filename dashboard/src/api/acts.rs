//! What changes who takes part: `POST /api/drain`, `/api/remove`, `/api/run`.

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

/// Has an agent hand everything over and leave; does not wait for it.
pub(crate) async fn drain(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Drain { agent } = body(&bytes)?;
    let request = v1::DrainRequest { agent: agent.clone() };
    state.coordinator.clone().drain(request).await?;
    Ok(Json(json!({ "done": format!("{agent} hands over what it has to crawl, then leaves") })))
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Remove {
    agent: String,
    /// What is to become of the pages that are only in its archive; how many there are says
    /// `/api/archived`.
    lost: Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Lost {
    Refetch,
    GiveUp,
}

/// Forgets an agent that is dead.
pub(crate) async fn remove(Shared(state): Shared<State>, bytes: Bytes) -> Answered {
    let Remove { agent: name, lost } = body(&bytes)?;
    let request = v1::RemoveRequest { agent: name.clone(), refetch: lost == Lost::Refetch };
    state.coordinator.clone().remove(request).await?;
    Ok(Json(json!({ "done": format!("{name} is no member any more") })))
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
    state.coordinator.clone().set_run(request).await?;
    Ok(Json(json!({ "done": done })))
}
