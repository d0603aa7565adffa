//! The way to other nodes, with TLS or without.

use crate::io::Io;
use crate::tls::{Kind, Reason, Refuser, Tls};
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

/// For the handshake.
const PATIENCE: Duration = Duration::from_secs(5);
/// For the first word of who was connected to, which is the sign that it trusts us; without it we
/// go on, and hear later.
const FIRST_PATIENCE: Duration = Duration::from_secs(2);
const FIRST_BYTES_MAX: usize = 1 << 10;
const HTTPS_PORT: u16 = 443;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The way to who is at `url`, which begins with `https://` just when there is `tls`.
///
/// # Errors
/// What is wrong with the URL, in words.
pub fn endpoint(url: &str, tls: Option<&Tls>) -> Result<Endpoint, String> {
    let parsed: Uri = url.parse().map_err(|error| format!("{error}"))?;
    match (parsed.scheme_str(), tls.is_some()) {
        (Some("http"), false) => {
            Endpoint::from_shared(url.to_owned()).map_err(|error| error.to_string())
        }
        (Some("https"), true) => {
            let host = parsed.host().filter(|host| !host.is_empty()).ok_or("it names no host")?;
            let port = parsed.port_u16().unwrap_or(HTTPS_PORT);
            to(&format!("{host}:{port}"), tls).map_err(|error| error.to_string())
        }
        (Some("http"), true) => {
            Err("the TLS files need an address that begins with https://".to_owned())
        }
        (Some("https"), false) => {
            Err("give --tls-cert, --tls-key and --tls-ca, or http://".to_owned())
        }
        _ => Err("an address such as http://127.0.0.1:7070 is needed".to_owned()),
    }
}

/// The way to who is at `address`, a host and a port.
///
/// # Errors
/// When it is no address.
pub fn to(address: &str, tls: Option<&Tls>) -> Result<Endpoint, Error> {
    // The channel's own TLS cannot change its certificates, so it must not hear of any.
    let endpoint = Endpoint::from_shared(format!("http://{address}"))?;
    match format!("https://{address}").parse::<Uri>() {
        Ok(origin) if tls.is_some() => Ok(endpoint.origin(origin)),
        _ => Ok(endpoint),
    }
}

/// Connects when there is something to say, each time with the certificates in force. No proxy is
/// asked, whatever the environment says.
#[must_use]
pub fn lazy(endpoint: &Endpoint, tls: Option<&Tls>) -> Channel {
    endpoint.connect_with_connector_lazy(Connector::new(tls))
}

/// Connects.
///
/// # Errors
/// When nobody is there, or one of both does not trust the other.
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
    type Response = TokioIo<Io>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.tcp.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connecting, tls) = (self.tcp.call(to.clone()), self.tls.clone());
        async move {
            let stream = connecting.await?.into_inner();
            let Some(tls) = tls else { return Ok(TokioIo::new(Io::plain_to(stream))) };
            let address = to.authority().map(ToString::to_string).unwrap_or_default();
            let met = timeout(PATIENCE + FIRST_PATIENCE, meet(stream, &to, &tls)).await;
            let met = met.unwrap_or_else(|_| {
                Err(Reason::new(Refuser::Nobody, Kind::Broken, "it is silent: does it speak TLS?"))
            });
            met.map(TokioIo::new).map_err(|reason| {
                tls.log().not_reached(&address, &reason);
                BoxError::from(io::Error::other(words(&address, &reason)))
            })
        }
        .boxed()
    }
}

fn words(address: &str, reason: &Reason) -> String {
    match reason.by {
        Refuser::Us => format!("{address} is not spoken to: {}", reason.text),
        Refuser::Them => format!("{address} does not let us in: {}", reason.text),
        Refuser::Nobody => format!("{address}: {}", reason.text),
    }
}

pub(crate) async fn meet(stream: TcpStream, to: &Uri, tls: &Tls) -> Result<Io, Reason> {
    let host = to.host().unwrap_or_default().trim_matches(['[', ']']).to_owned();
    let name = ServerName::try_from(host)
        .map_err(|error| Reason::new(Refuser::Us, Kind::Name, error.to_string()))?;
    let connecting = TlsConnector::from(tls.client()).connect(name, stream);
    let mut stream = connecting.await.map_err(|error| Reason::of_io(&error))?;
    // Only now does the other one look at our certificate.
    let mut first = vec![0; FIRST_BYTES_MAX];
    match timeout(FIRST_PATIENCE, stream.read(&mut first)).await {
        Ok(Ok(0)) => {
            return Err(Reason::new(Refuser::Nobody, Kind::Broken, "it closed the connection"));
        }
        Ok(Ok(n)) => first.truncate(n),
        Ok(Err(error)) => return Err(Reason::of_io(&error)),
        Err(_) => first.clear(),
    }
    Ok(Io::tls(TlsStream::Client(stream), first))
}
