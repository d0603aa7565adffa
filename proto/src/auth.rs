//! Authorization of calls: control calls require the cluster's token, if there is one.

use crate::LiveToken;
use crate::rejection_log::RejectionLog;
use crate::tls::{RejectedBy, Rejection, RejectionKind};
use futures_util::future::{Either, Ready, ready};
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, header};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::server::NamedService;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::transport::server::TcpConnectInfo;
use tower::Service;

/// Calls from nodes to the coordinator. They need no token, because TLS authenticates nodes.
pub const NODE_CALLS: &[&str] =
    &["Join", "Heartbeat", "Leave", "WatchView", "GetView", "WatchSettings"];

/// A service that requires the token, except for the calls in `open`.
#[derive(Clone, Debug)]
pub struct RequireToken<S> {
    inner: S,
    token: Option<LiveToken>,
    open: &'static [&'static str],
    log: Arc<RejectionLog>,
}

impl<S> RequireToken<S> {
    /// Wraps `inner`. Without a token, all calls are open.
    pub fn new(inner: S, token: Option<LiveToken>, open: &'static [&'static str]) -> Self {
        Self { inner, token, open, log: Arc::default() }
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), Status> {
        let Some(token) = &self.token else { return Ok(()) };
        let call = request.uri().path().rsplit('/').next().unwrap_or_default();
        if self.open.contains(&call) {
            return Ok(());
        }
        let presented = request.headers().get(header::AUTHORIZATION);
        if presented.is_some_and(|value| token.matches_header(value.as_bytes())) {
            return Ok(());
        }
        let (logged, sent) = match presented {
            None => ("it sent no token", "this call needs the cluster's token"),
            Some(_) => ("it sent another token", "the token is not that of this cluster"),
        };
        let peer = request.extensions().get::<TcpConnectInfo>().and_then(|info| info.remote_addr());
        let texts = peer.map(|peer| (peer.ip().to_string(), peer.to_string()));
        let (host, address) = texts.unwrap_or_default();
        let text = format!("{call}: {logged}");
        let rejection = Rejection::new(RejectedBy::Local, RejectionKind::Token, text);
        self.log.log_inbound(&host, &address, &rejection);
        Err(Status::unauthenticated(format!(
            "{sent}: give --token-file FILE (or CRIVELLO_TOKEN_FILE) with the token that the \
             coordinator and the agents were started with"
        )))
    }
}

impl<S: NamedService> NamedService for RequireToken<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> Service<Request<B>> for RequireToken<S>
where
    S: Service<Request<B>, Response = Response<Body>>,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<Self::Response, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        match self.check(&request) {
            Ok(()) => Either::Left(self.inner.call(request)),
            Err(status) => Either::Right(ready(Ok(status.into_http()))),
        }
    }
}

/// A channel that sends the token with every request.
pub type AuthChannel = InterceptedService<Channel, BearerToken>;

/// The token sent with every request, in its version at that moment; may be none.
#[derive(Clone, Debug, Default)]
pub struct BearerToken(Option<LiveToken>);

impl BearerToken {
    /// Creates a value that sends `token`, if there is one.
    #[must_use]
    pub fn new(token: Option<&LiveToken>) -> Self {
        Self(token.cloned())
    }

    /// Returns a channel that sends the token over `channel`.
    #[must_use]
    pub fn wrap(&self, channel: Channel) -> AuthChannel {
        InterceptedService::new(channel, self.clone())
    }

    /// Adds the token to `request`.
    pub fn add_to<T>(&self, request: &mut tonic::Request<T>) {
        let Some(token) = &self.0 else { return };
        // A token contains only characters that are valid in a header.
        if let Ok(mut value) = MetadataValue::<Ascii>::try_from(token.now().header()) {
            value.set_sensitive(true);
            request.metadata_mut().insert(header::AUTHORIZATION.as_str(), value);
        }
    }
}

impl Interceptor for BearerToken {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        self.add_to(&mut request);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::runtime::Token;
    use futures_util::FutureExt as _;
    use std::convert::Infallible;

    /// A service that accepts all calls.
    #[derive(Clone, Debug)]
    struct Open;

    impl Service<Request<()>> for Open {
        type Response = Response<Body>;
        type Error = Infallible;
        type Future = Ready<Result<Response<Body>, Infallible>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Request<()>) -> Self::Future {
            ready(Ok(Response::new(Body::empty())))
        }
    }

    /// Calls `path` with this header. Returns the status if the call is rejected.
    fn call(token: Option<&str>, path: &str, header: Option<&str>) -> Option<Status> {
        let token = token.map(|text| Token::parse(text).unwrap().into());
        let mut guarded = RequireToken::new(Open, token, NODE_CALLS);
        let mut request = Request::builder().uri(format!("http://a{path}"));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let answer = guarded.call(request.body(()).unwrap()).now_or_never().unwrap().unwrap();
        Status::from_header_map(answer.headers())
    }

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn only_the_calls_of_nodes_are_open() {
        let service = "/crivello.v1.Coordinator";
        for open in NODE_CALLS {
            assert!(call(Some(TOKEN), &format!("{service}/{open}"), None).is_none(), "{open}");
        }
        // Includes future calls and similar names.
        for asked in
            ["ListAgents", "Drain", "Remove", "SetRun", "EditSettings", "New", "join", "Join/"]
        {
            let path = format!("{service}/{asked}");
            for header in [None, Some("Bearer 0123456789abcdeX"), Some(TOKEN), Some("Bearer ")] {
                let status = call(Some(TOKEN), &path, header).expect(asked);
                assert_eq!(status.code(), tonic::Code::Unauthenticated);
                assert!(status.message().contains("--token-file"), "{status:?}");
                assert!(!format!("{status:?}").contains(TOKEN), "{status:?}");
            }
            assert!(
                call(Some(TOKEN), &path, Some(&format!("Bearer {TOKEN}"))).is_none(),
                "{asked}"
            );
            assert!(call(None, &path, None).is_none(), "rejected although no token is set");
        }
    }

    #[test]
    fn the_open_calls_exist() {
        let descriptors = String::from_utf8_lossy(crate::DESCRIPTORS);
        for open in NODE_CALLS {
            assert!(descriptors.contains(&format!("{open}Request")), "no method {open}");
        }
    }

    #[test]
    fn debug_output_hides_the_token() {
        let token = LiveToken::from(Token::parse(TOKEN).unwrap());
        let bearer = BearerToken::new(Some(&token));
        let mut request = tonic::Request::new(());
        bearer.add_to(&mut request);
        let shown =
            format!("{bearer:?} {request:?} {:?}", RequireToken::new(Open, Some(token), &[]));
        assert!(!shown.contains(TOKEN) && shown.contains("Sensitive"), "{shown}");
        let header = request.metadata().get("authorization").unwrap();
        assert_eq!(header.as_bytes(), format!("Bearer {TOKEN}").as_bytes());
    }
}
