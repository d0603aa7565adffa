//! The gRPC service: checks requests, runs them as commands of the membership, and sends the
//! results.

use crate::draft::{Command, CommandError, Reply};
use crate::etcd::ActiveUntil;
use crate::members::{HeartbeatReport, MemberEvent, MemberRefusal, ProcessId};
use crate::membership::MembershipHandle;
use crate::probe::probe_address;
use crate::recrawl_rate::RecrawlRate;
use crate::settings::EditRejected;
use crate::watchers::{Latest, Watchers};
use crivello_common::certificate_id::CertificateId;
use crivello_common::config::{Edit, EditError};
use crivello_common::identity::{IDENTITY_KEY_FILE, IdentityKey};
use crivello_common::runtime::set_log_filter;
use crivello_common::time::{Clock, millis};
use crivello_common::view::{AgentId, View, check_address};
use crivello_proto::auth::{check_allowed, check_sender};
use crivello_proto::deny::DenyList;
use crivello_proto::signing::{Scope, TICKET_LIFETIME, Ticket, ViewSigner};
use crivello_proto::v1::coordinator_server::Coordinator;
use crivello_proto::view::run_state;
use crivello_proto::{FORMAT_VERSION, NodeConnectInfo, v1, v1::setting_edit::Change};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tonic::{Code, Request, Response, Status};

/// Maximum number of edits in one request.
const EDITS_MAX: usize = 1_000;

/// The service; see `coordinator.proto` for the contract of each call.
#[derive(Debug)]
pub(crate) struct Rpc {
    pub(crate) membership: MembershipHandle,
    pub(crate) watchers: Watchers,
    pub(crate) crawl_id: String,
    pub(crate) identity_key: IdentityKey,
    /// Signs views and tickets.
    pub(crate) signer: Arc<ViewSigner>,
    /// Agents that are refused.
    pub(crate) deny: Option<DenyList>,
    pub(crate) active: ActiveUntil,
    pub(crate) clock: Clock,
    pub(crate) recrawl_rate: RecrawlRate,
}

type RpcResult<T> = Result<Response<T>, Status>;

impl From<CommandError> for Status {
    fn from(error: CommandError) -> Self {
        let code = match &error {
            CommandError::Refused(refusal) => refusal_code(*refusal),
            CommandError::Edit(rejected) => edit_code(rejected),
            CommandError::NotStored(_) | CommandError::Ending | CommandError::Deposed => {
                Code::Unavailable
            }
            CommandError::Busy => Code::ResourceExhausted,
        };
        Self::new(code, error.to_string())
    }
}

const fn refusal_code(refusal: MemberRefusal) -> Code {
    match refusal {
        MemberRefusal::Unknown => Code::NotFound,
        MemberRefusal::NameTaken | MemberRefusal::AddressTaken => Code::AlreadyExists,
        MemberRefusal::BadName(_) | MemberRefusal::BadAddress(_) | MemberRefusal::BadWeight => {
            Code::InvalidArgument
        }
        MemberRefusal::OtherProcess
        | MemberRefusal::Excluded { .. }
        | MemberRefusal::NeverReady { .. } => Code::Aborted,
        MemberRefusal::OtherCertificate { .. } => Code::PermissionDenied,
        MemberRefusal::Full | MemberRefusal::TooManyViews => Code::ResourceExhausted,
        // Agents continue as if there were no coordinator.
        MemberRefusal::OutdatedRecord { .. } => Code::Unavailable,
        MemberRefusal::StrangeId
        | MemberRefusal::Refetched
        | MemberRefusal::WeightChanged
        | MemberRefusal::LeaseLost
        | MemberRefusal::NotDrained
        | MemberRefusal::Alive
        | MemberRefusal::Dead
        | MemberRefusal::LastActive
        | MemberRefusal::StillCopying
        | MemberRefusal::OnlyCopy
        | MemberRefusal::Stopping => Code::FailedPrecondition,
    }
}

const fn edit_code(rejected: &EditRejected) -> Code {
    match rejected {
        EditRejected::Edit(EditError::Invalid(_)) | EditRejected::TooLong(_) => {
            Code::InvalidArgument
        }
        EditRejected::Edit(EditError::Fixed { .. }) => Code::FailedPrecondition,
        EditRejected::Outdated { .. } => Code::Aborted,
    }
}

/// Checks the number that identifies a process.
fn process_id(number: u64) -> Result<ProcessId, Status> {
    match number {
        0 => Err(Status::invalid_argument("the process number must not be 0")),
        number => Ok(ProcessId(number)),
    }
}

/// Checks the identity of a certificate; `None` if there is none.
fn certificate(bytes: &[u8]) -> Result<Option<CertificateId>, Status> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let id = bytes.try_into().map(CertificateId);
    id.map(Some).map_err(|_| Status::invalid_argument("a certificate's identity has 32 bytes"))
}

