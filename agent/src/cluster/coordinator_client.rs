//! Client of the coordinator: joining, draining, leaving.

use crate::cluster::Membership;
use crate::storage::OpenError;
use crivello_common::identity::{IdentityCheck, IdentityKey};
use crivello_common::time::{Clock, Timestamp};
use crivello_common::view::AgentId;
use crivello_proto::auth::{AuthChannel, NodeAuth};
use crivello_proto::signing::CoordinatorKey;
use crivello_proto::v1::coordinator_client::CoordinatorClient as GrpcClient;
use crivello_proto::{FORMAT_VERSION, RESPONSE_SIZE_MAX, dial, v1, with_causes};
use std::time::Duration;
use tonic::{Code, Status};

const CONNECT_PATIENCE: Duration = Duration::from_secs(3);
/// Interval of pings to the coordinator, and time to wait for a reply.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(3));
/// Interval and time with several coordinators: another one may be active soon, and waits for a lease.
const KEEP_ALIVE_OF_SEVERAL: (Duration, Duration) =
    (Duration::from_millis(500), Duration::from_millis(1_500));
/// Time for which an agent that has handed over all groups tries to notify the coordinator.
const LEAVE_TIME_MAX: Duration = Duration::from_secs(60);
/// Timeout of calls other than joining. The lease that a heartbeat renews counts from the request,
/// so a late response is worth less.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout of joining; it is longer, because the coordinator connects to this agent first.
const JOIN_PATIENCE: Duration = Duration::from_secs(20);
/// Pause between two attempts.
pub const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Minimum time between two log messages about the same problem.
pub const LOG_EVERY: Duration = Duration::from_secs(10);

/// Address of the coordinator, and data of the agent that joins.
#[derive(Clone, Debug)]
pub struct Joining {
    /// URL of the coordinator, `http://` or `https://`, or those of several, separated by commas.
    pub coordinator: String,
    /// Address at which other agents reach this one.
    pub address: String,
    /// Weight of the agent, which determines its share of the groups.
    pub weight: u16,
    /// Random number of this process; not 0.
    pub process: u64,
    /// Proof that a member has the key of its crawl.
    pub identity_check: Option<IdentityCheck>,
    /// Crawl of the agent's state; `None` if it has none yet.
    pub crawl_id: Option<String>,
    /// Epoch of the last view on the agent's disk; 0 if there is none.
    pub known_epoch: u64,
}

/// Result of joining.
#[derive(Debug)]
pub struct Joined {
    /// Id of the agent.
    pub id: AgentId,
    /// Id of the crawl.
    pub crawl_id: String,
    /// Secret key of the crawl.
    pub identity_key: IdentityKey,
    /// End of the lease.
    pub leased_until: Timestamp,
    /// Duration of a lease.
    pub lease: Duration,
    /// View that contains the agent. Its signature is not verified yet.
    pub view: v1::View,
    /// Key by which the coordinator signs, not compared with the pinned one yet.
    pub coordinator_key: CoordinatorKey,
    /// Time of the coordinator's clock.
    pub now: Timestamp,
    /// Settings of the crawl, in TOML.
    pub settings: String,
    /// Revision of the settings.
    pub revision: u64,
}

/// Client of the coordinator, which connects when needed.
#[derive(Clone, Debug)]
pub struct CoordinatorClient {
    /// The gRPC client.
    pub client: GrpcClient<AuthChannel>,
    clock: Clock,
}

impl CoordinatorClient {
    /// Creates a client for the coordinator at `url`.
    ///
    /// # Errors
    /// [`OpenError::Refused`] if the address cannot be used.
    pub fn at(url: &str, auth: &NodeAuth, clock: Clock) -> Result<Self, OpenError> {
        let tls = auth.tls.as_ref();
        let target = dial::target(url, tls)
            .map_err(|why| OpenError::Refused(format!("--coordinator {url}: {why}")))?;
        let (interval, timeout) =
            if target.n_addresses() > 1 { KEEP_ALIVE_OF_SEVERAL } else { KEEP_ALIVE };
        let target = target.map(|endpoint| {
            endpoint
                .connect_timeout(CONNECT_PATIENCE)
                .http2_keep_alive_interval(interval)
                .keep_alive_timeout(timeout)
        });
        let client = GrpcClient::new(auth.bearer().wrap(dial::lazy(&target, tls)));
        Ok(Self { client: client.max_decoding_message_size(RESPONSE_SIZE_MAX), clock })
    }

    /// Joins the cluster, with retries as long as they may help.
    ///
    /// # Errors
    /// [`OpenError::Refused`] if a retry would not help.
    pub async fn join(&self, joining: &Joining, known: &Membership) -> Result<Joined, OpenError> {
        self.until_answered(&joining.coordinator, async || {
            let asked = self.clock.now();
            self.try_join(joining, known, asked).await
        })
        .await
    }

