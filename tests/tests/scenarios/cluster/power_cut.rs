//! Power cuts of a whole rack: the coordinator and all agents lose what is not on disk, at the same
//! moment.
//!
//! Possible failures: an agent acknowledges a link that is not on disk, and the page with the link is
//! done on another disk; a replica has a page as done that is in no archive; the record of the
//! coordinator is torn; a host is visited before its delay has passed.

use super::{IN_FLIGHT, cluster, finish, web};
use crivello_tests::cluster::COORDINATOR;
use crivello_tests::{Rack, seed};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use std::time::Duration;
use test_size::sized;

const DISK_BYTES: u64 = 512 << 20;
/// Pages that all agents fetch in the time between two syncs, and lose.
const UNSYNCED_MAX: u64 = 200;

/// The system writes some of the disks at once, as it may do at any time: what depends on a row of
/// another disk is then on disk before that row.
#[test]
fn the_power_of_a_whole_rack_is_cut() {
    let cluster = cluster(web(60)).set("state.disk-free-min=1MiB").set("state.write-buffers=4MiB");
    let Some(mut rack) = Rack::mount(&cluster, DISK_BYTES) else { return };
    let names = ["a", "b", "c"].map(str::to_owned);
    names.iter().for_each(|name| rack.add(&cluster, name));
    let everyone: Vec<String> = names.iter().cloned().chain([COORDINATOR.to_owned()]).collect();
    let mut cluster = cluster.start_until(3, 0.05);
    let mut dice = StdRng::seed_from_u64(seed());
    let n_cuts: u32 = sized(3, 8);
    for cut in 1..=n_cuts {
        cluster.wait_for_share(0.05 + 0.7 * f64::from(cut) / f64::from(n_cuts));
        std::thread::sleep(Duration::from_millis(dice.random_range(0..300)));
        let written: Vec<String> =
            names.iter().filter(|_| dice.random_bool(0.5)).cloned().collect();
        rack.cut_power(&mut cluster, &everyone, &written);
        cluster.start_coordinator();
        names.iter().for_each(|name| cluster.launch(name));
        names.iter().for_each(|name| cluster.wait_for_state(name, "active"));
    }
    finish(&mut cluster, u64::from(n_cuts) * (3 * IN_FLIGHT + UNSYNCED_MAX));
}