/// Checks the edits of a request.
fn undelivered(sent: &v1::Undelivered) -> (AgentId, Duration) {
    (AgentId(sent.agent), Duration::from_millis(sent.since_ms))
}

fn read_edits(edits: Vec<v1::SettingEdit>) -> Result<Vec<(String, Edit)>, Status> {
    if edits.is_empty() || edits.len() > EDITS_MAX {
        let n = edits.len();
        return Err(Status::invalid_argument(format!("{n} edits; send 1 to {EDITS_MAX}")));
    }
    let read = |v1::SettingEdit { key, change }| match change {
        Some(Change::Value(value)) => Ok((key, Edit::Set(value))),
        Some(Change::Add(entry)) => Ok((key, Edit::Add(entry))),
        Some(Change::Remove(entry)) => Ok((key, Edit::Remove(entry))),
        Some(Change::Unset(v1::Unset {})) => Ok((key, Edit::Unset)),
        None => Err(Status::invalid_argument(format!("{key}: no change is given"))),
    };
    edits.into_iter().map(read).collect()
}

impl Rpc {
    async fn run(&self, command: Command) -> Result<Reply, Status> {
        Ok(self.membership.run(command).await?)
    }

    /// Runs a command of a person, and returns the view in force.
    async fn change(&self, command: Command) -> RpcResult<v1::ViewResponse> {
        let reply = self.run(command).await?;
        Ok(Response::new(v1::ViewResponse { view: self.view(&reply.view) }))
    }

    async fn try_join(
        &self,
        join: v1::JoinRequest,
        (from, certificate): (Option<IpAddr>, Option<CertificateId>),
    ) -> Result<v1::JoinResponse, Status> {
        let process = process_id(join.process)?;
        join.id.map_or(Ok(()), |id| check_allowed(self.deny.as_ref(), AgentId(id)))?;
        self.check_kind(&join)?;
        let weight =
            u16::try_from(join.weight).map_err(|_| CommandError::from(MemberRefusal::BadWeight))?;
        check_address(&join.address)
            .map_err(|why| CommandError::from(MemberRefusal::BadAddress(why)))?;
        probe_address(&join.address, from).await.map_err(Status::failed_precondition)?;
        let v1::JoinRequest { disk_id: disk, name, address, known_epoch, .. } = join;
        if disk == 0 {
            return Err(Status::invalid_argument("the directory number must not be 0"));
        }
        let id = join.id.map(AgentId);
        let event = MemberEvent::Join {
            id,
            disk,
            process,
            name,
            address,
            weight,
            known_epoch,
            certificate,
        };
        let reply = self.run(Command::Event(event, None)).await?;
        let (id, lease) = reply.lease.ok_or_else(|| Status::internal("no lease was granted"))?;
        let settings = v1::CrawlSettings::clone(&self.membership.settings.borrow());
        Ok(v1::JoinResponse {
            id: id.0,
            crawl_id: self.crawl_id.clone(),
            lease_ms: millis(lease),
            view: self.view(&reply.view),
            settings: settings.toml,
            settings_revision: settings.revision,
            identity_key: self.identity_key.to_bytes().to_vec().into(),
            coordinator_key: self.signer.key().public().to_bytes().to_vec().into(),
            now: self.clock.now().0,
        })
    }

    /// Returns the message of a view, signed.
    fn view(&self, view: &View) -> Option<v1::View> {
        Some(self.signer.message(view))
    }

    /// Refuses a call of member `id` over the connection of another certificate.
    fn check_caller<T>(&self, id: u32, request: &Request<T>) -> Result<(), Status> {
        let connection = request.extensions().get::<NodeConnectInfo>();
        let shown = connection.and_then(NodeConnectInfo::certificate);
        let view = self.membership.views.borrow();
        check_sender(self.deny.as_ref(), Some(&view), AgentId(id), shown)
    }

    /// Refuses agents with another format version, from another crawl, or with another identity key.
    fn check_kind(&self, join: &v1::JoinRequest) -> Result<(), Status> {
        let theirs = join.format_version;
        if theirs != FORMAT_VERSION {
            return Err(Status::failed_precondition(format!(
                "the agent has format version {theirs}, the coordinator {FORMAT_VERSION}: run the same version of crivello everywhere"
            )));
        }
        if !join.crawl_id.is_empty() && join.crawl_id != self.crawl_id {
            return Err(Status::failed_precondition(format!(
                "the agent's directory belongs to another crawl than this one, which is {}: start it with another --data, or with the coordinator of its crawl",
                self.crawl_id
            )));
        }
        let check = self.identity_key.check(&self.crawl_id);
        if !join.crawl_id.is_empty() && *join.identity_check != check {
            return Err(Status::failed_precondition(format!(
                "the agent has another identity key than crawl {}: copy {IDENTITY_KEY_FILE} from the directory of the coordinator or of another agent of this crawl, or start the agent with another --data",
                self.crawl_id
            )));
        }
        Ok(())
    }
}

