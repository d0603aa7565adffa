//! Login: exchanges the token for a cookie.
//!
//! The cookie holds a digest of the token, which is useless elsewhere. It is valid as long as the
//! token is, even across restarts of the coordinator. Scripts cannot read it, and it is not sent
//! with requests caused by another site.

use super::api::{Refusal, body};
use super::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::State as Shared;
use axum::http::header::{COOKIE, SET_COOKIE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use crivello_common::runtime::Token;
use crivello_proto::LiveToken;
use data_encoding::HEXLOWER;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::time::Duration;
use subtle::ConstantTimeEq;
use tokio::sync::Semaphore;
use tokio::time::sleep;

const NAME: &str = "crivello_session";
/// Maximum age of the cookie: thirty days, in seconds.
const AGE: u64 = 30 * 86_400;
/// Delay of the response to a wrong token, to slow down guessing.
const PENALTY: Duration = Duration::from_millis(500);

fn session(token: &Token) -> String {
    let mut digest = Sha256::new();
    digest.update(b"crivello dashboard session 1\0");
    digest.update(token.secret().as_bytes());
    HEXLOWER.encode(&digest.finalize())
}

/// Returns true if the headers have the cookie of a login.
pub(super) fn is_in(token: &Token, headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut shown = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(|(name, _)| *name == NAME);
    let session = session(token);
    shown.any(|(_, value)| session.as_bytes().ct_eq(value.as_bytes()).into())
}

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
    let Some(token) = state.guard.token().map(LiveToken::now) else {
        return Ok(Json(json!({ "done": "no token is required" })).into_response());
    };
    // The delay affects only logins.
    let _seat = SEATS.acquire().await;
    if !token.matches(shown.trim().as_bytes()) {
        sleep(PENALTY).await;
        return Err(Refusal::new(StatusCode::UNAUTHORIZED, "wrong token"));
    }
    let (session, more) = (session(&token), state.guard.cookie_more());
    let cookie =
        format!("{NAME}={session}; Path=/; Max-Age={AGE}; HttpOnly; SameSite=Strict{more}");
    Ok(([(SET_COOKIE, cookie)], Json(json!({ "done": "logged in" }))).into_response())
}

/// Handles `POST /api/logout`.
pub(super) async fn logout() -> Response {
    let cookie = format!("{NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict");
    ([(SET_COOKIE, cookie)], Json(json!({ "done": "logged out" }))).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_cookie_is_that_of_the_token_and_holds_nothing_of_it() {
        let [token, other] = ["0123456789abcdef", "0123456789abcdeg"]
            .map(|text| Token::parse(text).expect("a valid token"));
        let cookie = format!("a=b;  {NAME}={}; c", session(&token));
        assert!(!cookie.contains(token.secret()));
        let value = HeaderValue::from_str(&cookie).expect("a value");
        let headers = HeaderMap::from_iter([(COOKIE, value)]);
        assert!(is_in(&token, &headers));
        assert!(!is_in(&other, &headers));
        assert!(!is_in(&token, &HeaderMap::new()));
    }
}
