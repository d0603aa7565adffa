//! Session cookie: proof that a browser has logged in with the token.
//!
//! The cookie holds a digest of the token, which is useless elsewhere. It is valid as long as the
//! token is, even across restarts of the coordinator. Scripts cannot read it, and it is not sent
//! with requests caused by another site.

use axum::http::HeaderMap;
use axum::http::header::COOKIE;
use crivello_common::runtime::Token;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;

const NAME: &str = "crivello_session";
/// Maximum age of the cookie: thirty days, in seconds.
const AGE: u64 = 30 * 86_400;

/// Returns the `Set-Cookie` value that begins a session. A cookie set over TLS is only sent over
/// TLS.
pub(super) fn cookie(token: &Token, is_secure: bool) -> String {
    let (digest, more) = (digest(token), if is_secure { "; Secure" } else { "" });
    format!("{NAME}={digest}; Path=/; Max-Age={AGE}; HttpOnly; SameSite=Strict{more}")
}

/// Returns the `Set-Cookie` value that ends a session.
pub(super) fn no_cookie() -> String {
    format!("{NAME}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict")
}

/// Returns true if the headers have the cookie of a session with this token.
pub(super) fn is_valid(token: &Token, headers: &HeaderMap) -> bool {
    let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut shown = cookies
        .flat_map(|line| line.split(';'))
        .filter_map(|cookie| cookie.trim().split_once('='))
        .filter(|(name, _)| *name == NAME);
    let digest = digest(token);
    shown.any(|(_, value)| digest.as_bytes().ct_eq(value.as_bytes()).into())
}

fn digest(token: &Token) -> String {
    let mut digest = Sha256::new();
    digest.update(b"crivello dashboard session 1\0");
    digest.update(token.secret().as_bytes());
    HEXLOWER.encode(&digest.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    #[test]
    fn the_cookie_is_that_of_the_token_and_holds_nothing_of_it() {
        let [token, other] = ["0123456789abcdef", "0123456789abcdeg"]
            .map(|text| Token::parse(text).expect("a valid token"));
        let cookie = format!("a=b;  {NAME}={}; c", digest(&token));
        assert!(!cookie.contains(token.secret()));
        let value = HeaderValue::from_str(&cookie).expect("a value");
        let headers = HeaderMap::from_iter([(COOKIE, value)]);
        assert!(is_valid(&token, &headers));
        assert!(!is_valid(&other, &headers));
        assert!(!is_valid(&token, &HeaderMap::new()));
    }
}
