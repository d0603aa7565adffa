//! Random faults of real processes, one after another, without waiting for the cluster to settle:
//! joins, drains, kills with and without the disk, frozen processes, cuts between any two, full disks,
//! power cuts of all, restarts and isolation of the coordinator. `chaos.rs` has more faults a second,
//! in one process.
//!
//! Nothing is lost, no host is visited by two agents at once or too early, and each page that was
//! answered is in an archive. Pages that an agent fetched while it was cut off, or that were in flight
//! when it died, are fetched again.
//!
//! A second crawl comes back to its pages at an interval. After the faults, each page is fetched again and
//! again, and none was fetched before its time, except as often as those above.
//!
//! The order of faults follows from the seed; their exact times do not.
//! `CRIVELLO_TEST_CHAOS_MINUTES` sets how long faults happen; `make nightly` lets them happen for an
//! hour.

use crate::recrawl::{fetches, too_early};
use crivello_tests::cluster::{COORDINATOR, Way};
use crivello_tests::in_process::{COMMIT_PAGES_MAX, IN_FLIGHT, VISITS_MAX};
use crivello_tests::{Cluster, Rack, env_value, seed};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use simweb::{PageKind, Robots, Spec};
use std::time::Duration;
use test_size::sized;

const N_HOSTS: u32 = 40;
const DELAY: Duration = Duration::from_millis(250);
const IP_DELAY: Duration = Duration::from_millis(40);
/// Minimum number of agents that are neither dead nor drained: with two replicas, one may die.
const ALIVE_MIN: usize = 3;
const ALIVE_MAX: usize = 5;
/// Maximum time for which a process is frozen, a disk is full, or a link is cut.
const AWAY_MAX: Duration = Duration::from_secs(8);
/// Pages that agents may fetch in that time although others take their groups over.
const UNHEARD_MAX: u64 = 300;
/// Interval of the crawl that comes back to its pages, and their number on each host.
const INTERVAL: Duration = Duration::from_secs(15);
const PAGES_AGAIN: u32 = 8;

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Join,
    Drain,
    Restart,
    /// An agent dies and returns with its disk at once.
    KillRestart,
    /// An agent dies and returns with its disk some faults later.
    Kill,
    Return,
    /// An agent dies and its disk is deleted.
    LoseDisk,
    /// An agent stands still for a while.
    Freeze,
    /// Two agents, or an agent and the coordinator, do not reach each other for a while.
    Cut,
    /// The coordinator dies and returns after a while.
    KillCoordinator,
    /// No agent reaches the coordinator for a while; another agent joins meanwhile.
    Isolate,
    /// The disk of an agent is full for a while.
    FillDisk,
    /// All processes die, and everything that is not on disk is lost.
    CutPower,
}

use Fault::{
    Cut, CutPower, Drain, FillDisk, Freeze, Isolate, Join, Kill, KillCoordinator, KillRestart,
    LoseDisk, Restart, Return,
};

struct Chaos {
    cluster: Cluster,
    /// The disks; `None` if none can be mounted here: then no disk is full, and no power is cut.
    rack: Option<Rack>,
    rng: StdRng,
    /// Agents that run and are not draining.
    running: Vec<String>,
    /// Agents that were told to drain, and have not left.
    draining: Vec<String>,
    /// Dead agents that will return.
    killed: Vec<String>,
    /// An agent that died with its disk, until the others have copied its groups.
    lost: Option<String>,
    n_names: u32,
    deaths: u64,
    cuts: u64,
    /// True if the crawl comes back to its pages.
    recrawls: bool,
}

impl Chaos {
    /// Starts a crawl that lasts longer than the faults.
    fn once(seed: u64, minutes: f64) -> Self {
        let per_host = 30.0 + minutes * 60.0 / DELAY.as_secs_f64() * 0.8;
        let spec = spec(seed, per_host as u32).portion(0.05, PageKind::Status(404));
        Self::start(seed, minutes, Cluster::new(spec))
    }

    /// Starts a crawl that comes back to its pages.
    fn again(seed: u64, minutes: f64) -> Self {
        let interval = INTERVAL.as_secs();
        let cluster = Cluster::new(spec(seed, PAGES_AGAIN))
            .set("recrawl.policy=fixed")
            .set(&format!("recrawl.interval={interval}s"))
            .set(&format!("recrawl.errors-interval={interval}s"))
            .set("recrawl.interval-min=1s");
        Self { recrawls: true, ..Self::start(seed, minutes, cluster) }
    }

