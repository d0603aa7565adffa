//! Collection of the facts for explanations of hosts and URLs, from the workbench and the disk.
//!
//! The scheduler is queried through a queue and never waits; the disk is read on a thread of its
//! own. If both know a host, memory takes precedence: the disk is as of the last commit.

mod directory;
pub mod disk_view;
mod due_reason;
mod hosts;
mod sources;
mod subject;
mod url;

#[cfg(test)]
mod tests;

pub use directory::explain_from_directory;

use crate::api::{HostsQuery, QueryError, Subject};
use crate::explain::{CrawlFacts, PageLimitState};
use crate::ip_leases::lessor_of;
use crate::limits::{EXPLANATIONS_AT_ONCE, HOST_ROWS_MAX};
use crate::messages::{HostQuery, HostSnapshot, Lists};
use crate::observe::running_agent::RunningAgent;
use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::hash::HostKey;
use crivello_common::view::{AgentId, View};
use crivello_proto::v1;
use parking_lot::Mutex;
use sources::Sources;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use subject::{Query, explain, rewritten};
use tokio::sync::{Semaphore, oneshot};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

/// Time after which the scheduler counts as ended: it reads its queues ten times a second.
const SCHEDULER_TIMEOUT: Duration = Duration::from_secs(3);

/// Answers queries about hosts and URLs.
pub struct Explainer {
    pub agent: RunningAgent,
    owners: Mutex<Option<Arc<Owners>>>,
    explanations: Semaphore,
    lists: Semaphore,
}

impl Explainer {
    /// Creates the explainer of this agent.
    #[must_use]
    pub fn new(agent: RunningAgent) -> Self {
        let explanations = Semaphore::new(EXPLANATIONS_AT_ONCE);
        Self { agent, owners: Mutex::default(), explanations, lists: Semaphore::new(1) }
    }

    /// Returns the sources, with the settings in force.
    fn sources(&self) -> Arc<Sources> {
        let live = self.agent.shared.live.latest().live.clone();
        let settings = Settings { fixed: (*self.agent.shared.settings).clone(), live };
        Arc::new(Sources {
            me: self.agent.id,
            disk: self.agent.disk.clone(),
            rules: self.agent.rules.load_full(),
            lists: Lists::of(&settings.live),
            settings,
            hasher: self.agent.shared.hasher,
            archive: self.agent.archive.clone(),
            shared: Some(self.agent.shared.clone()),
        })
    }

    /// Implements [`api::AgentApi::explain`](crate::api::AgentApi::explain).
    pub async fn explain(
        &self,
        view: Option<Arc<View>>,
        asked: Subject,
        archive_file: Option<u32>,
    ) -> Result<v1::ExplainResponse, QueryError> {
        let _permit = self.explanations.acquire().await.map_err(|_| QueryError::NotNow)?;
        let owners = self.owners(view);
        let subject = rewritten(&asked, &self.agent.rules.load());
        let key = self.agent.shared.hasher.host_key(subject.host());
        let workbench = self.query_workbench(vec![key], true).await?.into_iter().next().flatten();
        let lessor =
            workbench.as_ref().and_then(|workbench| self.lessor(owners.as_deref(), workbench));
        let crawl = self.crawl_facts();
        let now = self.agent.shared.clock.now();
        let sources = self.sources();
        let explained = spawn_blocking(move || {
            let query = Query { asked: &asked, subject: &subject, key, archive_file };
            explain(&sources, &query, owners.as_deref(), workbench.as_ref(), lessor, &crawl, now)
        });
        Ok(explained.await.map_err(|_| QueryError::NotNow)??)
    }

    /// Implements [`api::AgentApi::hosts`](crate::api::AgentApi::hosts).
    pub async fn hosts(
        &self,
        view: Option<Arc<View>>,
        query: HostsQuery,
    ) -> Result<v1::HostsResponse, QueryError> {
        let _permit = self.lists.try_acquire().map_err(|_| QueryError::Busy)?;
        let (sources, owners) = (self.sources(), self.owners(view));
        let found = spawn_blocking(move || hosts::find(&sources, &query, HOST_ROWS_MAX));
        let found = found.await.map_err(|_| QueryError::NotNow)??;
        let keys = found.rows.iter().map(|(key, _)| *key).collect();
        let workbench = self.query_workbench(keys, false).await?;
        let (crawl, now) = (self.crawl_facts(), self.agent.shared.clock.now());
        let sources = self.sources();
        let statuses = spawn_blocking(move || {
            hosts::statuses(&sources, &found, &workbench, owners.as_deref(), &crawl, now)
        });
        Ok(statuses.await.map_err(|_| QueryError::NotNow)??)
    }

    /// Returns the last fetches, at most `max`, newest first.
    pub fn fetches(&self, max: usize, failed_only: bool) -> Vec<v1::FetchSummary> {
        self.agent.shared.status.recent.last(max, failed_only, self.agent.id)
    }

    /// Queries the scheduler, which never waits for this, about hosts on the workbench.
    async fn query_workbench(
        &self,
        hosts: Vec<HostKey>,
        thorough: bool,
    ) -> Result<Vec<Option<HostSnapshot>>, QueryError> {
        let (reply, answered) = oneshot::channel();
        let queued = self.agent.queues.queries.push(HostQuery { hosts, thorough, reply });
        queued.map_err(|_| QueryError::NotNow)?;
        self.agent.queues.wake();
        let answer = timeout(SCHEDULER_TIMEOUT, answered).await;
        answer.ok().and_then(Result::ok).ok_or(QueryError::NotNow)
    }

    /// Returns the facts about the crawl as a whole.
    fn crawl_facts(&self) -> CrawlFacts {
        let shared = &self.agent.shared;
        CrawlFacts {
            is_running: true,
            is_stopping: shared.lifecycle.is_stopping(),
            is_paused: shared.status.paused.load(Relaxed),
            page_limit: match shared.page_budget.any() {
                true => PageLimitState::Open,
                false if shared.status.only_again.load(Relaxed) => PageLimitState::OnlyAgain,
                false if shared.page_budget.is_used_up() => PageLimitState::Reached,
                false => PageLimitState::QuotaUsed,
            },
            fence_is_open: shared.fetch_deadline.is_open(shared.clock.now()),
            disk_is_full: shared.status.disk_full.load(Relaxed),
            is_offline: shared.status.offline.load(Relaxed),
            visits_from: shared.lifecycle.visits_from,
            pipeline_is_full: !shared.pipeline.has_room(),
            visits: shared.status.visits.load(Relaxed) as u64,
            visits_max: shared.settings.fetch.visits_max.into(),
            hosts_in_memory: shared.status.workbench.lock().hosts as u64,
        }
    }

    /// Returns the owners in `view`, computed once for each view.
    fn owners(&self, view: Option<Arc<View>>) -> Option<Arc<Owners>> {
        let view = view?;
        let mut last = self.owners.lock();
        if last.as_ref().is_none_or(|owners| owners.view().epoch != view.epoch) {
            let strategy = self.agent.shared.settings.cluster.strategy;
            *last = Owners::new(strategy, view).ok().map(Arc::new);
        }
        last.clone()
    }

    /// Returns the agent that grants the leases on the address of a host, if it is another one.
    fn lessor(&self, owners: Option<&Owners>, workbench: &HostSnapshot) -> Option<AgentId> {
        let address = workbench.address.as_ref()?.address;
        let lessor = lessor_of(owners?, &self.agent.shared.hasher, address);
        lessor.filter(|&lessor| lessor != self.agent.id)
    }
}
