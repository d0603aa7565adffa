//! How an agent becomes a member: it listens, joins, opens its directory with the crawl's settings,
//! and crawls.

use crate::api;
use crate::app::{AgentError, Build, Crawl, fetcher_runtime};
use crate::cluster::{
    ControlHandler, Coordinator, Door, Heartbeat, InboundMsg, Joined, Joining, Member, Membership,
    Parts, Resident,
};
use crate::engines::ip_leases::LeaseTask;
use crate::limits::ARRIVALS_QUEUE;
use crate::messages::LeaseSender;
use crate::observe::explain::Informer;
use crate::observe::metrics::Post;
use crate::peers::{ExtraServices, Heard, Outgoing, PeerServer};
use crate::report::SeedCounts;
use crate::storage::OpenError;
use crate::storage::crawl_dir::CrawlDir;
use crivello_common::config::Settings;
use crivello_common::time::Clock;
use crivello_common::view::{AgentId, View};
use crivello_proto::LiveToken;
use crivello_proto::guard::{Guarded, Show};
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
    let (door, hall) =
        (Door { arrivals, turns: turns.clone() }, Arc::new(ControlHandler::default()));
    let (views, view_in_force) = watch::channel(None);
    let server = runtime.block_on(serve(options, view_in_force.clone(), &door, &hall, clock))?;
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
    door.offer(InboundMsg::Leased(leased_until));
    door.offer(InboundMsg::View(view));
    let outgoing = outgoing(id, options.tls.clone(), &runtime, &door, clock);
    let process = joining.process;
    let name = known.name.clone();
    let seat =
        Seat { coordinator: coordinator.clone(), id, name, process, address, _server: server };
    let build = Build { settings, clock, home, disk: Arc::new(disk), runtime };
    let (doings, for_member) = (hall.doings.clone(), outgoing.clone());
    let room = LeaseTask {
        me: id,
        words: turn_words,
        line: turns.clone(),
        outgoing: outgoing.clone(),
        door: door.clone(),
        views: view_in_force.clone(),
    };
    let crawl =
        build.crawl(SeedCounts::default(), Some(seat), Some(room), move |shared, disk| {
            let outgoing = for_member;
            let parts = Parts { me: id, shared, outgoing, turns, views, arrivals: arrived, doings };
            Ok(Some(Member::new(parts, disk)?))
        })?;
    crawl.shared.live.begin(revision);
    crawl.meter.among_others(Post::new(id, &known.name, &hall.doings, &outgoing));
    hall.attach(Resident {
        id,
        name: known.name,
        crawl_id,
        process,
        shared: crawl.shared.clone(),
        rules: crawl.rules.clone(),
        disk: crawl.disk.clone(),
        door: door.clone(),
        informer: Arc::new(Informer::new(
            id,
            crawl.disk.clone(),
            crawl.rules.clone(),
            crawl.home.dir.join("warc"),
            crawl.shared.clone(),
            crawl.desk.clone(),
        )),
        meter: crawl.meter.clone(),
    });
    let (shared, rules, views) = (crawl.shared.clone(), crawl.rules.clone(), view_in_force);
    let attendance =
        Heartbeat { coordinator, id, process, lease, outgoing, door, views, shared, rules };
    attend(&crawl, attendance);
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
    let coordinator = Coordinator::at(url, tls, Show::new(options.token.as_ref()), clock)?;
    let joined = coordinator.join(joining, known, stop).await?;
    let stopped = || OpenError::Broken("it was stopped while it waited to join".to_owned());
    Ok((coordinator, joined.ok_or_else(stopped)?))
}

/// Has the membership kept alive, and the gate watched.
fn attend(crawl: &Crawl, attendance: Heartbeat) {
    if let Some(runtime) = crawl.runtime.lock().as_ref() {
        runtime.spawn(crawl.shared.fence.clone().watch(crawl.shared.clock));
        runtime.spawn(attendance.run());
    }
}

async fn serve(
    options: &JoinOptions,
    views: watch::Receiver<Option<Arc<View>>>,
    door: &Door,
    hall: &Arc<ControlHandler>,
    clock: Clock,
) -> Result<PeerServer, AgentError> {
    options.tls.iter().for_each(Tls::keep_fresh);
    options.token.iter().for_each(LiveToken::keep_fresh);
    let listener = bind(options.listen).await?;
    let door = Arc::new(door.clone());
    let house = Arc::clone(hall) as Arc<dyn api::AgentApi>;
    let control = Guarded::new(api::service(house), options.token.clone(), &[]);
    let beside = ExtraServices { routes: Routes::new(control), names: &[api::NAME] };
    PeerServer::start(listener, options.tls.clone(), views, door, beside, clock)
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
    door: &Door,
    clock: Clock,
) -> Arc<Outgoing> {
    let (heard, mut answers) = mpsc::channel::<Heard>(crate::limits::PEER_ANSWERS);
    let outgoing = Outgoing::new(id, tls, runtime.handle().clone(), heard, clock);
    let door = door.clone();
    runtime.spawn(async move {
        while let Some(heard) = answers.recv().await {
            door.bring(InboundMsg::Heard(heard)).await;
        }
    });
    Arc::new(outgoing)
}
