//! Goal: promises 1 and 2 hold for a cluster of real agents through whatever happens to it, in an
//! order that nobody thought of: joins, drains, restarts, deaths with and without a return, a lost
//! disk, a coordinator that goes and comes, one upon the other and without waiting for anything to
//! settle.
//!
//! What could go wrong: what `cluster.rs` names, and what two of these do to each other: a view
//! that comes in the middle of a handing over, an agent that leaves while it takes in what a dead
//! one left, a coordinator that is away when somebody dies.
//!
//! The schedule follows from the seed; when exactly what happens does not. `CRIVELLO_TEST_STORMS`
//! plays so many.

use crivello_tests::in_process::IN_FLIGHT;
use crivello_tests::{InProcess, seed};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use simweb::{PageKind, Robots, Spec};
use std::time::Duration;

/// Where nothing else is asked for.
const STORMS: u64 = 4;
/// So many things happen to a crawl.
const BLOWS: u32 = 7;
/// At least so many agents are alive at any time: with copies at two, that leaves somebody to die.
const ALIVE_MIN: usize = 3;
const ALIVE_MAX: usize = 5;
const DELAY: Duration = Duration::from_millis(100);
const IP_DELAY: Duration = Duration::from_millis(25);

/// What happens to a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Blow {
    Join,
    Drain,
    Restart,
    /// Dies, and comes back with its disk at once.
    Stumble,
    /// Dies, and comes back with its disk some blows later.
    Faint,
    Return,
    /// Dies, and its disk with it.
    Vanish,
    /// The coordinator ends, and comes back at once.
    Blink,
}

use Blow::{Blink, Drain, Faint, Join, Restart, Return, Stumble, Vanish};

struct Storm {
    cluster: InProcess,
    rng: StdRng,
    /// Dead agents that will come back.
    fainted: Vec<String>,
    /// Nobody else may lose a disk: nobody knows when its pages are held twice again.
    vanished: bool,
    deaths: u64,
}

impl Storm {
    fn new(seed: u64) -> Self {
        let spec = Spec::new(seed)
            .size(30, 1, 30)
            .ips(15)
            .latency_ms(0, 20)
            .robots(Robots::standard())
            .portion(0.05, PageKind::Redirect(302))
            .portion(0.05, PageKind::Status(404));
        let cluster = InProcess::new(spec).agents(ALIVE_MIN).delays(DELAY, IP_DELAY).begin();
        let rng = StdRng::seed_from_u64(seed);
        Self { cluster, rng, fainted: Vec::new(), vanished: false, deaths: 0 }
    }

    /// What may happen now.
    fn possible(&self) -> Vec<Blow> {
        let n_alive = self.cluster.names().len();
        let mut blows = vec![Restart, Stumble, Blink];
        if n_alive < ALIVE_MAX {
            blows.extend([Join, Join]);
        }
        if n_alive > ALIVE_MIN {
            blows.push(Drain);
            // One at a time is dead: the second could be the last that has something.
            if self.fainted.is_empty() && !self.vanished {
                blows.extend([Faint, Vanish]);
            }
        }
        if !self.fainted.is_empty() {
            blows.extend([Return, Return]);
        }
        // Who is drained beside a dead one waits for it: nobody else has what it would hand over.
        blows.retain(|blow| *blow != Drain || (self.fainted.is_empty() && !self.vanished));
        blows
    }

    fn strike(&mut self, blow: Blow) {
        let names = self.cluster.names();
        let name = names.choose(&mut self.rng).expect("somebody is alive").clone();
        let cluster = &mut self.cluster;
        match blow {
            Join => {
                cluster.add();
            }
            Drain => cluster.drain(&name),
            Restart => cluster.restart(&name),
            Stumble => {
                cluster.kill(&name);
                cluster.join(&name);
            }
            Faint => {
                cluster.kill(&name);
                self.fainted.push(name);
            }
            Return => {
                let name = self.fainted.pop().expect("somebody has fainted");
                cluster.join(&name);
            }
            Vanish => {
                cluster.kill(&name);
                cluster.delete_disk(&name);
                self.vanished = true;
            }
            Blink => {
                cluster.stop_coordinator();
                cluster.start_coordinator();
            }
        }
        self.deaths += u64::from(matches!(blow, Stumble | Faint | Vanish));
    }

    #[expect(clippy::print_stdout, reason = "shown when the test fails")]
    fn blow(mut self) {
        for i in 0..BLOWS {
            // Everything happens in the first two thirds of the crawl.
            let share = f64::from(i + 1) / f64::from(BLOWS) * 0.65;
            self.cluster.until("more pages", |cluster| cluster.share() >= share);
            std::thread::sleep(Duration::from_millis(self.rng.random_range(0..300)));
            let possible = self.possible();
            let blow = *possible.choose(&mut self.rng).expect("something");
            println!("at {:.0} %: {blow:?}", 100.0 * self.cluster.share());
            self.strike(blow);
        }
        while let Some(name) = self.fainted.pop() {
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
    let n = std::env::var("CRIVELLO_TEST_STORMS").ok().and_then(|n| n.parse().ok());
    let first = seed();
    for seed in first..first.saturating_add(n.unwrap_or(STORMS)) {
        println!("CRIVELLO_TEST_SEED={seed}");
        Storm::new(seed).blow();
    }
}
