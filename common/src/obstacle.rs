//! Obstacles: what keeps agents from working, members from being declared dead, or a crawl from
//! ending; and what a person can do about it.

use crate::closed_set;
use crate::format;
use crate::view::AgentId;
use std::time::Duration;

closed_set! {
    /// Kind of an obstacle.
    pub enum ObstacleKind {
        /// An agent whose lease is over cannot be declared dead: it may still fetch by peer leases.
        Undecided = 0 => "undecided",
        /// An agent makes no progress.
        Stalled = 1 => "stalled",
        /// An agent does not follow the views.
        Lagging = 2 => "lagging",
        /// Two agents cannot reach each other.
        CutLink = 3 => "cut-link",
        /// A dead agent may hold data that no other agent has.
        OnlyCopy = 4 => "only-copy",
        /// As many agents died as hold each URL, before the others had copied their groups.
        TooManyDead = 5 => "too-many-dead",
        /// The groups of a dead agent are still being copied.
        Copying = 6 => "copying",
        /// Fewer agents are active than are to hold each URL.
        FewCopies = 7 => "few-copies",
        /// A dead agent, no process of which was ready for too long.
        NeverReady = 8 => "never-ready",
        /// An agent has not stored what another one sent it.
        Undelivered = 9 => "undelivered",
    }
}

impl ObstacleKind {
    /// Returns true if the crawl cannot end while the obstacle is there and nobody acts.
    pub const fn blocks_end(self) -> bool {
        !matches!(self, Self::Copying | Self::FewCopies | Self::NeverReady)
    }
}

/// An obstacle, as the coordinator knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Obstacle {
    /// Kind.
    pub kind: ObstacleKind,
    /// The agent that it concerns.
    pub agent: AgentId,
    /// Time for which it has lasted; zero for a state without a beginning.
    pub since: Duration,
    /// Other agents: those of which one must return (`Undecided`), the other end of the link
    /// (`CutLink`), all agents that died (`TooManyDead`), those that still copy (`Copying`), those
    /// that are active (`FewCopies`), those that have not stored it (`Undelivered`).
    pub others: Vec<AgentId>,
    /// True if the disk of the agent is full (`Stalled`).
    pub disk_full: bool,
}

impl Obstacle {
    /// Returns the obstacle in words, with what a person can do. `name` returns the name of an
    /// agent.
    pub fn describe(&self, name: impl Fn(AgentId) -> String) -> String {
        let agent = name(self.agent);
        let others: Vec<String> = self.others.iter().copied().map(&name).collect();
        let since = format::duration(self.since);
        match self.kind {
            ObstacleKind::Undecided => {
                let waits = format!(
                    "{agent} has been without news of progress for {since}, and cannot be declared dead: \
                     it may still fetch by peer leases"
                );
                let others = match others.is_empty() {
                    true => String::new(),
                    false => format!(" of {}, which may run as well", others.join(", ")),
                };
                format!(
                    "{waits}{others}. Repair the network, or restart the agent; if its process \
                     certainly does not run, type `crivello declare-dead {agent}`"
                )
            }
            ObstacleKind::Stalled => {
                let (why, what) = match self.disk_full {
                    true => ("its disk is full", "free space on its disk"),
                    false => ("a disk or a thread of it is stuck", "check its disk, or restart it"),
                };
                format!(
                    "{agent} has made no progress for {since}: {why}. Once it is declared dead, the \
                     others take its groups over; {what}, and it continues by itself"
                )
            }
            ObstacleKind::Lagging => format!(
                "{agent} has not followed the current view for {since}. If it stays behind, the \
                 others take its groups over; check its load, or restart it"
            ),
            ObstacleKind::CutLink => format!(
                "{agent} and {} have not reached each other for {since}, although both reach the \
                 coordinator. Repair the network between them; until then one of them is declared \
                 dead, and the others go on",
                others.join(", ")
            ),
            ObstacleKind::OnlyCopy => format!(
                "{agent} is dead and may hold URLs that no other agent has: it had not copied all of \
                 its groups. Start it again; if its disk is lost, type `crivello remove {agent} \
                 --force` with --refetch or --give-up"
            ),
            ObstacleKind::TooManyDead => format!(
                "{} are dead, as many as hold each URL: some URLs may be at none of the others. Start \
                 one of them again; if their disks are lost, type `crivello remove {agent} --force` \
                 with --refetch or --give-up",
                others.join(", ")
            ),
            ObstacleKind::FewCopies => format!(
                "what is acknowledged is on fewer disks than `cluster.replication` says, because no \
                 agents but {} are active; start more agents",
                others.join(", ")
            ),
            ObstacleKind::NeverReady => format!(
                "no process of {agent}, which is dead, has been ready for {since}, while the others \
                 waited. It may not rejoin for a while; its log says why"
            ),
            ObstacleKind::Undelivered => format!(
                "what {agent} sent has not been stored by {} for {since}. If nothing else is reported \
                 about them or about the agents that copy their groups, restart {agent}",
                others.join(", ")
            ),
            ObstacleKind::Copying => format!(
                "the groups of {agent}, which is dead, are still being copied by {}",
                others.join(", ")
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_obstacle_names_its_agent_and_what_to_do() {
        for kind in ObstacleKind::ALL {
            let obstacle = Obstacle {
                kind,
                agent: AgentId(1),
                since: Duration::from_secs(90),
                others: vec![AgentId(2), AgentId(1)],
                disk_full: true,
            };
            let text = obstacle.describe(|id| format!("agent-{id}"));
            assert!(text.contains("agent-1"), "{text}");
            let advice = ["type `crivello", "free space", "restart", "Repair the network"];
            let advises = advice.iter().any(|words| text.contains(words));
            assert_eq!(advises, kind.blocks_end(), "{text}");
        }
    }
}
