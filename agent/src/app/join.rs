//! How an agent becomes a member: it listens, joins, opens its directory with the crawl's settings,
//! and crawls.

use crate::api;
use crate::app::{AgentError, Build, Crawl, fetcher_runtime};
use crate::cluster::{
    ClusterParts, ClusterReplication, Coordinator, InboundMsg, Inbox, Joined, Joining, Membership,
    Replication,
};
use crate::engines::heartbeat::Heartbeat;
use crate::engines::ip_leases::LeaseTask;
use crate::engines::remote_robots::RemoteRobotsClient;
use crate::limits::ARRIVALS_QUEUE;
use crate::messages::LeaseSender;
use crate::observe::agent_api::{ControlHandler, RunningAgent};
use crate::observe::explain::Explainer;
use crate::observe::metrics::Post;
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

/// What an agent needs to become a member.
#[derive(Clone, Debug)]
pub struct JoinOptions {
    /// The coordinator: `http://HOST:PORT`, or `https://` with TLS.
    pub coordinator: String,
    /// Where other agents may connect; port 0 takes one that is free.
    pub listen: SocketAddr,
    /// How other agents reach it, where that is not what it listens on.
    pub advertise: Option<String>,
    /// Its directory: state and archive. A member that was here before comes back.
    pub dir: PathBuf,
    /// What people call it; drawn when there is none.
    pub name: Option<String>,
    /// Its share of the groups, relative to that of others.
    pub weight: u16,
    /// Mutual TLS.
    pub tls: Option<Tls>,
    /// What people must show, and what this agent shows where it asks as people do.
    pub token: Option<LiveToken>,
}

/// What stays with a crawl that is a member.
#[derive(Debug)]
pub struct Seat {
    pub coordinator: Coordinator,
    pub id: AgentId,
    pub name: String,
    pub process: u64,
    pub address: SocketAddr,
    pub _server: PeerServer,
}

/// Joins and begins to crawl.
pub fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Crawl, AgentError> {
    let clock = Clock::start();
    let runtime = fetcher_runtime()?;
    let mut known = Membership::open(&options.dir, options.name.as_deref())?;
    let (arrivals, arrived) = crossbeam::channel::bounded(ARRIVALS_QUEUE);
    let (turns, turn_words) = LeaseSender::new();
    let (inbox, hall) =
        (Inbox { arrivals, turns: turns.clone() }, Arc::new(ControlHandler::default()));
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

    // Before anything else is heard: the lease, and the view that it goes with.
    inbox.offer(InboundMsg::Leased(leased_until));
    inbox.offer(InboundMsg::View(view));
    let outgoing = outgoing(id, options.tls.clone(), &runtime, &inbox, clock);
    let process = joining.process;
    let name = known.name.clone();
    let seat =
        Seat { coordinator: coordinator.clone(), id, name, process, address, _server: server };
    let build = Build { settings, clock, home, disk: Arc::new(disk), runtime };
    let (status, for_member) = (hall.status.clone(), outgoing.clone());
    let room = LeaseTask {
        me: id,
        words: turn_words,
        line: turns.clone(),
        outgoing: outgoing.clone(),
        inbox: inbox.clone(),
    };
    let crawl =
        build.crawl(SeedCounts::default(), Some(seat), Some(room), move |shared, disk| {
            let outgoing = for_member;
            let parts = ClusterParts {
                me: id,
                shared,
                outgoing,
                ip_leases: turns,
                views,
                inbox: arrived,
                status,
            };
            Ok(Replication::Cluster(Box::new(ClusterReplication::new(parts, disk)?)))
        })?;
    crawl.shared.live.begin(revision);
    crawl.meter.among_others(Post::new(id, &known.name, &hall.status, &outgoing));
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

/// Asks the coordinator until it is let in or refused, or `stop` is cancelled.
async fn become_member(
    options: &JoinOptions,
    joining: &Joining,
    known: &Membership,
    stop: &CancellationToken,
    clock: Clock,
) -> Result<(Coordinator, Joined), AgentError> {
    let (url, tls) = (&options.coordinator, options.tls.as_ref());
    let coordinator = Coordinator::at(url, tls, BearerToken::new(options.token.as_ref()), clock)?;
    let joined = coordinator.join(joining, known, stop).await?;
    let stopped = || OpenError::Broken("it was stopped while it waited to join".to_owned());
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

/// Takes a place to listen; an earlier membership of this process may be about to leave it.
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

/// The way to other agents; what they answer goes where everything from the cluster goes.
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
