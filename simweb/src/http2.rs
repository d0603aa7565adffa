//! HTTP/2, for https hosts whose visitor negotiates it. It has fewer failures than HTTP/1.1:
//! silence, endless bodies and broken encodings stay the same, slow answers are sent at full speed,
//! and every other failure is a stream reset.

use crate::answer::{Request, SimResponse};
use crate::character::Manner;
use crate::http1::host_name;
use crate::log::{Entry, InFlight};
use crate::state::ServerState;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite};

/// Maximum size of a DATA frame, in bytes.
const FRAME_MAX: usize = 16 * 1024;

/// Answers requests until either side is done. `connection` has the fields of the log that all
/// requests of the connection share.
pub async fn serve(
    shared: Arc<ServerState>,
    connection: Entry,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let service = service_fn(move |request: http::Request<Incoming>| {
        respond(shared.clone(), connection.clone(), request)
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    if let Err(error) = server.serve_connection(TokioIo::new(stream), service).await {
        tracing::debug!(%error, "a connection ended early");
    }
}

async fn respond(
    shared: Arc<ServerState>,
    connection: Entry,
    request: http::Request<Incoming>,
) -> io::Result<http::Response<Body>> {
    let header = |name: http::HeaderName| {
        let value = request.headers().get(name).and_then(|v| v.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let authority = request.uri().authority().map(ToString::to_string);
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str()).to_owned();
    let asked = Request {
        host: host_name(&authority.unwrap_or_else(|| header(http::header::HOST))),
        path,
        accept_encoding: header(http::header::ACCEPT_ENCODING),
    };
    let mut flight = shared.log.begin(Entry {
        host: asked.host.clone(),
        path: asked.path.clone(),
        user_agent: header(http::header::USER_AGENT),
        http2: true,
        ..connection
    });
    let answer = shared.responder.answer(&shared.world, &asked, shared.log.now());
    flight.answered(answer.status, answer.retry_after_ms);
    tokio::time::sleep(answer.latency).await;
    let end = match answer.manner {
        Manner::Silent => std::future::pending().await,
        Manner::SilentAfterHead => End::Silence,
        Manner::EndlessBody => End::Never,
        Manner::Reset
        | Manner::ResetInHead
        | Manner::Malformed
        | Manner::HugeHead { .. }
        | Manner::EndlessHead => return Err(io::ErrorKind::ConnectionReset.into()),
        Manner::ResetInBody | Manner::LengthTooLong | Manner::LengthTooShort => End::Reset,
        _ => End::Well,
    };
    build(answer, flight, end).map_err(io::Error::other)
}

fn build(answer: SimResponse, flight: InFlight, end: End) -> http::Result<http::Response<Body>> {
    let mut builder = http::Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        builder = builder.header(*name, value);
    }
    builder.body(Body { left: answer.body, flight: Some(flight), end })
}

/// End of a body.
#[derive(Clone, Copy, Debug)]
enum End {
    Well,
    Never,
    Reset,
    Silence,
}

/// A response body that logs its request.
#[derive(Debug)]
struct Body {
    left: Bytes,
    flight: Option<InFlight>,
    end: End,
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if matches!(self.end, End::Silence) {
            return Poll::Pending;
        }
        let n = self.left.len().min(FRAME_MAX);
        let mut part = self.left.split_to(n);
        if part.is_empty() {
            match self.end {
                End::Never => part = Bytes::from_static(&[b' '; FRAME_MAX]),
                End::Reset => return Poll::Ready(Some(Err(io::ErrorKind::ConnectionReset.into()))),
                End::Well | End::Silence => {
                    if let Some(mut flight) = self.flight.take() {
                        flight.sending();
                        flight.complete();
                    }
                    return Poll::Ready(None);
                }
            }
        }
        if let Some(flight) = &mut self.flight {
            flight.sending();
            flight.sent(part.len());
        }
        if self.left.is_empty()
            && matches!(self.end, End::Well)
            && let Some(flight) = self.flight.take()
        {
            flight.complete();
        }
        Poll::Ready(Some(Ok(Frame::data(part))))
    }

    fn is_end_stream(&self) -> bool {
        self.left.is_empty() && matches!(self.end, End::Well) && self.flight.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        match self.end {
            End::Well => SizeHint::with_exact(self.left.len() as u64),
            _ => SizeHint::default(),
        }
    }
}
