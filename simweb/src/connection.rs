//! Connections of visitors, whatever the protocol.

use socket2::SockRef;
use std::net::Ipv4Addr;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// Properties of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The contacted address.
    pub ip: Option<Ipv4Addr>,
    /// The contacted port.
    pub port: u16,
    /// True if it uses TLS.
    pub tls: bool,
    /// Number of the connection.
    pub connection: u64,
    /// True if its TLS session was resumed from an earlier connection.
    pub resumed: bool,
    /// Process of the visitor.
    pub process: Option<u32>,
}

/// A stream that can be reset.
pub trait Stream: AsyncRead + AsyncWrite + Unpin + Send {
    /// Turns the next close into a reset.
    fn reset_on_close(&self);
}

fn reset_on_close(stream: &TcpStream) {
    let _ = SockRef::from(stream).set_linger(Some(Duration::ZERO));
}

impl Stream for TcpStream {
    fn reset_on_close(&self) {
        reset_on_close(self);
    }
}

impl Stream for TlsStream<TcpStream> {
    fn reset_on_close(&self) {
        reset_on_close(self.get_ref().0);
    }
}
