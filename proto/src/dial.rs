//! Connections to other nodes, with or without TLS.
//!
//! A [`DialTarget`] may have several addresses, of which one answers: those of all coordinators of a crawl. Each attempt to
//! connect goes through them, beginning behind the one that answered last: a process that is suspended accepts connections.

use crate::stream::NodeStream;
use crate::tls::{RejectedBy, Rejection, RejectionKind, Tls};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsConnector, TlsStream};
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint, Error};
use tower::{BoxError, Service, service_fn};

/// Timeout of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time to wait for the first bytes of the other node, sent once it accepts our certificate.
/// Without them the connection is used anyway, and a rejection is detected later.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(2);
const FIRST_BYTES_MAX: usize = 1 << 10;
const HTTPS_PORT: u16 = 443;
/// Maximum time for one of several addresses.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(1);

/// Addresses of one service.
#[derive(Clone, Debug)]
pub struct DialTarget {
    endpoint: Endpoint,
    /// Empty if there is only that of the endpoint.
    addresses: Arc<[Uri]>,
    /// Index of the address to begin with: that behind the one that answered last, because its connection has ended.
    next: Arc<AtomicUsize>,
}

impl DialTarget {
    /// Changes the options of its connections.
    #[must_use]
    pub fn map(self, options: impl FnOnce(Endpoint) -> Endpoint) -> Self {
        Self { endpoint: options(self.endpoint), ..self }
    }

    /// Returns the number of its addresses.
    #[must_use]
    pub fn n_addresses(&self) -> usize {
        self.addresses.len().max(1)
    }
}

impl From<Endpoint> for DialTarget {
    fn from(endpoint: Endpoint) -> Self {
        Self { endpoint, addresses: Arc::default(), next: Arc::default() }
    }
}

/// Returns the target at `urls`, separated by commas, which must be `https://` with `tls`, and `http://` without.
///
/// # Errors
/// Returns what is wrong with a URL.
pub fn target(urls: &str, tls: Option<&Tls>) -> Result<DialTarget, String> {
    let mut endpoints = Vec::new();
    for url in urls.split(',') {
        endpoints.push(endpoint(url.trim(), tls)?);
    }
    let addresses: Vec<Uri> = endpoints.iter().map(|endpoint| endpoint.uri().clone()).collect();
    let addresses = if addresses.len() > 1 { addresses.into() } else { Arc::default() };
    let endpoint = endpoints.into_iter().next().ok_or("no address is given")?;
    Ok(DialTarget { addresses, ..endpoint.into() })
}

/// Returns the endpoint at `url`, which must be `https://` with `tls`, and `http://` without.
fn endpoint(url: &str, tls: Option<&Tls>) -> Result<Endpoint, String> {
    let parsed: Uri = url.parse().map_err(|error| format!("{error}"))?;
    match (parsed.scheme_str(), tls.is_some()) {
        (Some("http"), false) => {
            Endpoint::from_shared(url.to_owned()).map_err(|error| error.to_string())
        }
        (Some("https"), true) => {
            let host = parsed.host().filter(|host| !host.is_empty()).ok_or("it has no host")?;
            let port = parsed.port_u16().unwrap_or(HTTPS_PORT);
            to(&format!("{host}:{port}"), tls).map_err(|error| error.to_string())
        }
        (Some("http"), true) => Err("with TLS files the address must begin with https://".into()),
        (Some("https"), false) => Err("give --tls-cert, --tls-key and --tls-ca, or http://".into()),
        _ => Err("write an address such as http://127.0.0.1:7070".into()),
    }
}

/// Returns the endpoint at `address`, a host and a port.
///
/// # Errors
/// Fails if the address is invalid.
pub fn to(address: &str, tls: Option<&Tls>) -> Result<Endpoint, Error> {
    // The channel's own TLS cannot reload certificates, so the connector provides TLS.
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    match format!("https://{address}").parse::<Uri>() {
        Ok(origin) if tls.is_some() => Ok(endpoint.origin(origin)),
        _ => Ok(endpoint),
    }
}

