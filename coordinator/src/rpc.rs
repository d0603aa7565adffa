//! What may be asked over the network: checks what arrives, asks the lodge, and puts the answer
//! into words of the wire.

use crate::allowance::{Allowed, Told};
use crate::lodge::{Denied, Granted, Lodge, Request as Ask};
use crate::members::{Event, Process, Refusal};
use crate::reach::try_address;
use crate::watchers::{SettingsStream, ViewStream, Watchers};
use crivello_common::runtime::set_log_filter;
use crivello_common::view::{AgentId, check_address};
use crivello_proto::v1::coordinator_server::Coordinator;
use crivello_proto::view::run_state;
use crivello_proto::{FORMAT_VERSION, v1};
use std::net::IpAddr;
use std::time::Duration;
use tonic::{Code, Request, Response, Status};

/// The service; see `coordinator.proto` for what each call promises.
#[derive(Debug)]
pub(crate) struct Rpc {
    pub(crate) lodge: Lodge,
    pub(crate) watchers: Watchers,
    pub(crate) crawl_id: String,
}

type Answer<T> = Result<Response<T>, Status>;

impl From<Denied> for Status {
    fn from(denied: Denied) -> Self {
        let code = match &denied {
            Denied::Refused(refusal) => code(*refusal),
            Denied::Unchanged(why) => editing::code(why),
            Denied::Unwritten(_) | Denied::Ending => Code::Unavailable,
            Denied::Busy => Code::ResourceExhausted,
        };
        Self::new(code, denied.to_string())
    }
}