#[tonic::async_trait]
impl Coordinator for Rpc {
    type WatchViewStream = Latest<v1::View>;

    async fn join(&self, request: Request<v1::JoinRequest>) -> RpcResult<v1::JoinResponse> {
        let connection = request.extensions().get::<NodeConnectInfo>().cloned().unwrap_or_default();
        let from = connection.remote_addr().map(|at| at.ip());
        let certificate = connection.certificate();
        let joined = self.try_join(request.into_inner(), (from, certificate)).await;
        if let Err(status) = &joined {
            let from = from.map(|ip| ip.to_string()).unwrap_or_default();
            tracing::info!("an agent from {from} is rejected: {}", status.message());
        }
        joined.map(Response::new)
    }

    async fn heartbeat(
        &self,
        request: Request<v1::HeartbeatRequest>,
    ) -> RpcResult<v1::HeartbeatResponse> {
        let v1::HeartbeatRequest { id, process: number, epoch, quota, .. } = *request.get_ref();
        self.check_caller(id, &request)?;
        let (id, process) = (AgentId(id), process_id(number)?);
        let sent = request.into_inner();
        let report = HeartbeatReport {
            id,
            process,
            epoch,
            digest: sent.view_digest,
            scanned: sent.scanned,
            settled_epoch: sent.settled_epoch,
            copied_since: sent.copied_since,
            stalled: Duration::from_millis(sent.stalled_ms),
            disk_full: sent.disk_full,
            unreachable: sent.unreachable.into_iter().map(AgentId).collect(),
            undelivered: sent.undelivered.iter().map(undelivered).collect(),
            safe_files: sent.safe_files,
            certificate: certificate(&sent.certificate)?,
        };
        let (quota, demand) = (quota.map(|pages| (id, (pages, process))), sent.recrawl);
        let reply = self.run(Command::Event(MemberEvent::Heartbeat(report), quota)).await?;
        let (_, lease) = reply.lease.ok_or_else(|| Status::internal("no lease was granted"))?;
        let settings = self.membership.settings.borrow().clone();
        let on_demand = |demand: v1::RecrawlDemand| {
            self.recrawl_rate.on_report(id, &demand, &reply.view, &settings)
        };
        let recrawl_threshold = demand.and_then(on_demand);
        Ok(Response::new(v1::HeartbeatResponse {
            lease_ms: millis(lease),
            epoch: reply.view.epoch,
            quota: reply.pages,
            copies_wanted: reply.copies_wanted,
            now: self.clock.now().0,
            recrawl_threshold,
        }))
    }

    async fn leave(&self, request: Request<v1::LeaveRequest>) -> RpcResult<v1::LeaveResponse> {
        self.check_caller(request.get_ref().id, &request)?;
        let v1::LeaveRequest { id, process: number, will_return, cancel_drain, quota } =
            request.into_inner();
        let (id, process) = (AgentId(id), process_id(number)?);
        let report = quota.map(|pages| (id, (pages, process)));
        let event = match will_return {
            true => MemberEvent::ProcessEnded { id, process, cancel_drain },
            false => MemberEvent::Leave { id, process },
        };
        self.run(Command::Event(event, report)).await?;
        Ok(Response::new(v1::LeaveResponse {}))
    }

    async fn watch_view(
        &self,
        request: Request<v1::WatchViewRequest>,
    ) -> RpcResult<Latest<v1::View>> {
        let (views, known) = (self.membership.views.clone(), request.into_inner().known_epoch);
        let signer = Arc::clone(&self.signer);
        self.watchers.admit(views, known, |view| view.epoch, move |view| signer.message(view))
    }

    async fn list_agents(
        &self,
        _: Request<v1::ListAgentsRequest>,
    ) -> RpcResult<v1::ListAgentsResponse> {
        let listed = self.run(Command::List).await?;
        let lease = |(id, left, epoch): (AgentId, Duration, u64)| v1::AgentLease {
            id: id.0,
            remaining_ms: millis(left),
            epoch,
        };
        Ok(Response::new(v1::ListAgentsResponse {
            crawl_id: self.crawl_id.clone(),
            view: self.view(&listed.view),
            leases: listed.leases.into_iter().map(lease).collect(),
            obstacles: listed.obstacles.into_iter().map(Into::into).collect(),
            uncovered: listed.uncovered.into_iter().map(|id| id.0).collect(),
            safe_files: listed.safe_files.into_iter().map(|(id, n)| (id.0, n)).collect(),
        }))
    }

