//! Properties of the assignment, for each strategy over random views.

use super::{Owners, StrategyKind, consistent};
use crate::hash::GroupHash;
use crate::identity::KeyedHasher;
use crate::view::{Agent, AgentId, AgentState, View};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

fn group(n: u64) -> GroupHash {
    KeyedHasher::with_public_key().group(&format!("group-{n}.example"))
}

fn view(agents: Vec<Agent>) -> View {
    View { epoch: 1, agents, ..View::default() }
}

fn owners(kind: StrategyKind, agents: &[Agent]) -> Owners {
    Owners::new(kind, Arc::new(view(agents.to_vec()))).unwrap()
}

/// Returns agents with these weights, in consecutive slots.
fn agents(weights: &[u16]) -> Vec<Agent> {
    let mut view = View::default();
    for (id, &weight) in (0..).zip(weights) {
        let slot = view.free_slot(weight).unwrap();
        let (name, address) = (format!("agent-{id}"), String::new());
        let state = AgentState::Active;
        let (joined_epoch, disk_id, id) = (1, u64::from(id), AgentId(id));
        view.agents.push(Agent {
            id,
            name,
            address,
            slot,
            weight,
            state,
            joined_epoch,
            disk_id,
            unreplicated: false,
            certificates: Vec::new(),
        });
    }
    view.agents
}

/// Generates agents with random ids, weights and states, in random order and slots.
fn any_agents() -> impl Strategy<Value = Vec<Agent>> {
    let state = prop::sample::select(vec![
        AgentState::Active,
        AgentState::Active,
        AgentState::Draining,
        AgentState::Dead,
    ]);
    prop::collection::btree_map(any::<u32>(), (1_u16..5, 0_u16..20, state), 1..24)
        .prop_map(|agents| {
            let mut slot = 0;
            let agent = |(id, (weight, gap, state))| {
                let at = slot + gap;
                slot = at + weight;
                let name = format!("agent-{id}");
                let (joined_epoch, disk_id, id) = (1, u64::from(id), AgentId(id));
                let agent = Agent { id, name, slot: at, weight, state, ..Agent::default() };
                Agent { joined_epoch, disk_id, ..agent }
            };
            agents.into_iter().map(agent).collect::<Vec<_>>()
        })
        .prop_shuffle()
}

fn active(agent: &Agent) -> bool {
    agent.state == AgentState::Active
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn the_order_has_every_agent_once_and_the_first_active_one_owns(
        agents in any_agents(), group: u64, replication in 0_usize..5,
    ) {
        for kind in StrategyKind::ALL {
            let owners = owners(kind, &agents);
            let order: Vec<_> = owners.order(GroupHash(group)).collect();
            let mut sorted = order.clone();
            sorted.sort_unstable();
            let mut all: Vec<_> = agents.iter().map(|a| a.id).collect();
            all.sort_unstable();
            prop_assert_eq!(sorted, all, "{:?}", kind);

            let is_active = |id: &AgentId| owners.view().agent(*id).is_some_and(active);
            let active_agents: Vec<_> = order.iter().copied().filter(is_active).collect();
            for _ in 0..2 {
                prop_assert_eq!(owners.owner(GroupHash(group)), active_agents.first().copied());
            }
            let replicas = owners.replica_set(GroupHash(group), replication);
            prop_assert_eq!(&replicas[..], &active_agents[..replication.min(active_agents.len())]);
        }
    }

    /// The order of a subset of the agents is the order of all agents without the others. So only
    /// new agents gain groups, and only groups of leaving agents move.
    #[test]
    fn agents_come_and_go_without_changing_the_order_of_the_others(
        all in any_agents(), keep in prop::collection::vec(any::<bool>(), 24), groups: [u64; 4],
    ) {
        let mut keep = keep.into_iter();
        let (some, rest): (Vec<_>, Vec<_>) =
            all.iter().cloned().partition(|_| keep.next().unwrap_or_default());
        for kind in StrategyKind::ALL {
            let (before, after) = (owners(kind, &some), owners(kind, &all));
            for group in groups.map(GroupHash) {
                let old = |id: &AgentId| some.iter().any(|a| a.id == *id);
                let order: Vec<_> = after.order(group).filter(old).collect();
                prop_assert_eq!(order, before.order(group).collect::<Vec<_>>(), "{:?}", kind);

                let (was, is) = (before.owner(group), after.owner(group));
                prop_assert!(is == was || rest.iter().any(|a| Some(a.id) == is));
                let owner = after.owner_among(group, |a| active(a) && old(&a.id));
                prop_assert_eq!(owner, was, "the previous owner cannot be determined");
            }
        }
    }

    #[test]
    fn the_order_of_the_list_does_not_matter(agents in any_agents(), group: u64) {
        let mut sorted = agents.clone();
        sorted.sort_by_key(|a| a.id);
        for kind in StrategyKind::ALL {
            let of = |agents| owners(kind, agents).order(GroupHash(group)).collect::<Vec<_>>();
            prop_assert_eq!(of(&agents), of(&sorted), "{:?}", kind);
        }
    }

    #[test]
    fn cached_owners_are_right(agents in any_agents(), groups in prop::collection::vec(
        (0_u64..3, 0_u64..3).prop_map(|(high, low)| GroupHash(high << 12 | low)), 1..60,
    )) {
        for kind in StrategyKind::ALL {
            let owners = owners(kind, &agents);
            for &group in &groups {
                prop_assert_eq!(owners.owner(group), owners.owner_among(group, active));
            }
        }
    }
}

