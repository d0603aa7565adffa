//! How all agents of a crawl stand.

use super::Papers;
use crivello_agent::api::AgentStatus;
use crivello_common::view::{AgentId, View};
use crivello_proto::crowd::{Crowd, ask_all};
use crivello_proto::guard::Show;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What each agent that is alive says, or why nothing was heard of it.
pub type Answers = BTreeMap<AgentId, Result<AgentStatus, String>>;

impl Papers {
    /// The way to the agents of a crawl.
    pub fn crowd(&self) -> Arc<Crowd> {
        Arc::new(Crowd::new(self.tls.clone(), Show::new(self.token.as_ref())))
    }
}

/// Asks all agents of `view` that are alive how they stand, all at once.
pub async fn ask(crowd: &Arc<Crowd>, view: &View, crawl_id: &str) -> Answers {
    crowd.keep(view);
    let question = |crowd: Arc<Crowd>, agent| {
        let crawl_id = crawl_id.to_owned();
        async move { crowd.status(&agent, &crawl_id).await }
    };
    let answers = ask_all(crowd, view, question).await.into_iter();
    let read = answers.map(|(agent, answer)| {
        let status = answer.map_err(|silence| silence.to_string());
        (agent.id, status.and_then(|s| AgentStatus::try_from(s).map_err(|error| error.to_string())))
    });
    read.collect()
}

/// Whether all have answered, go by the view of this epoch, and have nothing to hand over.
pub fn are_settled(answers: &Answers, epoch: u64) -> bool {
    let settled = |status: &AgentStatus| status.epoch == epoch && status.handoffs == 0;
    answers.values().all(|answer| answer.as_ref().is_ok_and(settled))
}
