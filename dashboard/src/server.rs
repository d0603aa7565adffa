//! The HTTP server, with limits on requests and their duration.

use super::guard::{self, Guard};
use super::poll::{self, ClusterSnapshot};
use super::state::{MetricsText, State};
use super::{api, login, page};
use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use crivello_common::time::Clock;
use crivello_proto::agents::AgentClients;
use crivello_proto::tls::Https;
use crivello_proto::{LiveToken, LocalCoordinator, http_server};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::timeout;

/// Timeout of a response. It does not apply to `/api/events`, which does not end, and
/// `/api/archived`, which may take minutes.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum size of a request body in bytes.
const BODY_SIZE_MAX: usize = 64 << 10;

/// Access rules of the dashboard, and its optional parts.
#[derive(Clone, Default)]
pub struct Options {
    /// Host names that requests may use, besides loopback addresses.
    pub names: Vec<String>,
    /// Token that requests must send. `None`: no token is required.
    pub token: Option<LiveToken>,
    /// Token that opens `/metrics` and nothing else.
    pub metrics_token: Option<LiveToken>,
    /// Certificate and key for TLS.
    pub https: Option<Https>,
    /// Source of `/metrics`. Without it there is no such page.
    pub metrics: Option<MetricsText>,
}

/// A listening dashboard. Requests are answered once it is served.
pub struct Dashboard {
    listener: TcpListener,
    at: SocketAddr,
    options: Options,
}

impl Dashboard {
    /// Listens at `at`. With port 0 the system chooses a free port.
    ///
    /// # Errors
    /// Fails if the address cannot be bound.
    pub async fn bind(at: SocketAddr, options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind(at).await?;
        let at = listener.local_addr()?;
        Ok(Self { listener, at, options })
    }

    /// Returns the listening address.
    pub const fn address(&self) -> SocketAddr {
        self.at
    }

    /// Returns the scheme of its URL.
    pub const fn scheme(&self) -> &'static str {
        if self.options.https.is_some() { "https" } else { "http" }
    }

    /// Serves the dashboard until the returned tasks are dropped. Must be called within a runtime.
    #[must_use]
    pub fn serve(self, coordinator: LocalCoordinator, agents: Arc<AgentClients>) -> JoinSet<()> {
        let Self { listener, at, options } = self;
        let Options { names, token, metrics_token, https, metrics } = options;
        token.iter().chain(&metrics_token).for_each(LiveToken::watch);
        let (found, snapshot) = watch::channel(Arc::new(ClusterSnapshot::default()));
        let guard = Arc::new(Guard { names, at, token, metrics_token, is_secure: https.is_some() });
        let state = State::new(coordinator.clone(), Arc::clone(&agents), snapshot, guard, metrics);
        let mut tasks = JoinSet::new();
        tasks.spawn(poll::run(coordinator, agents, Clock::start(), found));
        https.iter().for_each(Https::watch);
        let limits = http_server::HttpLimits::default();
        tasks.spawn(http_server::serve(listener, https, routes(state), limits));
        tasks
    }
}

fn routes(state: State) -> Router {
    let asked = Router::new()
        .route("/api/cluster", get(api::cluster::cluster))
        .route("/api/history", get(api::cluster::history))
        .route("/api/assignment", get(api::cluster::assignment))
        .route("/api/hosts", get(api::hosts::hosts))
        .route("/api/why", get(api::why::why))
        .route("/api/search", get(api::search::search))
        .route("/api/page", get(api::search::page))
        .route("/api/fetches", get(api::fetches::fetches))
        .route("/api/discards", get(api::discards::discards))
        .route("/api/traces", get(api::traces::traces))
        .route("/api/settings", get(api::settings::settings).post(api::settings::edit))
        .route("/api/blocks", get(api::settings::blocks))
        .route("/api/block", post(api::settings::block))
        .route("/api/drain", post(api::commands::drain))
        .route("/api/remove", post(api::commands::remove))
        .route("/api/run", post(api::commands::run))
        .route("/api/logout", post(login::logout))
        .route("/metrics", get(metrics))
        .layer(middleware::from_fn_with_state(state.clone(), within_bounds));
    Router::new()
        .merge(asked)
        .merge(page::routes())
        .route("/api/events", get(api::cluster::events))
        .route("/api/archived", get(api::archived::archived))
        .route("/api/login", post(login::login))
        .route("/healthz", get(async || "ok\n"))
        .fallback(async || api::Refusal::new(StatusCode::NOT_FOUND, "there is no such page"))
        .layer(DefaultBodyLimit::max(BODY_SIZE_MAX))
        .layer(middleware::from_fn_with_state(Arc::clone(&state.guard), guard::check_request))
        .with_state(state)
}

async fn metrics(Shared(state): Shared<State>) -> Result<Response, api::Refusal> {
    let none = || api::Refusal::new(StatusCode::NOT_FOUND, "no metrics are available");
    let metrics = state.metrics.clone().ok_or_else(none)?;
    // Rendering may read a disk.
    let text = spawn_blocking(move || metrics()).await.map_err(|_| none())?;
    const KIND: [(HeaderName, &str); 1] = [(CONTENT_TYPE, crivello_common::metrics::CONTENT_TYPE)];
    Ok((KIND, text).into_response())
}

/// Limits the number of concurrent requests and the duration of each.
async fn within_bounds(
    Shared(state): Shared<State>,
    request: Request<Body>,
    next: Next,
) -> Response {
    let busy = |why| api::Refusal::new(StatusCode::SERVICE_UNAVAILABLE, why).into_response();
    let answer = async {
        let Ok(_seat) = state.requests.acquire().await else {
            return busy("the dashboard is stopping");
        };
        next.run(request).await
    };
    let late = |_| busy("the request took too long: try again");
    timeout(RESPONSE_TIMEOUT, answer).await.unwrap_or_else(late)
}
