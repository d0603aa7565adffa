//! Count of the pages that exist only in the archive of a removed agent.

use super::{AgentClients, Answer, Client, Scope, ask_all};
use crate::v1;
use crivello_common::view::{Agent, AgentId, LostArchive, View};
use std::sync::Arc;
use std::time::Duration;

/// Timeout of a count, for which an agent may have to read all its rows.
const COUNT_TIMEOUT: Duration = Duration::from_secs(600);

/// The count of one agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArchivedCount {
    /// Number of pages in no other archive, nor in a store.
    pub pages: u64,
    /// Number of its pages that are in a store.
    pub safe_pages: u64,
    /// True if the agent uses the view and has no handoff in progress. No agent counts pages in a
    /// handoff.
    pub is_settled: bool,
    /// Number of agents that hold each URL.
    pub replication: u32,
}

/// Returns the sums of complete counts of all other agents for `removed`: the pages in no other archive, nor in
/// a store; and those in a store.
///
/// # Errors
/// Fails if an agent did not answer, or has not settled: pages of a group in handoff are not counted.
pub fn sum_archived(
    counts: &[(Agent, Answer<ArchivedCount>)],
    removed: &Agent,
) -> Result<(u64, u64), String> {
    let pages = |(agent, count): &(Agent, Answer<ArchivedCount>)| {
        let why = match count {
            Ok(count) if count.is_settled => return Ok((count.pages, count.safe_pages)),
            Ok(_) => "is still taking over its groups".to_owned(),
            Err(unreachable) => unreachable.to_string(),
        };
        Err(format!(
            "{} {why}: the pages that only {} has cannot be counted yet; try again in a moment",
            agent.name, removed.name
        ))
    };
    counts.iter().map(pages).try_fold((0, 0), |(pages, safe), counted| {
        let (more, more_safe) = counted?;
        Ok((pages + more, safe + more_safe))
    })
}

/// Queries all living agents of `view` for the number of pages that exist only in the archive of
/// `removed`. Each page is counted by one agent.
pub async fn archived_only_by(
    clients: &Arc<AgentClients>,
    view: &View,
    crawl: &str,
    removed: LostArchive,
) -> Vec<(Agent, Answer<ArchivedCount>)> {
    let epoch = view.epoch;
    let count = |clients: Arc<AgentClients>, agent: Agent| {
        let crawl = crawl.to_owned();
        async move {
            let (status, _) = clients.status(&agent, &crawl).await?;
            let LostArchive { agent: AgentId(lost), safe_files } = removed;
            let request = v1::CountArchivedRequest { agent: lost, safe_files };
            let call = async |mut client: Client| client.count_archived(request).await;
            let counted = clients.ask_within(COUNT_TIMEOUT, (&agent, Scope::Read), call).await?;
            let is_settled = status.epoch == epoch && status.handoffs == 0;
            Ok(ArchivedCount {
                pages: counted.pages,
                safe_pages: counted.safe_pages,
                is_settled,
                replication: status.replication,
            })
        }
    };
    ask_all(clients, view, count).await
}
