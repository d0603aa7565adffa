//! Assembly of a coordinator: state, membership thread, gRPC server, and their orderly shutdown.

use crate::error::CoordinatorError;
use crate::etcd::{Active, ActiveUntil};
use crate::membership::MembershipHandle;
use crate::metrics::CoordinatorMetrics;
use crate::recrawl_rate::RecrawlRate;
use crate::rpc::Rpc;
use crate::state::{CoordinatorState, Opened, RecordStore};
use crate::watchers::Watchers;
use crivello_common::config::{Settings, TypedSettings};
use crivello_common::time::Clock;
use crivello_common::view::RunState;
use crivello_proto::auth::{CoordinatorAccess, Guarded, NodeAuth};
use crivello_proto::incoming::Incoming;
use crivello_proto::signing::{CoordinatorKey, ViewSigner};
use crivello_proto::v1::coordinator_server::CoordinatorServer;
use crivello_proto::{
    DESCRIPTORS, LiveToken, LocalCoordinator, REQUEST_SIZE_MAX, RESPONSE_SIZE_MAX,
};
use std::error::Error;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tonic::service::Routes;
use tonic::transport::Server;
use tonic::transport::server::Router;

/// Idle time after which a connection is pinged.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Maximum number of concurrent requests per connection.
const REQUESTS_MAX: u32 = 256;
/// Time for in-flight responses to finish when the coordinator stops.
const STOP_TIMEOUT: Duration = Duration::from_secs(3);

/// Listening address and access rules of the coordinator.
#[derive(Clone, Debug)]
pub struct Listen {
    /// Address. With port 0 the system chooses a free port.
    pub at: SocketAddr,
    /// Credentials of this node and requirements on others.
    pub auth: NodeAuth,
    /// Token required for people's requests. `None`: no token is required.
    pub token: Option<LiveToken>,
}

/// Directories of a coordinator, and its time as the active one.
#[derive(Debug)]
pub struct CoordinatorDirs {
    /// Directory: its lock, and its record, unless that is in etcd.
    pub dir: PathBuf,
    /// Directory of the keys. All coordinators of a crawl have the same keys.
    pub keys: PathBuf,
    /// `None` if the record is in the directory.
    pub active: Option<Active>,
}

/// A running coordinator.
#[derive(Debug)]
pub struct Coordinator {
    rpc: Arc<Rpc>,
    address: SocketAddr,
    resumed: bool,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
    end: oneshot::Sender<()>,
    meter: CoordinatorMetrics,
    active: Option<Active>,
}

impl Coordinator {
    /// Starts the coordinator of a crawl with its record and its keys in `dir`. See [`Self::start_in`].
    ///
    /// # Errors
    /// Returns a [`CoordinatorError`], which distinguishes invalid requests from failures.
    pub async fn start(
        dir: &Path,
        settings: &Settings,
        given: TypedSettings,
        listen: Listen,
    ) -> Result<Self, CoordinatorError> {
        let dirs = CoordinatorDirs { dir: dir.to_owned(), keys: dir.to_owned(), active: None };
        Self::start_in(dirs, settings, given, listen).await
    }

    /// Starts the coordinator: resumes the crawl of its record, or begins a new one. Also stores
    /// `given`, the settings typed by the user (see [`stored_settings`](crate::stored_settings)).
    ///
    /// # Errors
    /// Returns a [`CoordinatorError`], which distinguishes invalid requests from failures.
    pub async fn start_in(
        dirs: CoordinatorDirs,
        settings: &Settings,
        given: TypedSettings,
        listen: Listen,
    ) -> Result<Self, CoordinatorError> {
        let clock = Clock::start();
        let server = Server::builder()
            .max_concurrent_streams(REQUESTS_MAX)
            .http2_keepalive_interval(Some(KEEP_ALIVE));
        let refused =
            |error| CoordinatorError::Refused(format!("cannot listen on {}: {error}", listen.at));
        let listener = TcpListener::bind(listen.at).await.map_err(refused)?;
        let address = listener.local_addr().map_err(refused)?;
        let CoordinatorDirs { dir, keys, active } = dirs;
        let active_until = active.as_ref().map(|active| active.until.clone());
        let record = active.as_ref().map(|active| active.record.clone());
        let (wanted, now) = (settings.clone(), clock.now());
        // Calls of etcd wait for their results.
        let opened = tokio::task::spawn_blocking(move || {
            let record = record.map(|record| Box::new(record) as Box<dyn RecordStore>);
            CoordinatorState::open(record, (&dir, &keys), &wanted, given, now)
        });
        let opened = opened.await.map_err(|error| CoordinatorError::Broken(error.to_string()))?;
        let until = active_until.unwrap_or_else(|| ActiveUntil::forever(clock));
        let opened = opened
            .map_err(|error| if until.is_active() { error } else { CoordinatorError::Deposed })?;
        let (crawl_id, resumed) = (opened.record.crawl_id.clone(), opened.resumed);
        let Opened { state, record, resumed: _, identity_key, signing_key } = opened;
        let membership = MembershipHandle::start((state, record), settings, until.clone(), clock)
            .map_err(|error| {
            CoordinatorError::Broken(format!("cannot start a thread: {error}"))
        })?;
        let watchers = Watchers::new(settings.fixed.cluster.lease);
        let meter = CoordinatorMetrics {
            counts: membership.counts.clone(),
            views: membership.views.clone(),
            watchers: watchers.clone(),
            clock,
            started: clock.now(),
            crawl_id: crawl_id.clone(),
        };
        let signer = Arc::new(ViewSigner::new(signing_key, crawl_id.clone()));
        let deny = listen.auth.deny.clone();
        let recrawl_rate = RecrawlRate::default();
        let rpc = Rpc {
            membership,
            watchers,
            crawl_id,
            identity_key,
            signer,
            deny,
            active: until,
            clock,
            recrawl_rate,
        };
        let rpc = Arc::new(rpc);
        listen.auth.watch();
        listen.token.iter().for_each(LiveToken::watch);
        let NodeAuth { tls, secret: node_secret, .. } = listen.auth;
        let access = CoordinatorAccess { node_secret, token: listen.token };
        let services = services(server, Arc::clone(&rpc), access).await?;
        let (end, ended) = oneshot::channel();
        let incoming = Incoming::new(listener, tls);
        let server = tokio::spawn(services.serve_with_incoming_shutdown(incoming, async {
            // A sent message and a dropped sender both end the server.
            let _ = ended.await;
        }));
        Ok(Self { rpc, address, resumed, server, end, meter, active })
    }

