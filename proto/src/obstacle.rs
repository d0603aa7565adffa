//! Conversion of obstacles to and from the wire format.

use crate::enums::{from_number, number};
use crate::v1;
use crivello_common::obstacle::{Obstacle, ObstacleKind};
use crivello_common::time::millis;
use crivello_common::view::AgentId;
use std::time::Duration;

impl From<Obstacle> for v1::Obstacle {
    fn from(obstacle: Obstacle) -> Self {
        Self {
            kind: number(obstacle.kind.code()),
            agent: obstacle.agent.0,
            since_ms: millis(obstacle.since),
            others: obstacle.others.into_iter().map(|id| id.0).collect(),
            disk_full: obstacle.disk_full,
        }
    }
}

/// Returns the obstacles that this build knows.
#[must_use]
pub fn obstacles(sent: Vec<v1::Obstacle>) -> Vec<Obstacle> {
    let read = |obstacle: v1::Obstacle| {
        Some(Obstacle {
            kind: from_number(obstacle.kind, ObstacleKind::from_code)?,
            agent: AgentId(obstacle.agent),
            since: Duration::from_millis(obstacle.since_ms),
            others: obstacle.others.into_iter().map(AgentId).collect(),
            disk_full: obstacle.disk_full,
        })
    };
    sent.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_round_trips_and_an_unknown_one_is_skipped() {
        let of = |kind| Obstacle {
            kind,
            agent: AgentId(3),
            since: Duration::from_millis(1_500),
            others: vec![AgentId(1), AgentId(2)],
            disk_full: true,
        };
        let all = ObstacleKind::ALL.map(of).to_vec();
        let mut sent: Vec<v1::Obstacle> = all.iter().cloned().map(Into::into).collect();
        sent.push(v1::Obstacle { kind: 99, ..v1::Obstacle::default() });
        assert_eq!(obstacles(sent), all);
    }
}
