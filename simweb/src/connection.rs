//! Connections: the loop that accepts them, and their streams, with and without TLS.

use crate::tcp_info::TcpInfo;
use socket2::SockRef;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;

/// Accepts connections until it is dropped, and serves each in a task of `connections`.
pub async fn accept<F: Future<Output = ()> + Send + 'static>(
    listener: &TcpListener,
    connections: &mut JoinSet<()>,
    serve: impl Fn(TcpStream, SocketAddr) -> F,
) {
    loop {
        match listener.accept().await {
            Ok((stream, peer)) => {
                connections.spawn(serve(stream, peer));
            }
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        while connections.try_join_next().is_some() {}
    }
}

/// A stream that can be reset.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Returns the TCP stream below.
    fn tcp(&self) -> &TcpStream;

    /// Returns the time since the last bytes arrived, however late they are read.
    fn since_arrival(&self) -> Duration {
        TcpInfo::of(self.tcp()).map_or(Duration::ZERO, |info| info.since_arrival)
    }

    /// Returns the time since the client closed or reset the connection, even if that was not read yet.
    fn closed_for(&self) -> Option<Duration> {
        TcpInfo::of(self.tcp()).ok().and_then(|info| info.closed_for)
    }

    /// Turns the next close into a reset.
    fn reset_on_close(&self) {
        let _ = SockRef::from(self.tcp()).set_linger(Some(Duration::ZERO));
    }
}

impl Stream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Stream for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}
