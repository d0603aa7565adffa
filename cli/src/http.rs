//! `--http`: the numbers of a node at `/metrics`, and `/healthz`, which says that it is there.

use crate::args::cluster::HttpsArgs;
use crate::exit::Trouble;
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
use crivello_proto::tls::{Https, HttpsFiles};
use crivello_proto::web::{self, Bounds};
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Who reads all numbers at once; others are told to come again.
const READERS_MAX: usize = 2;
/// The last line, which comes once.
const END: &str = "# EOF\n";

/// Whose numbers are told: those that are there when somebody asks. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Meters(Arc<Mutex<Nodes>>);

#[derive(Debug, Default)]
struct Nodes {
    agents: Vec<agent::Meter>,
    coordinator: Option<coordinator::Meter>,
}

impl Meters {
    /// An agent's; those of an earlier life of it are no longer told.
    pub fn add(&self, meter: &agent::Meter) {
        let mut nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        nodes.agents.retain(|known| known.name() != meter.name());
        nodes.agents.push(meter.clone());
    }

    /// A coordinator's.
    pub fn add_coordinator(&self, meter: coordinator::Meter) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).coordinator = Some(meter);
    }

    /// All as text; `None` while there is nobody yet.
    pub fn render(&self) -> Option<String> {
        let (agents, coordinator) = {
            let nodes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            (nodes.agents.clone(), nodes.coordinator.clone())
        };
        let agents = (!agents.is_empty()).then(|| agent::render(&agents));
        let coordinator = coordinator.map(|meter| coordinator::render(&meter));
        let pages: Vec<String> = [agents, coordinator].into_iter().flatten().collect();
        let lines = pages.iter().map(|page| page.strip_suffix(END).unwrap_or(page));
        (!pages.is_empty()).then(|| lines.chain([END]).collect())
    }
}

/// Where numbers are told, and to whom.
#[derive(Clone, Debug, Default)]
pub struct Place {
    at: Option<SocketAddr>,
    https: Option<Https>,
    /// Who shows it may read them; `None` lets everyone who can connect.
    token: Option<LiveToken>,
}

impl Place {
    /// Checks where to listen: not open to strangers unless that was said.
    ///
    /// # Errors
    /// A usage error when it is, or when the TLS files cannot be used.
    pub fn check(
        at: Option<SocketAddr>,
        https: &HttpsArgs,
        token: Option<LiveToken>,
        insecure: bool,
    ) -> Result<Self, Trouble> {
        let https = self::https(https)?;
        let missing = match (&https, &token) {
            (Some(_), Some(_)) => None,
            (None, Some(_)) => Some("--http-cert and --http-key"),
            (Some(_), None) => Some("--token-file"),
            (None, None) => Some("--http-cert, --http-key and --token-file"),
        };
        match (at, missing) {
            (None, _) if https.is_some() => Err(Trouble::usage(
                "--http-cert and --http-key are for --http ADDR:PORT, which was not given",
            )),
            (Some(at), Some(missing)) if !at.ip().is_loopback() && !insecure => {
                Err(Trouble::usage(format!(
                    "--http {at}: others than this machine could connect, and read the numbers on \
                     their way or for themselves; give {missing}, or --insecure if the network \
                     keeps strangers out"
                )))
            }
            _ => Ok(Self { at, https, token }),
        }
    }
}

/// Reads the files that were named.
///
/// # Errors
/// A usage error when they cannot be used.
pub fn https(typed: &HttpsArgs) -> Result<Option<Https>, Trouble> {
    let files = match typed.clone() {
        HttpsArgs { http_cert: Some(cert), http_key: Some(key) } => HttpsFiles { cert, key },
        _ => return Ok(None),
    };
    let read = Https::load(files).map(Some);
    read.map_err(|error| Trouble::usage(format!("--http-cert and --http-key: {error}")))
}

/// A node's numbers, served until this is dropped.
#[derive(Debug)]
pub struct Site {
    runtime: Option<Runtime>,
}

impl Site {
    /// Serves the numbers of `meters` where that was asked for.
    ///
    /// # Errors
    /// A usage error when the address cannot be listened on.
    pub fn open(place: Place, meters: Meters) -> Result<Self, Trouble> {
        let Place { at, https, token } = place;
        let Some(at) = at else { return Ok(Self { runtime: None }) };
        let refused = |error| Trouble::usage(format!("--http {at}: {error}"));
        let listener = TcpListener::bind(at).map_err(refused)?;
        listener.set_nonblocking(true).map_err(refused)?;
        let bound = listener.local_addr().map_err(refused)?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("http")
            .enable_all()
            .build()
            .context("no thread for --http")?;
        let _inside = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(listener).map_err(refused)?;
        https.iter().for_each(Https::keep_fresh);
        token.iter().for_each(LiveToken::keep_fresh);
        let scheme = if https.is_some() { "https" } else { "http" };
        runtime.spawn(web::serve(listener, https, router(meters, token), Bounds::default()));
        screen::say(&format!("metrics at {scheme}://{bound}/metrics"));
        drop(_inside);
        Ok(Self { runtime: Some(runtime) })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Whose numbers, told to whom.
#[derive(Clone, Debug)]
struct Desk {
    meters: Meters,
    token: Option<LiveToken>,
    readers: Arc<Semaphore>,
}

fn router(meters: Meters, token: Option<LiveToken>) -> Router {
    let readers = Arc::new(Semaphore::new(READERS_MAX));
    Router::new()
        .route("/metrics", get(numbers))
        .route("/healthz", get(|| async { "ok\n" }))
        .with_state(Desk { meters, token, readers })
}

async fn numbers(State(desk): State<Desk>, headers: HeaderMap) -> Response {
    let Desk { meters, token, readers } = desk;
    let shown = headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    if token.is_some_and(|token| !shown.is_some_and(|shown| token.is_in(shown))) {
        let why = "a token is needed: send `Authorization: Bearer TOKEN`\n";
        return (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], why).into_response();
    }
    let Ok(_seat) = readers.try_acquire() else {
        return refuse("too many read at once: try again\n");
    };
    match spawn_blocking(move || meters.render()).await {
        Ok(Some(page)) => ([(CONTENT_TYPE, metrics::CONTENT_TYPE)], page).into_response(),
        Ok(None) => refuse("nothing to tell before the crawl has begun\n"),
        Err(_) => refuse("the numbers cannot be read\n"),
    }
}

fn refuse(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
