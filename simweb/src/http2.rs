//! HTTP/2, for https hosts whose visitor negotiates it. Of the failures of HTTP/1.1, silence, endless
//! bodies and broken encodings stay the same, slow answers are sent at full speed, and every other one
//! is a stream reset. Floods of frames are its own: see `http2_flood`.

use crate::answer::{Request, SimResponse};
use crate::character::Manner;
use crate::http1::host_name;
use crate::http2_flood::{FloodedRequest, SharedStream};
use crate::log::{Entry, InFlight};
use crate::state::ServerState;
use bytes::Bytes;
use hyper::body::{Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;

/// Maximum size of a DATA frame, in bytes.
const FRAME_MAX: usize = 16 * 1024;

/// Answers requests until either side is done. `connection` has the fields of the log that all
/// requests of the connection share.
pub async fn serve(
    shared: Arc<ServerState>,
    connection: Entry,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
) {
    let (stream, (flood, mut floods)) = (SharedStream::new(stream), mpsc::channel(1));
    let n_requests = Arc::new(AtomicU32::new(0));
    let service = service_fn(move |request: http::Request<Incoming>| {
        // A client numbers its streams 1, 3, 5 …
        let id = 2 * n_requests.fetch_add(1, Ordering::Relaxed) + 1;
        respond(shared.clone(), connection.clone(), request, (id, flood.clone()))
    });
    let server = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    let flooded = tokio::select! {
        ended = server.serve_connection(TokioIo::new(stream.clone()), service) => Err(ended),
        Some(flooded) = floods.recv() => Ok(flooded),
    };
    let (error, flooded) = match flooded {
        Ok(flooded) => (flooded.run(stream).await.err().map(|e| e.to_string()), true),
        Err(ended) => (ended.err().map(|e| e.to_string()), false),
    };
    if let Some(error) = error {
        tracing::debug!(error, flooded, "a connection ended early");
    }
}

async fn respond(
    shared: Arc<ServerState>,
    connection: Entry,
    request: http::Request<Incoming>,
    (stream, floods): (u32, mpsc::Sender<FloodedRequest>),
) -> io::Result<http::Response<Body>> {
    let header = |name: http::HeaderName| {
        let value = request.headers().get(name).and_then(|v| v.to_str().ok());
        value.unwrap_or_default().to_owned()
    };
    let authority = request.uri().authority().map(ToString::to_string);
    let path = request.uri().path_and_query().map_or("/", |p| p.as_str()).to_owned();
    let mut asked = Request {
        host: host_name(&authority.unwrap_or_else(|| header(http::header::HOST))),
        path,
        accept_encoding: header(http::header::ACCEPT_ENCODING),
        ..Request::default()
    };
    for (name, value) in request.headers() {
        value.to_str().into_iter().for_each(|value| asked.note(name.as_str(), value));
    }
    let entry = Entry {
        host: asked.host.clone(),
        path: asked.path.clone(),
        user_agent: header(http::header::USER_AGENT),
        http2: true,
        conditional: asked.conditions.any(),
        signature: asked.signature.clone(),
        ..connection
    };
    // The library below reads the connection, and does not say when the head arrived.
    let mut flight = shared.log.begin(entry, Duration::ZERO);
    let answer = shared.responder.answer(&shared.world, &asked, flight.start());
    flight.answered(answer.status, answer.retry_after_ms, answer.version);
    tokio::time::sleep(answer.latency).await;
    if let Manner::Http2(flood) = &answer.manner {
        // The connection is taken over; nothing else is answered on it.
        let _ = floods.send(FloodedRequest { flood: flood.clone(), stream, flight }).await;
        return std::future::pending().await;
    }
    let end = match answer.manner {
        Manner::Silent => std::future::pending().await,
        Manner::SilentAfterHead => End::Silence,
        Manner::EndlessBody => End::Never,
        Manner::Reset
        | Manner::ResetInHead
        | Manner::Malformed
        | Manner::HugeHead { .. }
        | Manner::EndlessHead
        | Manner::EndlessInterim => return Err(io::ErrorKind::ConnectionReset.into()),
        Manner::ResetInBody | Manner::LengthTooLong | Manner::LengthTooShort => End::Reset,
        _ => End::Well,
    };
    build(answer, flight, end).map_err(io::Error::other)
}

fn build(
    answer: SimResponse,
    mut flight: InFlight,
    end: End,
) -> http::Result<http::Response<Body>> {
    let mut builder = http::Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        builder = builder.header(*name, value);
    }
    if answer.status == 304 {
        // The head ends the stream, and has no Content-Length.
        flight.sending();
        flight.complete();
        return builder.body(Body { left: Bytes::new(), flight: None, end: End::Well });
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
