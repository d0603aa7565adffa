//! The tasks that keep a membership alive: heartbeats, views, settings, and peer leases of the others. The
//! responses to heartbeats grant this agent's portion of the page limit.

mod page_quota;
mod settings;

use crate::cluster::{CALL_TIMEOUT, Coordinator, LOG_EVERY, RETRY_PAUSE, with_cause};
use crate::cluster::{InboundMsg, Inbox};
use crate::peers::{Outgoing, PingReply};
use crate::process::RulesInForce;
use crate::report::Ended;
use crate::shared::Shared;
use crivello_common::time::Timestamp;
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::v1;
use page_quota::PageQuotaClient;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;
use tonic::{Code, Status};

/// Requests for a peer lease while it holds.
const PINGS_PER_LEASE: u32 = 5;

/// Keeps a membership alive.
pub struct Heartbeat {
    pub coordinator: Coordinator,
    pub id: AgentId,
    pub process: u64,
    pub lease: Duration,
    pub outgoing: Arc<Outgoing>,
    pub inbox: Inbox,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub shared: Shared,
    pub rules: RulesInForce,
}

impl Heartbeat {
    /// Until it is dropped.
    pub async fn run(self) {
        let this = Arc::new(self);
        tokio::join!(this.beat(), this.watch(), this.renew_peer_leases(), this.watch_settings());
    }

    fn epoch(&self) -> u64 {
        self.views.borrow().as_ref().map_or(0, |view| view.epoch)
    }

    /// Whether this agent is to hand over what it has.
    fn is_leaving(&self) -> bool {
        let view = self.views.borrow();
        let me = view.as_ref().and_then(|view| view.agent(self.id));
        me.is_some_and(|me| me.state == AgentState::Draining)
    }

    /// Heartbeats, several in a lease.
    async fn beat(&self) {
        let every = (self.lease / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
        let mut said: Option<Timestamp> = None;
        let mut quota = PageQuotaClient::new(&self.shared);
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = PageQuotaClient::runs_short(&self.shared) => {}
                () = self.shared.live.changed.notified() => {}
            }
            let asked = self.shared.clock.now();
            let (id, process, epoch) = (self.id.0, self.process, self.epoch());
            let mut client = self.coordinator.client.clone();
            let pages = quota.report(&self.shared, self.is_leaving());
            let settled = self.shared.status.settled_in.load(Relaxed) == epoch;
            let beat =
                v1::HeartbeatRequest { id, process, epoch, quota: pages, replicated: settled };
            let beat = client.heartbeat(beat);
            let answered = tokio::time::timeout(CALL_TIMEOUT.min(self.lease), beat).await;
            let status = match answered {
                Ok(Ok(answer)) => {
                    let answer = answer.into_inner();
                    if let Some(allowance) = answer.quota {
                        quota.on_grant(allowance, &self.shared);
                    }
                    let lease = Duration::from_millis(answer.lease_ms);
                    self.inbox.deliver(InboundMsg::Leased(asked + lease)).await;
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
                self.shared.lifecycle.end(Ended::Lost, None);
                return;
            }
            let now = self.shared.clock.now();
            if said.is_none_or(|last| now.since(last) >= LOG_EVERY) {
                said = Some(now);
                tracing::warn!(
                    "the coordinator cannot be reached, the crawl goes on without it: {}",
                    with_cause(&status)
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
                        Ok(view) => self.inbox.deliver(InboundMsg::View(Arc::new(view))).await,
                        Err(bad) => tracing::error!("the coordinator sent a bad view: {bad}"),
                    }
                }
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Renews the peer leases of all others, for when the coordinator is out of reach.
    async fn renew_peer_leases(&self) {
        loop {
            let view = self.views.borrow().clone();
            for agent in view.iter().flat_map(|view| &view.agents) {
                if agent.id == self.id || agent.state == AgentState::Dead {
                    continue;
                }
                let (outgoing, inbox) = (self.outgoing.clone(), self.inbox.clone());
                let (by, clock) = (agent.id, self.shared.clock);
                tokio::spawn(async move {
                    let asked = clock.now();
                    let arrival = match outgoing.ping(by).await {
                        Ok(PingReply::Granted) => InboundMsg::PeerLease { by, asked },
                        Ok(PingReply::Refused(Some(view))) => InboundMsg::View(view),
                        Ok(PingReply::Refused(None)) | Err(_) => return,
                    };
                    inbox.deliver(arrival).await;
                });
            }
            tokio::time::sleep(self.shared.settings.cluster.peer_lease() / PINGS_PER_LEASE).await;
        }
    }
}
