//! Thousands of schedules: no two visits to an address at once or too close, whoever makes them, and
//! everybody's turn comes.
//!
//! A schedule that fails prints its seed: `CRIVELLO_TEST_SEED=…` runs it alone.
//! `CRIVELLO_TEST_SCHEDULES=…` runs so many.

use super::world::World;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(trouble: bool) {
    let n = number("CRIVELLO_TEST_SCHEDULES").unwrap_or(100);
    let seeds = number("CRIVELLO_TEST_SEED").map_or(0..n, |seed| seed..seed.saturating_add(1));
    let (mut visits, mut cut) = (0, 0);
    for seed in seeds {
        let world = std::panic::catch_unwind(|| World::run(seed, trouble));
        let world =
            world.unwrap_or_else(|_| panic!("CRIVELLO_TEST_SEED={seed}, trouble {trouble}"));
        visits += world.visits;
        cut += world.cut;
    }
    println!("{visits} visits, {cut} of them cut off");
    assert!(visits > 0);
    assert!(trouble || cut == 0, "{cut} of {visits} visits were cut off");
}

#[test]
fn turns_go_round() {
    run(false);
}

#[test]
fn turns_go_round_whatever_happens() {
    run(true);
}