    fn start(seed: u64, minutes: f64, cluster: Cluster) -> Self {
        let cluster = cluster
            .delays(DELAY, IP_DELAY)
            .set(&format!("fetch.visits-max={VISITS_MAX}"))
            .set(&format!("state.commit-pages-max={COMMIT_PAGES_MAX}"))
            .set("state.commit-interval=50ms")
            .set("state.disk-free-min=1MiB")
            .allow_log_line("the disk is")
            .within(Duration::from_secs(240) + Duration::from_secs_f64(minutes * 90.0));
        // The files of the disks are sparse.
        let mut rack = Rack::mount(&cluster, (256 << 20) + (minutes * 80e6) as u64);
        for name in ["a", "b", "c", "d"] {
            rack.iter_mut().for_each(|rack| rack.add(&cluster, name));
        }
        let cluster = cluster.start(4);
        cluster.seed();
        Self {
            cluster,
            rack,
            rng: StdRng::seed_from_u64(seed),
            running: ["a", "b", "c", "d"].map(str::to_owned).to_vec(),
            draining: Vec::new(),
            killed: Vec::new(),
            lost: None,
            n_names: 0,
            deaths: 0,
            cuts: 0,
            recrawls: false,
        }
    }

    /// Returns the faults that are possible now; likelier ones occur several times.
    fn possible(&self) -> Vec<Fault> {
        let mut faults = vec![Restart, KillRestart, Freeze, Cut, Cut, KillCoordinator];
        if self.running.len() < ALIVE_MAX {
            faults.extend([Join, Join, Isolate]);
        }
        if self.running.len() > ALIVE_MIN {
            faults.extend([Kill, Drain]);
            if self.lost.is_none() && self.killed.is_empty() && self.draining.is_empty() {
                faults.push(LoseDisk);
            }
        }
        if !self.killed.is_empty() {
            faults.extend([Return, Return]);
        }
        if self.rack.is_some() {
            faults.extend([FillDisk, CutPower]);
        }
        faults
    }

    /// Returns the share of the due pages that were fetched.
    fn share(&self) -> f64 {
        self.cluster.pages().len() as f64 / self.cluster.due().len() as f64
    }

    fn pause(&mut self, most: Duration) {
        let most = most.as_millis() as u64;
        std::thread::sleep(Duration::from_millis(self.rng.random_range(most / 8..most)));
    }

    fn join(&mut self) {
        self.n_names += 1;
        let name = format!("n{}", self.n_names);
        self.rack.iter_mut().for_each(|rack| rack.add(&self.cluster, &name));
        self.cluster.launch(&name);
        self.running.push(name);
    }

    fn kill(&mut self, name: &str) {
        self.cluster.kill9(name);
        self.running.retain(|other| other != name);
        self.deaths += 1;
    }

    fn apply(&mut self, fault: Fault) {
        let name = self.running.choose(&mut self.rng).expect("an agent runs").clone();
        match fault {
            Join => self.join(),
            Drain => {
                // It is refused until an agent that was cut off is active again.
                if self.cluster.ask(&["drain", &name]).0 == Some(0) {
                    self.running.retain(|other| *other != name);
                    self.draining.push(name);
                }
            }
            Restart => self.cluster.restart(&name),
            KillRestart => {
                self.kill(&name);
                self.cluster.launch(&name);
                self.running.push(name);
            }
            Kill => {
                self.kill(&name);
                self.killed.push(name);
            }
            Return => {
                let name = self.killed.remove(0);
                self.cluster.launch(&name);
                self.running.push(name);
            }
            LoseDisk => {
                self.kill(&name);
                self.cluster.delete_disk(&name);
                self.rack.iter_mut().for_each(|rack| rack.remove(&name));
                self.lost = Some(name);
            }
            Freeze => {
                self.cuts += 1;
                self.cluster.freeze(&name);
                self.pause(AWAY_MAX);
                self.cluster.thaw(&name);
            }
            Cut => {
                self.cuts += 1;
                let others = self.running.iter().filter(|other| **other != name).cloned();
                let others: Vec<String> = others.chain([COORDINATOR.to_owned()]).collect();
                let other = others.choose(&mut self.rng).expect("the coordinator").clone();
                let way = if self.rng.random() { Way::Cut } else { Way::Silent };
                self.set_ways(&name, &other, way);
                self.pause(AWAY_MAX);
                self.set_ways(&name, &other, Way::Open);
            }
            KillCoordinator => {
                self.cluster.kill9(COORDINATOR);
                self.pause(AWAY_MAX);
                self.cluster.start_coordinator();
            }
            Isolate => {
                self.cuts += self.running.len() as u64;
                let names = self.running.clone();
                for name in &names {
                    self.set_ways(name, COORDINATOR, Way::Cut);
                }
                self.join();
                self.pause(AWAY_MAX);
                for name in &names {
                    self.set_ways(name, COORDINATOR, Way::Open);
                }
            }
            FillDisk => {
                self.cuts += 1;
                let ballast = self.rack.as_ref().expect("disks").disk(&name).fill(1);
                self.pause(AWAY_MAX);
                std::fs::remove_file(ballast).expect("removed");
            }
            CutPower => self.cut_power(),
        }
    }

