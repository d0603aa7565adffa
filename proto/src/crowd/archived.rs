//! What is only in the archive of an agent that is gone.

use super::{Answer, Client, Crowd, ask_all};
use crate::v1;
use crivello_common::view::{Agent, AgentId, View};
use std::sync::Arc;
use std::time::Duration;

/// For an agent to count, which may have to read all it has.
const COUNT_PATIENCE: Duration = Duration::from_secs(600);

/// What one agent knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// Pages that nobody else has archived.
    pub pages: u64,
    /// It goes by this view and has nothing to hand over. Before, nobody counts the pages that
    /// change hands.
    pub is_settled: bool,
    /// How many agents are to have each URL.
    pub replication: u32,
}

/// Has all agents of `view` that are alive count the pages that are in the archive of `gone` alone.
/// Each page is counted by one of them.
pub async fn only_there(
    crowd: &Arc<Crowd>,
    view: &View,
    crawl: &str,
    gone: AgentId,
) -> Vec<(Agent, Answer<Count>)> {
    let epoch = view.epoch;
    let count = |crowd: Arc<Crowd>, agent: Agent| {
        let crawl = crawl.to_owned();
        async move {
            let status = crowd.status(&agent, &crawl).await?;
            let request = v1::ArchivedRequest { by: gone.0 };
            let question = async |mut client: Client| client.archived(request).await;
            let pages = crowd.ask_for(COUNT_PATIENCE, &agent, question).await?.pages;
            let is_settled = status.epoch == epoch && status.handoffs == 0;
            Ok(Count { pages, is_settled, replication: status.replication })
        }
    };
    ask_all(crowd, view, count).await
}
