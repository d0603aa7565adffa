//! Start of a member of a cluster: it listens, joins, opens its directory with the settings of the
//! crawl, and crawls.

use crate::api;
use crate::app::build::{Build, fetcher_runtime};
use crate::app::cluster_session::ClusterSession;
use crate::app::crawl::Crawl;
use crate::app::crawl_state::CrawlState;
use crate::app::error::AgentError;
use crate::cluster::coordinator_key;
use crate::cluster::{
    ClusterParts, ClusterReplication, CoordinatorClient, InboundMsg, Inbox, Joined, Joining,
    Membership, Replication,
};
use crate::engines::heartbeat::{Heartbeat, Liveness, ViewFile};
use crate::engines::ip_leases::LeaseTask;
use crate::engines::remote_robots::RemoteRobotsClient;
use crate::limits::ARRIVALS_QUEUE;
use crate::messages::LeaseSender;
use crate::observe::agent_api::ControlHandler;
use crate::observe::metrics::ClusterSources;
use crate::observe::running_agent::RunningAgent;
use crate::peers::{ExtraServices, Outgoing, PeerEvent, PeerServer, PeerTrust};
use crate::report::SeedCounts;
use crate::storage::crawl_dir::{CrawlDir, DirOwner};
use crate::storage::{DiskError, OpenError, free_space};
use crivello_common::config::Settings;
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityCheck, IdentityKey};
use crivello_common::runtime::IdentityKeyError;
use crivello_common::time::Clock;
use crivello_common::view::{AgentId, View};
use crivello_proto::auth::{AgentAccess, Guarded, NodeAuth};
use crivello_proto::cluster_view::{self, CLUSTER_VIEW_FILE};
use crivello_proto::signing::{CoordinatorClock, TicketVerifier};
use std::io::{ErrorKind, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio_util::sync::CancellationToken;
use tonic::service::Routes;

/// Bytes that an agent must be able to write to its directory before it joins for the first time.
const PROBE_BYTES: usize = 1 << 20;
/// Pause between two checks of the free space.
const SPACE_PAUSE: Duration = Duration::from_secs(1);
/// Number of attempts to open a state that is in use, and the pause between two of them.
const OPEN_TRIES: u32 = 100;
const OPEN_PAUSE: Duration = Duration::from_millis(50);

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
    /// What this agent shows to the coordinator and to other agents.
    pub auth: NodeAuth,
}

