//! The way to a coordinator: TLS files read, the connection made, refusals put into words.

use crate::args::cluster::{CoordinatorUrl, TlsArgs};
use crate::exit::Trouble;
use anyhow::anyhow;
use crivello_proto::RESPONSE_SIZE_MAX;
use crivello_proto::tls::Tls;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

const CONNECT_PATIENCE: Duration = Duration::from_secs(5);
/// For one answer.
const PATIENCE: Duration = Duration::from_secs(15);

/// A connection to a coordinator.
pub type Client = CoordinatorClient<Channel>;

/// Reads the TLS files that were named; `None` when none was.
///
/// # Errors
/// A usage error when one cannot be read.
pub fn tls(typed: &TlsArgs) -> Result<Option<Tls>, Trouble> {
    let TlsArgs { tls_cert: Some(cert), tls_key: Some(key), tls_ca: Some(ca) } = typed else {
        return Ok(None);
    };
    let read = |flag: &str, path: &Path| {
        fs::read(path).map_err(|e| Trouble::usage(format!("{flag} {}: {e}", path.display())))
    };
    Ok(Some(Tls {
        certificate: read("--tls-cert", cert)?,
        key: read("--tls-key", key)?,
        ca: read("--tls-ca", ca)?,
    }))
}

/// Connects. No proxy is asked, whatever the environment says.
///
/// # Errors
/// A usage error when the URL or the TLS files cannot be used; else when nobody is there.
pub async fn connect(typed: &CoordinatorUrl) -> Result<Client, Trouble> {
    let url = &typed.url;
    let wrong = |why: String| Trouble::usage(format!("--coordinator {url}: {why}"));
    let endpoint = Endpoint::from_shared(url.clone()).map_err(|error| wrong(whole(error)))?;
    let endpoint = match (endpoint.uri().scheme_str(), tls(&typed.tls)?) {
        (Some("http"), None) => endpoint,
        (Some("https"), Some(tls)) => endpoint
            .tls_config(tls.client())
            .map_err(|error| wrong(format!("the TLS files cannot be used: {}", whole(error))))?,
        (Some("http"), Some(_)) => {
            return Err(wrong("the TLS files need an address that begins with https://".into()));
        }
        (Some("https"), None) => {
            return Err(wrong("give --tls-cert, --tls-key and --tls-ca, or http://".into()));
        }
        _ => return Err(wrong("an address such as http://127.0.0.1:7070 is needed".into())),
    };
    let endpoint = endpoint.connect_timeout(CONNECT_PATIENCE).timeout(PATIENCE);
    let channel = endpoint.connect().await.map_err(|error| {
        Trouble::Internal(anyhow!("the coordinator at {url} cannot be reached: {}", whole(error)))
    })?;
    Ok(CoordinatorClient::new(channel).max_decoding_message_size(RESPONSE_SIZE_MAX))
}

/// What a refused call means to whoever typed it.
pub fn refused(status: &Status) -> Trouble {
    match status.code() {
        Code::NotFound | Code::InvalidArgument | Code::FailedPrecondition | Code::AlreadyExists => {
            Trouble::usage(status.message())
        }
        _ => Trouble::Internal(anyhow!("the coordinator did not do it: {}", status.message())),
    }
}

/// An error with all that led to it: tonic's say "transport error" and no more.
fn whole(error: tonic::transport::Error) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
