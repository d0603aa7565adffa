//! The gRPC service: checks requests, runs them as commands of the membership, and sends the
//! results.

use crate::members::{MemberEvent, MemberRefusal, ProcessId};
use crate::membership::{Command, CommandError, MembershipHandle, Reply};
use crate::page_quota::{QuotaGrant, QuotaReport};
use crate::probe::probe_address;
use crate::settings::EditRejected;
use crate::watchers::{SettingsStream, ViewStream, Watchers};
use crivello_common::config::{Edit, EditError};
use crivello_common::runtime::set_log_filter;
use crivello_common::view::{AgentId, check_address};
use crivello_proto::v1::coordinator_server::Coordinator;
use crivello_proto::view::run_state;
use crivello_proto::{FORMAT_VERSION, v1, v1::setting_edit::Change};
use std::net::IpAddr;
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
}

type RpcResult<T> = Result<Response<T>, Status>;

impl From<CommandError> for Status {
    fn from(error: CommandError) -> Self {
        let code = match &error {
            CommandError::Refused(refusal) => refusal_code(*refusal),
            CommandError::Edit(rejected) => edit_code(rejected),
            CommandError::NotStored(_) | CommandError::Ending => Code::Unavailable,
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
        MemberRefusal::OtherProcess => Code::Aborted,
        MemberRefusal::Full => Code::ResourceExhausted,
        MemberRefusal::StrangeId
        | MemberRefusal::Refetched
        | MemberRefusal::WeightChanged
        | MemberRefusal::LeaseLost
        | MemberRefusal::NotDrained
        | MemberRefusal::Alive
        | MemberRefusal::Dead
        | MemberRefusal::LastActive
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

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// Checks the number that identifies a process.
fn process_id(number: u64) -> Result<ProcessId, Status> {
    match number {
        0 => Err(Status::invalid_argument("the process number must not be 0")),
        number => Ok(ProcessId(number)),
    }
}

/// Checks the edits of a request.
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

const fn quota_report(pages: v1::QuotaReport, process: ProcessId) -> QuotaReport {
    let v1::QuotaReport { allowed, fetched, wanted: wants, number } = pages;
    QuotaReport { allowed, fetched, wants, process, number }
}

fn quota_grant(grant: QuotaGrant) -> v1::QuotaGrant {
    let QuotaGrant { allowed, is_scarce, is_used_up, left } = grant;
    v1::QuotaGrant { allowed, is_scarce, is_used_up, remaining: left }
}

impl Rpc {
    async fn run(&self, command: Command) -> Result<Reply, Status> {
        Ok(self.membership.run(command).await?)
    }

    async fn try_join(
        &self,
        join: v1::JoinRequest,
        from: Option<IpAddr>,
    ) -> Result<v1::JoinResponse, Status> {
        let process = process_id(join.process)?;
        self.check_kind(&join)?;
        let weight =
            u16::try_from(join.weight).map_err(|_| CommandError::from(MemberRefusal::BadWeight))?;
        check_address(&join.address)
            .map_err(|why| CommandError::from(MemberRefusal::BadAddress(why)))?;
        probe_address(&join.address, from).await.map_err(Status::failed_precondition)?;
        let v1::JoinRequest { disk_id: disk, name, address, .. } = join;
        if disk == 0 {
            return Err(Status::invalid_argument("the directory number must not be 0"));
        }
        let id = join.id.map(AgentId);
        let event = MemberEvent::Join { id, disk, process, name, address, weight };
        let reply = self.run(Command::Event(event)).await?;
        let (id, lease) = reply.lease.ok_or_else(|| Status::internal("no lease was granted"))?;
        let settings = v1::CrawlSettings::clone(&self.membership.settings.borrow());
        Ok(v1::JoinResponse {
            id: id.0,
            crawl_id: self.crawl_id.clone(),
            lease_ms: millis(lease),
            view: Some(reply.view.as_ref().into()),
            settings: settings.toml,
            settings_revision: settings.revision,
        })
    }

    /// Refuses agents with another format version or from another crawl.
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
        Ok(())
    }
}

#[tonic::async_trait]
impl Coordinator for Rpc {
    type WatchViewStream = ViewStream;

    async fn join(&self, request: Request<v1::JoinRequest>) -> RpcResult<v1::JoinResponse> {
        let from = request.remote_addr().map(|at| at.ip());
        let joined = self.try_join(request.into_inner(), from).await;
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
        let v1::HeartbeatRequest { id, process: number, epoch, quota, replicated: settled } =
            request.into_inner();
        let (id, process) = (AgentId(id), process_id(number)?);
        let report = quota.map(|pages| (id, quota_report(pages, process)));
        let heartbeat = MemberEvent::Heartbeat { id, process, epoch, settled };
        let reply = self.run(Command::Heartbeat(heartbeat, report)).await?;
        let (_, lease) = reply.lease.ok_or_else(|| Status::internal("no lease was granted"))?;
        let lease_ms = millis(lease);
        let quota = reply.pages.map(quota_grant);
        let epoch = reply.view.epoch;
        Ok(Response::new(v1::HeartbeatResponse { lease_ms, epoch, quota }))
    }

    async fn leave(&self, request: Request<v1::LeaveRequest>) -> RpcResult<v1::LeaveResponse> {
        let v1::LeaveRequest { id, process: number, will_return, cancel_drain, quota } =
            request.into_inner();
        let (id, process) = (AgentId(id), process_id(number)?);
        let report = quota.map(|pages| (id, quota_report(pages, process)));
        let event = match will_return {
            true => MemberEvent::ProcessEnded { id, process, cancel_drain },
            false => MemberEvent::Leave { id, process },
        };
        self.run(Command::Leave(event, report)).await?;
        Ok(Response::new(v1::LeaveResponse {}))
    }

    async fn watch_view(&self, request: Request<v1::WatchViewRequest>) -> RpcResult<ViewStream> {
        let known = request.into_inner().known_epoch;
        let views = self.watchers.admit(self.membership.views.clone(), known);
        views.map(Response::new).ok_or_else(|| Status::resource_exhausted("too many watchers"))
    }

    async fn get_view(&self, _: Request<v1::GetViewRequest>) -> RpcResult<v1::View> {
        let view = v1::View::from(self.membership.views.borrow().as_ref());
        Ok(Response::new(view))
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
            view: Some(listed.view.as_ref().into()),
            leases: listed.leases.into_iter().map(lease).collect(),
        }))
    }

    async fn drain(&self, request: Request<v1::DrainRequest>) -> RpcResult<v1::DrainResponse> {
        let reply = self.run(Command::Drain(request.into_inner().agent)).await?;
        Ok(Response::new(v1::DrainResponse { view: Some(reply.view.as_ref().into()) }))
    }

    async fn remove(&self, request: Request<v1::RemoveRequest>) -> RpcResult<v1::RemoveResponse> {
        let v1::RemoveRequest { agent, refetch } = request.into_inner();
        let reply = self.run(Command::Remove(agent, refetch)).await?;
        Ok(Response::new(v1::RemoveResponse { view: Some(reply.view.as_ref().into()) }))
    }

    async fn set_run(&self, request: Request<v1::SetRunRequest>) -> RpcResult<v1::SetRunResponse> {
        let run = run_state(request.into_inner().run).ok_or_else(|| {
            Status::invalid_argument("the run state must be running, paused or stopping")
        })?;
        let reply = self.run(Command::Event(MemberEvent::SetRun(run))).await?;
        Ok(Response::new(v1::SetRunResponse { view: Some(reply.view.as_ref().into()) }))
    }

    type WatchSettingsStream = SettingsStream;

    async fn watch_settings(
        &self,
        request: Request<v1::WatchSettingsRequest>,
    ) -> RpcResult<SettingsStream> {
        let known = request.into_inner().known_revision;
        let settings = self.watchers.admit(self.membership.settings.clone(), known);
        settings.map(Response::new).ok_or_else(|| Status::resource_exhausted("too many watchers"))
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