impl Crawl {
    /// Joins or rejoins a cluster, and crawls with the settings of its coordinator. Waits while the
    /// coordinator cannot be reached, until `stop` is cancelled.
    ///
    /// # Errors
    /// [`AgentError::is_usage`] distinguishes refusals from failures.
    pub fn join(options: &JoinOptions, stop: &CancellationToken) -> Result<Self, AgentError> {
        let clock = Clock::start();
        let runtime = fetcher_runtime()?;
        let mut known = Membership::open(&options.dir, options.name.as_deref())?;
        // The client of the coordinator is created within the runtime.
        let _entered = runtime.enter();
        let coordinator = CoordinatorClient::at(&options.coordinator, &options.auth, clock)?;
        let wait = Waiting { options, coordinator: &coordinator, stop };
        // An agent that cannot open its state, or write to it, must not hold a lease.
        let settings = runtime.block_on(wait.settings())?;
        let opened = match CrawlDir::has_begun(&options.dir) {
            true => Some(runtime.block_on(wait.open_state(&known, &settings, clock))?),
            false => None,
        };
        if opened.is_none() {
            check_writable(&options.dir)?;
        }
        runtime.block_on(wait.space(&settings))?;
        let (messages, inbound) = crossbeam::channel::bounded(ARRIVALS_QUEUE);
        let (lease_sender, lease_commands) = LeaseSender::new();
        let inbox = Inbox { messages, ip_leases: lease_sender.clone() };
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
        let joining = Joining {
            coordinator: options.coordinator.clone(),
            address: options.advertise.clone().unwrap_or_else(|| address.to_string()),
            weight: options.weight,
            crawl_id: opened.as_ref().map(|state| state.home.identity.crawl_id.clone()),
            known_epoch: known_epoch(&options.dir),
            process: uuid::Uuid::new_v4().as_u64_pair().0.max(1),
            identity_check: identity_check(&options.dir, &known)?,
        };
        let joined = runtime.block_on(wait.join(&joining, &known))?;
        let Joined {
            id,
            crawl_id,
            identity_key,
            leased_until,
            lease,
            view,
            coordinator_key,
            now,
            settings: toml,
            revision,
        } = joined;
        let owner = DirOwner { crawl: Some((&crawl_id, identity_key)), disk_id: known.disk };
        let pinned = coordinator_key::pin(&options.dir, &crawl_id, coordinator_key);
        let opened = pinned.map_err(AgentError::from).and_then(|()| {
            trust.book.pin(coordinator_key, &crawl_id);
            let view = trust.book.accept(view);
            let view = view.map_err(|bad| OpenError::Refused(bad.to_string()))?;
            access.clock.set(now);
            keep_key(&options.dir, &crawl_id, identity_key)?;
            let settings = read_settings(&toml)?;
            let state = match opened {
                Some(state) => state,
                None => {
                    let dir = CrawlDir::open(&options.dir, &settings, clock.now(), Some(owner))?;
                    CrawlState::open(dir, &settings)?
                }
            };
            Ok((view, settings, state))
        });
        let (view, settings, state) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                // The next process may begin at once.
                runtime.block_on(coordinator.leave((id, joining.process), true, false, None));
                return Err(error);
            }
        };
        known.given = Some((id.0, crawl_id.clone()));
        known.save(&options.dir)?;
        let view_file = options.dir.join(CLUSTER_VIEW_FILE);

        // The first messages: the lease, and the view to which it belongs.
        inbox.offer(InboundMsg::Leased(leased_until));
        inbox.offer(InboundMsg::View(view));
        let outgoing = outgoing(id, trust.clone(), &runtime, &inbox, clock);
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
        let build = Build { settings, clock, state, runtime };
        let (status, for_member) = (control.status.clone(), outgoing.clone());
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
        )?;
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
        if let Some(runtime) = crawl.runtime.lock().as_ref() {
            runtime.spawn(robots.run());
            runtime.spawn(crawl.shared.fetch_deadline.clone().watch(crawl.shared.clock));
            runtime.spawn(heartbeat.run());
        }
        Ok(crawl)
    }
}

/// Returns the proof that a member has the key of its crawl; `None` for an agent that joins for the
/// first time.
fn identity_check(dir: &Path, known: &Membership) -> Result<Option<IdentityCheck>, OpenError> {
    let Some((_, crawl_id)) = &known.given else { return Ok(None) };
    Ok(Some(read_key(dir, crawl_id)?.check(crawl_id)))
}

fn read_key(dir: &Path, crawl_id: &str) -> Result<IdentityKey, OpenError> {
    IdentityKey::read(dir, crawl_id).map_err(|error| OpenError::Broken(error.to_string()))
}

/// Stores the key that the coordinator sent, unless the directory has it.
fn keep_key(dir: &Path, crawl_id: &str, key: IdentityKey) -> Result<(), OpenError> {
    let why = match IdentityKey::read(dir, crawl_id) {
        Ok(ours) if ours == key => return Ok(()),
        Ok(_) => format!(
            "{} is not the key of this cluster's crawl; choose another --data",
            dir.join(IDENTITY_KEY_FILE).display()
        ),
        Err(IdentityKeyError::Missing(_)) => match key.write(dir, crawl_id) {
            Ok(()) => return Ok(()),
            Err(error) => {
                let path = dir.join(IDENTITY_KEY_FILE);
                return Err(OpenError::Broken(format!("{}: {error}", path.display())));
            }
        },
        Err(error) => error.to_string(),
    };
    Err(OpenError::Refused(why))
}

/// Reads and checks the settings of the crawl.
fn read_settings(toml: &str) -> Result<Settings, OpenError> {
    Settings::from_toml("the coordinator's settings", toml)
        .and_then(|settings| settings.check_shared().map(|()| settings))
        .map_err(|errors| OpenError::Refused(errors.to_string()))
}