    /// Returns a client for use in the same process. It needs no token.
    pub fn local_client(&self) -> LocalCoordinator {
        let service = CoordinatorServer::from_arc(Arc::clone(&self.rpc))
            .max_encoding_message_size(RESPONSE_SIZE_MAX);
        LocalCoordinator::new(Routes::new(service)).max_decoding_message_size(RESPONSE_SIZE_MAX)
    }

    /// Returns the listening address.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the public key by which agents verify views and tickets.
    pub fn key(&self) -> CoordinatorKey {
        self.rpc.signer.key().public()
    }

    /// Returns the crawl's id.
    pub fn crawl_id(&self) -> &str {
        &self.rpc.crawl_id
    }

    /// Source of the metrics, for [`metrics::render`](crate::metrics::render).
    pub const fn meter(&self) -> &CoordinatorMetrics {
        &self.meter
    }

    /// True if the crawl existed before this start.
    pub const fn resumed(&self) -> bool {
        self.resumed
    }

    /// Returns the current run state of the crawl.
    pub fn run(&self) -> RunState {
        self.rpc.membership.views.borrow().run
    }

    /// Waits until the server fails, or until another coordinator may be active, and returns the reason.
    pub async fn broken(&mut self) -> CoordinatorError {
        let mut views = self.rpc.membership.views.clone();
        let ended = tokio::select! {
            ended = &mut self.server => ended,
            () = async { while views.changed().await.is_ok() {} } => {
                return CoordinatorError::Deposed;
            }
        };
        let why = match ended {
            Ok(Ok(())) => "it ended".to_owned(),
            Ok(Err(error)) => with_causes(&error),
            Err(error) => error.to_string(),
        };
        CoordinatorError::Broken(format!("the coordinator's server failed: {why}"))
    }

    /// Stops in order: the watchers' streams end, in-flight requests get their responses, and the
    /// directory is free when this returns. All changes are already stored.
    ///
    /// # Errors
    /// Fails if the server failed.
    pub async fn stop(self) -> Result<(), CoordinatorError> {
        let Self { rpc, mut server, end, active, .. } = self;
        let _ = end.send(());
        let mut views = rpc.membership.views.clone();
        tokio::task::spawn_blocking(move || rpc.membership.end());
        // The views channel closes when the thread has ended.
        while views.changed().await.is_ok() {}
        if let Some(active) = active {
            active.end().await;
        }
        match timeout(STOP_TIMEOUT, &mut server).await {
            Ok(Ok(ended)) => ended.map_err(|error| CoordinatorError::Broken(with_causes(&error))),
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
    access: CoordinatorAccess,
) -> Result<Router, CoordinatorError> {
    let reflection = tonic_reflection::server::Builder::configure()
        .register_encoded_file_descriptor_set(DESCRIPTORS)
        .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        .build_v1()
        .map_err(|error| {
            CoordinatorError::Broken(format!("the gRPC descriptors are invalid: {error}"))
        })?;
    let coordinator = CoordinatorServer::from_arc(rpc)
        .max_decoding_message_size(REQUEST_SIZE_MAX)
        .max_encoding_message_size(RESPONSE_SIZE_MAX);
    let coordinator = Guarded::new(coordinator, access);
    let (health, health_service) = tonic_health::server::health_reporter();
    health.set_serving::<CoordinatorServer<Rpc>>().await;
    Ok(server.add_service(coordinator).add_service(health_service).add_service(reflection))
}

/// Returns the text of an error with its causes. tonic's own text is only "transport error".
fn with_causes(error: &dyn Error) -> String {
    let cause = error.source().map(|cause| format!(": {}", with_causes(cause)));
    format!("{error}{}", cause.unwrap_or_default())
}
