//! `GET /api/fetches?failed=&limit=`: the last fetches of all agents, newest first.

use super::{Answered, Asked, gather, query};
use crate::state::State;
use axum::extract::State as Shared;
use crivello_proto::agents::{Client, ask_all};
use crivello_proto::v1;
use serde::Deserialize;
use serde_json::json;
use std::cmp::Reverse;

/// Default of `limit`.
const LIMIT: u32 = 100;
/// Maximum of `limit`.
const LIMIT_MAX: u32 = 1_000;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Search {
    #[serde(default)]
    failed: bool,
    limit: Option<u32>,
}

/// Handles the request: returns the last fetches.
pub(crate) async fn fetches(Shared(state): Shared<State>, asked: Asked<Search>) -> Answered {
    let Search { failed, limit } = query(asked)?;
    let limit = limit.unwrap_or(LIMIT).clamp(1, LIMIT_MAX);
    let snapshot = state.now();
    let all = ask_all(&state.agents, &snapshot.view, |agents, agent| {
        let request = v1::FetchesRequest { limit, failed_only: failed };
        async move { agents.ask(&agent, async |mut c: Client| c.fetches(request).await).await }
    });
    let (answers, reach) = gather(all.await);
    let fetches = answers.into_iter().flat_map(|(_, answer)| answer.fetches);
    let mut fetches: Vec<v1::FetchSummary> = fetches.collect();
    fetches.sort_by_key(|fetch| Reverse(fetch.at));
    fetches.truncate(limit as usize);
    reach.respond([("fetches", json!(fetches))])
}
