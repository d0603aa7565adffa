//! Listener: one socket for all of 127.0.0.0/8, so that a hundred thousand addresses cost nothing.
//! It is bound to the loopback device, so nothing outside of the machine can reach it. Where the
//! system refuses that, and in any other network, each address gets its own socket.

use crate::connection::accept;
use crate::log::Entry;
use crate::network::Network;
use crate::state::ServerState;
use crate::{http1, http2};
use rustls::HandshakeKind;
use socket2::{Domain, Socket, Type};
use std::collections::BTreeSet;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

const BACKLOG: i32 = 4_096;
/// Time after which a connection that sends nothing is closed.
const HANDSHAKE_MAX: Duration = Duration::from_secs(20);
/// First byte of a TLS handshake record.
const TLS_HANDSHAKE: u8 = 0x16;

/// Listens on `port` (0: a free one) of every address in 127.0.0.0/8. If that is refused, or if
/// `network` is a different one, listens on each of `ips`.
///
/// # Errors
/// Fails if the port is taken, or if an address does not belong to this machine.
pub fn listen(
    port: u16,
    network: Network,
    ips: &BTreeSet<Ipv4Addr>,
) -> io::Result<(u16, Vec<TcpListener>)> {
    if !network.is_loopback() {
        return listen_at_each(port, ips).map_err(|error| match error.kind() {
            kind @ io::ErrorKind::AddrNotAvailable => {
                let way = format!("`ip route add local {network} dev lo`");
                io::Error::new(kind, format!("{error}; {way} assigns all of them to this machine"))
            }
            _ => error,
        });
    }
    match listen_on(Ipv4Addr::UNSPECIFIED, port, Some(b"lo")) {
        Ok(listener) => Ok((listener.local_addr()?.port(), vec![listener])),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(error),
        Err(error) => {
            tracing::info!(%error, "cannot listen on the loopback device; listening on each \
                                    address");
            let mut ips = ips.clone();
            // An address of no host, so that a visitor that is misled there appears in the log.
            ips.insert(Ipv4Addr::LOCALHOST);
            listen_at_each(port, &ips)
        }
    }
}

fn listen_at_each(mut port: u16, ips: &BTreeSet<Ipv4Addr>) -> io::Result<(u16, Vec<TcpListener>)> {
    let mut listeners = Vec::with_capacity(ips.len());
    for &ip in ips {
        let listener = listen_on(ip, port, None)
            .map_err(|error| io::Error::new(error.kind(), format!("{ip}: {error}")))?;
        port = listener.local_addr()?.port();
        listeners.push(listener);
    }
    Ok((port, listeners))
}

fn listen_on(ip: Ipv4Addr, port: u16, device: Option<&[u8]>) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.set_reuse_address(true)?;
    if device.is_some() {
        socket.bind_device(device)?;
    }
    socket.bind(&SocketAddr::new(ip.into(), port).into())?;
    socket.listen(BACKLOG)?;
    socket.set_nonblocking(true)?;
    TcpListener::from_std(socket.into())
}

/// Accepts connections until `stop` is set, then closes all of them.
pub async fn run(
    shared: Arc<ServerState>,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    mut stop: watch::Receiver<bool>,
) {
    let mut connections = JoinSet::new();
    let serve = |stream, peer| {
        let ended = welcome(shared.clone(), stream, peer, tls.clone());
        async move {
            if let Err(error) = ended.await {
                tracing::debug!(%error, "a connection ended early");
            }
        }
    };
    tokio::select! {
        () = accept(&listener, &mut connections, serve) => {}
        _ = stop.wait_for(|&stop| stop) => {}
    }
    connections.shutdown().await;
}

async fn welcome(
    shared: Arc<ServerState>,
    stream: TcpStream,
    peer: SocketAddr,
    tls: Option<TlsAcceptor>,
) -> io::Result<()> {
    let local = stream.local_addr()?;
    let mut connection = Entry {
        ip: match local.ip() {
            IpAddr::V4(ip) => Some(ip),
            IpAddr::V6(_) => None,
        },
        port: local.port(),
        connection: shared.connections.fetch_add(1, Ordering::Relaxed),
        process: shared.callers.of(peer, local),
        ..Entry::default()
    };
    let _ = stream.set_nodelay(true);
    let acceptor = match tls {
        Some(acceptor) if is_tls(&stream).await => acceptor,
        _ => return http1::serve(shared, connection, stream).await,
    };
    let Ok(stream) = timeout(HANDSHAKE_MAX, acceptor.accept(stream)).await else {
        return Ok(());
    };
    let stream = stream?;
    let session = stream.get_ref().1;
    connection.tls = true;
    connection.resumed = session.handshake_kind() == Some(HandshakeKind::Resumed);
    if session.alpn_protocol() == Some(b"h2") {
        http2::serve(shared, connection, stream).await;
        return Ok(());
    }
    http1::serve(shared, connection, stream).await
}

/// Detects TLS by the first byte, because http and https share the port.
async fn is_tls(stream: &TcpStream) -> bool {
    let mut first = [0];
    let peeked = timeout(HANDSHAKE_MAX, stream.peek(&mut first)).await;
    matches!(peeked, Ok(Ok(1))) && first[0] == TLS_HANDSHAKE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn beyond_loopback_only_the_addresses_that_were_asked_for_are_listened_at() {
        let asked = [Ipv4Addr::new(127, 3, 0, 1), Ipv4Addr::new(127, 3, 0, 2)];
        let (port, listeners) = listen_at_each(0, &BTreeSet::from(asked)).unwrap();
        assert_eq!(listeners.len(), 2);
        for ip in asked {
            TcpStream::connect((ip, port)).await.unwrap();
        }
        let beside = TcpStream::connect((Ipv4Addr::new(127, 3, 0, 3), port)).await;
        assert_eq!(beside.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[tokio::test]
    async fn an_error_says_how_to_get_missing_addresses() {
        // A network for benchmarks between devices (RFC 2544).
        let network: Network = "198.18.0.0/16".parse().unwrap();
        let error = listen(0, network, &BTreeSet::from([network.nth(0)])).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrNotAvailable);
        let error = error.to_string();
        assert!(error.starts_with("198.18.0.1: "), "{error}");
        assert!(error.contains("ip route add local 198.18.0.0/16 dev lo"), "{error}");
    }
}
