//! Start of a member of a cluster: it listens, joins, opens its directory with the settings of the
//! crawl, and crawls.

use crate::api;
use crate::app::build::{Build, fetcher_runtime};
use crate::app::cluster_session::ClusterSession;
use crate::app::crawl::Crawl;
use crate::app::error::AgentError;
use crate::cluster::{
    ClusterParts, ClusterReplication, CoordinatorClient, InboundMsg, Inbox, Joined, Joining,
    Membership, Replication,
};
use crate::engines::heartbeat::Heartbeat;
use crate::engines::ip_leases::LeaseTask;
use crate::engines::remote_robots::RemoteRobotsClient;
use crate::limits::ARRIVALS_QUEUE;
use crate::messages::LeaseSender;
use crate::observe::agent_api::{ControlHandler, RunningAgent};
use crate::observe::explain::Explainer;
use crate::observe::metrics::ClusterSources;
use crate::peers::{ExtraServices, Outgoing, PeerEvent, PeerServer};
use crate::report::SeedCounts;
use crate::storage::OpenError;
use crate::storage::crawl_dir::CrawlDir;
use crivello_common::config::Settings;
use crivello_common::time::Clock;
use crivello_common::view::{AgentId, View};
use crivello_proto::LiveToken;
use crivello_proto::auth::{BearerToken, RequireToken};
use crivello_proto::tls::Tls;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

/// The options of an agent that joins a cluster.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// URL of the coordinator: `http://HOST:PORT`, or `https://` with TLS.
    pub coordinator: String,
    /// Address to listen on for other agents; port 0 selects a free port.
    pub listen: SocketAddr,
    /// Address at which other agents reach this one, if that is not the address it listens on.
    pub advertise: Option<String>,
    /// Directory of state and archive. If it is that of a member, the agent rejoins as that member.
    pub dir: PathBuf,
    /// Name of the agent; random if `None`.
    pub name: Option<String>,
    /// Share of the groups, relative to that of other agents.
    pub weight: u16,
    /// Configuration of mutual TLS.
    pub tls: Option<Tls>,
    /// Token that clients of the control service must send, and that this agent sends to the
    /// coordinator.
    pub token: Option<LiveToken>,
}

impl Crawl {
    /// Joins or rejoins a cluster, and crawls with the settings of its coordinator. Waits while the
    /// coordinator cannot be reached, until `stop` is cancelled.
    ///
    /// # Errors
    /// [`AgentError::is_usage`] distinguishes refusals from failures.
    pub fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Self, AgentError> {
        join(options, stop)
    }
}

fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Crawl, AgentError> {
    let clock = Clock::start();
    let runtime = fetcher_runtime()?;
    let mut known = Membership::open(&options.dir, options.name.as_deref())?;
    let (messages, inbound) = crossbeam::channel::bounded(ARRIVALS_QUEUE);
    let (lease_sender, lease_commands) = LeaseSender::new();
    let (inbox, hall) =
        (Inbox { messages, ip_leases: lease_sender.clone() }, Arc::new(ControlHandler::default()));
    let (views, view_in_force) = watch::channel(None);
    let server = runtime.block_on(serve(options, view_in_force.clone(), &inbox, &hall, clock))?;
    let address = server.address();
    let joining = Joining {
        coordinator: options.coordinator.clone(),
        address: options.advertise.clone().unwrap_or_else(|| address.to_string()),
        weight: options.weight,
        process: uuid::Uuid::new_v4().as_u64_pair().0.max(1),
    };
    let (coordinator, joined) =
        runtime.block_on(become_member(options, &joining, &known, stop, clock))?;
    let Joined { id, crawl_id, leased_until, lease, view, settings, revision } = joined;
    known.given = Some((id.0, crawl_id.clone()));
    known.keep(&options.dir)?;
    let settings = Settings::from_toml("the coordinator's settings", &settings)
        .and_then(|settings| settings.check_shared().map(|()| settings))
        .map_err(|errors| OpenError::Refused(errors.to_string()))?;
    let (home, disk) = CrawlDir::open(&options.dir, &settings, clock.now(), Some(&crawl_id))?;

    // The first messages: the lease, and the view to which it belongs.
    inbox.offer(InboundMsg::Leased(leased_until));
    inbox.offer(InboundMsg::View(view));
    let outgoing = outgoing(id, options.tls.clone(), &runtime, &inbox, clock);
    let process = joining.process;
    let name = known.name.clone();
    let session = ClusterSession {
        coordinator: coordinator.clone(),
        id,
        name,
        process,
        address,
        _server: server,
    };
    let build = Build { settings, clock, home, disk: Arc::new(disk), runtime };
    let (status, for_member) = (hall.status.clone(), outgoing.clone());
    let lease_task = LeaseTask {
        me: id,
        commands: lease_commands,
        sender: lease_sender.clone(),
        outgoing: outgoing.clone(),
        inbox: inbox.clone(),
    };
    let crawl = build.crawl(
        SeedCounts::default(),
        Some(session),
        Some(lease_task),
        move |shared, disk| {
            let outgoing = for_member;
            let parts = ClusterParts {
                me: id,
                shared,
                outgoing,
                ip_leases: lease_sender,
                views,
                inbox: inbound,
                status,
            };
            Ok(Replication::Cluster(Box::new(ClusterReplication::new(parts, disk)?)))
        },
    )?;
    crawl.shared.live.begin(revision);
    crawl.meter.add_cluster(ClusterSources::new(id, &known.name, &hall.status, &outgoing));
    hall.attach(RunningAgent {
        id,
        name: known.name,
        crawl_id,
        process,
        shared: crawl.shared.clone(),
        rules: crawl.rules.clone(),
        disk: crawl.disk.clone(),
        inbox: inbox.clone(),
        explainer: Arc::new(Explainer::new(
            id,
            crawl.disk.clone(),
            crawl.rules.clone(),
            crawl.home.dir.join("warc"),
            crawl.shared.clone(),
            crawl.queues.clone(),
        )),
        meter: crawl.meter.clone(),
    });
    let (shared, rules, views) = (crawl.shared.clone(), crawl.rules.clone(), view_in_force);
    let robots = RemoteRobotsClient {
        outgoing: outgoing.clone(),
        views: views.clone(),
        settings: shared.settings.clone(),
        queues: crawl.queues.clone(),
    };
    let heartbeat =
        Heartbeat { coordinator, id, process, lease, outgoing, inbox, views, shared, rules };
    if let Some(runtime) = crawl.runtime.lock().as_ref() {
        runtime.spawn(robots.run());
        runtime.spawn(crawl.shared.fetch_deadline.clone().watch(crawl.shared.clock));
        runtime.spawn(heartbeat.run());
    }
    Ok(crawl)
}

