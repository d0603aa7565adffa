//! Access control: decides which requests are accepted.
//!
//! * A page of another site cannot read: responses have no CORS header. It cannot change anything:
//!   changes require a POST of JSON from our own origin. DNS rebinding does not help it: the `Host`
//!   of each request must be loopback, the address that the server listens on, or a configured
//!   name.
//! * If there is a token, everything but the health check and the login page requires it, in an
//!   `Authorization: Bearer` header or as the cookie of a login. A second token opens `/metrics` alone.

use super::session;
use axum::body::Body;
use axum::extract::{Request, State as Shared};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, HeaderName,
    LOCATION, ORIGIN, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use crivello_proto::LiveToken;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// Forbids content from other sites, inline scripts and styles, and framing by any page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";
const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
const RESOURCE_POLICY: HeaderName = HeaderName::from_static("cross-origin-resource-policy");
/// Paths that need no token: the health check and the login page.
const OPEN: [&str; 6] = ["/healthz", "/login", "/login.js", "/base.css", "/icon.svg", "/api/login"];

/// Access rules for requests.
#[derive(Debug)]
pub(super) struct Guard {
    /// Host names that requests may use, besides loopback.
    pub(super) names: Vec<String>,
    /// Address that the server listens on.
    pub(super) at: SocketAddr,
    pub(super) token: Option<LiveToken>,
    /// Token that opens `/metrics` and nothing else.
    pub(super) metrics_token: Option<LiveToken>,
    /// True if the server uses TLS.
    pub(super) is_secure: bool,
}

/// The reason why a request is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rejection {
    StrangeHost,
    Foreign,
    NoJson,
    NoToken,
}

impl Guard {
    fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Rejection> {
        if path == "/healthz" {
            return Ok(());
        }
        let host = text(headers, &HOST).ok_or(Rejection::StrangeHost)?;
        if !self.is_ours(host) {
            return Err(Rejection::StrangeHost);
        }
        let reads = method == Method::GET || method == Method::HEAD;
        if (!reads || path.starts_with("/api/")) && self.is_foreign(headers, host) {
            return Err(Rejection::Foreign);
        }
        if !reads && !is_json(headers) {
            return Err(Rejection::NoJson);
        }
        let open = OPEN.contains(&path)
            || self.is_authenticated(headers)
            || self.may_read_metrics(path, headers);
        if open { Ok(()) } else { Err(Rejection::NoToken) }
    }

    /// Returns true if `host` names this server.
    fn is_ours(&self, host: &str) -> bool {
        let name = without_port(host);
        let inner = name.strip_prefix('[').and_then(|name| name.strip_suffix(']'));
        if let Ok(ip) = inner.unwrap_or(name).parse::<IpAddr>() {
            // DNS rebinding cannot produce a literal address. A server that listens on all
            // addresses can be called by any of them.
            let listened = self.at.ip().is_unspecified() || ip == self.at.ip();
            return ip.to_canonical().is_loopback() || listened;
        }
        let name = name.trim_end_matches('.');
        let mut ours = self.names.iter().map(String::as_str).chain(["localhost"]);
        ours.any(|ours| ours.eq_ignore_ascii_case(name))
    }

    /// Returns true if the request has the token, or if no token is needed.
    fn is_authenticated(&self, headers: &HeaderMap) -> bool {
        let Some(token) = &self.token else { return true };
        let bearer =
            headers.get(AUTHORIZATION).is_some_and(|value| token.matches_header(value.as_bytes()));
        bearer || session::is_valid(&token.now(), headers)
    }

    /// Returns true if the request is for the metrics and has their token.
    fn may_read_metrics(&self, path: &str, headers: &HeaderMap) -> bool {
        let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
        let token = self.metrics_token.as_ref().filter(|_| path == "/metrics");
        token.zip(shown).is_some_and(|(token, shown)| token.matches_header(shown))
    }

