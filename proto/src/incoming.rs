//! Acceptance and authentication of connections to a node.

use crate::admission::{Admission, AdmissionSlot};
use crate::rejection_log::RejectionLog;
use crate::stream::NodeStream;
use crate::tls::{RejectedBy, Rejection, RejectionKind, Tls};
use futures_util::Stream;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Sleep, sleep, timeout};
use tokio_rustls::{TlsAcceptor, TlsStream};

/// Maximum number of handshakes in progress. Further connections wait in the system's queue.
const HANDSHAKES_MAX: usize = 256;
/// Timeout of a handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause after a failed accept, for example if no file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Name of the listening socket in the log, which limits messages per name.
const LISTENER: &str = "the listening socket";
/// Time for a rejected node to read the reason.
const LINGER_TIMEOUT: Duration = Duration::from_secs(1);
/// Number of bytes that a rejected node may send in that time.
const LINGER_BYTES_MAX: u64 = 64 << 10;
/// First bytes of a TLS handshake.
const TLS_HANDSHAKE: [u8; 2] = [0x16, 0x03];

/// Stream of connections to a listening socket; with TLS, only authenticated connections. It never
/// ends, and closes the socket when dropped.
#[derive(Debug)]
pub struct Incoming {
    listener: TcpListener,
    tls: Option<Tls>,
    handshakes: JoinSet<Option<NodeStream>>,
    pause: Option<Pin<Box<Sleep>>>,
    admission: Admission,
    log: Arc<RejectionLog>,
}

impl Incoming {
    /// Accepts the connections to `listener`.
    #[must_use]
    pub fn new(listener: TcpListener, tls: Option<Tls>) -> Self {
        let (handshakes, log) = (JoinSet::new(), Arc::default());
        let admission = Admission::default();
        Self { listener, tls, handshakes, pause: None, admission, log }
    }
}

impl Stream for Incoming {
    type Item = io::Result<NodeStream>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            while let Poll::Ready(Some(done)) = this.handshakes.poll_join_next(cx) {
                if let Ok(Some(io)) = done {
                    return Poll::Ready(Some(Ok(io)));
                }
            }
            if let Some(pause) = &mut this.pause {
                ready!(pause.as_mut().poll(cx));
                this.pause = None;
            }
            if this.handshakes.len() >= HANDSHAKES_MAX {
                return Poll::Pending;
            }
            match ready!(this.listener.poll_accept(cx)) {
                Ok((stream, peer)) => {
                    let (tls, log) = (this.tls.clone(), Arc::clone(&this.log));
                    match this.admission.admit(peer.ip()) {
                        Some(slot) => {
                            this.handshakes.spawn(accept(stream, peer, slot, tls, log));
                        }
                        None => {
                            let why = "too many connections without a call";
                            let rejection =
                                Rejection::new(RejectedBy::Local, RejectionKind::TooMany, why);
                            let address = peer.ip().to_string();
                            log.log_inbound(&address, &address, &rejection);
                        }
                    }
                }
                Err(error) => {
                    if this.log.is_due(LISTENER, RejectedBy::Neither, RejectionKind::Broken) {
                        tracing::warn!("cannot accept connections: {error}");
                    }
                    this.pause = Some(Box::pin(sleep(ACCEPT_PAUSE)));
                }
            }
        }
    }
}

async fn accept(
    stream: TcpStream,
    peer: SocketAddr,
    slot: AdmissionSlot,
    tls: Option<Tls>,
    log: Arc<RejectionLog>,
) -> Option<NodeStream> {
    // A failure only delays small messages.
    let _ = stream.set_nodelay(true);
    let with_tls = tls.is_some();
    let handshake = async {
        match tls {
            Some(tls) => handshake(stream, &tls).await,
            None => detect_plain(stream).await,
        }
    };
    let (rejection, stream) = match timeout(HANDSHAKE_TIMEOUT, handshake).await {
        // A certificate proves a node; without one, the first permitted call does.
        Ok(Ok(io)) => return Some(io.accepted(peer, (!with_tls).then_some(slot))),
        Ok(Err((rejection, stream))) => (rejection, Some(stream)),
        Err(_) => (Rejection::broken("it did not complete the handshake in time"), None),
    };
    log.log_inbound(&peer.ip().to_string(), &peer.to_string(), &rejection);
    if let Some(stream) = stream {
        // A node that still sends to a closed socket would not receive the reason.
        let _ = timeout(LINGER_TIMEOUT, linger_close(stream)).await;
    }
    None
}

pub(crate) async fn handshake(
    stream: TcpStream,
    tls: &Tls,
) -> Result<NodeStream, (Rejection, TcpStream)> {
    let accepting = TlsAcceptor::from(tls.server()).accept(stream).into_fallible();
    match accepting.await {
        Ok(stream) => match tls.identify(stream.get_ref().1.peer_certificates()) {
            Ok((certificate, refused)) => {
                let stream = NodeStream::tls(TlsStream::Server(stream), Vec::new());
                Ok(stream.of_certificate(certificate, refused))
            }
            Err(rejection) => Err((rejection, stream.into_inner().0)),
        },
        Err((error, stream)) => Err((Rejection::of_io(&error), stream)),
    }
}

async fn detect_plain(stream: TcpStream) -> Result<NodeStream, (Rejection, TcpStream)> {
    let mut first = [0; TLS_HANDSHAKE.len()];
    let rejection = match stream.peek(&mut first).await {
        Ok(0) => Rejection::broken("it sent nothing"),
        Ok(n) if first[..n] == TLS_HANDSHAKE[..n] => Rejection::new(
            RejectedBy::Local,
            RejectionKind::NotTls,
            "it uses TLS, and this node was started without (--tls-cert, --tls-key, --tls-ca)",
        ),
        Ok(_) => return Ok(NodeStream::plain(stream)),
        Err(error) => Rejection::of_io(&error),
    };
    Err((rejection, stream))
}

pub(crate) async fn linger_close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(LINGER_BYTES_MAX), &mut tokio::io::sink()).await?;
    Ok(())
}
