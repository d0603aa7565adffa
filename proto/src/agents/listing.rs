//! Member list of a crawl.

use crate::obstacle::obstacles;
use crate::v1;
use crate::view::InvalidView;
use crivello_common::obstacle::Obstacle;
use crivello_common::view::{AgentId, View};
use serde::Serialize;
use std::collections::HashMap;

/// Checked member list of a crawl.
#[derive(Clone, Debug)]
pub struct Listing {
    /// Id of the crawl.
    pub crawl_id: String,
    /// View in force.
    pub view: View,
    /// Leases by agent.
    pub leases: HashMap<AgentId, v1::AgentLease>,
    /// Obstacles to progress or completion.
    pub obstacles: Vec<Obstacle>,
    /// Dead agents since whose death the others have not fully replicated all groups.
    pub uncovered: Vec<AgentId>,
    /// For each agent: archive files with lower serial numbers are safe in a store that survives its machine.
    pub safe_files: HashMap<AgentId, u32>,
}

/// An obstacle for people.
#[derive(Clone, Debug, Serialize)]
pub struct ObstacleText {
    /// [`ObstacleKind::name`](crivello_common::obstacle::ObstacleKind::name).
    pub kind: &'static str,
    /// Name of the agent that it concerns.
    pub agent: String,
    /// Names of other agents; see [`Obstacle::others`].
    pub others: Vec<String>,
    /// True if the disk of the agent is full.
    pub disk_full: bool,
    /// Time for which it has lasted; zero for a state without a beginning.
    pub seconds: f64,
    /// Description with names of agents, and the remedy.
    pub text: String,
}

impl Listing {
    /// Returns the name of an agent.
    pub fn name(&self, id: AgentId) -> String {
        self.view.agent(id).map_or_else(|| format!("agent {id}"), |agent| agent.name.clone())
    }

    /// Returns the obstacles, with names of agents.
    pub fn obstacle_texts(&self) -> Vec<ObstacleText> {
        let text = |obstacle: &Obstacle| ObstacleText {
            kind: obstacle.kind.name(),
            agent: self.name(obstacle.agent),
            others: obstacle.others.iter().map(|id| self.name(*id)).collect(),
            disk_full: obstacle.disk_full,
            seconds: obstacle.since.as_secs_f64(),
            text: obstacle.describe(|id| self.name(id)),
        };
        self.obstacles.iter().map(text).collect()
    }
}

impl TryFrom<v1::ListAgentsResponse> for Listing {
    type Error = InvalidView;

    fn try_from(listed: v1::ListAgentsResponse) -> Result<Self, InvalidView> {
        let lease = |lease: v1::AgentLease| (AgentId(lease.id), lease);
        Ok(Self {
            crawl_id: listed.crawl_id,
            view: View::try_from(listed.view.unwrap_or_default())?,
            leases: listed.leases.into_iter().map(lease).collect(),
            obstacles: obstacles(listed.obstacles),
            uncovered: listed.uncovered.into_iter().map(AgentId).collect(),
            safe_files: listed.safe_files.into_iter().map(|(id, n)| (AgentId(id), n)).collect(),
        })
    }
}