const fn code(refusal: Refusal) -> Code {
    match refusal {
        Refusal::Unknown => Code::NotFound,
        Refusal::NameTaken | Refusal::AddressTaken => Code::AlreadyExists,
        Refusal::BadName(_) | Refusal::BadAddress(_) | Refusal::BadWeight => Code::InvalidArgument,
        Refusal::OtherProcess => Code::Aborted,
        Refusal::Full => Code::ResourceExhausted,
        Refusal::StrangeId
        | Refusal::Refetched
        | Refusal::WeightChanged
        | Refusal::LeaseLost
        | Refusal::NotDrained
        | Refusal::Alive
        | Refusal::Dead
        | Refusal::LastActive
        | Refusal::Stopping => Code::FailedPrecondition,
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A process is told from others by its number, so it takes one.
fn process(number: u64) -> Result<Process, Status> {
    match number {
        0 => Err(Status::invalid_argument("a process needs a number other than 0")),
        number => Ok(Process(number)),
    }
}

impl Rpc {
    async fn ask(&self, ask: Ask) -> Result<Granted, Status> {
        Ok(self.lodge.ask(ask).await?)
    }

    async fn try_join(
        &self,
        join: v1::JoinRequest,
        from: Option<IpAddr>,
    ) -> Result<v1::JoinResponse, Status> {
        let process = process(join.process)?;
        self.check_kind(&join)?;
        let weight = u16::try_from(join.weight).map_err(|_| Denied::from(Refusal::BadWeight))?;
        check_address(&join.address).map_err(|why| Denied::from(Refusal::BadAddress(why)))?;
        try_address(&join.address, from).await.map_err(Status::failed_precondition)?;
        let v1::JoinRequest { disk_id: disk, name, address, .. } = join;
        if disk == 0 {
            return Err(Status::invalid_argument("a directory needs a number other than 0"));
        }
        let id = join.id.map(AgentId);
        let joined = Event::Join { id, disk, process, name, address, weight };
        let granted = self.ask(Ask::Event(joined)).await?;
        let (id, lease) = granted.lease.ok_or_else(|| Status::internal("no lease was given"))?;
        let settings = self.lodge.settings.borrow().clone();
        Ok(v1::JoinResponse {
            id: id.0,
            crawl_id: self.crawl_id.clone(),
            lease_ms: millis(lease),
            view: Some(granted.view.as_ref().into()),
            settings: settings.toml.clone(),
            settings_revision: settings.revision,
        })
    }

    /// Agents that could not work together, or on another crawl, are not let in.
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

const fn told(pages: v1::QuotaReport, process: Process) -> Told {
    let v1::QuotaReport { allowed, fetched, wanted: wants, number } = pages;
    Told { allowed, fetched, wants, said: (process, number) }
}

#[tonic::async_trait]
impl Coordinator for Rpc {
    type WatchViewStream = ViewStream;

    async fn join(&self, request: Request<v1::JoinRequest>) -> Answer<v1::JoinResponse> {
        let from = request.remote_addr().map(|at| at.ip());
        let joined = self.try_join(request.into_inner(), from).await;
        if let Err(status) = &joined {
            let from = from.map(|ip| ip.to_string()).unwrap_or_default();
            tracing::info!("an agent from {from} may not join: {}", status.message());
        }
        joined.map(Response::new)
    }

    async fn heartbeat(
        &self,
        request: Request<v1::HeartbeatRequest>,
    ) -> Answer<v1::HeartbeatResponse> {
        let v1::HeartbeatRequest { id, process: number, epoch, quota: pages, replicated: settled } =
            request.into_inner();
        let (id, process) = (AgentId(id), process(number)?);
        let told = pages.map(|pages| (id, told(pages, process)));
        let beat = Event::Heartbeat { id, process, epoch, settled };
        let granted = self.ask(Ask::Beat(beat, told)).await?;
        let (_, lease) = granted.lease.ok_or_else(|| Status::internal("no lease was given"))?;
        let lease_ms = millis(lease);
        let allowance = |Allowed { allowed, is_scarce, is_used_up, left }| v1::QuotaGrant {
            allowed,
            is_scarce,
            is_used_up,
            remaining: left,
        };
        let pages = granted.pages.map(allowance);
        let epoch = granted.view.epoch;
        Ok(Response::new(v1::HeartbeatResponse { lease_ms, epoch, quota: pages }))
    }

    async fn leave(&self, request: Request<v1::LeaveRequest>) -> Answer<v1::LeaveResponse> {
        let v1::LeaveRequest {
            id,
            process: number,
            will_return: back,
            cancel_drain: stays,
            quota: pages,
        } = request.into_inner();
        let (id, process) = (AgentId(id), process(number)?);
        let told = pages.map(|pages| (id, told(pages, process)));
        let event = match back {
            true => Event::Rest { id, process, stays },
            false => Event::Leave { id, process },
        };
        self.ask(Ask::Leave(event, told)).await?;
        Ok(Response::new(v1::LeaveResponse {}))
    }

    async fn watch_view(&self, request: Request<v1::WatchViewRequest>) -> Answer<ViewStream> {
        let known = request.into_inner().known_epoch;
        let views = self.watchers.admit(self.lodge.views.clone(), known);
        views.map(Response::new).ok_or_else(|| Status::resource_exhausted("too many watchers"))
    }

    async fn get_view(&self, _: Request<v1::GetViewRequest>) -> Answer<v1::View> {
        let view = v1::View::from(self.lodge.views.borrow().as_ref());
        Ok(Response::new(view))
    }

    async fn list_agents(
        &self,
        _: Request<v1::ListAgentsRequest>,
    ) -> Answer<v1::ListAgentsResponse> {
        let listed = self.ask(Ask::List).await?;
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

    async fn drain(&self, request: Request<v1::DrainRequest>) -> Answer<v1::DrainResponse> {
        let granted = self.ask(Ask::Drain(request.into_inner().agent)).await?;
        Ok(Response::new(v1::DrainResponse { view: Some(granted.view.as_ref().into()) }))
    }

    async fn remove(&self, request: Request<v1::RemoveRequest>) -> Answer<v1::RemoveResponse> {
        let v1::RemoveRequest { agent, refetch } = request.into_inner();
        let granted = self.ask(Ask::Remove(agent, refetch)).await?;
        Ok(Response::new(v1::RemoveResponse { view: Some(granted.view.as_ref().into()) }))
    }

    async fn set_run(&self, request: Request<v1::SetRunRequest>) -> Answer<v1::SetRunResponse> {
        let run = run_state(request.into_inner().run)
            .ok_or_else(|| Status::invalid_argument("running, paused or stopping is needed"))?;
        let granted = self.ask(Ask::Event(Event::SetRun(run))).await?;
        Ok(Response::new(v1::SetRunResponse { view: Some(granted.view.as_ref().into()) }))
    }

    type WatchSettingsStream = SettingsStream;

    async fn watch_settings(
        &self,
        request: Request<v1::WatchSettingsRequest>,
    ) -> Answer<SettingsStream> {
        let known = request.into_inner().known_revision;
        let settings = self.watchers.admit(self.lodge.settings.clone(), known);
        settings.map(Response::new).ok_or_else(|| Status::resource_exhausted("too many watchers"))
    }

    async fn get_settings(&self, _: Request<v1::GetSettingsRequest>) -> Answer<v1::CrawlSettings> {
        let settings = v1::CrawlSettings::from(self.lodge.settings.borrow().as_ref());
        Ok(Response::new(settings))
    }

    async fn edit_settings(
        &self,
        request: Request<v1::EditSettingsRequest>,
    ) -> Answer<v1::EditSettingsResponse> {
        let v1::EditSettingsRequest { edits, known_revision } = request.into_inner();
        let edits = editing::read(edits)?;
        let changed = self.lodge.edit(edits, known_revision).await?;
        let settings = Some(v1::CrawlSettings::from(changed.revised.as_ref()));
        let at_restart = changed.at_restart;
        Ok(Response::new(v1::EditSettingsResponse { settings, at_restart }))
    }

    async fn set_log_level(
        &self,
        request: Request<v1::SetLogLevelRequest>,
    ) -> Answer<v1::SetLogLevelResponse> {
        let filter = request.into_inner().filter;
        let before = set_log_filter(&filter).map_err(Status::invalid_argument)?;
        tracing::info!("the log's filter is {filter} now, it was {before}");
        Ok(Response::new(v1::SetLogLevelResponse { previous: before }))
    }
}

mod editing;
