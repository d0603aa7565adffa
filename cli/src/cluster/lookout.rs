//! Looks out for the end of a crawl: round after round, all agents are asked how they stand.

use super::crowd::Answers;
use crivello_common::quiet::{Busy, Round, is_done};
use crivello_common::view::{AgentId, View};

/// Remembers the round before.
#[derive(Debug, Default)]
pub struct Lookout {
    before: Option<Round>,
}

impl Lookout {
    /// What `answers` say, which all agents gave under `view` since the last call.
    ///
    /// # Errors
    /// Why the crawl is not known to be done.
    pub fn look(&mut self, view: &View, answers: &Answers) -> Result<(), Busy> {
        let mut now = Round::of(view);
        for (id, answer) in answers {
            now.alive.insert(*id, answer.as_ref().ok().map(|status| status.said()));
        }
        let replication = answers.values().flatten().map(|status| status.replication).min();
        now.replication = replication.unwrap_or(1);
        let done = is_done(self.before.as_ref(), &now);
        self.before = Some(now);
        done
    }

    /// A round could not be made.
    pub fn lost(&mut self) {
        self.before = None;
    }
}

/// Why a crawl is not known to be done, with the agents' names.
pub fn why(busy: &Busy, view: &View) -> String {
    let name = |id: AgentId| view.agent(id).map_or_else(|| id.to_string(), |a| a.name.clone());
    match busy {
        Busy::Nobody => "no agent is there".to_owned(),
        Busy::Silent(id) => format!("{} cannot be reached", name(*id)),
        Busy::OtherEpoch(id) => format!("{} has not heard of the present view", name(*id)),
        Busy::Unknowable(dead) => {
            let names: Vec<String> = dead.iter().copied().map(name).collect();
            let verb = if dead.len() == 1 { "is" } else { "are" };
            format!(
                "{} {verb} dead, and what nobody else holds is unknown (start again, or `crivello \
                 remove`)",
                names.join(", ")
            )
        }
        Busy::Working(1) => "1 agent has something to do".to_owned(),
        Busy::Working(n) => format!("{n} agents have something to do"),
        Busy::Moved => "looking once more".to_owned(),
    }
}
