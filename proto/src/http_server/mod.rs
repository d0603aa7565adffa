//! HTTP/1.1 server for browsers and Prometheus, with or without TLS. A client that is idle or slow,
//! or that does not read its response, only occupies one connection until a timeout.

#[cfg(test)]
mod tests;
mod write_timeout;

use crate::admission::{Admission, AdmissionSlot};
use crate::stream::NodeStream;
use crate::tls::Https;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use parking_lot::Mutex;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsStream};
use tower::{BoxError, Service};
use write_timeout::WriteTimeout;

/// Maximum size of a request head, in bytes.
const HEAD_SIZE_MAX: usize = 16 << 10;
/// The pause after a failed accept, for example if no file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(200);

/// Limits of the server.
#[derive(Clone, Copy, Debug)]
pub struct HttpLimits {
    /// Maximum number of connections. Further connections wait to be accepted.
    pub connections_max: usize,
    /// Timeout of the TLS handshake.
    pub handshake: Duration,
    /// Timeout of a request head, from the start of the connection or the end of the last response.
    /// So it is also the maximum idle time.
    pub head: Duration,
    /// Timeout from the head of a request to the head of its response, including the request body.
    pub response: Duration,
    /// Maximum time in which the client reads nothing of a response.
    pub write: Duration,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections_max: 256,
            handshake: Duration::from_secs(5),
            head: Duration::from_secs(10),
            response: Duration::from_secs(40),
            write: Duration::from_secs(20),
        }
    }
}

/// Serves the connections to `listener`, with TLS if `https` is set. Never returns.
pub async fn serve<S, B>(
    listener: TcpListener,
    https: Option<Https>,
    service: S,
    limits: HttpLimits,
) where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<BoxError>,
{
    let permits = Arc::new(Semaphore::new(limits.connections_max));
    let mut connections = JoinSet::new();
    let admission = Admission::default();
    loop {
        let Ok(permit) = Arc::clone(&permits).acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, peer)) => {
                let slot = match is_bounded(peer.ip()) {
                    false => None,
                    true => match admission.admit(peer.ip()) {
                        // The connection is closed: one address must not take all permits.
                        None => continue,
                        slot => slot,
                    },
                };
                let (https, service) = (https.clone(), service.clone());
                connections.spawn(async move {
                    if let Err(error) =
                        serve_connection((stream, slot), https, service, limits).await
                    {
                        tracing::debug!("HTTP connection closed: {error}");
                    }
                    drop(permit);
                });
            }
            Err(error) => {
                tracing::debug!("cannot accept HTTP connections: {error}");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn serve_connection<S, B>(
    (stream, slot): (TcpStream, Option<AdmissionSlot>),
    https: Option<Https>,
    service: S,
    limits: HttpLimits,
) -> io::Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone,
    S::Error: Into<BoxError>,
    B: Body + 'static,
    B::Error: Into<BoxError>,
{
    // A failure only delays small messages.
    let _ = stream.set_nodelay(true);
    let io = match https {
        None => NodeStream::plain(stream),
        Some(https) => {
            let accepted = TlsAcceptor::from(https.server()).accept(stream);
            let accepted = timeout(limits.handshake, accepted).await;
            let accepted = accepted.map_err(|_| late("the handshake"))?;
            NodeStream::tls(TlsStream::Server(accepted?), Vec::new())
        }
    };
    let service = TowerToHyperService::new(service);
    let slot = Mutex::new(slot);
    let respond = service_fn(move |request| {
        // The client has sent a request.
        drop(slot.lock().take());
        let response = timeout(limits.response, service.call(request));
        async { response.await.map_err(|_| late("the response"))?.map_err(io::Error::other) }
    });
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(limits.head)
        .max_buf_size(HEAD_SIZE_MAX)
        .serve_connection(TokioIo::new(WriteTimeout::new(io, limits.write)), respond);
    served.await.map_err(io::Error::other)
}

/// Returns true if connections of this address without a request are bounded. All clients of a proxy
/// on this machine have one address.
const fn is_bounded(address: IpAddr) -> bool {
    !address.to_canonical().is_loopback()
}

fn late(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, format!("{what} took too long"))
}
