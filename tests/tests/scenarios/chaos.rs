//! Random orders of faults: a cluster of real agents fetches each page once and politely during
//! joins, drains, restarts, deaths with and without a return, the loss of a disk, and restarts of
//! the coordinator, one after another, without waiting for the cluster to settle.
//!
//! Possible failures are those of `cluster.rs`, and interactions of two faults: a view that arrives
//! during a handoff, an agent that leaves while it takes over the groups of a dead one, a
//! coordinator that is down when an agent dies.
//!
//! The order of faults follows from the seed; their exact times do not. `CRIVELLO_TEST_CHAOS_RUNS`
//! sets the number of orders.

use crivello_common::config::SieveKind;
use crivello_tests::in_process::IN_FLIGHT;
use crivello_tests::{InProcess, seed};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use simweb::{PageKind, Robots, Spec};
use std::time::Duration;
use test_size::sized;

/// Number of faults in one crawl.
const FAULTS: u32 = 7;
/// Minimum number of running agents. With two replicas, one may die.
const ALIVE_MIN: usize = 3;
const ALIVE_MAX: usize = 5;
const DELAY: Duration = Duration::from_millis(100);
const IP_DELAY: Duration = Duration::from_millis(25);

/// A fault in a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Join,
    Drain,
    Restart,
    /// An agent dies and returns with its disk at once.
    CrashRestart,
    /// An agent dies and returns with its disk some faults later.
    CrashLater,
    Return,
    /// An agent dies and its disk is deleted.
    LoseDisk,
    /// The coordinator stops and starts again at once.
    CoordinatorRestart,
}

use Fault::{CoordinatorRestart, CrashLater, CrashRestart, Drain, Join, LoseDisk, Restart, Return};

struct Chaos {
    cluster: InProcess,
    rng: StdRng,
    /// Dead agents that will return.
    crashed: Vec<String>,
    /// True if a disk was deleted. No second one may be deleted, because it is not visible when the
    /// pages of the first have two replicas again.
    disk_lost: bool,
    deaths: u64,
}

impl Chaos {
    fn new(seed: u64) -> Self {
        let spec = Spec::new(seed)
            .size(30, 1, 30)
            .ips(15)
            .latency_ms(0, 20)
            .robots(Robots::standard())
            .portion(0.05, PageKind::Redirect(302))
            .portion(0.05, PageKind::Status(404));
        let plan = InProcess::new(spec).agents(ALIVE_MIN).delays(DELAY, IP_DELAY);
        // The two that a cluster may have, in turns.
        let sieve = if seed.is_multiple_of(2) { SieveKind::Rocksdb } else { SieveKind::Quotient };
        let cluster = plan.sieve(sieve).begin();
        let rng = StdRng::seed_from_u64(seed);
        Self { cluster, rng, crashed: Vec::new(), disk_lost: false, deaths: 0 }
    }

    /// Returns the faults that are possible now; likelier ones occur several times.
    fn possible(&self) -> Vec<Fault> {
        let n_alive = self.cluster.names().len();
        let mut faults = vec![Restart, CrashRestart, CoordinatorRestart];
        if n_alive < ALIVE_MAX {
            faults.extend([Join, Join]);
        }
        if n_alive > ALIVE_MIN {
            faults.push(Drain);
            // Only one agent is dead at a time: the second could be the last with certain rows.
            if self.crashed.is_empty() && !self.disk_lost {
                faults.extend([CrashLater, LoseDisk]);
            }
        }
        if !self.crashed.is_empty() {
            faults.extend([Return, Return]);
        }
        // A drain beside a dead agent waits for it, because no other agent has the rows of the
        // groups.
        faults.retain(|fault| *fault != Drain || (self.crashed.is_empty() && !self.disk_lost));
        faults
    }

    fn apply(&mut self, fault: Fault) {
        let names = self.cluster.names();
        let name = names.choose(&mut self.rng).expect("an agent is alive").clone();
        let cluster = &mut self.cluster;
        match fault {
            Join => {
                cluster.add();
            }
            Drain => cluster.drain(&name),
            Restart => cluster.restart(&name),
            CrashRestart => {
                cluster.kill(&name);
                cluster.join(&name);
            }
            CrashLater => {
                cluster.kill(&name);
                self.crashed.push(name);
            }
            Return => {
                let name = self.crashed.pop().expect("an agent has crashed");
                cluster.join(&name);
            }
            LoseDisk => {
                cluster.kill(&name);
                cluster.delete_disk(&name);
                self.disk_lost = true;
            }
            CoordinatorRestart => {
                cluster.stop_coordinator();
                cluster.start_coordinator();
            }
        }
        self.deaths += u64::from(matches!(fault, CrashRestart | CrashLater | LoseDisk));
    }

    #[expect(clippy::print_stdout, reason = "output of a failed test")]
    fn run(mut self) {
        for i in 0..FAULTS {
            // All faults happen in the first two thirds of the crawl.
            let share = f64::from(i + 1) / f64::from(FAULTS) * 0.65;
            self.cluster.until("more pages", |cluster| cluster.share() >= share);
            std::thread::sleep(Duration::from_millis(self.rng.random_range(0..300)));
            let possible = self.possible();
            let fault = *possible.choose(&mut self.rng).expect("a fault");
            println!("at {:.0} %: {fault:?}", 100.0 * self.cluster.share());
            self.apply(fault);
        }
        while let Some(name) = self.crashed.pop() {
            self.cluster.join(&name);
        }
        let report = self.cluster.finish(self.deaths * IN_FLIGHT);
        println!(
            "{} pages, {} deaths, {} fetched again",
            report.n_pages, self.deaths, report.n_repeats
        );
    }
}

#[test]
fn whatever_happens_each_page_is_fetched_once_and_politely() {
    let n = std::env::var("CRIVELLO_TEST_CHAOS_RUNS").ok().and_then(|n| n.parse().ok());
    let first = seed();
    for seed in first..first.saturating_add(n.unwrap_or_else(|| sized(2, 4))) {
        println!("CRIVELLO_TEST_SEED={seed}");
        Chaos::new(seed).run();
    }
}
