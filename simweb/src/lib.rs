//! A simulated web, on loopback by default. Sites, names, addresses and robots.txt all follow from
//! one [`Spec`], hosts misbehave in every known way, and a [`Judge`] decides by the access log
//! whether the visitor was complete and polite.
//!
//! It shares no code with the crawler except the clock, so that it does not share the errors that
//! it must find.
//!
//! ```text
//!  spec ─► world (names, text, graph) ─► answer ─► http1 / http2 ─► log ─┐
//!             │      └─► dns                                             ├─► judge ─► report
//!             └─► expected ──────────────────────────────────────────────┘
//!
//!  changes ─► change_times ─► history (versions of a page) ─► answer, freshness (of copies)
//! ```
//! `SimWeb::start(spec).await` runs it inside the process, [`serve::serve`] as a process of its
//! own. The same spec gives the same web, to the byte, in both.

pub mod adversary;
pub mod answer;
pub mod caller;
pub mod change_times;
pub mod changes;
pub mod character;
pub mod coding;
pub mod conditional;
pub mod connection;
pub mod copies;
pub mod dns;
pub mod draw;
pub mod expected;
pub mod freshness;
pub mod graph;
pub mod history;
mod hostile;
pub mod http1;
mod http2;
mod http2_flood;
pub mod judge;
pub mod log;
pub mod names;
pub mod network;
pub mod pace;
pub mod page;
mod presets;
pub mod report;
mod response;
pub mod robots;
pub mod route;
pub mod serve;
pub mod server;
pub mod spec;
pub mod state;
mod tcp_info;
pub mod text;
pub mod tls;
pub mod world;

pub use change_times::ChangePattern;
pub use changes::Changes;
pub use character::{
    Character, CharsetWay, Coding, Content, DnsWay, Http2Flood, Manner, PageKind, RetryAfter,
};
pub use expected::{Expectation, Expected, JudgeLimits};
pub use freshness::{FreshnessReport, PageFreshness, PageVisit};
pub use history::{ChangeHistory, PageVersion, Statement};
pub use judge::{Judge, judge_pace};
pub use log::{Entry, Log};
pub use network::Network;
pub use pace::{Pace, Relative};
pub use report::{Judgment, Violation};
pub use robots::Robots;
pub use spec::{SeedChoice, Spec};

use answer::Responder;
use caller::Callers;
use crivello_common::time::Timestamp;
use dns::Zone;
use state::ServerState;
use std::io;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use tls::{SimTlsError, TestAuthority};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;
use world::World;