    /// Cuts the power of all disks and processes, and starts the processes again.
    fn cut_power(&mut self) {
        self.look();
        let agents: Vec<String> = self.running.iter().chain(&self.draining).cloned().collect();
        let everyone: Vec<String> =
            agents.iter().cloned().chain([COORDINATOR.to_owned()]).collect();
        let written: Vec<String> = agents.iter().filter(|_| self.rng.random()).cloned().collect();
        self.rack.as_ref().expect("disks").cut_power(&mut self.cluster, &everyone, &written);
        self.deaths += agents.len() as u64;
        self.cuts += 1;
        self.cluster.start_coordinator();
        agents.iter().for_each(|name| self.cluster.launch(name));
    }

    fn set_ways(&self, one: &str, other: &str, way: Way) {
        self.cluster.set_way(one, other, way);
        self.cluster.set_way(other, one, way);
    }

    /// Takes note of agents that have left, and removes the lost agent once its groups are copied.
    fn look(&mut self) {
        for name in std::mem::take(&mut self.draining) {
            match self.cluster.process(&name).has_ended() {
                true => drop(self.cluster.end(&name)),
                false => self.draining.push(name),
            }
        }
        if let Some(name) = self.lost.clone() {
            let (code, _, _) = self.cluster.ask(&["remove", &name, "--give-up"]);
            if code == Some(0) {
                self.lost = None;
            }
        }
    }

    #[expect(clippy::print_stdout, reason = "output of a failed test")]
    fn run(mut self, minutes: f64) {
        match self.recrawls {
            false => self.cluster.wait_for_share(0.02),
            true => self.until_all_are_fetched(1),
        }
        let until = self.cluster.web.log().now() + Duration::from_secs_f64(minutes * 60.0);
        let mut n_faults = 0;
        while self.cluster.web.log().now() < until && (self.recrawls || self.share() < 0.9) {
            self.look();
            let possible = self.possible();
            let fault = *possible.choose(&mut self.rng).expect("a fault");
            println!("{fault:?}; running {:?}, killed {:?}", self.running, self.killed);
            self.apply(fault);
            n_faults += 1;
            self.pause(Duration::from_secs(4));
        }
        for name in std::mem::take(&mut self.killed) {
            self.cluster.launch(&name);
        }
        if let Some(name) = self.lost.take() {
            self.cluster.until("the groups of the lost agent are copied", |cluster| {
                cluster.ask(&["remove", &name, "--give-up"]).0 == Some(0)
            });
        }
        for name in std::mem::take(&mut self.draining) {
            let _ = self.cluster.end(&name);
        }
        let unheard_max = match self.recrawls {
            false => UNHEARD_MAX,
            true => u64::from(N_HOSTS * PAGES_AGAIN) / ALIVE_MIN as u64,
        };
        let repeats_max = self.deaths * IN_FLIGHT + self.cuts * unheard_max;
        assert!(n_faults > 0, "no fault happened");
        let (n_pages, n_again) = match self.recrawls {
            false => {
                let report = self.cluster.finish(repeats_max).report;
                (report.n_pages, report.n_repeats)
            }
            true => self.finish_again(),
        };
        println!(
            "{n_pages} pages, {} deaths, {} cuts, {n_again} fetched again, at most {repeats_max}",
            self.deaths, self.cuts
        );
        assert!(n_again <= repeats_max, "{n_again} fetched again");
    }

    /// Waits until each due page is fetched so many times from now on.
    fn until_all_are_fetched(&mut self, times: usize) {
        let since = self.cluster.web.log().now();
        self.cluster.until(&format!("each page is fetched {times} times"), |cluster| {
            std::thread::sleep(Duration::from_millis(500));
            let mut log = cluster.web.log().entries();
            log.retain(|entry| entry.start >= since.0);
            let fetches = fetches(&log);
            cluster.due().iter().all(|url| fetches.get(url).is_some_and(|&n| n >= times))
        });
    }

    /// Judges a crawl that comes back to its pages. Returns the number of pages, and of those that were
    /// fetched before their time.
    fn finish_again(&mut self) -> (u64, u64) {
        self.until_all_are_fetched(2);
        let _ = self.cluster.stop();
        let ended = self.cluster.assert_clean(u64::MAX);
        let early = too_early(&self.cluster.web.log().entries(), INTERVAL);
        (ended.report.n_pages, early.len() as u64)
    }
}

fn spec(seed: u64, per_host: u32) -> Spec {
    Spec::new(seed)
        .size(N_HOSTS, 1, per_host)
        .ips(N_HOSTS / 2)
        .latency_ms(0, 20)
        .robots(Robots::standard())
        .portion(0.05, PageKind::Redirect(302))
}

fn minutes(default: f64) -> f64 {
    env_value("CRIVELLO_TEST_CHAOS_MINUTES").unwrap_or(default)
}

#[test]
fn whatever_happens_to_processes_nothing_is_lost_and_no_host_has_two_visitors() {
    let minutes = minutes(0.7);
    Chaos::once(seed(), minutes).run(minutes);
}

#[test]
fn whatever_happens_to_processes_each_page_is_fetched_again_in_its_time() {
    let minutes = minutes(sized(0.4, 0.7));
    Chaos::again(seed(), minutes).run(minutes);
}
