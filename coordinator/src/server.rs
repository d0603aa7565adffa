//! Puts a coordinator together: state, membership thread, gRPC server, and their orderly end.

use crate::membership::MembershipHandle;
use crate::metrics::Meter;
use crate::rpc::Rpc;
use crate::state_file::StateFile;
use crate::watchers::Watchers;
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::time::Clock;
use crivello_common::view::RunState;
use crivello_proto::auth::{NODE_CALLS, RequireToken};
use crivello_proto::incoming::Incoming;
use crivello_proto::tls::Tls;
use crivello_proto::v1::coordinator_server::CoordinatorServer;
use crivello_proto::{
    DESCRIPTORS, LiveToken, LocalCoordinator, REQUEST_SIZE_MAX, RESPONSE_SIZE_MAX,
};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Router;

/// A silent connection is pinged after this time.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Concurrent requests of one connection.
const REQUESTS_MAX: u32 = 256;
/// For responses in flight when the coordinator ends.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Where the coordinator listens, and who may call it.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address; port 0 takes a free one.
    pub at: SocketAddr,
    /// `None`: every client that can connect is accepted.
    pub tls: Option<Tls>,
    /// The token of people's requests; `None`: it is not asked for.
    pub token: Option<LiveToken>,
}

/// Why a coordinator cannot start, or had to end.
#[derive(Debug, thiserror::Error)]
pub enum CoordinatorError {
    /// The request is wrong, and nothing was changed: ask for something else.
    #[error("{0}")]
    Refused(String),
    /// Something is damaged or fails.
    #[error("{0}")]
    Broken(String),
}

impl CoordinatorError {
    /// Whether the request is wrong.
    #[must_use]
    pub const fn is_usage(&self) -> bool {
        matches!(self, Self::Refused(_))
    }
}

/// A running coordinator.
#[derive(Debug)]
pub struct Coordinator {
    rpc: Arc<Rpc>,
    membership: MembershipHandle,
    address: SocketAddr,
    crawl_id: String,
    resumed: bool,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
    end: oneshot::Sender<()>,
    meter: Meter,
}

impl Coordinator {
    /// Resumes the crawl in `dir`, or begins one there, and serves it.
    ///
    /// # Errors
    /// [`CoordinatorError`], which says whose fault it is.
    pub async fn start(
        dir: &Path,
        settings: &Settings,
        listen: Listen,
    ) -> Result<Self, CoordinatorError> {
        Self::start_given(dir, settings, TypedSettings::new(), listen).await
    }

    /// As [`Self::start`], and stores what was typed for these settings (see
    /// [`stored_settings`](crate::stored_settings)).
    ///
    /// # Errors
    /// Those of [`Self::start`].
    pub async fn start_given(
        dir: &Path,
        settings: &Settings,
        given: TypedSettings,
        listen: Listen,
    ) -> Result<Self, CoordinatorError> {
        let clock = Clock::start();
        let server = Server::builder()
            .max_concurrent_streams(REQUESTS_MAX)
            .http2_keepalive_interval(Some(KEEP_ALIVE));
        let refused = |error| {
            CoordinatorError::Refused(format!("{} cannot be listened on: {error}", listen.at))
        };
        let listener = TcpListener::bind(listen.at).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let opened = StateFile::open(dir, settings, given, clock.now())?;
        let (crawl_id, resumed) = (opened.record.crawl_id.clone(), opened.resumed);
        let membership = MembershipHandle::start(opened, settings, clock)
            .map_err(|error| CoordinatorError::Broken(format!("no thread: {error}")))?;
        let watchers = Watchers::new(settings.fixed.cluster.lease);
        let meter = Meter {
            counts: membership.counts.clone(),
            views: membership.views.clone(),
            watchers: watchers.clone(),
            clock,
            started: clock.now(),
            crawl_id: crawl_id.clone(),
        };
        let rpc = Rpc { membership: membership.clone(), watchers, crawl_id: crawl_id.clone() };
        let rpc = Arc::new(rpc);
        listen.tls.iter().for_each(Tls::watch);
        listen.token.iter().for_each(LiveToken::watch);
        let services = services(server, Arc::clone(&rpc), listen.token).await?;
        let (end, ended) = oneshot::channel();
        let incoming = Incoming::new(listener, listen.tls);
        let server = tokio::spawn(services.serve_with_incoming_shutdown(incoming, async {
            // Sent or dropped, it is the end.
            let _ = ended.await;
        }));
        Ok(Self { rpc, membership, address, crawl_id, resumed, server, end, meter })
    }

    /// A client for the same process. It needs no token.
    #[must_use]
    pub fn local_client(&self) -> LocalCoordinator {
        let service = CoordinatorServer::from_arc(Arc::clone(&self.rpc))
            .max_encoding_message_size(RESPONSE_SIZE_MAX);
        LocalCoordinator::new(Routes::new(service)).max_decoding_message_size(RESPONSE_SIZE_MAX)
    }

    /// Where it listens.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The crawl's id.
    #[must_use]
    pub fn crawl_id(&self) -> &str {
        &self.crawl_id
    }

    /// The source of its metrics, for [`metrics::render`](crate::metrics::render).
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Whether the crawl was there before.
    #[must_use]
    pub const fn resumed(&self) -> bool {
        self.resumed
    }

    /// What the crawl is to do at present.
    #[must_use]
    pub fn run(&self) -> RunState {
        self.membership.views.borrow().run
    }

    /// Waits until the server fails, and returns the reason.
    pub async fn broken(&mut self) -> CoordinatorError {
        let why = match (&mut self.server).await {
            Ok(Ok(())) => "it ended".to_owned(),
            Ok(Err(error)) => with_causes(&error),
            Err(error) => error.to_string(),
        };
        CoordinatorError::Broken(format!("the coordinator's network: {why}"))
    }

    /// Ends in order: streams of watchers end, requests in flight get their responses, and the directory
    /// is free when this returns. All changes are stored already.
    ///
    /// # Errors
    /// When the server failed.
    pub async fn stop(self) -> Result<(), CoordinatorError> {
        let Self { membership, mut server, end, .. } = self;
        let _ = end.send(());
        let mut views = membership.views.clone();
        tokio::task::spawn_blocking(move || membership.end());
        // The views are closed when the thread has ended.
        while views.changed().await.is_ok() {}
        match timeout(STOP_TIMEOUT, &mut server).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(CoordinatorError::Broken(with_causes(&error))),
            Ok(Err(error)) => Err(CoordinatorError::Broken(error.to_string())),
            Err(_) => {
                // A client keeps its connection open.
                server.abort();
                Ok(())
            }
        }
    }
}

async fn services(
    mut server: Server,
    rpc: Arc<Rpc>,
    token: Option<LiveToken>,
) -> Result<Router, CoordinatorError> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| CoordinatorError::Broken(format!("the descriptors: {error}")))?;
    let coordinator = CoordinatorServer::from_arc(rpc)
        .max_decoding_message_size(REQUEST_SIZE_MAX)
        .max_encoding_message_size(RESPONSE_SIZE_MAX);
    let coordinator = RequireToken::new(coordinator, token, NODE_CALLS);
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<CoordinatorServer<Rpc>>().await;
    Ok(server.add_service(coordinator).add_service(health_service).add_service(reflection))
}

/// An error with its causes: tonic's own text is "transport error" and no more.
fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
