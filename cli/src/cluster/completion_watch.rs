//! Detection of a crawl's completion from repeated status rounds of all agents.

use super::statuses::AgentStatuses;
use crivello_common::completion::{NotDone, Round, is_done};
use crivello_common::view::{AgentId, View};
use crivello_proto::agents::Listing;

/// Comparison of each round with the previous one.
#[derive(Debug, Default)]
pub struct CompletionWatch {
    previous: Option<Round>,
}

impl CompletionWatch {
    /// Checks the `answers` of all agents of `listing` since the last call.
    ///
    /// # Errors
    /// Returns the reason why the crawl is not known to be complete.
    pub fn check(&mut self, listing: &Listing, answers: &AgentStatuses) -> Result<(), NotDone> {
        let mut now = Round::of(&listing.view, &listing.uncovered);
        for (id, answer) in answers {
            now.alive.insert(*id, answer.as_ref().ok().map(|(status, _)| status.reply()));
        }
        let replication = answers.values().flatten().map(|(status, _)| status.replication).min();
        now.replication = replication.unwrap_or(1);
        let done = is_done(self.previous.as_ref(), &now);
        self.previous = Some(now);
        done
    }

    /// Forgets the previous round, because a round failed.
    pub fn reset(&mut self) {
        self.previous = None;
    }
}

/// Returns true if the crawl comes back to its pages, so that it is never complete.
pub fn has_no_end(answers: &AgentStatuses) -> bool {
    answers.values().flatten().any(|(_, progress)| progress.recrawl.is_some())
}

/// Returns a text that explains why a crawl is not known to be complete.
pub fn why(busy: &NotDone, view: &View) -> String {
    let name = |id: AgentId| view.agent(id).map_or_else(|| id.to_string(), |a| a.name.clone());
    match busy {
        NotDone::NoAgents => "no agent is running".to_owned(),
        NotDone::NoReply(id) => format!("{} cannot be reached", name(*id)),
        NotDone::OtherView(id) => format!("{} does not use the current view yet", name(*id)),
        NotDone::DataUnavailable(dead) => {
            let names: Vec<String> = dead.iter().copied().map(name).collect();
            let verb = if dead.len() == 1 { "is" } else { "are" };
            format!("{} {verb} dead and may hold URLs that no other agent has", names.join(", "))
        }
        NotDone::Working(1) => "1 agent has work".to_owned(),
        NotDone::Working(n) => format!("{n} agents have work"),
        NotDone::Changed => "checking again".to_owned(),
    }
}