    /// Returns true if a browser reports that another site caused the request. Other programs
    /// report nothing.
    fn is_foreign(&self, headers: &HeaderMap, host: &str) -> bool {
        let site = headers.get(FETCH_SITE).map(HeaderValue::as_bytes);
        if site.is_some_and(|site| site != b"same-origin" && site != b"none") {
            return true;
        }
        let Some(origin) = headers.get(ORIGIN) else { return false };
        let authority = match origin.to_str().unwrap_or_default().split_once("://") {
            Some(("https", authority)) => authority,
            // A page loaded without TLS may have been altered in transit, so a TLS server does not
            // trust it. Without TLS here, a proxy in front may use either scheme.
            Some(("http", authority)) if !self.is_secure => authority,
            _ => return true,
        };
        !authority.eq_ignore_ascii_case(host)
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?.to_str().ok()?;
    // Two values are ambiguous.
    all.next().is_none().then_some(first)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) && !name.is_empty() => {
            // An IPv6 address without brackets has no port and is not a valid host.
            if name.contains(':') && !name.ends_with(']') { host } else { name }
        }
        _ => host,
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = text(headers, &CONTENT_TYPE).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

impl Rejection {
    fn response(self, path: &str) -> Response {
        let (status, why) = match self {
            Self::StrangeHost => (
                StatusCode::MISDIRECTED_REQUEST,
                "unknown host name: start the coordinator with --http-host NAME, \
                 or use a loopback address",
            ),
            Self::Foreign => (StatusCode::FORBIDDEN, "requests from other sites are rejected"),
            Self::NoJson => {
                (StatusCode::UNSUPPORTED_MEDIA_TYPE, "the content type must be application/json")
            }
            Self::NoToken if !path.starts_with("/api/") && path != "/metrics" => {
                return (StatusCode::SEE_OTHER, [(LOCATION, "/login")]).into_response();
            }
            Self::NoToken => (
                StatusCode::UNAUTHORIZED,
                "a token is required: log in at /login, or send `Authorization: Bearer TOKEN`",
            ),
        };
        super::api::Refusal::new(status, why).into_response()
    }
}

/// Checks a request and adds the security headers to its response.
pub(super) async fn check_request(
    Shared(guard): Shared<Arc<Guard>>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let checked = guard.check(request.method(), &path, request.headers());
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(rejection) => rejection.response(&path),
    };
    let headers = response.headers_mut();
    let fixed = HeaderValue::from_static;
    // A foreign text has one of its own, which permits less.
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(fixed(POLICY));
    headers.insert(X_CONTENT_TYPE_OPTIONS, fixed("nosniff"));
    headers.insert(X_FRAME_OPTIONS, fixed("DENY"));
    headers.insert(REFERRER_POLICY, fixed("no-referrer"));
    headers.insert(RESOURCE_POLICY, fixed("same-origin"));
    headers.insert(CACHE_CONTROL, fixed("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::runtime::Token;

    fn guard(token: Option<&str>) -> Guard {
        Guard {
            names: vec!["Crawl.example".to_owned()],
            at: "10.0.0.5:8080".parse().expect("an address"),
            token: token.map(|text| Token::parse(text).expect("a valid token").into()),
            metrics_token: None,
            is_secure: false,
        }
    }

    fn headers(all: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"))
        };
        let mut headers = HeaderMap::new();
        for (name, value) in all.iter().map(pair) {
            let _ = headers.append(name, value);
        }
        headers
    }

    #[test]
    fn the_token_of_the_metrics_opens_nothing_else() {
        let metrics_token = Token::parse("fedcba9876543210").expect("a token").into();
        let guard = Guard { metrics_token: Some(metrics_token), ..guard(Some("0123456789abcdef")) };
        let shown = [("host", "localhost"), ("authorization", "Bearer fedcba9876543210")];
        let check = |path| guard.check(&Method::GET, path, &headers(&shown));
        assert_eq!(check("/metrics"), Ok(()));
        for path in ["/", "/api/cluster", "/metrics/", "/api/metrics"] {
            assert_eq!(check(path), Err(Rejection::NoToken), "{path}");
        }
        let none = headers(&[("host", "localhost")]);
        assert_eq!(guard.check(&Method::GET, "/metrics", &none), Err(Rejection::NoToken));
    }

    #[test]
    fn only_our_own_names_are_answered_to() {
        let guard = guard(None);
        for good in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:8080",
            "127.9.9.9",
            "[::1]:8080",
            "[::1]",
            "10.0.0.5:8080",
            "crawl.example",
            "crawl.example.:443",
            "[::ffff:127.0.0.1]:1",
        ] {
            assert!(guard.is_ours(good), "{good}");
        }
        for bad in [
            "",
            "evil.example",
            "localhost.evil.example",
            "10.0.0.6:8080",
            "127.0.0.1.evil.example",
            "::1:8080",
            "0.0.0.0:8080",
            "xlocalhost",
            "localhost:8080:8080",
            ":8080",
        ] {
            assert!(!guard.is_ours(bad), "{bad}");
        }
    }

