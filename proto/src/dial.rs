//! Connections to other nodes, with or without TLS.

use crate::stream::NodeStream;
use crate::tls::{RejectedBy, Rejection, RejectionKind, Tls};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use rustls::pki_types::ServerName;
use std::io;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::{TlsConnector, TlsStream};
use tonic::codegen::http::Uri;
use tonic::transport::{Channel, Endpoint, Error};
use tower::Service;

/// Timeout of the handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Time to wait for the first bytes of the other node, which show that it accepts our certificate.
/// Without them the connection is used anyway, and a rejection is detected later.
const FIRST_BYTES_TIMEOUT: Duration = Duration::from_secs(2);
const FIRST_BYTES_MAX: usize = 1 << 10;
const HTTPS_PORT: u16 = 443;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Returns the endpoint at `url`, which must be `https://` with `tls`, and `http://` without.
///
/// # Errors
/// Returns what is wrong with the URL.
pub fn endpoint(url: &str, tls: Option<&Tls>) -> Result<Endpoint, String> {
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
        (Some("http"), true) => {
            Err("with TLS files the address must begin with https://".to_owned())
        }
        (Some("https"), false) => {
            Err("give --tls-cert, --tls-key and --tls-ca, or http://".to_owned())
        }
        _ => Err("write an address such as http://127.0.0.1:7070".to_owned()),
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
pub fn lazy(endpoint: &Endpoint, tls: Option<&Tls>) -> Channel {
    endpoint.connect_with_connector_lazy(Connector::new(tls))
}

/// Connects to `endpoint`.
///
/// # Errors
/// Fails if the node is unreachable, or if one node rejects the other's certificate.
pub async fn connect(endpoint: &Endpoint, tls: Option<&Tls>) -> Result<Channel, Error> {
    endpoint.connect_with_connector(Connector::new(tls)).await
}

struct Connector {
    tcp: HttpConnector,
    tls: Option<Tls>,
}

impl Connector {
    fn new(tls: Option<&Tls>) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.set_nodelay(true);
        Self { tcp, tls: tls.cloned() }
    }
}

impl Service<Uri> for Connector {
    type Response = TokioIo<NodeStream>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connecting, tls) = (self.tcp.call(to.clone()), self.tls.clone());
        async move {
            let stream = connecting.await?.into_inner();
            let Some(tls) = tls else {
                return Ok(TokioIo::new(NodeStream::plain_detecting_tls(stream)));
            };
            let address = to.authority().map(ToString::to_string).unwrap_or_default();
            let limit = HANDSHAKE_TIMEOUT + FIRST_BYTES_TIMEOUT;
            let connected = timeout(limit, handshake(stream, &to, &tls)).await;
            let connected = connected.unwrap_or_else(|_| {
                let (by, kind) = (RejectedBy::Neither, RejectionKind::Broken);
                Err(Rejection::new(by, kind, "it does not respond: does it use TLS?"))
            });
            connected.map(TokioIo::new).map_err(|rejection| {
                tls.log().log_outbound(&address, &rejection);
                BoxError::from(io::Error::other(message(&address, &rejection)))
            })
        }
        .boxed()
    }
}

fn message(address: &str, rejection: &Rejection) -> String {
    match rejection.by {
        RejectedBy::Local => format!("{address} is not trusted: {}", rejection.text),
        RejectedBy::Remote => format!("{address} rejects this node: {}", rejection.text),
        RejectedBy::Neither => format!("{address}: {}", rejection.text),
    }
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
    match timeout(FIRST_BYTES_TIMEOUT, stream.read(&mut first)).await {
        Ok(Ok(0)) => {
            return Err(Rejection::new(
                RejectedBy::Neither,
                RejectionKind::Broken,
                "it closed the connection",
            ));
        }
        Ok(Ok(n)) => first.truncate(n),
        Ok(Err(error)) => return Err(Rejection::of_io(&error)),
        Err(_) => first.clear(),
    }
    Ok(NodeStream::tls(TlsStream::Client(stream), first))
}
