//! Simulation of the protocol by which agents hand groups over: thousands of schedules of joins,
//! drains, crashes, delays, losses and cuts, each from a seed.
//!
//! The agents' replication engine and the coordinator's membership are real. The clocks, which
//! differ, the network, the disks, and pages that link to each other are simulated. A crash happens
//! between any two durable steps; it reverts a disk to its last commit, a power cut to one that is not
//! older than the last sync. These are checked: two agents never visit a group at once; whatever is
//! acknowledged is synced on as many disks as promised; a replica in sync has all rows of the owner;
//! every page that was accepted or linked is fetched, whatever single disk is lost;
//! in the end each row is on the disks of its owner and its replicas, and on no other, and each record
//! in an archive. An agent without progress loses its lease in time, and the others go on. Without
//! crashes no page is fetched twice.
//!
//! A schedule that fails prints its seed: `CRIVELLO_TEST_SEED=…` runs it alone.
//! `CRIVELLO_TEST_SCHEDULES=…` sets the number of schedules of each kind.

mod coordinator;
mod faults;
mod judge;
mod life;
mod node;
mod store;
mod stores_agree;
mod views;
mod wire;
mod world;

use crivello_tests::{Load, Permits};
use test_size::sized;
use world::{Kind, World};

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(kind: Kind) {
    let _permits = Permits::take(Load::Half);
    // Those with returns take ten times as long as the others.
    let sizes = if kind == Kind::Returns { sized(24, 240) } else { sized(50, 300) };
    let n = number("CRIVELLO_TEST_SCHEDULES").unwrap_or(sizes);
    let seeds = number("CRIVELLO_TEST_SEED").map_or(0..n, |seed| seed..seed.saturating_add(1));
    for seed in seeds {
        let world = World::run(seed, kind);
        if let Some(wrong) = &world.wrong {
            panic!("{kind:?}, CRIVELLO_TEST_SEED={seed}: {wrong}\n{}", world.tail());
        }
    }
}

#[test]
fn nothing_goes_wrong() {
    run(Kind::Calm);
}

#[test]
fn agents_join_and_are_drained() {
    run(Kind::Planned);
}

#[test]
fn agents_die_with_and_without_their_disks() {
    run(Kind::Crashes);
}

#[test]
fn a_disk_is_lost_at_any_moment() {
    run(Kind::LostDisks);
}

#[test]
fn the_power_is_cut() {
    run(Kind::PowerCuts);
}

#[test]
fn the_network_is_cut_and_the_coordinator_down() {
    run(Kind::Cuts);
}

#[test]
fn the_coordinator_is_isolated_with_newcomers() {
    run(Kind::Isolation);
}

#[test]
fn agents_are_slow_and_stand_still() {
    run(Kind::Stalls);
}

#[test]
fn agents_return_while_others_join() {
    run(Kind::Returns);
}
