//! The tasks of a member of a cluster: heartbeats, views, settings, and renewal of peer leases. The
//! responses to heartbeats grant this agent's portion of the page limit.

mod liveness;
mod page_quota;
mod settings;
mod view_file;

pub use liveness::Liveness;
pub use view_file::ViewFile;

use crate::cluster::{CALL_TIMEOUT, CoordinatorClient, LOG_EVERY, RETRY_PAUSE};
use crate::cluster::{InboundMsg, Inbox, coordinator_key};
use crate::peers::{Outgoing, PeerReply};
use crate::process::RulesInForce;
use crate::report::Ended;
use crate::shared::Shared;
use crivello_common::config::{StoreSurvival, Upload, upload_url};
use crivello_common::time::{Timestamp, millis};
use crivello_common::view::{AgentId, AgentState, View};
use crivello_proto::auth::NodeAuth;
use crivello_proto::signing::{CoordinatorClock, ViewBook, ViewRejected};
use crivello_proto::tls::Tls;
use crivello_proto::{v1, with_causes};
use crivello_recrawl::demand::DemandReport;
use page_quota::PageQuotaClient;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::watch;
use tonic::{Code, Status};

/// Number of requests for a peer lease in the time that one lasts.
const PINGS_PER_LEASE: u32 = 5;

/// Tasks that keep this agent a member.
pub struct Heartbeat {
    pub coordinator: CoordinatorClient,
    pub id: AgentId,
    pub process: u64,
    pub lease: Duration,
    pub outgoing: Arc<Outgoing>,
    pub inbox: Inbox,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub shared: Shared,
    pub rules: RulesInForce,
    pub liveness: Liveness,
    pub view_file: ViewFile,
    /// The verified views.
    pub book: Arc<ViewBook>,
    /// Directory of the agent, which has the key of the coordinator.
    pub dir: PathBuf,
    /// The coordinator's clock, which its responses set.
    pub coordinator_clock: Arc<CoordinatorClock>,
    pub auth: NodeAuth,
}

impl Heartbeat {
    /// Runs until it is dropped.
    pub async fn run(self) {
        let this = Arc::new(self);
        let Shared { status, pipeline, clock, .. } = &this.shared;
        tokio::join!(
            this.beat(),
            this.watch(),
            this.renew_peer_leases(),
            this.watch_settings(),
            this.liveness.watch(status, pipeline, *clock),
            this.view_file.keep(this.views.clone(), &this.book),
        );
    }

    fn epoch(&self) -> u64 {
        self.views.borrow().as_ref().map_or(0, |view| view.epoch)
    }

    /// Returns true if this agent must hand off all its groups.
    fn is_leaving(&self) -> bool {
        let view = self.views.borrow();
        let me = view.as_ref().and_then(|view| view.agent(self.id));
        me.is_some_and(|me| me.state == AgentState::Draining)
    }

