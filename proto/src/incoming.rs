//! Those who connect to a node, once it is clear who they are.

use crate::io::Io;
use crate::sayings::Sayings;
use crate::tls::{Kind, Reason, Refuser, Tls};
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

/// Connections whose other side has not shown who it is yet. More wait in the system's queue.
const HANDSHAKES_MAX: usize = 256;
/// For that.
const PATIENCE: Duration = Duration::from_secs(5);
/// Before another try, when the system gives no connection (it has no file left, for instance).
const PAUSE: Duration = Duration::from_millis(100);
/// Between two lines in the log about that, as lines about anybody.
const ACCEPT: &str = "the listening socket";
/// For one who is refused to hear why,
const FAREWELL_PATIENCE: Duration = Duration::from_secs(1);
/// and what it may say meanwhile.
const FAREWELL_BYTES_MAX: u64 = 64 << 10;
/// How a handshake begins.
const HANDSHAKE: [u8; 2] = [0x16, 0x03];

/// The connections to a listening socket: with TLS those who are trusted, without all. Ends never;
/// the socket is free when this is dropped.
#[derive(Debug)]
pub struct Incoming {
    listener: TcpListener,
    tls: Option<Tls>,
    handshakes: JoinSet<Option<Io>>,
    pause: Option<Pin<Box<Sleep>>>,
    log: Arc<Sayings>,
}

impl Incoming {
    /// Those who connect to `listener`.
    #[must_use]
    pub fn new(listener: TcpListener, tls: Option<Tls>) -> Self {
        let (handshakes, log) = (JoinSet::new(), Arc::default());
        Self { listener, tls, handshakes, pause: None, log }
    }
}

impl Stream for Incoming {
    type Item = io::Result<Io>;

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
                    this.handshakes.spawn(welcome(stream, peer, tls, log));
                }
                Err(error) => {
                    if this.log.is_due(ACCEPT, Refuser::Nobody, Kind::Broken) {
                        tracing::warn!("nobody can connect just now: {error}");
                    }
                    this.pause = Some(Box::pin(sleep(PAUSE)));
                }
            }
        }
    }
}

async fn welcome(
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<Tls>,
    log: Arc<Sayings>,
) -> Option<Io> {
    // Without it, small answers come late; no more.
    let _ = stream.set_nodelay(true);
    let met = async {
        match tls {
            Some(tls) => meet(stream, &tls).await,
            None => meet_plainly(stream).await,
        }
    };
    let late = || Reason::new(Refuser::Nobody, Kind::Broken, "it did not show in time who it is");
    let (reason, stream) = match timeout(PATIENCE, met).await {
        Ok(Ok(io)) => return Some(io),
        Ok(Err((reason, stream))) => (reason, Some(stream)),
        Err(_) => (late(), None),
    };
    log.not_let_in(&peer.ip().to_string(), &peer.to_string(), &reason);
    if let Some(stream) = stream {
        // Whoever goes on speaking to a socket that is closed would not read why it was.
        let _ = timeout(FAREWELL_PATIENCE, farewell(stream)).await;
    }
    None
}

pub(crate) async fn meet(stream: TcpStream, tls: &Tls) -> Result<Io, (Reason, TcpStream)> {
    let accepting = TlsAcceptor::from(tls.server()).accept(stream).into_fallible();
    match accepting.await {
        Ok(stream) => Ok(Io::tls(TlsStream::Server(stream), Vec::new())),
        Err((error, stream)) => Err((Reason::of_io(&error), stream)),
    }
}

async fn meet_plainly(stream: TcpStream) -> Result<Io, (Reason, TcpStream)> {
    let mut first = [0; HANDSHAKE.len()];
    match stream.peek(&mut first).await {
        Ok(n) if n > 0 && first[..n] == HANDSHAKE[..n] => Err((
            Reason::new(
                Refuser::Us,
                Kind::NotTls,
                "it speaks TLS, and this node was started without (--tls-cert, --tls-key, --tls-ca)",
            ),
            stream,
        )),
        Ok(n) if n > 0 => Ok(Io::plain(stream)),
        Ok(_) => Err((Reason::new(Refuser::Nobody, Kind::Broken, "it said nothing"), stream)),
        Err(error) => Err((Reason::of_io(&error), stream)),
    }
}

pub(crate) async fn farewell(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    tokio::io::copy(&mut stream.take(FAREWELL_BYTES_MAX), &mut tokio::io::sink()).await?;
    Ok(())
}
