//! Connections to a cluster: credentials, the coordinator, and its member list.

pub mod completion_watch;
pub mod edits;
pub mod seed_sender;
pub mod statuses;

use crate::args::cluster::{CoordinatorUrl, TlsArgs, TokenArgs};
use crate::exit::CliError;
use anyhow::{Context, anyhow};
use crivello_common::view::View;
use crivello_proto::auth::{AuthChannel, BearerToken};
use crivello_proto::tls::{Tls, TlsFiles};
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{LiveToken, RESPONSE_SIZE_MAX, dial, v1};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for one response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// Client of a coordinator.
pub type CoordinatorApi = CoordinatorClient<AuthChannel>;

/// Credentials of this process.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Certificate for mutual TLS between nodes.
    pub tls: Option<Tls>,
    /// Token for commands.
    pub token: Option<LiveToken>,
}

/// Reads the files of the credentials.
///
/// # Errors
/// Returns a usage error if a file cannot be read or is invalid.
pub fn credentials(tls: &TlsArgs, token: &TokenArgs) -> Result<Credentials, CliError> {
    let files = match tls.clone() {
        TlsArgs { tls_cert: Some(cert), tls_key: Some(key), tls_ca: Some(ca) } => {
            Some(TlsFiles { cert, key, ca })
        }
        _ => None,
    };
    let tls = files.map(Tls::load).transpose().map_err(CliError::usage)?;
    Ok(Credentials { tls, token: token_in(token.token_file.as_deref())? })
}

/// Reads the token file, if there is one.
///
/// # Errors
/// Returns a usage error if the file cannot be read or has no valid token.
pub fn token_in(file: Option<&Path>) -> Result<Option<LiveToken>, CliError> {
    // An empty environment variable counts as unset.
    let file = file.filter(|file| !file.as_os_str().is_empty());
    file.map(LiveToken::load).transpose().map_err(CliError::usage)
}

/// Checks the address of `--listen`. A non-loopback address requires TLS and a token, or
/// `insecure`.
///
/// # Errors
/// Returns a usage error if TLS or token is missing.
pub fn check_listen(
    at: SocketAddr,
    credentials: &Credentials,
    insecure: bool,
) -> Result<(), CliError> {
    let missing = match (&credentials.tls, &credentials.token) {
        (Some(_), Some(_)) => return Ok(()),
        (None, None) => {
            "--tls-cert, --tls-key and --tls-ca (`crivello certs` creates such files), and \
             --token-file (`crivello token --out FILE` creates one)"
        }
        (None, Some(_)) => {
            "--tls-cert, --tls-key and --tls-ca (`crivello certs` creates such files); without TLS \
             the token is sent in plain text"
        }
        (Some(_), None) => "--token-file (`crivello token --out FILE` creates one)",
    };
    if at.ip().is_loopback() || insecure {
        return Ok(());
    }
    Err(CliError::usage(format!(
        "--listen {at}: other machines could connect, join the crawl and control it; give \
         {missing}, or --insecure if only trusted machines can reach this address"
    )))
}

/// Returns the endpoint of the coordinator, and the credentials for it and its agents.
///
/// # Errors
/// Returns a usage error if the URL or a file is invalid.
pub fn endpoint(args: &CoordinatorUrl) -> Result<(Endpoint, Credentials), CliError> {
    let url = &args.url;
    let credentials = credentials(&args.tls, &args.token)?;
    let endpoint = dial::endpoint(url, credentials.tls.as_ref())
        .map_err(|why| CliError::usage(format!("--coordinator {url}: {why}")))?;
    Ok((endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(RESPONSE_TIMEOUT), credentials))
}

/// Connects to the coordinator. Proxy variables of the environment are ignored.
///
/// # Errors
/// Same as [`endpoint`]. Also fails if the coordinator cannot be reached.
pub async fn connect(args: &CoordinatorUrl) -> Result<(CoordinatorApi, Credentials), CliError> {
    let (endpoint, credentials) = endpoint(args)?;
    credentials.tls.iter().for_each(Tls::watch);
    credentials.token.iter().for_each(LiveToken::watch);
    let channel = dial::connect(&endpoint, credentials.tls.as_ref()).await.map_err(|error| {
        let url = &args.url;
        CliError::Internal(anyhow!(
            "the coordinator at {url} cannot be reached: {}",
            error_chain(error)
        ))
    })?;
    Ok((client(channel, credentials.token.as_ref()), credentials))
}

/// Returns a client over a channel, which may connect later.
pub fn client(channel: Channel, token: Option<&LiveToken>) -> CoordinatorApi {
    CoordinatorClient::new(BearerToken::new(token).wrap(channel))
        .max_decoding_message_size(RESPONSE_SIZE_MAX)
}

/// Checked member list of a crawl.
pub struct Listing {
    /// Id of the crawl.
    pub crawl_id: String,
    /// View in force.
    pub view: View,
    /// Leases by agent id.
    pub leases: HashMap<u32, v1::AgentLease>,
}

/// Requests the member list.
///
/// # Errors
/// Fails if the coordinator does not respond, or if its response is invalid.
pub async fn list(client: &mut CoordinatorApi) -> Result<Listing, CliError> {
    let listed = client.list_agents(v1::ListAgentsRequest {}).await;
    let listed = listed.map_err(|status| call_error(&status))?.into_inner();
    let view = View::try_from(listed.view.unwrap_or_default()).context("the coordinator's list")?;
    let leases = listed.leases.into_iter().map(|lease| (lease.id, lease)).collect();
    Ok(Listing { crawl_id: listed.crawl_id, view, leases })
}

/// Member list of a coordinator, refreshed on demand. While the coordinator does not respond, the
/// last list is used.
pub struct MemberList {
    client: CoordinatorApi,
    last: Option<Arc<Listing>>,
    is_stale: bool,
}

impl MemberList {
    /// Creates the member list of the coordinator of `client`.
    pub const fn new(client: CoordinatorApi) -> Self {
        Self { client, last: None, is_stale: false }
    }

    /// Requests the member list; falls back to the last one.
    ///
    /// # Errors
    /// Fails if the coordinator has never responded.
    pub async fn refresh(&mut self) -> Result<Arc<Listing>, String> {
        let listed = list(&mut self.client).await;
        self.is_stale = listed.is_err();
        match listed {
            Ok(listing) => Ok(Arc::clone(self.last.insert(Arc::new(listing)))),
            Err(error) => self.last.clone().ok_or_else(|| error.to_string()),
        }
    }

    /// Returns true if the last request failed, so that the last list may be outdated.
    pub const fn is_stale(&self) -> bool {
        self.is_stale
    }
}

/// Converts the error of a call to the coordinator.
pub fn call_error(status: &Status) -> CliError {
    match status.code() {
        Code::NotFound
        | Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::AlreadyExists
        | Code::Unauthenticated => CliError::usage(status.message()),
        _ => CliError::Internal(anyhow!("the coordinator failed: {}", with_causes(status))),
    }
}

/// Returns the message of a status, with causes that it does not contain.
fn with_causes(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        let message = cause.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = cause.source();
    }
    text
}

/// Returns an error with its causes: tonic's own message is only "transport error".
pub fn error_chain(error: tonic::transport::Error) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