/// Returns the largest deviation of an agent's load from its share of `n` groups, relative to the
/// share.
fn imbalance(kind: StrategyKind, weights: &[u16], n: u64) -> f64 {
    let agents = agents(weights);
    let owners = owners(kind, &agents);
    let mut load: HashMap<AgentId, u64> = HashMap::new();
    for i in 0..n {
        *load.entry(owners.owner(group(i)).unwrap()).or_default() += 1;
    }
    let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    let deviation = |a: &Agent| {
        let share = n as f64 * f64::from(a.weight) / total;
        (load.get(&a.id).copied().unwrap_or_default() as f64 - share).abs() / share
    };
    agents.iter().map(deviation).fold(0.0, f64::max)
}

/// The bound is five standard deviations of random choice; for the ring, plus five standard
/// deviations of its points.
#[test]
fn the_load_follows_the_weights() {
    let n = 40_000;
    for weights in [&[1; 3][..], &[1; 100], &[1, 2, 3, 4, 6], &[64, 1, 8]] {
        let (least, total) = (*weights.iter().min().unwrap(), weights.iter().sum::<u16>());
        let dice = 5.0 / (f64::from(least) / f64::from(total) * n as f64).sqrt();
        for kind in StrategyKind::ALL {
            let ring = if kind == StrategyKind::Consistent {
                5.0 / f64::from(consistent::POINTS * u32::from(least)).sqrt()
            } else {
                0.0
            };
            let found = imbalance(kind, weights, n);
            assert!(found < dice + ring, "{kind:?} of {weights:?}: {found:.3}");
        }
    }
}

/// A new agent gains its share and no more.
#[test]
fn a_join_moves_the_share_of_the_new_agent() {
    let n = 20_000;
    for kind in StrategyKind::ALL {
        let all = agents(&[1; 10]);
        let (before, after) = (owners(kind, &all[..9]), owners(kind, &all));
        let moved = (0..n).filter(|&i| before.owner(group(i)) != after.owner(group(i))).count();
        let share = moved as f64 / n as f64;
        assert!((0.07..0.13).contains(&share), "{kind:?} moved {share}");
    }
}

#[test]
fn a_view_of_one_and_a_view_of_none() {
    for kind in StrategyKind::ALL {
        let one = Owners::new(kind, Arc::new(View::of_one("one"))).unwrap();
        assert_eq!(one.owner(group(1)), Some(AgentId(0)));
        assert_eq!(one.replica_set(group(1), 2), [AgentId(0)]);
        assert!(one.cache.is_empty());
        let none = Owners::new(kind, Arc::new(View::default())).unwrap();
        assert_eq!((none.owner(group(1)), none.replica_set(group(1), 2)), (None, vec![]));
        assert_eq!(StrategyKind::from_name(kind.name()), Some(kind));
    }
    assert!(
        Owners::new(StrategyKind::MinHash, Arc::new(view([agents(&[1]), agents(&[1])].concat())))
            .is_err()
    );
}

/// Agents of different builds must agree, so these orders never change.
#[test]
fn golden_vectors() {
    let (weighted, equal) = (agents(&[1, 1, 2, 1, 4]), agents(&[1; 5]));
    let orders = |agents: &[Agent], group| {
        StrategyKind::ALL.map(|kind| {
            let owners = owners(kind, agents);
            owners.order(GroupHash(group)).map(|id| id.0.to_string()).collect::<String>()
        })
    };
    for (group, with_weights, without) in [
        (0xcec39db61a9ede6f, ["43201", "24013", "42013"], ["42031", "01243", "20413"]),
        (0x6374869ab82c62be, ["40213", "20431", "10243"], ["03142", "02341", "10243"]),
        (0xcc19b59a31978410, ["04231", "12430", "23401"], ["02431", "12304", "23014"]),
    ] {
        assert_eq!(orders(&weighted, group), with_weights, "{group:x}");
        assert_eq!(orders(&equal, group), without, "{group:x}");
    }
}
