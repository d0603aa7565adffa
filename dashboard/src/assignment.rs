//! The assignment of groups to agents, estimated from a sample: the owners of 1,024 artificial
//! groups with evenly spread hashes, now and before the last change that moved any of them.

use crivello_common::assignment::Owners;
use crivello_common::config::Settings;
use crivello_common::hash::GroupHash;
use crivello_common::view::{AgentId, View};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// Number of groups in the sample.
pub(super) const SAMPLE: u32 = 1_024;

/// Owners of the sample in one view.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Drawn {
    epoch: u64,
    /// Owner of each group; `None` while no agent is active.
    owners: Vec<Option<AgentId>>,
}

/// The sample under the latest views.
#[derive(Clone, Debug)]
pub(super) struct Assignment {
    strategy: &'static str,
    now: Drawn,
    before: Option<Drawn>,
}

impl Assignment {
    /// Computes the assignment in `view` under `settings`. Keeps the previous assignment if groups
    /// have moved since.
    pub(super) fn next(before: Option<&Self>, settings: &Settings, view: &View) -> Option<Self> {
        let strategy = settings.fixed.cluster.strategy;
        let owners = Owners::new(strategy, Arc::new(view.clone())).ok()?;
        let sample = (0..SAMPLE).map(|i| GroupHash(u64::from(i) * (u64::MAX / u64::from(SAMPLE))));
        let owners: Vec<_> = sample.map(|group| owners.owner(group)).collect();
        let now = Drawn { epoch: view.epoch, owners };
        let before = before.and_then(|last| match last.now.owners == now.owners {
            true => last.before.clone(),
            false => Some(last.now.clone()),
        });
        Some(Self { strategy: strategy.name(), now, before })
    }

    /// Returns the epoch of the view.
    pub(super) const fn epoch(&self) -> u64 {
        self.now.epoch
    }

    /// Returns each agent's share of all groups, from 0 to 1, for agents with any groups.
    pub(super) fn shares(&self) -> HashMap<AgentId, f64> {
        let mut shares = HashMap::new();
        for owner in self.now.owners.iter().flatten() {
            *shares.entry(*owner).or_default() += 1.0 / f64::from(SAMPLE);
        }
        shares
    }

    /// Returns the owners by their ids, in the order of the sample.
    pub(super) fn json(&self) -> Value {
        let owners = |drawn: &Drawn| {
            let ids = drawn.owners.iter().map(|owner| owner.map(|id| id.0));
            ids.collect::<Vec<Option<u32>>>()
        };
        let before = self.before.as_ref();
        json!({
            "strategy": self.strategy,
            "epoch": self.now.epoch,
            "owners": owners(&self.now),
            "before": before.map(|drawn| json!({ "epoch": drawn.epoch, "owners": owners(drawn) })),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::view::AgentState;

    fn view(n: u16) -> View {
        let mut view = View::of_one("a0");
        for i in 1..n {
            let mut agent = view.agents[0].clone();
            (agent.name, agent.slot, agent.id) = (format!("a{i}"), i, AgentId(i.into()));
            view.agents.push(agent);
        }
        view
    }

    #[test]
    fn the_shares_add_up_and_only_the_groups_of_one_that_leaves_move() {
        let settings = Settings::default();
        let mut view = view(3);
        let first = Assignment::next(None, &settings, &view).expect("valid data");
        let shares = first.shares();
        assert_eq!(shares.len(), 3);
        assert!((shares.values().sum::<f64>() - 1.0).abs() < 1e-9, "{shares:?}");
        view.agents[1].state = AgentState::Dead;
        view.epoch += 1;
        let second = Assignment::next(Some(&first), &settings, &view).expect("valid data");
        let json = second.json();
        let (now, before) = (&json["owners"], &json["before"]["owners"]);
        for i in 0..SAMPLE as usize {
            assert!(now[i] == before[i] || before[i] == 1, "group {i}");
            assert!(now[i] != 1, "group {i}");
        }
        view.epoch += 1;
        let third = Assignment::next(Some(&second), &settings, &view).expect("valid data");
        assert_eq!((third.epoch(), &third.json()["before"]), (view.epoch, &json["before"]));
    }

    #[test]
    fn without_agents_nobody_owns_anything() {
        let none =
            Assignment::next(None, &Settings::default(), &View::default()).expect("valid data");
        assert!(none.shares().is_empty());
        assert_eq!(none.json()["owners"][0], Value::Null);
    }
}
