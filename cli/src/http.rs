//! `--http`: metrics of a node at `/metrics`, and a liveness check at `/healthz`.

use crate::args::cluster::HttpsArgs;
use crate::exit::{CliError, usage};
use crate::screen;
use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use crivello_agent::metrics as agent;
use crivello_common::metrics;
use crivello_coordinator::metrics as coordinator;
use crivello_proto::LiveToken;
use crivello_proto::http_server::{self, HttpLimits};
use crivello_proto::tls::{Https, HttpsFiles};
use parking_lot::Mutex;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Maximum number of concurrent readers of `/metrics`. Others get status 503.
const READERS_MAX: usize = 2;
/// Last line of the metrics, once.
const END: &str = "# EOF\n";

/// Nodes whose metrics are served. Clones share their state.
#[derive(Clone, Debug, Default)]
pub struct Meters(Arc<Mutex<Nodes>>);

#[derive(Debug, Default)]
struct Nodes {
    agents: Vec<agent::AgentMetrics>,
    coordinator: Option<coordinator::CoordinatorMetrics>,
}

impl Meters {
    /// Adds an agent, replacing an earlier one of the same name.
    pub fn add(&self, meter: &agent::AgentMetrics) {
        let mut nodes = self.0.lock();
        nodes.agents.retain(|known| known.name() != meter.name());
        nodes.agents.push(meter.clone());
    }

    /// Adds the coordinator.
    pub fn add_coordinator(&self, meter: coordinator::CoordinatorMetrics) {
        self.0.lock().coordinator = Some(meter);
    }

    /// Returns the metrics as text; `None` without a node.
    pub fn render(&self) -> Option<String> {
        let (agents, coordinator) = {
            let nodes = self.0.lock();
            (nodes.agents.clone(), nodes.coordinator.clone())
        };
        let agents = (!agents.is_empty()).then(|| agent::render(&agents));
        let coordinator = coordinator.map(|meter| coordinator::render(&meter));
        let pages: Vec<String> = [agents, coordinator].into_iter().flatten().collect();
        let lines = pages.iter().map(|page| page.strip_suffix(END).unwrap_or(page));
        (!pages.is_empty()).then(|| lines.chain([END]).collect())
    }
}

/// Address and access rules of the metrics.
#[derive(Clone, Debug, Default)]
pub struct MetricsEndpoint {
    at: Option<SocketAddr>,
    https: Option<Https>,
    /// Token that readers must send. `None` lets anyone read.
    token: Option<LiveToken>,
}

impl MetricsEndpoint {
    /// Checks the address. A non-loopback address requires TLS and a token, or `insecure`.
    ///
    /// # Errors
    /// Returns a usage error if TLS or token is missing, or if the TLS files are invalid.
    pub fn check(
        at: Option<SocketAddr>,
        https: &HttpsArgs,
        (flag, token): (&str, Option<LiveToken>),
        insecure: bool,
    ) -> Result<Self, CliError> {
        let https = self::https(https)?;
        let missing = match (&https, &token) {
            (Some(_), Some(_)) => None,
            (None, Some(_)) => Some("--http-cert and --http-key".to_owned()),
            (Some(_), None) => Some(flag.to_owned()),
            (None, None) => Some(format!("--http-cert, --http-key and {flag}")),
        };
        match (at, missing) {
            (None, _) if https.is_some() => {
                Err(CliError::usage("--http-cert and --http-key require --http ADDR:PORT"))
            }
            (Some(at), Some(missing)) if !at.ip().is_loopback() && !insecure => Err(usage!(
                "--http {at}: other machines could connect and read the metrics; give {missing}, \
                     or --insecure if only trusted machines can reach this address"
            )),
            _ => Ok(Self { at, https, token }),
        }
    }
}

/// Reads the TLS files of `--http`.
///
/// # Errors
/// Returns a usage error if they are invalid.
pub fn https(args: &HttpsArgs) -> Result<Option<Https>, CliError> {
    let files = args.http_cert.clone().zip(args.http_key.clone());
    let https = files.map(|(cert, key)| Https::load(HttpsFiles { cert, key })).transpose();
    https.map_err(|error| usage!("--http-cert and --http-key: {error}"))
}

/// Server of the metrics, until dropped.
#[derive(Debug)]
pub struct MetricsServer {
    runtime: Option<Runtime>,
}

impl MetricsServer {
    /// Serves the metrics of `meters` at `endpoint`, if it has an address.
    ///
    /// # Errors
    /// Returns a usage error if the address cannot be bound.
    pub fn open(endpoint: MetricsEndpoint, meters: Meters) -> Result<Self, CliError> {
        let MetricsEndpoint { at, https, token } = endpoint;
        let Some(at) = at else { return Ok(Self { runtime: None }) };
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("http")
            .enable_all()
            .build()
            .context("cannot start the thread of --http")?;
        let scheme = if https.is_some() { "https" } else { "http" };
        let serving = runtime.block_on(async {
            let listener = TcpListener::bind(at).await?;
            let bound = listener.local_addr()?;
            https.iter().for_each(Https::watch);
            token.iter().for_each(LiveToken::watch);
            let router = router(meters, token);
            tokio::spawn(http_server::serve(listener, https, router, HttpLimits::default()));
            io::Result::Ok(bound)
        });
        let bound = serving.map_err(|error| usage!("--http {at}: {error}"))?;
        screen::print_line(&format!("metrics at {scheme}://{bound}/metrics"));
        Ok(Self { runtime: Some(runtime) })
    }
}

impl Drop for MetricsServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// State of the request handlers.
#[derive(Clone, Debug)]
struct MetricsState {
    meters: Meters,
    token: Option<LiveToken>,
    readers: Arc<Semaphore>,
}

fn router(meters: Meters, token: Option<LiveToken>) -> Router {
    let readers = Arc::new(Semaphore::new(READERS_MAX));
    Router::new()
        .route("/metrics", get(metrics_page))
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(MetricsState { meters, token, readers })
}

async fn metrics_page(State(state): State<MetricsState>, headers: HeaderMap) -> Response {
    let MetricsState { meters, token, readers } = state;
    let sent = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    if token.is_some_and(|token| !sent.is_some_and(|sent| token.matches_header(sent))) {
        let why = "a token is required: send `Authorization: Bearer TOKEN`\n";
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], why).into_response();
    }
    let Ok(_permit) = readers.try_acquire() else {
        return unavailable("too many concurrent readers: try again\n");
    };
    match spawn_blocking(move || meters.render()).await {
        Ok(Some(page)) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], page).into_response(),
        Ok(None) => unavailable("no metrics before the crawl has started\n"),
        Err(_) => unavailable("the metrics cannot be rendered\n"),
    }
}

fn unavailable(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