    /// Returns the settings of the crawl, in TOML; retries as long as that may help.
    ///
    /// # Errors
    /// [`OpenError::Refused`] if a retry would not help.
    pub async fn settings(&self, coordinator: &str) -> Result<String, OpenError> {
        self.until_answered(coordinator, async || {
            let watch = v1::WatchSettingsRequest { known_revision: 0 };
            let mut settings = self.client.clone().watch_settings(watch).await?.into_inner();
            let settings = settings.message().await?;
            Ok(settings.ok_or_else(|| Status::unavailable("the coordinator is stopping"))?.toml)
        })
        .await
    }

    async fn until_answered<T>(
        &self,
        coordinator: &str,
        call: impl AsyncFn() -> Result<T, Status>,
    ) -> Result<T, OpenError> {
        let mut logged_at: Option<Timestamp> = None;
        loop {
            let status = match tokio::time::timeout(JOIN_PATIENCE, call()).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded("no answer"),
            };
            if !may_try_again(&status) {
                return Err(OpenError::Refused(format!(
                    "the coordinator rejects this agent: {}",
                    status.message()
                )));
            }
            let now = self.clock.now();
            if logged_at.is_none_or(|last| now.since(last) >= LOG_EVERY) {
                logged_at = Some(now);
                tracing::warn!(coordinator, "cannot join yet, retrying: {}", with_causes(&status));
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn try_join(
        &self,
        joining: &Joining,
        known: &Membership,
        asked: Timestamp,
    ) -> Result<Joined, Status> {
        let (id, crawl_id) = known.given.clone().unzip();
        let crawl_id = crawl_id.or_else(|| joining.crawl_id.clone());
        let request = v1::JoinRequest {
            format_version: FORMAT_VERSION,
            crawl_id: crawl_id.unwrap_or_default(),
            id,
            process: joining.process,
            name: known.name.clone(),
            weight: joining.weight.into(),
            address: joining.address.clone(),
            disk_id: known.disk,
            identity_check: joining.identity_check.map(Vec::from).unwrap_or_default().into(),
            known_epoch: joining.known_epoch,
        };
        let answer = self.client.clone().join(request).await?.into_inner();
        let view =
            answer.view.ok_or_else(|| Status::internal("the coordinator returned no view"))?;
        let key = <[u8; 16]>::try_from(&*answer.identity_key)
            .map_err(|_| Status::internal("the coordinator returned no identity key"))?;
        let coordinator_key = CoordinatorKey::from_bytes(&answer.coordinator_key)
            .ok_or_else(|| Status::internal("the coordinator returned no signing key"))?;
        let lease = Duration::from_millis(answer.lease_ms);
        Ok(Joined {
            id: AgentId(answer.id),
            crawl_id: answer.crawl_id,
            identity_key: IdentityKey::from_bytes(key),
            leased_until: asked + lease,
            lease,
            view,
            coordinator_key,
            now: Timestamp(answer.now),
            settings: answer.settings,
            revision: answer.settings_revision,
        })
    }

    /// Requests the drain of this agent: it hands over its groups.
    ///
    /// # Errors
    /// The reason of the failure, as a message for people.
    pub async fn drain(&self, id: AgentId, process: u64) -> Result<(), String> {
        let mut client = self.client.clone();
        let asked = client.request_drain(v1::RequestDrainRequest { id: id.0, process });
        match tokio::time::timeout(CALL_TIMEOUT, asked).await {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(status)) => Err(with_causes(&status)),
            Err(_) => Err("the coordinator does not answer".to_owned()),
        }
    }

    /// Notifies the coordinator that this process ends: with `back` the agent will return with its
    /// disk, otherwise it leaves for good. With `stays` it cancels the drain that it had requested.
    /// Its page quota beyond `fetched` pages becomes available to others. Failures are logged. An agent
    /// that leaves for good tries again for a minute: otherwise it would count as dead.
    pub async fn leave(
        &self,
        identity: (AgentId, u64),
        back: bool,
        stays: bool,
        fetched: Option<u64>,
    ) {
        let ((id, process), number) = (identity, self.clock.now().0);
        let quota = |fetched| v1::QuotaReport { allowed: fetched, fetched, wanted: 0, number };
        let request = v1::LeaveRequest {
            id: id.0,
            process,
            will_return: back,
            cancel_drain: stays,
            quota: fetched.map(quota),
        };
        let begun = self.clock.now();
        let why = loop {
            let mut client = self.client.clone();
            let call = client.leave(request);
            let (why, is_final) = match tokio::time::timeout(CALL_TIMEOUT, call).await {
                Ok(Ok(_)) => return,
                Ok(Err(status)) => (with_causes(&status), !may_try_again(&status)),
                Err(_) => ("no answer".to_owned(), false),
            };
            let tries_again = !back && !is_final;
            if !tries_again || self.clock.now().since(begun) > LEAVE_TIME_MAX {
                break why;
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        };
        tracing::warn!("cannot notify the coordinator that this agent ends: {why}");
    }
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
