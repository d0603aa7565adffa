//! What the agents know of a host or a URL, put together: one of them tells the story, the others
//! say what they are to it.

mod json;
#[cfg(test)]
mod tests;
mod text;

use crivello_agent::api::About;
use crivello_common::view::{AgentId, View};
use crivello_proto::v1::{HoldKind, UrlFate, WhyResponse};
use std::collections::BTreeMap;

/// What each agent that is alive knows, or why nothing was heard of it.
pub type Known = BTreeMap<AgentId, Result<WhyResponse, String>>;

/// See the module.
pub struct Story<'a> {
    /// What was asked about.
    pub about: &'a About,
    /// The agents.
    pub view: &'a View,
    /// What they say.
    pub known: &'a Known,
    /// The name of the archive file, asked of the agent that has it.
    pub file: Option<Result<String, String>>,
    /// Nothing is running: the directories of the agents were read.
    pub is_at_rest: bool,
}

impl<'a> Story<'a> {
    /// The agent whose word counts: the one that fetches the group, else the one that knows most.
    pub fn teller(&self) -> Option<&'a WhyResponse> {
        teller(self.known)
    }

    /// Whether anything is known of it.
    pub fn is_known(&self) -> bool {
        self.known.values().flatten().any(|answer| {
            let host = answer.host.as_ref().is_some_and(|h| h.is_known || h.on_workbench);
            let fate = answer.url.as_ref().map(|url| url.fate());
            host || fate.is_some_and(|fate| fate != UrlFate::Unknown)
        })
    }

    /// As people call an agent.
    fn name(&self, id: AgentId) -> String {
        let agent = self.view.agent(id);
        agent.map_or_else(|| format!("agent {id}"), |agent| agent.name.clone())
    }

    /// The owner of the group, by the view of whoever answered.
    fn owner(&self) -> Option<AgentId> {
        let owner = |answer: &WhyResponse| answer.owner.map(AgentId);
        self.teller().and_then(owner)
    }
}

/// See [`Story::teller`].
pub fn teller(known: &Known) -> Option<&WhyResponse> {
    let rank = |answer: &&WhyResponse| match answer.hold() {
        HoldKind::Authority => 0,
        HoldKind::Leaving => 1,
        HoldKind::Pending => 2,
        HoldKind::Copy => 3,
        // Its owner knows the rules as well as anybody.
        _ if answer.owner == Some(answer.agent) => 4,
        HoldKind::None | HoldKind::Unspecified => 5,
    };
    known.values().flatten().min_by_key(rank)
}