/// Returns a channel that connects on demand, each time with the certificates in force. It uses no
/// proxy.
#[must_use]
pub fn lazy(target: &DialTarget, tls: Option<&Tls>) -> Channel {
    target.endpoint.connect_with_connector_lazy(connector(target, tls))
}

/// Connects to a target.
///
/// # Errors
/// Fails if the node is unreachable, or if one node rejects the other's certificate.
pub async fn connect(target: &DialTarget, tls: Option<&Tls>) -> Result<Channel, Error> {
    target.endpoint.connect_with_connector(connector(target, tls)).await
}

/// Returns a service that connects, each time with the certificates in force.
fn connector(
    target: &DialTarget,
    tls: Option<&Tls>,
) -> impl Service<Uri, Response = TokioIo<NodeStream>, Error = BoxError, Future: Send> + use<> {
    let (tls, addresses, next) = (tls.cloned(), target.addresses.clone(), target.next.clone());
    service_fn(move |to| open_any(to, addresses.clone(), next.clone(), tls.clone()))
}

/// Connects to the first of several addresses that answers.
async fn open_any(
    to: Uri,
    addresses: Arc<[Uri]>,
    next: Arc<AtomicUsize>,
    tls: Option<Tls>,
) -> Result<TokioIo<NodeStream>, BoxError> {
    if addresses.is_empty() {
        return open(to, tls).await;
    }
    let mut problems = Vec::new();
    let begin = next.load(Relaxed);
    for at in (0..addresses.len()).map(|n| (begin + n) % addresses.len()) {
        let address = &addresses[at];
        let opened = timeout(ADDRESS_TIMEOUT, open(address.clone(), tls.clone()));
        match opened.await {
            Ok(Ok(stream)) => {
                next.store(at + 1, Relaxed);
                return Ok(stream);
            }
            Ok(Err(error)) => problems.push(format!("{address}: {error}")),
            Err(_) => problems.push(format!("{address}: no answer")),
        }
    }
    Err(problems.join("; ").into())
}

async fn open(to: Uri, tls: Option<Tls>) -> Result<TokioIo<NodeStream>, BoxError> {
    let mut tcp = HttpConnector::new();
    tcp.set_nodelay(true);
    let stream = tcp.call(to.clone()).await?.into_inner();
    let Some(tls) = tls else {
        return Ok(TokioIo::new(NodeStream::plain_detecting_tls(stream)));
    };
    let address = to.authority().map(ToString::to_string).unwrap_or_default();
    let limit = HANDSHAKE_TIMEOUT + FIRST_BYTES_TIMEOUT;
    let connected = timeout(limit, handshake(stream, &to, &tls)).await;
    let silent = |_| Err(Rejection::broken("it does not respond: does it use TLS?"));
    connected
        .unwrap_or_else(silent)
        .map(TokioIo::new)
        .map_err(|rejection| io::Error::other(tls.log.log_outbound(&address, &rejection)).into())
}

pub(crate) async fn handshake(
    stream: TcpStream,
    to: &Uri,
    tls: &Tls,
) -> Result<NodeStream, Rejection> {
    let host = to.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host).map_err(|error| {
        Rejection::new(RejectedBy::Local, RejectionKind::Name, error.to_string())
    })?;
    let connecting = TlsConnector::from(tls.client()).connect(name, stream);
    let mut stream = connecting.await.map_err(|error| Rejection::of_io(&error))?;
    // The other node verifies our certificate only after the handshake.
    let mut first = vec![0; FIRST_BYTES_MAX];
    let (certificate, refused) = tls.identify(stream.get_ref().1.peer_certificates())?;
    match timeout(FIRST_BYTES_TIMEOUT, stream.read(&mut first)).await {
        Ok(Ok(0)) => return Err(Rejection::broken("it closed the connection")),
        Ok(Ok(n)) => first.truncate(n),
        Ok(Err(error)) => return Err(Rejection::of_io(&error)),
        Err(_) => first.clear(),
    }
    let stream = NodeStream::tls(TlsStream::Client(stream), first);
    Ok(stream.of_certificate(certificate, refused))
}