    /// Sends heartbeats, several in each lease.
    async fn beat(&self) {
        let every = (self.lease / 4).clamp(Duration::from_millis(20), Duration::from_secs(5));
        let mut logged_at: Option<Timestamp> = None;
        let mut quota = PageQuotaClient::new(&self.shared);
        loop {
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                () = PageQuotaClient::runs_short(&self.shared) => {}
                () = self.shared.live.changed.notified() => {}
            }
            let asked = self.shared.clock.now();
            let mut client = self.coordinator.client.clone();
            let pages = quota.report(&self.shared, self.is_leaving());
            let beat = client.heartbeat(self.report(pages, asked));
            let answered = tokio::time::timeout(CALL_TIMEOUT.min(self.lease), beat).await;
            let status = match answered {
                Ok(Ok(answer)) => {
                    let answer = answer.into_inner();
                    self.coordinator_clock.set(Timestamp(answer.now));
                    if let Some(grant) = answer.quota {
                        quota.on_grant(grant, &self.shared);
                    }
                    self.shared.status.copies_wanted.store(answer.copies_wanted, Relaxed);
                    if let Some(threshold) = answer.recrawl_threshold {
                        self.shared.recrawl.set_threshold(threshold);
                    }
                    let lease = Duration::from_millis(answer.lease_ms);
                    // The queue is full while the writer is stuck; the coordinator must know that.
                    let leased = self.inbox.deliver(InboundMsg::Leased(asked + lease));
                    let _ = tokio::time::timeout(every, leased).await;
                    if logged_at.take().is_some() {
                        tracing::info!("the coordinator can be reached again");
                    }
                    continue;
                }
                Ok(Err(status)) => status,
                Err(_) => Status::deadline_exceeded("no answer"),
            };
            let is_lost =
                matches!(status.code(), Code::NotFound | Code::FailedPrecondition | Code::Aborted);
            // An agent whose writer is stuck cannot save its state; it rejoins once it moves.
            if is_lost && !self.liveness.stalled().is_zero() {
                continue;
            }
            if is_lost {
                tracing::warn!("this agent is no longer a member: {}", status.message());
                self.shared.lifecycle.end(Ended::Lost, None);
                return;
            }
            let now = self.shared.clock.now();
            if logged_at.is_none_or(|last| now.since(last) >= LOG_EVERY) {
                logged_at = Some(now);
                tracing::warn!(
                    "the coordinator cannot be reached; the crawl continues without it: {}",
                    with_causes(&status)
                );
            }
        }
    }

    /// Returns the content of a heartbeat.
    fn report(&self, quota: Option<v1::QuotaReport>, now: Timestamp) -> v1::HeartbeatRequest {
        let (view, status) = (self.views.borrow().clone(), &self.shared.status);
        let epoch = view.as_ref().map_or(0, |view| view.epoch);
        let timeout = self.shared.settings.cluster.peer_lease();
        let unreachable = self.liveness.unreachable(self.id, view.as_deref(), timeout, now);
        let stalled = self.liveness.stalled();
        let certificate = self.auth.tls.as_ref().and_then(Tls::certificate);
        v1::HeartbeatRequest {
            id: self.id.0,
            process: self.process,
            epoch,
            quota,
            settled_epoch: status.settled_in.load(Relaxed),
            view_digest: view.as_ref().map_or(0, |view| view.digest()),
            scanned: status.scanned_in.load(Relaxed) == epoch,
            copied_since: status.copied_since.load(Relaxed),
            stalled_ms: stalled.as_millis() as u64,
            disk_full: status.disk_full.load(Relaxed),
            unreachable: unreachable.into_iter().map(|id| id.0).collect(),
            undelivered: self.undelivered(),
            safe_files: self.safe_files(),
            recrawl: self.shared.recrawl.demand().map(|demand| recrawl_demand(&demand)),
            certificate: certificate.map(|id| id.0.to_vec()).unwrap_or_default().into(),
        }
    }

    /// Returns the number of the first archive files that are safe in a store that survives this machine.
    /// `None` before that is known.
    fn safe_files(&self) -> Option<u32> {
        match survives_machine(&self.shared.settings.upload) {
            true => self.shared.uploads.borrow().safe_files,
            false => Some(0),
        }
    }

    /// Returns the agents that have not acknowledged the same packet for as long as a lease.
    fn undelivered(&self) -> Vec<v1::Undelivered> {
        let late =
            self.outgoing.unacknowledged().into_iter().filter(|(_, for_)| *for_ >= self.lease);
        let report =
            |(to, since): (AgentId, _)| v1::Undelivered { agent: to.0, since_ms: millis(since) };
        late.map(report).collect()
    }

    /// Verifies a view of the coordinator, also by a key that a person has accepted meanwhile.
    fn accept(&self, view: v1::View) -> Result<Arc<View>, String> {
        let unsigned = match self.book.accept(view.clone()) {
            Err(ViewRejected::Unsigned(_)) => ViewRejected::Unsigned(view.epoch),
            accepted => return accepted.map_err(|error| error.to_string()),
        };
        let crawl_id = self.view_file.crawl_id();
        if let Some((key, of)) = coordinator_key::pinned(&self.dir)
            && of == crawl_id
            && self.book.pinned().is_some_and(|(ours, _)| ours != key)
        {
            tracing::info!("the key {key} of the coordinator was accepted");
            self.book.pin(key, crawl_id);
            return self.book.accept(view).map_err(|error| error.to_string());
        }
        Err(format!(
            "{unsigned}; if it was made anew with `crivello coordinator rebuild`, accept its key with \
             `crivello accept-coordinator-key KEY --data {}`",
            self.dir.display()
        ))
    }

    /// Receives views.
    async fn watch(&self) {
        let mut logged_at: Option<Timestamp> = None;
        loop {
            let known_epoch = self.epoch();
            let mut client = self.coordinator.client.clone();
            if let Ok(views) = client.watch_view(v1::WatchViewRequest { known_epoch }).await {
                let mut views = views.into_inner();
                while let Ok(Some(view)) = views.message().await {
                    match self.accept(view) {
                        Ok(view) => self.inbox.deliver(InboundMsg::View(view)).await,
                        Err(bad) => {
                            // The next stream begins with the same view.
                            let now = self.shared.clock.now();
                            if logged_at.is_none_or(|last| now.since(last) >= LOG_EVERY) {
                                logged_at = Some(now);
                                tracing::error!("the coordinator sent an invalid view: {bad}");
                            }
                            break;
                        }
                    }
                }
            }
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    /// Renews the peer leases from all other agents, for when the coordinator is unreachable.
    async fn renew_peer_leases(self: &Arc<Self>) {
        loop {
            let view = self.views.borrow().clone();
            let living = view.iter().flat_map(|view| view.living());
            for agent in living.filter(|agent| agent.id != self.id) {
                let (by, this) = (agent.id, Arc::clone(self));
                tokio::spawn(async move {
                    let requested_at = this.shared.clock.now();
                    let reply = this.outgoing.renew_peer_lease(by).await;
                    if reply.is_ok() {
                        this.liveness.answered(by, this.shared.clock.now());
                    }
                    let message = match reply {
                        Ok(PeerReply::Accepted) => InboundMsg::PeerLease { by, requested_at },
                        Ok(PeerReply::ViewMismatch(Some(view))) => InboundMsg::View(view),
                        Ok(PeerReply::ViewMismatch(None)) | Err(_) => return,
                    };
                    this.inbox.deliver(message).await;
                });
            }
            tokio::time::sleep(self.shared.settings.cluster.peer_lease() / PINGS_PER_LEASE).await;
        }
    }
}

/// Returns the demand of this agent for the wire.
fn recrawl_demand(demand: &DemandReport) -> v1::RecrawlDemand {
    v1::RecrawlDemand {
        sequence: demand.sequence,
        pages: demand.n_pages,
        first: demand.first.into(),
        rates: demand.rates.to_vec(),
    }
}

/// Returns true if the store of uploads survives this machine.
fn survives_machine(settings: &Upload) -> bool {
    match settings.survives {
        StoreSurvival::Auto => upload_url(&settings.url).is_ok_and(|url| url.scheme() == "s3"),
        StoreSurvival::Yes => true,
        StoreSurvival::No => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_survives_the_machine_and_a_directory_does_not_unless_a_person_says_so() {
        for (url, auto) in [("s3://bucket/a", true), ("file:///mnt/a", false), ("", false)] {
            let survives = |survives| {
                survives_machine(&Upload { url: url.to_owned(), survives, ..Upload::default() })
            };
            assert_eq!(survives(StoreSurvival::Auto), auto, "{url}");
            assert!(survives(StoreSurvival::Yes) && !survives(StoreSurvival::No), "{url}");
        }
    }
}