    #[test]
    fn a_node_that_listens_on_all_addresses_accepts_any_address_but_no_unknown_name() {
        let at = "0.0.0.0:8080".parse().expect("an address");
        let guard = Guard { at, names: Vec::new(), ..guard(None) };
        assert!(guard.is_ours("10.1.2.3:8080") && guard.is_ours("[fd00::1]:8080"));
        assert!(!guard.is_ours("evil.example:8080"));
    }

    #[test]
    fn a_page_elsewhere_can_make_nobody_act() {
        let guard = guard(None);
        let post = |more: &[(&'static str, &str)]| {
            let mut all = vec![("host", "localhost:8080")];
            all.extend(more);
            guard.check(&Method::POST, "/api/drain", &headers(&all))
        };
        let json = ("content-type", "application/json; charset=utf-8");
        assert_eq!(post(&[json]), Ok(()));
        let own = ("origin", "http://localhost:8080");
        assert_eq!(post(&[json, own, ("sec-fetch-site", "same-origin")]), Ok(()));
        for foreign in [
            ("origin", "http://evil.example"),
            ("origin", "http://localhost:8081"),
            ("origin", "null"),
            ("origin", "file://localhost:8080"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert_eq!(post(&[json, foreign]), Err(Rejection::Foreign), "{foreign:?}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", ""] {
            assert_eq!(post(&[("content-type", kind), own]), Err(Rejection::NoJson), "{kind}");
        }
        assert_eq!(post(&[]), Err(Rejection::NoJson));
        let twice = headers(&[("host", "localhost"), ("host", "evil.example")]);
        assert_eq!(guard.check(&Method::GET, "/", &twice), Err(Rejection::StrangeHost));
        let nothing = HeaderMap::new();
        assert_eq!(guard.check(&Method::GET, "/", &nothing), Err(Rejection::StrangeHost));
        assert_eq!(guard.check(&Method::GET, "/healthz", &nothing), Ok(()));
        let read = headers(&[("host", "localhost"), ("sec-fetch-site", "cross-site")]);
        assert_eq!(guard.check(&Method::GET, "/api/hosts", &read), Err(Rejection::Foreign));
        assert_eq!(
            guard.check(&Method::GET, "/", &read),
            Ok(()),
            "a link from another site was rejected"
        );
    }

    #[test]
    fn over_tls_a_page_that_came_without_is_a_page_elsewhere() {
        let post = |is_secure, scheme: &str| {
            let origin = format!("{scheme}://localhost:8080");
            let json = ("content-type", "application/json");
            let all = headers(&[("host", "localhost:8080"), json, ("origin", &origin)]);
            let guard = Guard { is_secure, names: Vec::new(), ..guard(None) };
            guard.check(&Method::POST, "/api/run", &all)
        };
        assert_eq!(post(true, "https"), Ok(()));
        assert_eq!(post(true, "http"), Err(Rejection::Foreign));
        assert_eq!(post(false, "http"), Ok(()));
        assert_eq!(post(false, "https"), Ok(()), "a page behind a TLS proxy was rejected");
    }

    #[test]
    fn with_a_token_nothing_is_shown_without_it() {
        let guard = guard(Some("0123456789abcdef"));
        let get = |path: &str, more: &[(&'static str, &str)]| {
            let mut all = vec![("host", "localhost")];
            all.extend(more);
            guard.check(&Method::GET, path, &headers(&all))
        };
        for path in ["/", "/api/cluster", "/api/events", "/metrics", "/main.js", "/nothing"] {
            assert_eq!(get(path, &[]), Err(Rejection::NoToken), "{path}");
            let bearer = ("authorization", "Bearer 0123456789abcdef");
            assert_eq!(get(path, &[bearer]), Ok(()), "{path}");
            let wrong = ("authorization", "Bearer 0123456789abcdeg");
            assert_eq!(get(path, &[wrong]), Err(Rejection::NoToken), "{path}");
            let cookie = ("cookie", "a=b; crivello_session=00");
            assert_eq!(get(path, &[cookie]), Err(Rejection::NoToken), "{path}");
        }
        for path in OPEN {
            assert_eq!(get(path, &[]), Ok(()), "{path}");
        }
    }
}
