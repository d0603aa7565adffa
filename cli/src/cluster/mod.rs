//! Connections to a cluster: credentials, the coordinator, and its member list.

pub mod completion_watch;
pub mod edits;
pub mod seed_sender;
pub mod statuses;

use crate::args::connection::{ConnectArgs, NodeArgs, TlsArgs, TokenArgs};
use crate::exit::{CliError, usage};
use anyhow::{Context, anyhow};
use crivello_proto::agents::Listing;
use crivello_proto::auth::{AuthChannel, BearerToken, NodeAuth};
use crivello_proto::deny::DenyList;
use crivello_proto::dial::DialTarget;
use crivello_proto::tls::{Tls, TlsFiles};
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{LiveToken, RESPONSE_SIZE_MAX, dial, v1, with_causes};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Status};

/// Maximum time to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum time for one response.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum time until one of several coordinators answers.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// Client of a coordinator.
pub type CoordinatorApi = CoordinatorClient<AuthChannel>;

/// Credentials of this process.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    /// Certificate for mutual TLS.
    pub tls: Option<Tls>,
    /// Token for commands.
    pub token: Option<LiveToken>,
}

/// Reads the TLS files, if there are any.
fn tls_of(tls: &TlsArgs) -> Result<Option<Tls>, CliError> {
    let files = match tls.clone() {
        TlsArgs { tls_cert: Some(cert), tls_key: Some(key), tls_ca: Some(ca) } => {
            Some(TlsFiles { cert, key, ca })
        }
        _ => None,
    };
    files.map(Tls::load).transpose().map_err(CliError::usage)
}

/// Reads the files of the credentials of commands.
///
/// # Errors
/// Returns a usage error if a file cannot be read or is invalid.
pub fn credentials(tls: &TlsArgs, token: &TokenArgs) -> Result<Credentials, CliError> {
    Ok(Credentials { tls: tls_of(tls)?, token: secret_in(token.token_file.as_deref())? })
}

/// Reads the files of the credentials of a node.
///
/// # Errors
/// Returns a usage error if a file cannot be read or is invalid.
pub fn node_auth(args: &NodeArgs) -> Result<NodeAuth, CliError> {
    let deny = args.deny_file.as_deref().filter(|file| !file.as_os_str().is_empty());
    let deny = deny.map(DenyList::load).transpose().map_err(CliError::usage)?;
    let tls = tls_of(&args.tls)?.map(|tls| tls.denying(deny.clone()));
    let secret = secret_in(args.node_secret_file.as_deref())?;
    Ok(NodeAuth { tls, secret, deny })
}

/// Reads the file of a token or of a node secret, if there is one.
///
/// # Errors
/// Returns a usage error if the file cannot be read or has no valid secret.
pub fn secret_in(file: Option<&Path>) -> Result<Option<LiveToken>, CliError> {
    // An empty environment variable counts as unset.
    let file = file.filter(|file| !file.as_os_str().is_empty());
    file.map(LiveToken::load).transpose().map_err(CliError::usage)
}

const TLS: &str = "--tls-cert, --tls-key and --tls-ca (`crivello certs` creates such files)";
const TOKEN: &str = "--token-file (`crivello token --out FILE` creates one)";
const SECRET: &str = "--node-secret-file (`crivello token --out FILE` creates one)";

/// Checks the address of `--listen`. A non-loopback address requires TLS and a node secret, or
/// `insecure`; that of a coordinator also a token. `token` is `None` for an agent, and otherwise true
/// if there is a token.
///
/// # Errors
/// Returns a usage error if something is missing.
pub fn check_listen(
    at: SocketAddr,
    auth: &NodeAuth,
    token: Option<bool>,
    insecure: bool,
) -> Result<(), CliError> {
    if insecure {
        return Ok(());
    }
    if at.ip().is_loopback() {
        return match (token, auth.secret.is_some()) {
            (Some(true), false) => Err(usage!(
                "with a token but without a node secret every user of this machine could join the \
                 crawl; give {SECRET}, or --insecure"
            )),
            (Some(false), true) => Err(usage!(
                "with a node secret but without a token every user of this machine could control \
                 the crawl; give {TOKEN}, or --insecure"
            )),
            _ => Ok(()),
        };
    }
    let given = [auth.tls.is_some(), auth.secret.is_some(), token.unwrap_or(true)];
    let missing = [TLS, SECRET, TOKEN].into_iter().zip(given).filter(|(_, given)| !given);
    let missing: Vec<&str> = missing.map(|(what, _)| what).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let plain = match auth.tls.is_none() && missing.len() == 1 {
        true => "; without TLS secrets are sent in plain text",
        false => "",
    };
    Err(usage!(
        "--listen {at}: other machines could connect, join the crawl and control it; give {}{plain}, \
         or --insecure if only trusted machines can reach this address",
        missing.join(", and ")
    ))
}

