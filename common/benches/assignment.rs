//! Benchmark of finding a group's owner, for each strategy and for 3, 100 and 1,000 agents, with
//! and without the cache of [`Owners`], compared with a hash modulo n. First prints the balance and
//! the share of groups that move when one agent joins.
#![allow(
    missing_docs,
    clippy::print_stdout,
    reason = "criterion's macros generate undocumented items; the benchmark prints its results"
)]

use criterion::{Criterion, criterion_group, criterion_main};
use crivello_common::assignment::{Owners, StrategyKind};
use crivello_common::hash::GroupHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::view::{Agent, AgentId, AgentState, View};
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::Arc;

const GROUPS: u64 = 100_000;

fn groups(n: u64) -> impl Iterator<Item = GroupHash> {
    (0..n).map(|i| KeyedHasher::with_public_key().group(&format!("group-{i}.example")))
}

fn owners(kind: StrategyKind, n: u16) -> Owners {
    let agent = |slot: u16| Agent {
        id: AgentId(slot.into()),
        name: format!("agent-{slot}"),
        address: String::new(),
        slot,
        weight: 1,
        state: AgentState::Active,
        joined_epoch: 1,
        disk_id: u64::from(slot),
        unreplicated: false,
        certificates: Vec::new(),
    };
    let agents = (0..n).map(agent).collect();
    let view = View { epoch: 1, agents, ..View::default() };
    match Owners::new(kind, Arc::new(view)) {
        Ok(owners) => owners,
        Err(error) => unreachable!("{error}"),
    }
}

/// Returns the largest load relative to the mean.
fn balance(owner: impl Fn(GroupHash) -> u32, n: u16) -> f64 {
    let mut load: HashMap<u32, u64> = HashMap::new();
    for group in groups(GROUPS) {
        *load.entry(owner(group)).or_default() += 1;
    }
    load.into_values().max().unwrap_or_default() as f64 * f64::from(n) / GROUPS as f64
}

fn moved(before: impl Fn(GroupHash) -> u32, after: impl Fn(GroupHash) -> u32) -> f64 {
    groups(GROUPS).filter(|&g| before(g) != after(g)).count() as f64 / GROUPS as f64
}

fn owner(owners: &Owners) -> impl Fn(GroupHash) -> u32 {
    |group| owners.owner(group).map_or(0, |id| id.0)
}

fn modulo(n: u16) -> impl Fn(GroupHash) -> u32 {
    move |group| (group.0 % u64::from(n)) as u32
}

fn assignment(c: &mut Criterion) {
    for n in [3, 100, 1_000] {
        let newcomer = n + 1;
        println!(
            "modulo/{n}: largest load {:.3} of the mean, {:.4} of the groups move at a join",
            balance(modulo(n), n),
            moved(modulo(n), modulo(newcomer)),
        );
        for kind in StrategyKind::ALL {
            let (before, after) = (owners(kind, n), owners(kind, newcomer));
            println!(
                "{}/{n}: largest load {:.3} of the mean, {:.4} of the groups move at a join",
                kind.name(),
                balance(owner(&before), n),
                moved(owner(&before), owner(&after)),
            );
            let name = format!("owner/{}/{n}", kind.name());
            let mut group = 0_u64;
            c.bench_function(&name, |b| {
                b.iter(|| {
                    group = group.wrapping_add(0x9E37_79B9_7F4A_7C15);
                    before.owner_among(black_box(GroupHash(group)), |_| true)
                });
            });
        }
    }
    let remembered = owners(StrategyKind::default(), 100);
    let group = KeyedHasher::with_public_key().group("example.com");
    c.bench_function("owner/remembered", |b| {
        b.iter(|| remembered.owner(black_box(group)));
    });
    let one = owners(StrategyKind::default(), 1);
    c.bench_function("owner/alone", |b| {
        b.iter(|| one.owner(black_box(group)));
    });
}

criterion_group!(benches, assignment);
criterion_main!(benches);