    async fn request_drain(
        &self,
        request: Request<v1::RequestDrainRequest>,
    ) -> RpcResult<v1::RequestDrainResponse> {
        self.check_caller(request.get_ref().id, &request)?;
        let v1::RequestDrainRequest { id, process } = request.into_inner();
        let (id, process) = (AgentId(id), process_id(process)?);
        self.run(Command::Event(MemberEvent::RequestDrain { id, process }, None)).await?;
        Ok(Response::new(v1::RequestDrainResponse {}))
    }

    async fn tickets(
        &self,
        request: Request<v1::TicketsRequest>,
    ) -> RpcResult<v1::TicketsResponse> {
        let scope = match request.into_inner().scope() {
            v1::TicketScope::Read => Scope::Read,
            v1::TicketScope::Order => Scope::Order,
            v1::TicketScope::Unspecified => {
                return Err(Status::invalid_argument("the scope must be read or order"));
            }
        };
        if !self.active.is_active() {
            return Err(CommandError::Deposed.into());
        }
        let expiry = self.clock.now() + TICKET_LIFETIME;
        let view = Arc::clone(&self.membership.views.borrow());
        let ticket = |agent: AgentId| v1::Ticket {
            agent: agent.0,
            ticket: Ticket { agent, scope, expiry }.sign(self.signer.key(), &self.crawl_id).into(),
        };
        let tickets = view.living().map(|agent| ticket(agent.id)).collect();
        Ok(Response::new(v1::TicketsResponse { tickets, lifetime_ms: millis(TICKET_LIFETIME) }))
    }

    async fn accept_certificate(
        &self,
        request: Request<v1::AcceptCertificateRequest>,
    ) -> RpcResult<v1::ViewResponse> {
        let request = request.into_inner();
        let certificate = certificate(&request.certificate)?
            .ok_or_else(|| Status::invalid_argument("no certificate is given"))?;
        self.change(Command::AcceptCertificate(request.agent, certificate)).await
    }

    async fn drain(&self, request: Request<v1::DrainRequest>) -> RpcResult<v1::ViewResponse> {
        self.change(Command::Drain(request.into_inner().agent)).await
    }

    async fn remove(&self, request: Request<v1::RemoveRequest>) -> RpcResult<v1::ViewResponse> {
        let v1::RemoveRequest { agent, refetch, force, safe_pages, ignore_store } =
            request.into_inner();
        self.change(Command::Remove { agent, refetch, ignore_store, safe_pages, force }).await
    }

    async fn declare_dead(
        &self,
        request: Request<v1::DeclareDeadRequest>,
    ) -> RpcResult<v1::ViewResponse> {
        self.change(Command::DeclareDead(request.into_inner().agent)).await
    }

    async fn set_run(&self, request: Request<v1::SetRunRequest>) -> RpcResult<v1::ViewResponse> {
        let run = run_state(request.into_inner().run).ok_or_else(|| {
            Status::invalid_argument("the run state must be running, paused or stopping")
        })?;
        self.change(Command::Event(MemberEvent::SetRun(run), None)).await
    }

    type WatchSettingsStream = Latest<v1::CrawlSettings>;

    async fn watch_settings(
        &self,
        request: Request<v1::WatchSettingsRequest>,
    ) -> RpcResult<Latest<v1::CrawlSettings>> {
        let known = request.into_inner().known_revision;
        let settings = self.membership.settings.clone();
        self.watchers.admit(settings, known, |settings| settings.revision, Clone::clone)
    }

    async fn get_settings(
        &self,
        _: Request<v1::GetSettingsRequest>,
    ) -> RpcResult<v1::CrawlSettings> {
        Ok(Response::new(v1::CrawlSettings::clone(&self.membership.settings.borrow())))
    }

    async fn edit_settings(
        &self,
        request: Request<v1::EditSettingsRequest>,
    ) -> RpcResult<v1::EditSettingsResponse> {
        let v1::EditSettingsRequest { edits, known_revision } = request.into_inner();
        let edits = read_edits(edits)?;
        let changed = self.membership.edit(edits, known_revision).await?;
        let settings = Some(v1::CrawlSettings::clone(&changed.settings));
        let at_restart = changed.at_restart;
        Ok(Response::new(v1::EditSettingsResponse { settings, at_restart }))
    }

    async fn set_log_level(
        &self,
        request: Request<v1::SetLogLevelRequest>,
    ) -> RpcResult<v1::SetLogLevelResponse> {
        let filter = request.into_inner().filter;
        let before = set_log_filter(&filter).map_err(Status::invalid_argument)?;
        tracing::info!("log filter changed from {before} to {filter}");
        Ok(Response::new(v1::SetLogLevelResponse { previous: before }))
    }
}
