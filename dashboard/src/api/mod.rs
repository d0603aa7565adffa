//! The JSON API, one subject per file.
//!
//! Responses with data of agents are `{"available", "silent", …}`: `available` is true if any agent
//! knows the call, and `silent` lists the agents that did not answer, with the reason. Messages of
//! agents use the JSON described by `explanation.proto`; other times are in milliseconds since
//! 1970. An error is `{"error"}` with an HTTP status.

pub(super) mod archived;
pub(super) mod cluster;
pub(super) mod commands;
pub(super) mod discards;
pub(super) mod fetches;
pub(super) mod hosts;
pub(super) mod search;
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

/// An error response.
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

    fn unavailable(why: &str) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
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
            Code::Unimplemented => {
                return Self::new(StatusCode::NOT_IMPLEMENTED, "not available in this version");
            }
            Code::ResourceExhausted | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Self::new(code, status.message())
    }
}

type Answered = Result<Json<Value>, Refusal>;
type Asked<T> = Result<Query<T>, QueryRejection>;

/// Parses the query string.
fn query<T>(asked: Asked<T>) -> Result<T, Refusal> {
    asked.map(|Query(query)| query).map_err(|error| Refusal::bad(error.body_text()))
}

/// Parses the JSON body.
pub(super) fn body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| Refusal::bad(format!("invalid body: {error}")))
}

/// Availability of the agents that were called.
struct Reach {
    /// True if any agent knows the call, or if there are no agents.
    available: bool,
    silent: Vec<Value>,
}

impl Reach {
    /// Returns the response with these fields.
    fn respond<const N: usize>(self, fields: [(&str, Value); N]) -> Answered {
        let mut value = json!({ "available": self.available, "silent": self.silent });
        for (name, field) in fields {
            value[name] = field;
        }
        Ok(Json(value))
    }
}

/// Separates the answers of agents from the reasons why others did not answer.
fn gather<T>(all: Vec<(Agent, Answer<T>)>) -> (Vec<(Agent, T)>, Reach) {
    let unknown = all.iter().filter(|(_, a)| matches!(a, Err(AgentCallError::Unsupported))).count();
    let available = unknown == 0 || unknown < all.len();
    let (mut answers, mut silent) = (Vec::new(), Vec::new());
    for (agent, answer) in all {
        match answer {
            Ok(answer) => answers.push((agent, answer)),
            Err(unreachable) => {
                silent.push(json!({ "agent": agent.name, "why": unreachable.to_string() }));
            }
        }
    }
    (answers, Reach { available, silent })
}
