//! What an agent says to the coordinator, and what it asks of the others now and then: joining,
//! heartbeats, views, promises, leaving.

use super::{Arrival, Door};
use crate::app::AgentError;
use crate::peers::{Outgoing, Promise};
use crate::report::Ended;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::tls::Tls;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{FORMAT_VERSION, RESPONSE_SIZE_MAX, v1};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// For an answer to a heartbeat: it is worth less the longer it takes.
const PATIENCE: Duration = Duration::from_secs(5);
/// Joining takes longer: the coordinator tries to reach this agent.
const JOIN_PATIENCE: Duration = Duration::from_secs(20);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(500);
/// Between two lines in the log about the same trouble.
const SAY_EVERY: Duration = Duration::from_secs(10);
/// Between two requests for promises: they hold for five times as long.
const PING_EVERY: Duration = Duration::from_secs(1);
/// In the agent's directory: what it is known by.
const FILE: &str = "agent.json";

/// What an agent is known by; kept in its directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Membership {
    /// Drawn when the directory was made.
    pub disk: u64,
    /// The name that it joined under.
    pub name: String,
    /// The number that it was given, and the crawl it was given for.
    pub given: Option<(u32, String)>,
}

impl Membership {
    /// That of the directory; made when it is not there.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn open(dir: &Path, name: Option<&str>) -> Result<Self, AgentError> {
        let path = dir.join(FILE);
        let failed = |what: &str, error: &dyn std::fmt::Display| {
            AgentError::Broken(format!("{} {what}: {error}", path.display()))
        };
        match fs::read(&path) {
            Ok(bytes) => {
                let mut known: Self =
                    serde_json::from_slice(&bytes).map_err(|e| failed("is damaged", &e))?;
                if let Some(name) = name {
                    name.clone_into(&mut known.name);
                }
                Ok(known)
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let drawn = uuid::Uuid::new_v4().as_u64_pair().0.max(1);
                let name =
                    name.map_or_else(|| format!("agent-{:08x}", drawn as u32), str::to_owned);
                fs::create_dir_all(dir).map_err(|e| {
                    AgentError::Refused(format!(
                        "the directory {} cannot be made: {e}; choose another --data",
                        dir.display()
                    ))
                })?;
                let known = Self { disk: drawn, name, given: None };
                known.keep(dir)?;
                Ok(known)
            }
            Err(error) => Err(failed("cannot be read", &error)),
        }
    }

    /// Writes it, whole or not at all.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn keep(&self, dir: &Path) -> Result<(), AgentError> {
        let (path, new) = (dir.join(FILE), dir.join("agent.json.new"));
        let text = serde_json::to_vec_pretty(self)
            .map_err(|e| AgentError::Broken(format!("{FILE} cannot be written: {e}")))?;
        File::create(&new)
            .and_then(|mut file| file.write_all(&text).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&new, &path))
            .and_then(|()| File::open(dir)?.sync_all())
            .map_err(|e| AgentError::Broken(format!("{} cannot be written: {e}", path.display())))
    }
}

/// How the coordinator is reached, and as what.
#[derive(Clone, Debug)]
pub struct Joining {
    /// `http://` or `https://`.
    pub coordinator: String,
    /// Where others reach this agent.
    pub address: String,
    /// Its share of the groups.
    pub weight: u16,
    /// This process; not 0.
    pub process: u64,
}

/// What came of joining.
#[derive(Debug)]
pub struct Joined {
    /// The agent's number.
    pub id: AgentId,
    /// Which crawl it is.
    pub crawl_id: String,
    /// The lease runs until then.
    pub leased_until: Timestamp,
    /// How long a lease is.
    pub lease: Duration,
    /// A view that has the agent in it.
    pub view: Arc<View>,
    /// The crawl's settings, as TOML.
    pub settings: String,
}

/// A connection to the coordinator, made when it is needed.
#[derive(Clone, Debug)]
pub struct Coordinator {
    client: CoordinatorClient<Channel>,
    clock: Clock,
}

