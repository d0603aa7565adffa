//! Collection of the facts for explanations of hosts and URLs, from the workbench and the disk.
//!
//! The scheduler is queried through a queue and never waits; the disk is read on a thread of its
//! own. If both know a host, memory takes precedence: the disk is as of the last commit.

mod crawl;
mod directory;
mod disk_view;
mod hosts;
mod query;
mod sources;
mod subject;
mod url;

#[cfg(test)]
mod tests;

pub use directory::explain_from_directory;

use crate::api::{HostsQuery, QueryError, Subject};
use crate::ip_leases::lessor_of;
use crate::limits::{EXPLANATIONS_AT_ONCE, HOST_ROWS_MAX};
use crate::messages::{HostSnapshot, Lists, SchedulerQueues};
use crate::process::RulesInForce;
use crate::shared::Shared;
use crate::storage::Database;
use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::url::host_key;
use crivello_common::view::{AgentId, View};
use crivello_proto::v1;
use parking_lot::Mutex;
use query::query_workbench;
use sources::Sources;
use std::path::PathBuf;
use std::sync::Arc;
use subject::{Query, explain};
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

/// Answers queries about hosts and URLs.
pub struct Explainer {
    me: AgentId,
    disk: Arc<Database>,
    rules: RulesInForce,
    /// Directory of the archive.
    archive: PathBuf,
    shared: Shared,
    queues: Arc<SchedulerQueues>,
    owners: Mutex<Option<Arc<Owners>>>,
    explanations: Semaphore,
    lists: Semaphore,
}

impl Explainer {
    /// Creates the explainer of agent `me`, whose archive is in the directory `archive`.
    #[must_use]
    pub fn new(
        me: AgentId,
        disk: Arc<Database>,
        rules: RulesInForce,
        archive: PathBuf,
        shared: Shared,
        queues: Arc<SchedulerQueues>,
    ) -> Self {
        Self {
            me,
            disk,
            rules,
            archive,
            shared,
            queues,
            owners: Mutex::default(),
            explanations: Semaphore::new(EXPLANATIONS_AT_ONCE),
            lists: Semaphore::new(1),
        }
    }

    /// Returns the sources, with the settings in force.
    fn sources(&self) -> Arc<Sources> {
        let live = self.shared.live.latest().live.clone();
        let settings = Settings { fixed: (*self.shared.settings).clone(), live };
        Arc::new(Sources {
            me: self.me,
            disk: self.disk.clone(),
            rules: self.rules.load_full(),
            lists: Lists::of(&settings.live),
            settings,
            archive: self.archive.clone(),
            shared: Some(self.shared.clone()),
        })
    }

    /// Implements [`api::AgentApi::explain`](crate::api::AgentApi::explain).
    pub async fn explain(
        &self,
        view: Option<Arc<View>>,
        subject: Subject,
        archive_file: Option<u32>,
    ) -> Result<v1::ExplainResponse, QueryError> {
        let _permit = self.explanations.acquire().await.map_err(|_| QueryError::NotNow)?;
        let owners = self.owners(view);
        let key = host_key(subject.host(), self.shared.settings.identity.assign_by);
        let workbench = query_workbench(&self.queues, vec![key], true).await;
        let workbench = workbench.ok_or(QueryError::NotNow)?.into_iter().next().flatten();
        let lessor =
            workbench.as_ref().and_then(|workbench| self.lessor(owners.as_deref(), workbench));
        let crawl = crawl::crawl_facts(&self.shared);
        let now = self.shared.clock.now();
        let sources = self.sources();
        let explained = spawn_blocking(move || {
            let query = Query { subject: &subject, key, archive_file };
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
        let workbench =
            query_workbench(&self.queues, keys, false).await.ok_or(QueryError::NotNow)?;
        let (crawl, now) = (crawl::crawl_facts(&self.shared), self.shared.clock.now());
        let sources = self.sources();
        let statuses = spawn_blocking(move || {
            hosts::statuses(&sources, &found, &workbench, owners.as_deref(), &crawl, now)
        });
        Ok(statuses.await.map_err(|_| QueryError::NotNow)??)
    }

    /// Returns the last fetches, at most `max`, newest first.
    pub fn fetches(&self, max: usize, failed_only: bool) -> Vec<v1::FetchSummary> {
        self.shared.status.recent.last(max, failed_only, self.me)
    }

    /// Returns the owners in `view`, computed once for each view.
    fn owners(&self, view: Option<Arc<View>>) -> Option<Arc<Owners>> {
        let view = view?;
        let mut last = self.owners.lock();
        if last.as_ref().is_none_or(|owners| owners.view().epoch != view.epoch) {
            let strategy = self.shared.settings.cluster.strategy;
            *last = Owners::new(strategy, view).ok().map(Arc::new);
        }
        last.clone()
    }

    /// Returns the agent that grants the leases on the address of a host, if it is another one.
    fn lessor(&self, owners: Option<&Owners>, workbench: &HostSnapshot) -> Option<AgentId> {
        let lessor = lessor_of(owners?, workbench.address.as_ref()?.address);
        lessor.filter(|&lessor| lessor != self.me)
    }
}