/// Errors that prevent a web from starting.
#[derive(Debug, thiserror::Error)]
pub enum SimWebError {
    /// A port is taken, an address does not belong to this machine, or the log cannot be written.
    #[error("the simulated web cannot be set up: {0}")]
    Io(#[from] io::Error),
    /// Certificates cannot be made.
    #[error(transparent)]
    Tls(#[from] SimTlsError),
}

/// A running web. Dropping it closes all connections.
#[derive(Debug)]
pub struct SimWeb {
    shared: Arc<ServerState>,
    dns: SocketAddr,
    zone: Arc<Zone>,
    authority: Option<String>,
    stop: watch::Sender<bool>,
    listeners: JoinSet<()>,
    name_servers: JoinSet<()>,
}

impl SimWeb {
    /// Starts a web inside this process, on the runtime of the caller.
    ///
    /// # Errors
    /// Fails if a port is taken, an address does not belong to this machine, or certificates cannot
    /// be made.
    pub async fn start(spec: Spec) -> Result<Self, SimWebError> {
        Self::start_with_log(spec, None).await
    }

    /// Starts a web whose access log is also appended to a file as JSON lines, at most 20 ms late.
    ///
    /// # Errors
    /// Fails like [`Self::start`], and if the file cannot be opened.
    pub async fn start_with_log(mut spec: Spec, log: Option<&Path>) -> Result<Self, SimWebError> {
        raise_file_limit();
        let log = Arc::new(Log::new(log)?);
        if let Some(changes) = spec.changes.as_mut().filter(|changes| changes.origin_us == 0) {
            changes.origin_us = log.now().0;
        }
        let (udp, tcp) = dns::listen(spec.dns_ip, spec.dns_port).await?;
        let dns = udp.local_addr()?;
        let (port, network) = (spec.port, spec.network);
        let world = World::new(spec);
        let (port, sockets) = server::listen(port, network, &world.all_addresses())?;
        let world = Arc::new(world.at_ports(port, dns.port()));
        let authority = world.any_tls().then(TestAuthority::new).transpose()?.map(Arc::new);
        let config = authority.clone().map(TestAuthority::config).transpose()?;
        let acceptor = config.map(|config| TlsAcceptor::from(Arc::new(config)));
        let authority = authority.map(|authority| authority.pem());
        let responder = Responder::new(&world);
        let (callers, connections) = (Callers::default(), AtomicU64::new(0));
        let shared = Arc::new(ServerState { world, responder, log, callers, connections });
        let (stop, stopped) = watch::channel(false);
        let mut listeners = JoinSet::new();
        for socket in sockets {
            let run = server::run(shared.clone(), socket, acceptor.clone(), stopped.clone());
            listeners.spawn(run);
        }
        let zone = Arc::new(Zone::new(shared.world.clone()));
        let mut name_servers = JoinSet::new();
        name_servers.spawn(dns::run_udp(zone.clone(), udp));
        name_servers.spawn(dns::run_tcp(zone.clone(), tcp));
        Ok(Self { shared, dns, zone, authority, stop, listeners, name_servers })
    }

    /// Returns the name server's address.
    pub const fn dns(&self) -> SocketAddr {
        self.dns
    }

    /// Returns the port of all hosts.
    pub fn port(&self) -> u16 {
        self.spec().port
    }

    /// Returns the spec with its ports, and the origin of its changes, filled in.
    pub fn spec(&self) -> &Spec {
        self.shared.world.spec()
    }

    /// Returns the world of the spec.
    pub fn world(&self) -> &World {
        &self.shared.world
    }

    /// Returns the seed URLs of the crawl.
    pub fn seeds(&self) -> Vec<String> {
        let world = self.world();
        world.seeds().into_iter().map(|at| world.url(at)).collect()
    }

    /// Returns the networks, in CIDR form, that the visitor must be allowed to contact. None of
    /// them contains 127.0.0.1.
    pub fn networks(&self) -> Vec<String> {
        self.world().names().networks()
    }

    /// Returns the certificate, in PEM, of the authority that signs https hosts.
    pub fn authority_pem(&self) -> Option<&str> {
        self.authority.as_deref()
    }

    /// Returns the access log.
    pub fn log(&self) -> &Log {
        &self.shared.log
    }

    /// Returns the queries that the name server has received for names in `domain`: the time of
    /// each, in their order.
    pub fn queries(&self, domain: &str) -> Vec<Timestamp> {
        self.zone.queries(domain)
    }

    /// Returns the processes that the log identifies: see [`Entry::process`].
    pub fn callers(&self) -> &Callers {
        &self.shared.callers
    }

    /// Returns a judge of visitors of this web, by these limits and this pace.
    pub fn judge(&self, limits: JudgeLimits, pace: Pace) -> Judge {
        Judge::new(self.spec().clone(), limits, pace)
    }

    /// Judges how fresh the visitor's copies of pages have been so far. Of a web whose pages do not
    /// change, the report is empty.
    pub fn freshness(&self) -> FreshnessReport {
        FreshnessReport::new(self.world(), &self.log().entries())
    }

    /// Closes all connections and returns the whole log.
    pub async fn shutdown(mut self) -> Vec<Entry> {
        let _ = self.stop.send(true);
        while self.listeners.join_next().await.is_some() {}
        self.name_servers.shutdown().await;
        self.shared.log.entries()
    }
}

/// Raises the limit of open files to the maximum, because every connection is one.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let raised = Rlimit { current: limit.maximum, maximum: limit.maximum };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "cannot raise the limit of open files");
        }
    }
}
