//! The way to a cluster: TLS files read, connections made, refusals put into words.

pub mod crowd;
pub mod edits;
pub mod inquiry;
pub mod lookout;
pub mod sower;

use crate::args::cluster::{CoordinatorUrl, TlsArgs};
use crate::exit::Trouble;
use anyhow::{Context, anyhow};
use crivello_common::view::View;
use crivello_proto::tls::Tls;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{RESPONSE_SIZE_MAX, v1};
use std::collections::HashMap;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
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

/// A place to listen on: not open to strangers unless that was said.
///
/// # Errors
/// A usage error when it is.
pub fn check_listen(at: SocketAddr, tls: Option<&Tls>, insecure: bool) -> Result<(), Trouble> {
    if tls.is_some() || at.ip().is_loopback() || insecure {
        return Ok(());
    }
    Err(Trouble::usage(format!(
        "--listen {at}: others than this machine could connect, and anyone who can connect can \
         take part; give --tls-cert, --tls-key and --tls-ca, or --insecure if the network keeps \
         strangers out"
    )))
}

/// Where the coordinator is, and how to speak to it and to its agents.
///
/// # Errors
/// A usage error when the URL or the TLS files cannot be used.
pub fn endpoint(typed: &CoordinatorUrl) -> Result<(Endpoint, Option<Tls>), Trouble> {
    let url = &typed.url;
    let wrong = |why: String| Trouble::usage(format!("--coordinator {url}: {why}"));
    let endpoint = Endpoint::from_shared(url.clone()).map_err(|error| wrong(whole(error)))?;
    let tls = tls(&typed.tls)?;
    let endpoint = match (endpoint.uri().scheme_str(), &tls) {
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
    Ok((endpoint.connect_timeout(CONNECT_PATIENCE).timeout(PATIENCE), tls))
}

/// Connects. No proxy is asked, whatever the environment says.
///
/// # Errors
/// Those of [`endpoint`]; else when nobody is there.
pub async fn connect(typed: &CoordinatorUrl) -> Result<Client, Trouble> {
    let (endpoint, _) = endpoint(typed)?;
    let channel = endpoint.connect().await.map_err(|error| {
        let url = &typed.url;
        Trouble::Internal(anyhow!("the coordinator at {url} cannot be reached: {}", whole(error)))
    })?;
    Ok(client(channel))
}

/// Over a connection that is made, or will be.
pub fn client(channel: Channel) -> Client {
    CoordinatorClient::new(channel).max_decoding_message_size(RESPONSE_SIZE_MAX)
}

/// The members of a crawl, checked.
pub struct Listing {
    /// Which crawl.
    pub crawl_id: String,
    /// The view in force.
    pub view: View,
    /// By their ids.
    pub leases: HashMap<u32, v1::AgentLease>,
}

/// Asks for the members.
///
/// # Errors
/// When the coordinator does not answer, or says what cannot be.
pub async fn list(client: &mut Client) -> Result<Listing, Trouble> {
    let listed = client.list_agents(v1::ListAgentsRequest {}).await;
    let listed = listed.map_err(|status| refused(&status))?.into_inner();
    let view = View::try_from(listed.view.unwrap_or_default()).context("the coordinator's list")?;
    let leases = listed.leases.into_iter().map(|lease| (lease.id, lease)).collect();
    Ok(Listing { crawl_id: listed.crawl_id, view, leases })
}

/// Asks a coordinator for the members time and again; while it does not answer, those it named last
/// count.
pub struct Guide {
    client: Client,
    last: Option<Arc<Listing>>,
    lost: bool,
}

impl Guide {
    /// By the coordinator that `client` asks.
    pub const fn new(client: Client) -> Self {
        Self { client, last: None, lost: false }
    }

    /// The members.
    ///
    /// # Errors
    /// When the coordinator has never answered.
    pub async fn listing(&mut self) -> Result<Arc<Listing>, String> {
        let listed = list(&mut self.client).await;
        self.lost = listed.is_err();
        match listed {
            Ok(listing) => Ok(Arc::clone(self.last.insert(Arc::new(listing)))),
            Err(trouble) => self.last.clone().ok_or_else(|| trouble.to_string()),
        }
    }

    /// Whether the last one is an old one.
    pub const fn is_lost(&self) -> bool {
        self.lost
    }
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
pub fn whole(error: tonic::transport::Error) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
