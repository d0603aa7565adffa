//! Who may ask: what people ask of a node needs the cluster's token, where there is one.

use crate::LiveToken;
use crate::sayings::Sayings;
use crate::tls::{Kind, Reason, Refuser};
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

/// What nodes ask of the coordinator: that they are nodes is for TLS to say.
pub const NODES_ASK: &[&str] =
    &["Join", "Heartbeat", "Leave", "WatchView", "GetView", "WatchSettings"];

/// A service that asks for the token, but for calls that are `open`.
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    token: Option<LiveToken>,
    open: &'static [&'static str],
    log: Arc<Sayings>,
}

impl<S> Guarded<S> {
    /// Without a token everything is open.
    pub fn new(inner: S, token: Option<LiveToken>, open: &'static [&'static str]) -> Self {
        Self { inner, token, open, log: Arc::default() }
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), Status> {
        let Some(token) = &self.token else { return Ok(()) };
        let call = request.uri().path().rsplit('/').next().unwrap_or_default();
        if self.open.contains(&call) {
            return Ok(());
        }
        let shown = request.headers().get(header::AUTHORIZATION);
        if shown.is_some_and(|shown| token.is_in(shown.as_bytes())) {
            return Ok(());
        }
        let (said, why) = match shown {
            None => ("it shows no token", "this needs the cluster's token"),
            Some(_) => ("its token is not ours", "the token is not that of this cluster"),
        };
        let peer = request.extensions().get::<TcpConnectInfo>().and_then(|info| info.remote_addr());
        let who = peer.map_or_else(String::new, |peer| peer.ip().to_string());
        let at = peer.map_or_else(String::new, |peer| peer.to_string());
        let reason = Reason::new(Refuser::Us, Kind::Token, format!("{call}: {said}"));
        self.log.not_let_in(&who, &at, &reason);
        Err(Status::unauthenticated(format!(
            "{why}: give --token-file FILE (or CRIVELLO_TOKEN_FILE) with the token that the \
             coordinator and the agents were started with"
        )))
    }
}

impl<S: NamedService> NamedService for Guarded<S> {
    const NAME: &'static str = S::NAME;
}

impl<S, B> Service<Request<B>> for Guarded<S>
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

/// A channel that shows the token with all that is asked.
pub type Line = InterceptedService<Channel, Show>;

/// What is shown with all that is asked: the token that is in force just then; nothing, without.
#[derive(Clone, Debug, Default)]
pub struct Show(Option<LiveToken>);

impl Show {
    /// Shows `token`.
    #[must_use]
    pub fn new(token: Option<&LiveToken>) -> Self {
        Self(token.cloned())
    }

    /// Over `channel`.
    #[must_use]
    pub fn over(&self, channel: Channel) -> Line {
        InterceptedService::new(channel, self.clone())
    }

    /// With this one request.
    pub fn add<T>(&self, request: &mut tonic::Request<T>) {
        let Some(token) = &self.0 else { return };
        // A token is made of what a header may hold.
        if let Ok(mut value) = MetadataValue::<Ascii>::try_from(token.now().header()) {
            value.set_sensitive(true);
            request.metadata_mut().insert(header::AUTHORIZATION.as_str(), value);
        }
    }
}

impl Interceptor for Show {
    fn call(&mut self, mut request: tonic::Request<()>) -> Result<tonic::Request<()>, Status> {
        self.add(&mut request);
        Ok(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::runtime::Token;
    use futures_util::FutureExt as _;
    use std::convert::Infallible;

    /// Answers everything.
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

    /// What a call of `path` with this header comes to: nothing, or why it is refused.
    fn call(token: Option<&str>, path: &str, header: Option<&str>) -> Option<Status> {
        let token = token.map(|text| Token::parse(text).unwrap().into());
        let mut guarded = Guarded::new(Open, token, NODES_ASK);
        let mut request = Request::builder().uri(format!("http://a{path}"));
        if let Some(header) = header {
            request = request.header("authorization", header);
        }
        let answer = guarded.call(request.body(()).unwrap()).now_or_never().unwrap().unwrap();
        Status::from_header_map(answer.headers())
    }

    const TOKEN: &str = "0123456789abcdef";

    #[test]
    fn only_what_nodes_ask_is_open() {
        let service = "/crivello.v1.Coordinator";
        for open in NODES_ASK {
            assert!(call(Some(TOKEN), &format!("{service}/{open}"), None).is_none(), "{open}");
        }
        // Also what is not there yet, and what only looks like it.
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
            assert!(call(None, &path, None).is_none(), "without a token all is open");
        }
    }

    #[test]
    fn the_open_calls_are_there() {
        let descriptors = String::from_utf8_lossy(crate::DESCRIPTORS);
        for open in NODES_ASK {
            assert!(descriptors.contains(&format!("{open}Request")), "there is no {open}");
        }
    }

    #[test]
    fn what_is_shown_is_not_seen() {
        let token = LiveToken::from(Token::parse(TOKEN).unwrap());
        let show = Show::new(Some(&token));
        let mut request = tonic::Request::new(());
        show.add(&mut request);
        let shown = format!("{show:?} {request:?} {:?}", Guarded::new(Open, Some(token), &[]));
        assert!(!shown.contains(TOKEN) && shown.contains("Sensitive"), "{shown}");
        let header = request.metadata().get("authorization").unwrap();
        assert_eq!(header.as_bytes(), format!("Bearer {TOKEN}").as_bytes());
    }
}
