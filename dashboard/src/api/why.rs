//! `GET /api/why?text=`: the story of a host or a URL, as its owner tells it.

use super::{Answered, Asked, Refusal, query, story};
use crate::state::State;
use axum::Json;
use axum::extract::State as Shared;
use crivello_common::view::{Agent, View};
use crivello_proto::agents::{AgentCallError, archive_file_name, living};
use crivello_proto::v1;
use serde::Deserialize;
use serde_json::json;

/// Bytes of the longest question: a URL cannot be longer in a request's head.
const TEXT_MAX: usize = 8 << 10;
/// Agents that are tried until one answers.
const TRIES_MAX: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    text: String,
}

/// Any agent can say who the owner is; the owner knows the rest, but for what the archive file is
/// called, if another one archived the page: that one is asked.
pub(crate) async fn why(Shared(state): Shared<State>, asked: Asked<Question>) -> Answered {
    let Question { text } = query(asked)?;
    let text = text.trim().to_owned();
    if text.is_empty() || text.len() > TEXT_MAX {
        return Err(Refusal::bad("text= takes a host or a URL"));
    }
    let board = state.now();
    let (mut silent, mut unknown, mut best) = (Vec::new(), 0, None);
    for agent in living(&board.view).take(TRIES_MAX) {
        match state.crowd.why(agent, &text).await {
            Ok(answer) => {
                best = Some(answer);
                break;
            }
            Err(AgentCallError::Rejected(why)) => return Err(Refusal::bad(why)),
            Err(silence) => {
                unknown += usize::from(silence == AgentCallError::Unsupported);
                silent.push(json!({ "agent": agent.name, "why": silence.to_string() }));
            }
        }
    }
    let owner = best.as_ref().and_then(|first| owner(&board.view, first));
    if let Some(owner) = owner {
        match state.crowd.why(owner, &text).await {
            Ok(answer) => best = Some(answer),
            // What the other one knows is better than nothing.
            Err(silence) => {
                silent.push(json!({ "agent": owner.name, "why": silence.to_string() }));
            }
        }
    }
    let url = best.as_ref().and_then(|best| best.url.as_ref());
    let file = match url {
        Some(url) => archive_file_name(&state.crowd, &board.view, url).await,
        None => None,
    };
    Ok(Json(json!({
        "available": best.is_some() || unknown == 0,
        "silent": silent,
        "answer": best.as_ref().map(|best| story::why(best, file)),
    })))
}

/// The owner, if it is alive and somebody else than who answered.
fn owner<'v>(view: &'v View, first: &v1::WhyResponse) -> Option<&'v Agent> {
    let owner = first.owner.filter(|&owner| owner != first.agent)?;
    living(view).find(|agent| agent.id.0 == owner)
}