/// Checks that a new agent can write to its directory.
fn check_writable(dir: &Path) -> Result<(), OpenError> {
    let probe = dir.join(".probe");
    let write = || {
        let mut file = std::fs::File::create(&probe)?;
        file.write_all(&vec![0; PROBE_BYTES])?;
        file.sync_all()
    };
    let written = write();
    // Best effort: the file is empty or small, and is overwritten the next time.
    let _ = std::fs::remove_file(&probe);
    written.map_err(|error| {
        OpenError::Broken(format!("{} cannot be written to: {error}", dir.display()))
    })
}

/// Returns the epoch of the last view in the directory; 0 if there is none.
fn known_epoch(dir: &Path) -> u64 {
    let bytes = std::fs::read(dir.join(CLUSTER_VIEW_FILE)).unwrap_or_default();
    let view = cluster_view::decode(&bytes).ok().and_then(|known| known.view);
    view.map_or(0, |view| view.epoch)
}

/// Calls to the coordinator that are repeated until they succeed, are refused, or `stop` is
/// cancelled.
struct Waiting<'a> {
    options: &'a JoinOptions,
    coordinator: &'a CoordinatorClient,
    stop: &'a CancellationToken,
}

impl Waiting<'_> {
    /// Returns the settings in force.
    async fn settings(&self) -> Result<Settings, AgentError> {
        let settings = self.coordinator.settings(&self.options.coordinator);
        let settings = self.stop.run_until_cancelled(settings).await;
        Ok(read_settings(&settings.ok_or_else(stopped)??)?)
    }

    /// Waits until the disk has free space: a member without it would lose its lease again.
    async fn space(&self, settings: &Settings) -> Result<(), AgentError> {
        let needed = settings.fixed.state.disk_free_min.0;
        let is_full = || free_space(&self.options.dir).is_some_and(|free| free < needed);
        if is_full() {
            tracing::warn!(needed, "the disk is full; this agent joins when there is free space");
        }
        while is_full() {
            let pause = tokio::time::sleep(SPACE_PAUSE);
            self.stop.run_until_cancelled(pause).await.ok_or_else(stopped)?;
        }
        Ok(())
    }

    /// Opens the state of an agent that returns, with the settings in force.
    async fn open_state(
        &self,
        known: &Membership,
        settings: &Settings,
        clock: Clock,
    ) -> Result<CrawlState, AgentError> {
        let key = |crawl_id| read_key(&self.options.dir, crawl_id).map(|key| (crawl_id, key));
        let crawl = known.given.as_ref().map(|(_, crawl_id)| key(crawl_id.as_str())).transpose()?;
        let owner = DirOwner { crawl, disk_id: known.disk };
        let mut tries = OPEN_TRIES;
        loop {
            match CrawlDir::open(&self.options.dir, settings, clock.now(), Some(owner)) {
                // An earlier membership of this process may be about to release it.
                Err(OpenError::Disk(DiskError::InUse { .. })) if tries > 0 => tries -= 1,
                opened => return CrawlState::open(opened?, settings),
            }
            tokio::time::sleep(OPEN_PAUSE).await;
        }
    }

    /// Joins the cluster.
    async fn join(&self, joining: &Joining, known: &Membership) -> Result<Joined, AgentError> {
        let joined = self.stop.run_until_cancelled(self.coordinator.join(joining, known)).await;
        Ok(joined.ok_or_else(stopped)??)
    }
}

fn stopped() -> OpenError {
    OpenError::Broken("stopped while waiting to join".to_owned())
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
    let listener = bind(options.listen).await?;
    let inbox = Arc::new(inbox.clone());
    let control: Arc<dyn api::AgentApi> = Arc::clone(control) as _;
    let control = Guarded::new(api::service(control), access.clone());
    let beside = ExtraServices { routes: Routes::new(control), names: &[api::NAME] };
    PeerServer::start(listener, trust.clone(), views, inbox, beside, clock)
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
    trust: PeerTrust,
    runtime: &Runtime,
    inbox: &Inbox,
    clock: Clock,
) -> Arc<Outgoing> {
    let (heard, mut answers) = mpsc::channel::<PeerEvent>(crate::limits::PEER_ANSWERS);
    let outgoing = Outgoing::new(id, trust, runtime.handle().clone(), heard, clock);
    let inbox = inbox.clone();
    runtime.spawn(async move {
        while let Some(heard) = answers.recv().await {
            inbox.deliver(InboundMsg::Peer(heard)).await;
        }
    });
    Arc::new(outgoing)
}