/// Checks the URLs of coordinators, and returns their target.
///
/// # Errors
/// Returns a usage error if a URL is invalid.
pub fn target(urls: &str, tls: Option<&Tls>) -> Result<DialTarget, CliError> {
    let target = dial::target(urls, tls);
    let target = target.map_err(|why| usage!("--coordinator {urls}: {why}"))?;
    Ok(target.map(|endpoint| endpoint.connect_timeout(CONNECT_TIMEOUT).timeout(RESPONSE_TIMEOUT)))
}

/// Connects to the coordinator. Proxy variables of the environment are ignored.
///
/// # Errors
/// Same as [`target`]. Also fails if the coordinator cannot be reached.
pub async fn connect(args: &ConnectArgs) -> Result<(CoordinatorApi, Credentials), CliError> {
    let credentials = credentials(&args.tls, &args.token)?;
    let target = target(&args.coordinator.url, credentials.tls.as_ref())?;
    credentials.tls.iter().for_each(Tls::watch);
    credentials.token.iter().for_each(LiveToken::watch);
    let mut attempts = 1..=target.n_addresses();
    loop {
        let channel =
            dial::connect(&target, credentials.tls.as_ref()).await.with_context(|| {
                format!("the coordinator at {} cannot be reached", args.coordinator.url)
            })?;
        let client = client(channel, credentials.token.as_ref());
        // Of several coordinators, one may be suspended: it accepts connections and does not answer.
        attempts.next();
        if attempts.is_empty() || answers(&client).await {
            return Ok((client, credentials));
        }
    }
}

/// Returns whether a coordinator answers soon, also with a refusal.
async fn answers(client: &CoordinatorApi) -> bool {
    let mut client = client.clone();
    match timeout(PROBE_TIMEOUT, client.get_settings(v1::GetSettingsRequest {})).await {
        Ok(Ok(_)) => true,
        Ok(Err(status)) => !matches!(status.code(), Code::Unavailable | Code::Unknown),
        Err(_) => false,
    }
}

/// Returns a client over a channel, which may connect later.
pub fn client(channel: Channel, token: Option<&LiveToken>) -> CoordinatorApi {
    CoordinatorClient::new(BearerToken::new(token).wrap(channel))
        .max_decoding_message_size(RESPONSE_SIZE_MAX)
}

/// Requests the member list.
///
/// # Errors
/// Fails if the coordinator does not respond, or if its response is invalid.
pub async fn list(client: &mut CoordinatorApi) -> Result<Listing, CliError> {
    let listed = client.list_agents(v1::ListAgentsRequest {}).await?.into_inner();
    Ok(Listing::try_from(listed).context("the coordinator's list")?)
}

/// Member list of a coordinator, refreshed on demand. While the coordinator does not respond, the
/// last list is used.
pub struct MemberList {
    client: CoordinatorApi,
    last: Option<Arc<Listing>>,
    /// True if the last request failed, so that the last list may be outdated.
    pub is_stale: bool,
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
    pub async fn refresh(&mut self) -> anyhow::Result<Arc<Listing>> {
        let listed = list(&mut self.client).await;
        self.is_stale = listed.is_err();
        match listed {
            Ok(listing) => Ok(Arc::clone(self.last.insert(Arc::new(listing)))),
            Err(error) => self.last.clone().with_context(|| error.to_string()),
        }
    }
}

/// The error of a call to the coordinator.
impl From<Status> for CliError {
    fn from(status: Status) -> Self {
        match status.code() {
            Code::NotFound
            | Code::InvalidArgument
            | Code::FailedPrecondition
            | Code::AlreadyExists
            | Code::Unauthenticated => Self::usage(status.message()),
            _ => Self::Internal(anyhow!("the coordinator failed: {}", with_causes(&status))),
        }
    }
}
