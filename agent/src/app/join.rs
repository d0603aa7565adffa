//! Start of a member of a cluster: it opens its directory, if there is one, with the settings of the
//! crawl, listens, joins, and crawls.

use crate::api;
use crate::app::build::{Build, fetcher_runtime};
use crate::app::crawl::Crawl;
use crate::app::crawl_state::CrawlState;
use crate::app::error::AgentError;
use crate::cluster::joining::{self, JoinSteps};
use crate::cluster::{
    ClusterParts, ClusterReplication, ClusterSession, CoordinatorClient, InboundMsg, Inbox, Joined,
    Membership, Replication,
};
use crate::engines::heartbeat::{Heartbeat, Liveness, ViewFile};
use crate::engines::host_ranks::HostRanksClient;
use crate::engines::ip_leases::LeaseQueue;
use crate::engines::peer_payloads::PayloadPeers;
use crate::engines::remote_robots::RemoteRobotsClient;
use crate::engines::writer::open_archive;
use crate::limits::ARRIVALS_QUEUE;
use crate::messages::LeaseSender;
use crate::observe::agent_api::ControlHandler;
use crate::observe::host_arcs::host_arcs;
use crate::observe::metrics::ClusterSources;
use crate::observe::running_agent::RunningAgent;
use crate::peers::{ExtraServices, Outgoing, PeerEvent, PeerServer, PeerTrust};
use crate::report::SeedCounts;
use crate::storage::OpenError;
use crate::storage::crawl_dir::{CrawlDir, DirOwner};
use crate::storage::ranks::RankStore;
use crivello_common::config::Settings;
use crivello_common::time::Clock;
use crivello_common::uploads::TableMaker;
use crivello_common::view::{AgentId, View};
use crivello_proto::auth::{AgentAccess, Guarded, NodeAuth};
use crivello_proto::cluster_view::CLUSTER_VIEW_FILE;
use crivello_proto::signing::{CoordinatorClock, TicketVerifier};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
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
    /// Credentials of the agent.
    pub auth: NodeAuth,
    /// Maker of the tables of archive files that are uploaded; without it there are no uploads.
    pub tables: Option<TableMaker>,
}

impl Crawl {
    /// Joins or rejoins a cluster, and crawls with the settings of its coordinator. Waits while the
    /// coordinator cannot be reached, and while the disk is full, until `stop` is cancelled.
    ///
    /// # Errors
    /// [`AgentError::is_usage`] distinguishes refusals from failures.
    pub fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Self, AgentError> {
        joining::retry_until_space(stop, AgentError::is_full, || Self::try_join(options, stop))
    }

    fn try_join(options: &JoinOptions, stop: &CancellationToken) -> Result<Self, AgentError> {
        let clock = Clock::start();
        let runtime = fetcher_runtime()?;
        let mut known = Membership::open(&options.dir, options.name.as_deref())?;
        // The client of the coordinator is created within the runtime.
        let _entered = runtime.enter();
        let coordinator = CoordinatorClient::at(&options.coordinator, &options.auth, clock)?;
        let steps = JoinSteps {
            coordinator: &options.coordinator,
            client: &coordinator,
            dir: &options.dir,
            stop,
        };
        let settings = runtime.block_on(steps.settings())?;
        let opened = runtime.block_on(steps.state(&known, &settings, clock.now()))?;
        let ranks = RankStore::new(&options.dir, settings.fixed.state.ranks_memory);
        let open_state = |dir, settings: &Settings| CrawlState::open(dir, settings, ranks.clone());
        let opened = opened.map(|dir| open_state(dir, &settings)).transpose()?;
        runtime.block_on(steps.space(&settings))?;
        let (messages, inbound) = crossbeam::channel::bounded(ARRIVALS_QUEUE);
        let (lease_sender, lease_commands) = LeaseSender::new();
        let (ip_leases, own_payloads) = (lease_sender.clone(), Arc::default());
        let inbox = Inbox { messages, ip_leases, ranks: ranks.clone(), payloads: own_payloads };
        let control = Arc::new(ControlHandler::default());
        let (views, view_in_force) = watch::channel(None);
        let trust = PeerTrust { auth: options.auth.clone(), book: Arc::default() };
        let access = AgentAccess {
            verifier: Arc::default(),
            clock: Arc::new(CoordinatorClock::new(clock)),
            node_secret: options.auth.secret.clone(),
        };
        let serving =
            serve(options, &trust, &access, view_in_force.clone(), &inbox, &control, clock);
        let server = runtime.block_on(serving)?;
        let address = server.address();
        let crawl_id = opened.as_ref().map(|state| state.home.identity.crawl_id.clone());
        let advertised = options.advertise.clone().unwrap_or_else(|| address.to_string());
        let request = steps.request(&known, crawl_id, (advertised, options.weight))?;
        let joined = runtime.block_on(steps.join(&request, &known))?;
        let (id, process) = (joined.id, request.process);
        // The agent's next process need not wait for the end of the lease if this one cannot start.
        let leave = |_: &AgentError| {
            runtime.block_on(coordinator.leave((id, process), true, false, None));
        };
        let directory = (&*options.dir, &mut known);
        let verifiers = (&*trust.book, &*access.clock);
        let open = |settings: &Settings, owner: DirOwner<'_>| -> Result<_, AgentError> {
            let state = match opened {
                Some(state) => state,
                None => {
                    let dir = CrawlDir::open(&options.dir, settings, clock.now(), Some(owner))?;
                    open_state(dir, settings)?
                }
            };
            let archive = open_archive(&state.home, &state.disk, settings)?;
            Ok((state, archive))
        };
        let accepted = joining::accept(directory, &joined, verifiers, open);
        let (view, settings, (state, archive)) = accepted.inspect_err(leave)?;
        let Joined { crawl_id, leased_until, lease, settings: toml, revision, .. } = joined;
        let view_file = options.dir.join(CLUSTER_VIEW_FILE);

