//! The way to a cluster: TLS files read, connections made, refusals put into words.

pub mod crowd;
pub mod edits;
pub mod lookout;
pub mod sower;

use crate::args::cluster::{CoordinatorUrl, TlsArgs, TokenArgs};
use crate::exit::Trouble;
use anyhow::{Context, anyhow};
use crivello_common::view::View;
use crivello_proto::guard::{Line, Show};
use crivello_proto::tls::{Files, Tls};
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{LiveToken, RESPONSE_SIZE_MAX, dial, v1};
use std::collections::HashMap;
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
pub type Client = CoordinatorClient<Line>;

/// How this process shows who it is: to other nodes, and as one who may ask.
#[derive(Clone, Debug, Default)]
pub struct Papers {
    /// What all nodes show each other.
    pub tls: Option<Tls>,
    /// What people show.
    pub token: Option<LiveToken>,
}

/// Reads the files that were named.
///
/// # Errors
/// A usage error when one cannot be read or used.
pub fn papers(tls: &TlsArgs, token: &TokenArgs) -> Result<Papers, Trouble> {
    let files = match tls.clone() {
        TlsArgs { tls_cert: Some(cert), tls_key: Some(key), tls_ca: Some(ca) } => {
            Some(Files { cert, key, ca })
        }
        _ => None,
    };
    let tls = files.map(Tls::load).transpose().map_err(Trouble::usage)?;
    Ok(Papers { tls, token: token_in(token.token_file.as_deref())? })
}

/// Reads the file that was named for the token.
///
/// # Errors
/// A usage error when it cannot be read, or holds none.
pub fn token_in(file: Option<&Path>) -> Result<Option<LiveToken>, Trouble> {
    // A variable of the environment that is set to nothing says nothing.
    let file = file.filter(|file| !file.as_os_str().is_empty());
    file.map(LiveToken::load).transpose().map_err(Trouble::usage)
}

/// A place to listen on: not open to strangers unless that was said.
///
/// # Errors
/// A usage error when it is.
pub fn check_listen(at: SocketAddr, papers: &Papers, insecure: bool) -> Result<(), Trouble> {
    let missing = match (&papers.tls, &papers.token) {
        (Some(_), Some(_)) => return Ok(()),
        (None, None) => {
            "--tls-cert, --tls-key and --tls-ca (`crivello certs` makes such files), and \
             --token-file (`crivello token --out FILE` makes one)"
        }
        (None, Some(_)) => {
            "--tls-cert, --tls-key and --tls-ca (`crivello certs` makes such files); the token \
             alone could be read on its way"
        }
        (Some(_), None) => "--token-file (`crivello token --out FILE` makes one)",
    };
    if at.ip().is_loopback() || insecure {
        return Ok(());
    }
    Err(Trouble::usage(format!(
        "--listen {at}: others than this machine could connect, take part and give orders; give \
         {missing}, or --insecure if the network keeps strangers out"
    )))
}

/// Where the coordinator is, and how to speak to it and to its agents.
///
/// # Errors
/// A usage error when the URL or the files cannot be used.
pub fn endpoint(typed: &CoordinatorUrl) -> Result<(Endpoint, Papers), Trouble> {
    let url = &typed.url;
    let papers = papers(&typed.tls, &typed.token)?;
    let endpoint = dial::endpoint(url, papers.tls.as_ref())
        .map_err(|why| Trouble::usage(format!("--coordinator {url}: {why}")))?;
    Ok((endpoint.connect_timeout(CONNECT_PATIENCE).timeout(PATIENCE), papers))
}

/// Connects, and says with which papers: the files are read once. No proxy is asked, whatever the
/// environment says.
///
/// # Errors
/// Those of [`endpoint`]; else when nobody is there.
pub async fn connect(typed: &CoordinatorUrl) -> Result<(Client, Papers), Trouble> {
    let (endpoint, papers) = endpoint(typed)?;
    papers.tls.iter().for_each(Tls::keep_fresh);
    papers.token.iter().for_each(LiveToken::keep_fresh);
    let channel = dial::connect(&endpoint, papers.tls.as_ref()).await.map_err(|error| {
        let url = &typed.url;
        Trouble::Internal(anyhow!("the coordinator at {url} cannot be reached: {}", whole(error)))
    })?;
    Ok((client(channel, papers.token.as_ref()), papers))
}

/// Over a connection that is made, or will be.
pub fn client(channel: Channel, token: Option<&LiveToken>) -> Client {
    CoordinatorClient::new(Show::new(token).over(channel))
        .max_decoding_message_size(RESPONSE_SIZE_MAX)
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
        Code::NotFound
        | Code::InvalidArgument
        | Code::FailedPrecondition
        | Code::AlreadyExists
        | Code::Unauthenticated => Trouble::usage(status.message()),
        _ => Trouble::Internal(anyhow!("the coordinator did not do it: {}", told(status))),
    }
}

/// A status with what led to it and is not said yet.
fn told(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(cause) = source {
        let said = cause.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
        source = cause.source();
    }
    text
}

/// An error with all that led to it: tonic's say "transport error" and no more.
pub fn whole(error: tonic::transport::Error) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