/// Sends join requests to the coordinator until one is accepted or refused, or `stop` is cancelled.
async fn become_member(
    options: &JoinOptions,
    joining: &Joining,
    known: &Membership,
    stop: &CancellationToken,
    clock: Clock,
) -> Result<(CoordinatorClient, Joined), AgentError> {
    let (url, tls) = (&options.coordinator, options.tls.as_ref());
    let coordinator =
        CoordinatorClient::at(url, tls, BearerToken::new(options.token.as_ref()), clock)?;
    let joined = coordinator.join(joining, known, stop).await?;
    let stopped = || OpenError::Broken("stopped while waiting to join".to_owned());
    Ok((coordinator, joined.ok_or_else(stopped)?))
}

async fn serve(
    options: &JoinOptions,
    views: watch::Receiver<Option<Arc<View>>>,
    inbox: &Inbox,
    hall: &Arc<ControlHandler>,
    clock: Clock,
) -> Result<PeerServer, AgentError> {
    options.tls.iter().for_each(Tls::watch);
    options.token.iter().for_each(LiveToken::watch);
    let listener = bind(options.listen).await?;
    let inbox = Arc::new(inbox.clone());
    let house = Arc::clone(hall) as Arc<dyn api::AgentApi>;
    let control = RequireToken::new(api::service(house), options.token.clone(), &[]);
    let beside = ExtraServices { routes: Routes::new(control), names: &[api::NAME] };
    PeerServer::start(listener, options.tls.clone(), views, inbox, beside, clock)
        .await
        .map_err(|error| OpenError::Refused(error.to_string()).into())
}

/// Binds the listener. Retries for a second while the address is in use: an earlier membership of
/// this process may be about to release it.
async fn bind(at: SocketAddr) -> Result<TcpListener, AgentError> {
    let mut tries = 20;
    loop {
        match TcpListener::bind(at).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == ErrorKind::AddrInUse && tries > 0 => tries -= 1,
            Err(error) => {
                return Err(OpenError::Refused(format!("--listen {at}: {error}")).into());
            }
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Creates the client for other agents. Their answers go to the inbox, as all messages of the
/// cluster do.
fn outgoing(
    id: AgentId,
    tls: Option<Tls>,
    runtime: &Runtime,
    inbox: &Inbox,
    clock: Clock,
) -> Arc<Outgoing> {
    let (heard, mut answers) = mpsc::channel::<PeerEvent>(crate::limits::PEER_ANSWERS);
    let outgoing = Outgoing::new(id, tls, runtime.handle().clone(), heard, clock);
    let inbox = inbox.clone();
    runtime.spawn(async move {
        while let Some(heard) = answers.recv().await {
            inbox.deliver(InboundMsg::Peer(heard)).await;
        }
    });
    Arc::new(outgoing)
}
