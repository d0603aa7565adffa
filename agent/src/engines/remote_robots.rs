//! Requests to other agents for a robots.txt on their hosts, to which a robots.txt here redirects.

use crate::messages::{RobotsOutcome, SchedulerQueues};
use crate::peers::Outgoing;
use crivello_common::assignment::Owners;
use crivello_common::config::Fixed;
use crivello_common::identity::KeyedHasher;
use crivello_common::url::CrawlUrl;
use crivello_common::view::{AgentId, View};
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{Semaphore, watch};

/// Maximum number of requests to one agent at once: its answers wait for the hosts' visits, and
/// other calls need room on the same connection.
const ASKED_MAX: usize = 8;

/// Task that sends these requests.
pub struct RemoteRobotsClient {
    pub outgoing: Arc<Outgoing>,
    pub views: watch::Receiver<Option<Arc<View>>>,
    pub settings: Arc<Fixed>,
    pub hasher: KeyedHasher,
    pub queues: Arc<SchedulerQueues>,
}

impl RemoteRobotsClient {
    /// Runs until the runtime ends.
    pub async fn run(self) {
        let mut permits: HashMap<AgentId, Arc<Semaphore>> = HashMap::new();
        let mut owners: Option<Owners> = None;
        loop {
            self.queues.remote_robots.requested.notified().await;
            let view = self.views.borrow().clone();
            let known = owners.as_ref().map(|owners| owners.view().epoch);
            if let Some(view) = view.filter(|view| known != Some(view.epoch)) {
                permits.retain(|id, _| view.agent(*id).is_some());
                owners = Owners::new(self.settings.cluster.strategy, view).ok();
            }
            while let Some(url) = self.queues.remote_robots.requests.pop() {
                let group = self.hasher.group(url.host());
                let to = owners.as_ref().and_then(|owners| owners.owner(group));
                let permit = to.map(|to| {
                    let permits =
                        permits.entry(to).or_insert_with(|| Semaphore::new(ASKED_MAX).into());
                    (to, permits.clone())
                });
                tokio::spawn(ask(self.outgoing.clone(), self.queues.clone(), url, permit));
            }
        }
    }
}

/// Requests a robots.txt from the owner of the host. Without an owner or an answer it counts as
/// unreachable.
async fn ask(
    outgoing: Arc<Outgoing>,
    queues: Arc<SchedulerQueues>,
    url: CrawlUrl,
    to: Option<(AgentId, Arc<Semaphore>)>,
) {
    let mut found = RobotsOutcome::Unreachable;
    if let Some((to, permits)) = to
        && let Ok(_permit) = permits.acquire().await
    {
        match outgoing.fetch_robots(to, &url).await {
            Ok(answer) => found = answer,
            Err(status) => {
                tracing::debug!(%url, agent = %to, "no robots.txt returned: {}", status.message());
            }
        }
    }
    if let Err(lost) = queues.remote_robots.answers.push((url, found)) {
        tracing::error!(?lost, "the scheduler's queue is full");
    }
    queues.wake();
}