impl Coordinator {
    /// The way to it.
    ///
    /// # Errors
    /// A refusal when the address or the TLS files cannot be used.
    pub fn at(url: &str, tls: Option<&Tls>, clock: Clock) -> Result<Self, AgentError> {
        let wrong = |why: String| AgentError::Refused(format!("--coordinator {url}: {why}"));
        let endpoint = Endpoint::from_shared(url.to_owned()).map_err(|e| wrong(e.to_string()))?;
        let endpoint = match (endpoint.uri().scheme_str(), tls) {
            (Some("http"), None) => endpoint,
            (Some("https"), Some(tls)) => endpoint
                .tls_config(tls.client())
                .map_err(|e| wrong(format!("the TLS files cannot be used: {e}")))?,
            (Some("http"), Some(_)) => {
                return Err(wrong(
                    "the TLS files need an address that begins with https://".into(),
                ));
            }
            (Some("https"), None) => {
                return Err(wrong("give --tls-cert, --tls-key and --tls-ca, or http://".into()));
            }
            _ => return Err(wrong("an address such as http://127.0.0.1:7070 is needed".into())),
        };
        let endpoint = endpoint
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(Duration::from_secs(2))
            .keep_alive_timeout(Duration::from_secs(3));
        let client = CoordinatorClient::new(endpoint.connect_lazy());
        Ok(Self { client: client.max_decoding_message_size(RESPONSE_SIZE_MAX), clock })
    }

    /// Joins, trying again while that may help; `None` when `stop` was cancelled before.
    ///
    /// # Errors
    /// A refusal that trying again would not change.
    pub async fn join(
        &self,
        joining: &Joining,
        known: &Membership,
        stop: &CancellationToken,
    ) -> Result<Option<Joined>, AgentError> {
        let mut said: Option<Timestamp> = None;
        loop {
            let asked = self.clock.now();
            let tried = tokio::select! {
                () = stop.cancelled() => return Ok(None),
                tried = tokio::time::timeout(JOIN_PATIENCE, self.try_join(joining, known, asked)) => tried,
            };
            let status = match tried {
                Ok(Ok(joined)) => return Ok(Some(joined)),
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded("no answer"),
            };
            if !may_try_again(&status) {
                return Err(AgentError::Refused(format!(
                    "the coordinator does not let this agent in: {}",
                    status.message()
                )));
            }
            let now = self.clock.now();
            if said.is_none_or(|last| now.since(last) >= SAY_EVERY) {
                said = Some(now);
                tracing::warn!(
                    coordinator = joining.coordinator,
                    "cannot join yet, trying on: {}",
                    whole(&status)
                );
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(None),
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
    }

    async fn try_join(
        &self,
        joining: &Joining,
        known: &Membership,
        asked: Timestamp,
    ) -> Result<Joined, Status> {
        let request = v1::JoinRequest {
            format_version: FORMAT_VERSION,
            crawl_id: known.given.as_ref().map(|(_, crawl)| crawl.clone()).unwrap_or_default(),
            id: known.given.as_ref().map(|&(id, _)| id),
            process: joining.process,
            name: known.name.clone(),
            weight: joining.weight.into(),
            address: joining.address.clone(),
            disk: known.disk,
        };
        let answer = self.client.clone().join(request).await?.into_inner();
        let view = answer.view.ok_or_else(|| Status::internal("it gave no view"))?;
        let view = View::try_from(view).map_err(|bad| Status::internal(bad.to_string()))?;
        let lease = Duration::from_millis(answer.lease_ms);
        Ok(Joined {
            id: AgentId(answer.id),
            crawl_id: answer.crawl_id,
            leased_until: asked + lease,
            lease,
            view: Arc::new(view),
            settings: answer.settings,
        })
    }

    /// Says that this process ends: to come back with its disk, or for good.
    pub async fn leave(&self, id: AgentId, process: u64, back: bool) {
        let request = v1::LeaveRequest { id: id.0, process, back };
        let mut client = self.client.clone();
        match tokio::time::timeout(PATIENCE, client.leave(request)).await {
            Ok(Ok(_)) => {}
            Ok(Err(status)) => {
                tracing::warn!(
                    "the coordinator was not told that this agent ends: {}",
                    whole(&status)
                );
            }
            Err(_) => {
                tracing::warn!("the coordinator was not told that this agent ends: no answer");
            }
        }
    }
}

/// A status with all that led to it.
fn whole(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}

fn may_try_again(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable
            | Code::ResourceExhausted
            | Code::Aborted
            | Code::DeadlineExceeded
            | Code::Unknown
            | Code::Cancelled
    )
}

/// Keeps a membership alive.
pub struct Attendance {
    pub coordinator: Coordinator,
    pub id: AgentId,
    pub process: u64,
    pub lease: Duration,
    pub outgoing: Arc<Outgoing>,
    pub door: Door,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub clock: Clock,
    /// What to do when the membership is lost.
    pub lost: Arc<dyn Fn(Ended) + Send + Sync>,
}

impl Attendance {
    /// Until it is dropped.
    pub async fn run(self) {
        let this = Arc::new(self);
        tokio::join!(this.beat(), this.watch(), this.ask_promises());
    }

