//! A connection between two nodes, with TLS or without.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::TlsStream;
use tonic::transport::server::{Connected, TcpConnectInfo};

/// How a record of TLS that is an alert begins: what who speaks TLS answers to who does not.
const ALERT: [u8; 2] = [0x15, 0x03];

/// See the module.
#[derive(Debug)]
pub struct Io {
    stream: Stream,
    /// What was read ahead.
    first: Vec<u8>,
    taken: usize,
    /// Nothing was read yet, and an alert would be one.
    looks: bool,
}

#[derive(Debug)]
enum Stream {
    Plain(TcpStream),
    Tls(Box<TlsStream<TcpStream>>),
}

impl Io {
    pub(crate) const fn plain(stream: TcpStream) -> Self {
        Self { stream: Stream::Plain(stream), first: Vec::new(), taken: 0, looks: false }
    }

    /// To one who might want TLS, and would say so in its way.
    pub(crate) fn plain_to(stream: TcpStream) -> Self {
        Self { looks: true, ..Self::plain(stream) }
    }

    pub(crate) fn tls(stream: TlsStream<TcpStream>, first: Vec<u8>) -> Self {
        Self { stream: Stream::Tls(Box::new(stream)), first, taken: 0, looks: false }
    }
}

impl Connected for Io {
    type ConnectInfo = TcpConnectInfo;

    fn connect_info(&self) -> TcpConnectInfo {
        match &self.stream {
            Stream::Plain(stream) => stream.connect_info(),
            Stream::Tls(stream) => stream.get_ref().0.connect_info(),
        }
    }
}

impl AsyncRead for Io {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(left @ [_, ..]) = this.first.get(this.taken..) {
            let n = left.len().min(buf.remaining());
            buf.put_slice(&left[..n]);
            this.taken += n;
            if this.taken == this.first.len() {
                this.first = Vec::new();
                this.taken = 0;
            }
            return Poll::Ready(Ok(()));
        }
        let before = buf.filled().len();
        let read = match &mut this.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_read(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_read(cx, buf),
        };
        if this.looks && read.is_ready() {
            this.looks = false;
            if buf.filled().get(before..).is_some_and(|new| new.starts_with(&ALERT)) {
                return Poll::Ready(Err(io::Error::other(
                    "it speaks TLS only: give --tls-cert, --tls-key and --tls-ca, and an address \
                     that begins with https://",
                )));
            }
        }
        read
    }
}

impl AsyncWrite for Io {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write(cx, buf),
            Stream::Tls(stream) => Pin::new(stream).poll_write(cx, buf),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_flush(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_shutdown(cx),
            Stream::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut self.stream {
            Stream::Plain(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
            Stream::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, bufs),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.stream {
            Stream::Plain(stream) => stream.is_write_vectored(),
            Stream::Tls(stream) => stream.is_write_vectored(),
        }
    }
}