        // The first messages: the lease, and the view to which it belongs.
        inbox.offer(InboundMsg::Leased(leased_until));
        inbox.offer(InboundMsg::View(view));
        let outgoing = outgoing(id, trust.clone(), &runtime, &inbox, clock);
        let name = known.name.clone();
        let session = ClusterSession {
            coordinator: coordinator.clone(),
            id,
            name,
            process,
            address,
            _server: server,
        };
        let build = Build { settings, clock, state, archive, tables: options.tables };
        let (status, for_member) = (control.status.clone(), outgoing.clone());
        let lease_queue = LeaseQueue {
            me: id,
            commands: lease_commands,
            sender: lease_sender.clone(),
            outgoing: outgoing.clone(),
            inbox: inbox.clone(),
        };
        let payload_peers = PayloadPeers {
            me: id,
            outgoing: outgoing.clone(),
            views: view_in_force.clone(),
            own: inbox.payloads.clone(),
        };
        let crawl = build.crawl(
            &runtime,
            SeedCounts::default(),
            Some(session),
            Some(lease_queue),
            Some(payload_peers),
            move |shared, outbox| {
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
                Replication::Cluster(Box::new(ClusterReplication::new(parts, outbox)))
            },
        );
        let crawl = crawl.inspect_err(leave)?;
        crawl.shared.live.begin(revision);
        crawl.meter.add_cluster(ClusterSources {
            me: id,
            name: known.name.clone(),
            status: control.status.clone(),
            outgoing: outgoing.clone(),
        });
        control.attach(RunningAgent {
            id,
            name: known.name,
            crawl_id: crawl_id.clone(),
            process,
            shared: crawl.shared.clone(),
            rules: crawl.rules.clone(),
            disk: crawl.disk.clone(),
            archive: crawl.home.dir.join("warc"),
            view_file: view_file.clone(),
            book: Arc::clone(&trust.book),
            queues: crawl.queues.clone(),
            inbox: inbox.clone(),
            meter: crawl.meter.clone(),
            host_arcs: host_arcs(&crawl.home, &crawl.shared),
            index: crawl.index.clone(),
        });
        // From now on the agent obeys the tickets of its coordinator. Nobody else sets this.
        let verifier = TicketVerifier { book: Arc::clone(&trust.book), agent: id };
        let _ = access.verifier.set(verifier);
        let (shared, rules, views) = (crawl.shared.clone(), crawl.rules.clone(), view_in_force);
        let robots = RemoteRobotsClient {
            outgoing: outgoing.clone(),
            views: views.clone(),
            settings: shared.settings.clone(),
            hasher: shared.hasher,
            queues: crawl.queues.clone(),
        };
        let ranks = HostRanksClient {
            me: id,
            outgoing: outgoing.clone(),
            views: views.clone(),
            shared: shared.clone(),
        };
        let heartbeat = Heartbeat {
            coordinator,
            id,
            process,
            lease,
            outgoing,
            inbox,
            views,
            shared,
            rules,
            liveness: Liveness::default(),
            view_file: ViewFile::new(view_file, crawl_id, toml, revision),
            book: trust.book,
            dir: options.dir.clone(),
            coordinator_clock: access.clock,
            auth: trust.auth,
        };
        runtime.spawn(robots.run());
        runtime.spawn(ranks.run());
        runtime.spawn(crawl.shared.fetch_deadline.clone().watch(crawl.shared.clock));
        runtime.spawn(heartbeat.run());
        crawl.keep_runtime(runtime);
        Ok(crawl)
    }
}

async fn serve(
    options: &JoinOptions,
    trust: &PeerTrust,
    access: &AgentAccess,
    views: watch::Receiver<Option<Arc<View>>>,
    inbox: &Inbox,
    control: &Arc<ControlHandler>,
    clock: Clock,
) -> Result<PeerServer, AgentError> {
    options.auth.watch();
    let listener = PeerServer::bind(options.listen).await;
    let listener = listener
        .map_err(|error| OpenError::Refused(format!("--listen {}: {error}", options.listen)))?;
    let inbox = Arc::new(inbox.clone());
    let control: Arc<dyn api::AgentApi> = Arc::clone(control) as _;
    let control = Guarded::new(api::service(control), access.clone());
    let beside = ExtraServices { routes: Routes::new(control), names: &[api::NAME] };
    PeerServer::start(listener, trust.clone(), views, inbox, beside, clock)
        .await
        .map_err(|error| OpenError::Refused(error.to_string()).into())
}

/// Creates the client for other agents. Their answers go to the inbox, as all messages of the
/// cluster do.
fn outgoing(
    id: AgentId,
    trust: PeerTrust,
    runtime: &Runtime,
    inbox: &Inbox,
    clock: Clock,
) -> Arc<Outgoing> {
    let (events, mut answers) = mpsc::channel::<PeerEvent>(crate::limits::PEER_ANSWERS);
    let outgoing = Outgoing::new(id, trust, runtime.handle().clone(), events, clock);
    let inbox = inbox.clone();
    runtime.spawn(async move {
        while let Some(event) = answers.recv().await {
            inbox.deliver(InboundMsg::Peer(event)).await;
        }
    });
    Arc::new(outgoing)
}
