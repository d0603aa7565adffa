//! Obstacles of the membership.

use super::Members;
use crivello_common::obstacle::{Obstacle, ObstacleKind};
use crivello_common::view::{AgentId, AgentState, RunState};
use std::time::Duration;

impl Members {
    /// Returns all obstacles, those of living members first.
    pub fn obstacles(&self) -> Vec<Obstacle> {
        let of = |kind, agent, since| {
            let (others, disk_full) = (Vec::new(), false);
            Obstacle { kind, agent, since, others, disk_full }
        };
        let mut obstacles = Vec::new();
        if self.view.run != RunState::Stopping {
            for agent in self.view.living() {
                let Some(lease) = self.leases.get(&agent.id) else { continue };
                let behind = lease.behind_since.map(|since| self.now.since(since));
                let behind = behind.unwrap_or_default();
                let silent = self.now.since(lease.until);
                let is_stalled = lease.report.stalled >= self.rules.lease / 2;
                let reports = self.has_reported_lately(agent.id);
                if is_stalled && reports {
                    let stalled = of(ObstacleKind::Stalled, agent.id, lease.report.stalled);
                    obstacles.push(Obstacle { disk_full: lease.report.disk_full, ..stalled });
                } else if !self.is_silent(agent.id) && behind >= self.rules.lease {
                    obstacles.push(of(ObstacleKind::Lagging, agent.id, behind));
                }
                // For a moment, the heartbeats of the others may be missing too.
                let is_undecided = self.conflict.is_some() || !reports;
                if self.is_silent(agent.id) && is_undecided && silent >= self.rules.lease / 2 {
                    let silent = silent + self.rules.lease;
                    let others = self.conflict.iter().flat_map(|conflict| {
                        conflict.grantors.iter().chain([&conflict.agent]).copied()
                    });
                    let others = others.filter(|other| *other != agent.id).collect();
                    let undecided = of(ObstacleKind::Undecided, agent.id, silent);
                    obstacles.push(Obstacle { others, ..undecided });
                }
                let late = lease.report.undelivered.iter();
                let late = late
                    .filter(|(to, since)| *since >= self.rules.lease && self.view.is_alive(*to));
                if let Some(since) = late.clone().map(|(_, since)| *since).max() {
                    let others = late.map(|(to, _)| *to).collect();
                    let undelivered = of(ObstacleKind::Undelivered, agent.id, since);
                    obstacles.push(Obstacle { others, ..undelivered });
                }
            }
            for (&(a, b), &since) in &self.cut.since {
                let since = self.now.since(since);
                if since >= self.rules.peer_lease {
                    let cut = of(ObstacleKind::CutLink, a, since);
                    obstacles.push(Obstacle { others: vec![b], ..cut });
                }
            }
        }
        obstacles.extend(self.obstacles_of_dead(of));
        let never_ready = self.never_ready();
        obstacles.extend(never_ready.map(|(id, since)| of(ObstacleKind::NeverReady, id, since)));
        let active: Vec<AgentId> = self.active().map(|agent| agent.id).collect();
        if let [first, ..] = active[..]
            && active.len() < self.rules.replication
        {
            let few = of(ObstacleKind::FewCopies, first, Duration::ZERO);
            obstacles.push(Obstacle { others: active, ..few });
        }
        obstacles
    }

    fn obstacles_of_dead(
        &self,
        of: impl Fn(ObstacleKind, AgentId, Duration) -> Obstacle,
    ) -> Vec<Obstacle> {
        let mut obstacles = Vec::new();
        let dead = self.view.agents.iter().filter(|agent| agent.state == AgentState::Dead);
        let uncovered = self.uncovered();
        let lacks_holders = !uncovered.is_empty() && self.may_lack_holders(&uncovered);
        let only = dead.filter(|agent| agent.unreplicated);
        for agent in only.filter(|agent| !lacks_holders || !uncovered.contains(&agent.id)) {
            obstacles.push(of(ObstacleKind::OnlyCopy, agent.id, Duration::ZERO));
        }
        if lacks_holders {
            let too_many = of(ObstacleKind::TooManyDead, uncovered[0], Duration::ZERO);
            obstacles.push(Obstacle { others: uncovered, ..too_many });
            return obstacles;
        }
        for id in uncovered {
            let others = self.copying_since(self.deaths.get(&id).map_or(0, |death| death.epoch));
            let copying = of(ObstacleKind::Copying, id, Duration::ZERO);
            obstacles.push(Obstacle { others, ..copying });
        }
        obstacles
    }
}
