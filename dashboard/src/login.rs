//! Login: exchanges the token for the cookie of a session.

use super::api::{Refusal, body};
use super::session;
use super::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::StatusCode;
use axum::http::header::SET_COOKIE;
use axum::response::{IntoResponse, Response};
use crivello_proto::LiveToken;
use serde::Deserialize;
use serde_json::json;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Delay of the response to a wrong token, to slow down guessing.
const PENALTY: Duration = Duration::from_millis(500);

/// Limit on concurrent logins.
static SEATS: Semaphore = Semaphore::const_new(4);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Login {
    token: String,
}

/// Handles `POST /api/login`.
pub(super) async fn login(Shared(state): Shared<State>, bytes: Bytes) -> Result<Response, Refusal> {
    let Login { token: shown } = body(&bytes)?;
    let Some(token) = state.guard.token.as_ref().map(LiveToken::now) else {
        return Ok(Json(json!({ "done": "no token is required" })).into_response());
    };
    // The delay affects only logins.
    let _seat = SEATS.acquire().await;
    if !token.matches(shown.trim().as_bytes()) {
        sleep(PENALTY).await;
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong token"));
    }
    let cookie = session::cookie(&token, state.guard.is_secure);
    Ok(([(SET_COOKIE, cookie)], Json(json!({ "done": "logged in" }))).into_response())
}

/// Handles `POST /api/logout`.
pub(super) async fn logout() -> Response {
    ([(SET_COOKIE, session::no_cookie())], Json(json!({ "done": "logged out" }))).into_response()
}
