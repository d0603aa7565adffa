//! A connection between two nodes, with or without TLS.

use bytes::Bytes;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;
use tokio_util::either::Either;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// First bytes of a TLS alert, the response of a TLS server to a client without TLS.
const TLS_ALERT: [u8; 2] = [0x15, 0x03];

/// A connection without TLS, or with it.
type Stream = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// A connection between two nodes.
#[derive(Debug)]
pub struct NodeStream {
    stream: Stream,
    /// Bytes already read from the stream, not yet returned to the caller.
    read_ahead: Bytes,
    /// True if the next read checks for a TLS alert.
    detects_alert: bool,
}

impl NodeStream {
    pub(crate) const fn plain(stream: TcpStream) -> Self {
        Self::new(Either::Left(stream), Bytes::new())
    }

    /// Creates a connection without TLS to a node that may require TLS and respond with an alert.
    pub(crate) fn plain_detecting_tls(stream: TcpStream) -> Self {
        Self { detects_alert: true, ..Self::plain(stream) }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, read_ahead: Vec<u8>) -> Self {
        Self::new(Either::Right(Box::new(stream)), read_ahead.into())
    }

    const fn new(stream: Stream, read_ahead: Bytes) -> Self {
        Self { stream, read_ahead, detects_alert: false }
    }
}

impl Connected for NodeStream {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        match &self.stream {
            Either::Left(stream) => stream.connect_info(),
            Either::Right(stream) => stream.get_ref().0.connect_info(),
        }
    }
}

impl AsyncRead for NodeStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
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
