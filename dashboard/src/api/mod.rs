//! What is asked for in JSON: one question a file.
//!
//! Questions to agents are answered as `{"available", "silent", …}`: whether any agent knows the
//! question, and which agents gave no answer, with the reason. Messages of the agents are in the
//! JSON that `explanation.proto` describes; other times are in milliseconds since 1970. A refusal is
//! `{"error"}` with a status that says whose fault it is.

pub(super) mod acts;
pub(super) mod archived;
pub(super) mod cluster;
pub(super) mod discards;
pub(super) mod fetches;
pub(super) mod hosts;
pub(super) mod settings;
pub(super) mod traces;
pub(super) mod why;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use crivello_common::view::Agent;
use crivello_proto::agents::{AgentCallError, Answer};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tonic::{Code, Status};

/// Why a request is not answered.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    why: String,
}

impl Refusal {
    pub(super) fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self { status, why: why.into() }
    }

    fn bad(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        (self.status, Json(json!({ "error": self.why }))).into_response()
    }
}

impl From<Status> for Refusal {
    fn from(status: Status) -> Self {
        let code = match status.code() {
            Code::InvalidArgument => StatusCode::BAD_REQUEST,
            Code::NotFound => StatusCode::NOT_FOUND,
            Code::FailedPrecondition | Code::AlreadyExists | Code::Aborted => StatusCode::CONFLICT,
            Code::Unimplemented => StatusCode::NOT_IMPLEMENTED,
            Code::ResourceExhausted | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        match status.code() {
            Code::Unimplemented => Self::new(code, "not available in this version"),
            _ => Self::new(code, status.message()),
        }
    }
}

type Answered = Result<Json<Value>, Refusal>;
type Asked<T> = Result<Query<T>, QueryRejection>;

/// What stands behind the `?`.
fn query<T>(asked: Asked<T>) -> Result<T, Refusal> {
    asked.map(|Query(query)| query).map_err(|error| Refusal::bad(error.body_text()))
}

/// A body of JSON.
pub(super) fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::bad(format!("the body: {error}")))
}

/// What all agents together said.
struct Gathered<T> {
    /// Whether any of them knows the question; true also where there is nobody to ask.
    available: bool,
    answers: Vec<(Agent, T)>,
    silent: Vec<Value>,
}

fn gather<T>(all: Vec<(Agent, Answer<T>)>) -> Gathered<T> {
    let unknown = all.iter().filter(|(_, a)| matches!(a, Err(AgentCallError::Unsupported))).count();
    let available = unknown == 0 || unknown < all.len();
    let (mut answers, mut silent) = (Vec::new(), Vec::new());
    for (agent, answer) in all {
        match answer {
            Ok(answer) => answers.push((agent, answer)),
            Err(silence) => silent.push(json!({ "agent": agent.name, "why": silence.to_string() })),
        }
    }
    Gathered { available, answers, silent }
}
