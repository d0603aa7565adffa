//! Puts a coordinator together: directory, lodge, services, and their orderly end.

use crate::home::{CoordinatorError, Home};
use crate::lodge::Lodge;
use crate::metrics::Meter;
use crate::rpc::Rpc;
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

/// A connection on which nothing comes for so long is asked for a sign of life.
const KEEP_ALIVE: Duration = Duration::from_secs(20);
/// Requests of one connection that are worked on at once.
const REQUESTS_MAX: u32 = 256;
/// For answers in flight when the coordinator ends.
const END_PATIENCE: Duration = Duration::from_secs(3);

/// Where to be reached, and by whom.
#[derive(Clone, Debug)]
pub struct Listen {
    /// The address; port 0 takes a free one.
    pub at: SocketAddr,
    /// `None` lets everyone in who can connect.
    pub tls: Option<Tls>,
    /// What people must show; `None` does what everyone asks.
    pub token: Option<LiveToken>,
}

/// A coordinator that is being served.
#[derive(Debug)]
pub struct Coordinator {
    rpc: Arc<Rpc>,
    lodge: Lodge,
    address: SocketAddr,
    crawl_id: String,
    resumed: bool,
    server: JoinHandle<Result<(), tonic::transport::Error>>,
    end: oneshot::Sender<()>,
    meter: Meter,
}

impl Coordinator {
    /// Goes on with the crawl in `dir`, or begins one there, and serves it.
    ///
    /// # Errors
    /// [`CoordinatorError::is_usage`] tells a refusal from a breakdown.
    pub async fn start(
        dir: &Path,
        settings: &Settings,
        listen: Listen,
    ) -> Result<Self, CoordinatorError> {
        Self::start_given(dir, settings, TypedSettings::new(), listen).await
    }

    /// The same with what was typed to have these settings, to be kept until the next start (see
    /// [`given_last`](crate::given_last)).
    ///
    /// # Errors
    /// As of [`Self::start`].
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
        let home = Home::open(dir, settings, given, clock.now())?;
        let (crawl_id, resumed) = (home.record.crawl.id.clone(), home.resumed);
        let lease = settings.cluster.lease;
        let lodge = Lodge::open(home, settings, clock)
            .map_err(|error| CoordinatorError::Broken(format!("no thread: {error}")))?;
        let watchers = Watchers::new(lease);
        let meter = Meter {
            counts: lodge.counts.clone(),
            views: lodge.views.clone(),
            watchers: watchers.clone(),
            clock,
            started: clock.now(),
            crawl_id: crawl_id.clone(),
        };
        let rpc = Arc::new(Rpc { lodge: lodge.clone(), watchers, crawl_id: crawl_id.clone() });
        listen.tls.iter().for_each(Tls::watch);
        listen.token.iter().for_each(LiveToken::watch);
        let services = services(server, Arc::clone(&rpc), listen.token).await?;
        let (end, ended) = oneshot::channel();
        let incoming = Incoming::new(listener, listen.tls);
        let server = tokio::spawn(services.serve_with_incoming_shutdown(incoming, async {
            // Whether it was asked for or forgotten, it is the end.
            let _ = ended.await;
        }));
        Ok(Self { rpc, lodge, address, crawl_id, resumed, server, end, meter })
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

    /// Its numbers, to be told with [`metrics::render`](crate::metrics::render).
    #[must_use]
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Whether the crawl was there already.
    #[must_use]
    pub const fn resumed(&self) -> bool {
        self.resumed
    }

    /// What the crawl is to do at present.
    #[must_use]
    pub fn run(&self) -> RunState {
        self.lodge.views.borrow().run
    }

    /// Returns when it can no longer serve, with the reason; for as long as all is well, never.
    pub async fn broken(&mut self) -> CoordinatorError {
        let why = match (&mut self.server).await {
            Ok(Ok(())) => "it ended".to_owned(),
            Ok(Err(error)) => whole(&error),
            Err(error) => error.to_string(),
        };
        CoordinatorError::Broken(format!("the coordinator's network: {why}"))
    }

    /// Ends in order: watchers are sent away, answers in flight are given, the directory is free
    /// when this returns. Nothing has to be saved: all that was said is on disk.
    ///
    /// # Errors
    /// When the server broke down.
    pub async fn stop(self) -> Result<(), CoordinatorError> {
        let Self { lodge, mut server, end, .. } = self;
        let _ = end.send(());
        let mut views = lodge.views.clone();
        tokio::task::spawn_blocking(move || lodge.end());
        // The lodge lets go of its views last.
        while views.changed().await.is_ok() {}
        match timeout(END_PATIENCE, &mut server).await {
            Ok(Ok(Ok(()))) => Ok(()),
            Ok(Ok(Err(error))) => Err(CoordinatorError::Broken(whole(&error))),
            Ok(Err(error)) => Err(CoordinatorError::Broken(error.to_string())),
            Err(_) => {
                // Somebody keeps a connection; the answers had their time.
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

/// An error with all that led to it: tonic's say "transport error" and no more.
fn whole(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}
