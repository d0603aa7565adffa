//! `GET /api/why?text=`: the explanation of a host or a URL, as a message and as lines.

use super::{Answered, Asked, Refusal, gather, query};
use crate::state::State;
use axum::extract::State as Shared;
use crivello_proto::agents::{AgentCallError, ask_about, explanation};
use serde::Deserialize;
use serde_json::json;

/// Maximum length of the subject in bytes: a URL in the head of a request cannot be longer.
const TEXT_MAX: usize = 8 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Question {
    text: String,
}

/// Queries all agents. A text that they reject is neither a host nor a URL.
pub(crate) async fn why(Shared(state): Shared<State>, asked: Asked<Question>) -> Answered {
    let Question { text } = query(asked)?;
    let subject = text.trim();
    if subject.is_empty() || subject.len() > TEXT_MAX {
        return Err(Refusal::bad("text= must be a host or a URL"));
    }
    let snapshot = state.now();
    let answers = ask_about(&state.agents, &snapshot.view, subject).await;
    let rejected = answers.iter().find_map(|(_, answer)| match answer {
        Err(AgentCallError::Rejected(why)) => Some(why),
        _ => None,
    });
    if let Some(why) = rejected {
        return Err(Refusal::bad(why.clone()));
    }
    let explanation = explanation(&state.agents, &snapshot.view, subject, &answers).await;
    let (_, reach) = gather(answers);
    let lines = json!(explanation.lines());
    reach.respond([("explanation", json!(explanation)), ("lines", lines)])
}
