//! A service whose calls are checked before they reach it.

use crate::rejection_log::RejectionLog;
use crate::stream::NodeConnectInfo;
use crate::tls::{RejectedBy, Rejection, RejectionKind};
use futures_util::future::{Either, Ready, ready};
use std::fmt;
use std::sync::Arc;
use std::task::{Context, Poll};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response, header};
use tonic::server::NamedService;
use tower::Service;

/// The reason why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    /// Reason for our log; it follows the name of the call. `None` if nothing is wrong: the agent has
    /// not joined yet.
    pub logged: Option<String>,
    /// Reason for the caller.
    pub sent: String,
}

/// The rule of a service.
pub trait Access: fmt::Debug + Send + Sync + 'static {
    /// Checks a call by its name and by the value of its `authorization` header.
    ///
    /// # Errors
    /// The reason why it is refused.
    fn check(&self, call: &str, shown: Option<&[u8]>) -> Result<(), Denial>;
}

/// A service whose calls are checked by an [`Access`].
#[derive(Clone, Debug)]
pub struct Guarded<S> {
    inner: S,
    access: Arc<dyn Access>,
    log: Arc<RejectionLog>,
}

impl<S> Guarded<S> {
    /// Wraps `inner`.
    pub fn new(inner: S, access: impl Access) -> Self {
        Self { inner, access: Arc::new(access), log: Arc::default() }
    }

    fn check<B>(&self, request: &Request<B>) -> Result<(), Status> {
        let call = request.uri().path().rsplit('/').next().unwrap_or_default();
        let shown = request.headers().get(header::AUTHORIZATION).map(|value| value.as_bytes());
        let connection = request.extensions().get::<NodeConnectInfo>();
        let Denial { logged, sent } = match self.access.check(call, shown) {
            Ok(()) => {
                connection.iter().for_each(|connection| connection.authenticated());
                return Ok(());
            }
            Err(denial) => denial,
        };
        let Some(logged) = logged else { return Err(Status::unauthenticated(sent)) };
        let peer = connection.and_then(NodeConnectInfo::remote_addr);
        let texts = peer.map(|peer| (peer.ip().to_string(), peer.to_string()));
        let (host, address) = texts.unwrap_or_default();
        let text = format!("{call}: {logged}");
        let rejection = Rejection::new(RejectedBy::Local, RejectionKind::Token, text);
        self.log.log_inbound(&host, &address, &rejection);
        Err(Status::unauthenticated(sent))
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
