//! A connection between two nodes, with or without TLS.

use crate::admission::{AdmissionSlot, UNPROVEN_TIME_MAX};
use bytes::Bytes;
use crivello_common::certificate_id::CertificateId;
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};
use tokio_rustls::TlsStream;
use tokio_util::either::Either;
use tonic::transport::server::Connected;

/// First bytes of a TLS alert, the response of a TLS server to a client without TLS.
const TLS_ALERT: [u8; 2] = [0x15, 0x03];

/// A connection without TLS, or with it.
type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// Address and certificate of the other end of an accepted connection.
#[derive(Clone, Debug, Default)]
pub struct NodeConnectInfo {
    remote: Option<SocketAddr>,
    certificate: Option<CertificateId>,
    /// Slot among the unproven connections; none once the connection is proven.
    slot: Arc<Mutex<Option<AdmissionSlot>>>,
}

impl NodeConnectInfo {
    /// Returns the address of the other end.
    pub const fn remote_addr(&self) -> Option<SocketAddr> {
        self.remote
    }

    /// Returns the certificate of the other end; `None` without TLS.
    pub const fn certificate(&self) -> Option<CertificateId> {
        self.certificate
    }

    /// Records that a call on this connection was permitted.
    pub(crate) fn authenticated(&self) {
        drop(self.slot.lock().take());
    }
}

/// The events that end a connection.
#[derive(Default)]
struct Limits {
    /// End of the time to prove itself.
    proof: Option<Pin<Box<Sleep>>>,
    /// Ready once the other node is refused.
    refused: Option<BoxFuture<'static, ()>>,
}

impl fmt::Debug for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limits").finish_non_exhaustive()
    }
}

impl Limits {
    fn check(&mut self, cx: &mut Context<'_>, info: &NodeConnectInfo) -> io::Result<()> {
        if let Some(proof) = &mut self.proof
            && proof.as_mut().poll(cx).is_ready()
        {
            self.proof = None;
            if info.slot.lock().is_some() {
                let why = "the other end made no call that is permitted";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
        }
        let refused =
            self.refused.as_mut().is_some_and(|refused| refused.as_mut().poll(cx).is_ready());
        if refused {
            let why = "the other node is in the deny list";
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, why));
        }
        Ok(())
    }
}

/// A connection between two nodes.
#[derive(Debug)]
pub struct NodeStream {
    stream: Stream,
    /// Bytes already read from the stream, not yet returned to the caller.
    read_ahead: Bytes,
    /// True if the next read checks for a TLS alert.
    detects_alert: bool,
    info: NodeConnectInfo,
    limits: Limits,
}

impl NodeStream {
    pub(crate) fn plain(stream: TcpStream) -> Self {
        Self::new(Either::Left(stream), Bytes::new())
    }

    /// Creates a connection without TLS to a node that may require TLS and respond with an alert.
    pub(crate) fn plain_detecting_tls(stream: TcpStream) -> Self {
        Self { detects_alert: true, ..Self::plain(stream) }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, read_ahead: Vec<u8>) -> Self {
        Self::new(Either::Right(Box::new(stream)), read_ahead.into())
    }

    fn new(stream: Stream, read_ahead: Bytes) -> Self {
        let (info, limits) = (NodeConnectInfo::default(), Limits::default());
        Self { stream, read_ahead, detects_alert: false, info, limits }
    }

    /// Sets address and admission slot of the other node. With a `slot` the connection ends after
    /// [`UNPROVEN_TIME_MAX`], unless [`NodeConnectInfo::authenticated`] is called.
    pub(crate) fn accepted(mut self, remote: SocketAddr, slot: Option<AdmissionSlot>) -> Self {
        self.limits.proof = slot.is_some().then(|| Box::pin(sleep(UNPROVEN_TIME_MAX)));
        self.info.remote = Some(remote);
        self.info.slot = Arc::new(Mutex::new(slot));
        self
    }

    /// Sets the certificate of the other node. The connection ends when `refused` does.
    pub(crate) fn of_certificate(
        mut self,
        certificate: Option<CertificateId>,
        refused: Option<BoxFuture<'static, ()>>,
    ) -> Self {
        self.info.certificate = certificate;
        self.limits.refused = refused;
        self
    }
}

impl Connected for NodeStream {
    type ConnectInfo = NodeConnectInfo;

    fn connect_info(&self) -> NodeConnectInfo {
        self.info.clone()
    }
}

impl AsyncRead for NodeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.limits.check(cx, &this.info)?;
        if !this.read_ahead.is_empty() {
            let n = this.read_ahead.len().min(buf.remaining());
            buf.put_slice(&this.read_ahead.split_to(n));
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = Pin::new(&mut this.stream).poll_read(cx, buf);
        if this.detects_alert && read.is_ready() {
            this.detects_alert = false;
            if buf.filled().get(before..).is_some_and(|new| new.starts_with(&TLS_ALERT)) {
                return Poll::Ready(Err(io::Error::other(
                    "it requires TLS: give --tls-cert, --tls-key and --tls-ca, and an address \
                     that begins with https://",
                )));
            }
        }
        read
    }
}

impl AsyncWrite for NodeStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