    fn epoch(&self) -> u64 {
        self.views.borrow().as_ref().map_or(0, |view| view.epoch)
    }

    /// Heartbeats, several in a lease.
    async fn beat(&self) {
        let every = (self.lease / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
        let mut said: Option<Timestamp> = None;
        loop {
            tokio::time::sleep(every).await;
            let asked = self.clock.now();
            let (id, process, epoch) = (self.id.0, self.process, self.epoch());
            let mut client = self.coordinator.client.clone();
            let beat = client.heartbeat(v1::HeartbeatRequest { id, process, epoch });
            let answered = tokio::time::timeout(PATIENCE.min(self.lease), beat).await;
            let status = match answered {
                Ok(Ok(answer)) => {
                    let lease = Duration::from_millis(answer.into_inner().lease_ms);
                    self.door.bring(Arrival::Leased(asked + lease)).await;
                    if said.take().is_some() {
                        tracing::info!("the coordinator is back");
                    }
                    continue;
                }
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded("no answer"),
            };
            if matches!(status.code(), Code::NotFound | Code::FailedPrecondition | Code::Aborted) {
                tracing::warn!("this agent is no member any more: {}", status.message());
                (self.lost)(Ended::Lost);
                return;
            }
            let now = self.clock.now();
            if said.is_none_or(|last| now.since(last) >= SAY_EVERY) {
                said = Some(now);
                tracing::warn!(
                    "the coordinator cannot be reached, the crawl goes on without it: {}",
                    whole(&status)
                );
            }
        }
    }

    /// Views, as they come.
    async fn watch(&self) {
        loop {
            let known_epoch = self.epoch();
            let mut client = self.coordinator.client.clone();
            if let Ok(views) = client.watch_view(v1::WatchViewRequest { known_epoch }).await {
                let mut views = views.into_inner();
                while let Ok(Some(view)) = views.message().await {
                    match View::try_from(view) {
                        Ok(view) => self.door.bring(Arrival::View(Arc::new(view))).await,
                        Err(bad) => tracing::error!("the coordinator sent a bad view: {bad}"),
                    }
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Promises of all others, in case the coordinator is out of reach.
    async fn ask_promises(&self) {
        loop {
            let view = self.views.borrow().clone();
            for agent in view.iter().flat_map(|view| &view.agents) {
                if agent.id == self.id || agent.state == AgentState::Dead {
                    continue;
                }
                let (outgoing, door) = (self.outgoing.clone(), self.door.clone());
                let (by, clock) = (agent.id, self.clock);
                tokio::spawn(async move {
                    let asked = clock.now();
                    let arrival = match outgoing.ping(by).await {
                        Ok(Promise::Given) => Arrival::Promised { by, asked },
                        Ok(Promise::Refused(Some(view))) => Arrival::View(view),
                        Ok(Promise::Refused(None)) | Err(_) => return,
                    };
                    door.bring(arrival).await;
                });
            }
            tokio::time::sleep(PING_EVERY).await;
        }
    }
}
