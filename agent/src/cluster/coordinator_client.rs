//! What an agent says to the coordinator: joining, draining, leaving.

use crate::cluster::Membership;
use crate::storage::OpenError;
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::{AgentId, View};
use crivello_proto::auth::BearerToken;
use crivello_proto::tls::Tls;
use crivello_proto::v1::coordinator_client::CoordinatorClient;
use crivello_proto::{FORMAT_VERSION, RESPONSE_SIZE_MAX, dial, v1};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use tonic::transport::Channel;
use tonic::{Code, Status};

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// For an answer to a heartbeat: it is worth less the longer it takes.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Joining takes longer: the coordinator tries to reach this agent.
const JOIN_PATIENCE: Duration = Duration::from_secs(20);
/// Between two tries.
pub const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Between two lines in the log about the same trouble.
pub const LOG_EVERY: Duration = Duration::from_secs(10);

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
    /// Their number.
    pub revision: u64,
}

/// A connection to the coordinator, made when it is needed.
#[derive(Clone, Debug)]
pub struct Coordinator {
    /// The gRPC client.
    pub client: CoordinatorClient<Channel>,
    /// For what people may ask.
    shown: BearerToken,
    clock: Clock,
}

impl Coordinator {
    /// The way to it.
    ///
    /// # Errors
    /// A refusal when the address cannot be used.
    pub fn at(
        url: &str,
        tls: Option<&Tls>,
        shown: BearerToken,
        clock: Clock,
    ) -> Result<Self, OpenError> {
        let endpoint = dial::endpoint(url, tls)
            .map_err(|why| OpenError::Refused(format!("--coordinator {url}: {why}")))?;
        let endpoint = endpoint
            .connect_timeout(CONNECT_PATIENCE)
            .http2_keep_alive_interval(Duration::from_secs(2))
            .keep_alive_timeout(Duration::from_secs(3));
        let client = CoordinatorClient::new(dial::lazy(&endpoint, tls));
        Ok(Self { client: client.max_decoding_message_size(RESPONSE_SIZE_MAX), shown, clock })
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
    ) -> Result<Option<Joined>, OpenError> {
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
                return Err(OpenError::Refused(format!(
                    "the coordinator does not let this agent in: {}",
                    status.message()
                )));
            }
            let now = self.clock.now();
            if said.is_none_or(|last| now.since(last) >= LOG_EVERY) {
                said = Some(now);
                tracing::warn!(
                    coordinator = joining.coordinator,
                    "cannot join yet, trying on: {}",
                    with_cause(&status)
                );
            }
            tokio::select! {
                () = stop.cancelled() => return Ok(None),
                () = tokio::time::sleep(RETRY_PAUSE) => {}
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
            disk_id: known.disk,
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
            revision: answer.settings_revision,
        })
    }

    /// Asks that an agent's share be handed over.
    ///
    /// # Errors
    /// Why not, for people.
    pub async fn drain(&self, id: AgentId) -> Result<(), String> {
        let mut client = self.client.clone();
        let mut request = tonic::Request::new(v1::DrainRequest { agent: id.to_string() });
        self.shown.add_to(&mut request);
        let asked = client.drain(request);
        match tokio::time::timeout(CALL_TIMEOUT, asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(status)) => Err(with_cause(&status)),
            Err(_) => Err("the coordinator does not answer".to_owned()),
        }
    }

    /// Says that this process ends: to come back with its disk, or for good. With `stays` it had
    /// asked to be drained, and takes that back. What it was allowed beyond `fetched` pages is free.
    pub async fn leave(&self, seat: (AgentId, u64), back: bool, stays: bool, fetched: Option<u64>) {
        let ((id, process), number) = (seat, self.clock.now().0);
        let pages = |fetched| v1::QuotaReport { allowed: fetched, fetched, wanted: 0, number };
        let pages = fetched.map(pages);
        let request = v1::LeaveRequest {
            id: id.0,
            process,
            will_return: back,
            cancel_drain: stays,
            quota: pages,
        };
        let mut client = self.client.clone();
        match tokio::time::timeout(CALL_TIMEOUT, client.leave(request)).await {
            Ok(Ok(_)) => {}
            Ok(Err(status)) => {
                tracing::warn!(
                    "the coordinator was not told that this agent ends: {}",
                    with_cause(&status)
                );
            }
            Err(_) => {
                tracing::warn!("the coordinator was not told that this agent ends: no answer");
            }
        }
    }
}

/// A status with all that led to it and is not said yet.
pub fn with_cause(status: &Status) -> String {
    let mut text = status.message().to_owned();
    let mut source = std::error::Error::source(status);
    while let Some(error) = source {
        let said = error.to_string();
        if !text.contains(&said) {
            text = format!("{text}: {said}");
        }
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
