//! What browsers and Prometheus are served: HTTP/1.1, with TLS or without, within bounds. Whoever
//! connects and says nothing, reads nothing or is slow costs one seat for a while, and no more.

mod patient;
#[cfg(test)]
mod tests;

use crate::io::Io;
use crate::tls::Https;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use patient::Patient;
use std::io;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsStream};
use tower::Service;

/// Bytes of a request's head.
const HEAD_SIZE_MAX: usize = 16 << 10;
/// After a connection could not be accepted: mostly there are no more file numbers.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// How many, and for how long.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at once; more wait to be accepted.
    pub connections_max: usize,
    /// For the handshake of TLS.
    pub handshake: Duration,
    /// For a request's head, from when the connection is there or the last answer is over: so also
    /// for how long a connection may be idle.
    pub head: Duration,
    /// From a request's head to that of its answer; the request's body is read within.
    pub answer: Duration,
    /// In which some of an answer is to be taken.
    pub write: Duration,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            connections_max: 256,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            answer: Duration::from_secs(40),
            write: Duration::from_secs(20),
        }
    }
}

/// Serves those who connect to `listener`, with TLS if there is any; ends never.
pub async fn serve<S, B>(listener: TcpListener, https: Option<Https>, service: S, bounds: Bounds)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let room = Arc::new(Semaphore::new(bounds.connections_max));
    let mut connections = JoinSet::new();
    loop {
        let Ok(seat) = Arc::clone(&room).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                let (https, service) = (https.clone(), service.clone());
                connections.spawn(async move {
                    if let Err(error) = converse(stream, https, service, bounds).await {
                        tracing::debug!("a browser went: {error}");
                    }
                    drop(seat);
                });
            }
            Err(error) => {
                tracing::debug!("no browser can be accepted just now: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn converse<S, B>(
    stream: TcpStream,
    https: Option<Https>,
    service: S,
    bounds: Bounds,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: Body + 'static,
    B::Error: Into<BoxError>,
{
    // It is only slower without.
    let _ = stream.set_nodelay(true);
    let io = match https {
        None => Io::plain(stream),
        Some(https) => {
            let met = TlsAcceptor::from(https.server()).accept(stream);
            let met = timeout(bounds.handshake, met).await.map_err(|_| late("the handshake"))?;
            Io::tls(TlsStream::Server(met?), Vec::new())
        }
    };
    let service = TowerToHyperService::new(service);
    let answer = service_fn(move |request| {
        let answer = timeout(bounds.answer, service.call(request));
        async {
            match answer.await {
                Ok(answer) => answer.map_err(io::Error::other),
                Err(_) => Err(late("the answer")),
            }
        }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(bounds.head)
        .max_buf_size(HEAD_SIZE_MAX)
        .serve_connection(TokioIo::new(Patient::new(io, bounds.write)), answer);
    served.await.map_err(io::Error::other)
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} took too long"))
}
