//! Model test: the workbench in a small random world, with a crawl database on "disk", a resolver
//! and fetchers that answer or fail after random times, addresses that change, redirects of
//! robots.txt between any hosts, and kills. A [`Witness`] checks every visit against its own
//! records.
//!
//! Invariants: no host and no address is visited twice at once or early, no page is requested
//! before its robots.txt, no URL is handed out twice or forgotten, no budget is exceeded, and in
//! the end nothing remains in memory.
//!
//! A failure prints its seed; put it into [`PASTE_A_SEED_HERE`] to run it alone.

mod crawldb;
mod witness;

use super::fixture::{ms, secs};
use crate::messages::{
    NameRequest, Resolution, ResolveError, Resolved, RobotsAnswer, RobotsOutcome, ToWorkbench,
    Verdict, Visit, VisitTask,
};
use crate::workbench::Workbench;
use crawldb::CrawlDb;
use crivello_common::config::{PolitenessMode, Settings};
use crivello_common::failure::Failure;
use crivello_common::hash::HostKey;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::VisitSignal;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;
use witness::Witness;

const PASTE_A_SEED_HERE: Option<u64> = None;

/// SplitMix64: the only source of randomness.
pub struct ModelRng(u64);

impl ModelRng {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % n
    }

    pub fn percent(&mut self, n: u64) -> bool {
        self.below(100) < n
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize].clone()
    }
}

enum Event {
    Note(ToWorkbench),
    Resolved(Resolution),
    Verdict(Box<Verdict>),
}

struct World {
    rng: ModelRng,
    settings: Settings,
    workbench: Workbench,
    crawldb: CrawlDb,
    witness: Witness,
    now: Timestamp,
    events: Events,
    n_events: u64,
    last_note: Timestamp,
    fetchers: usize,
    in_flight: usize,
    /// Rate of failures, in percent.
    trouble: u64,
    /// Number of addresses.
    n_ips: u64,
    /// Hosts that left although they were ready, when another host came to rest.
    n_made_way: usize,
}

fn settings(rng: &mut ModelRng) -> Settings {
    let mut s = Settings::default();
    let p = &mut s.live.politeness;
    p.delay = rng.pick(&[Duration::ZERO, ms(300), secs(10), secs(40)]);
    p.ip_delay = rng.pick(&[Duration::ZERO, ms(100), secs(2), secs(15)]);
    p.burst = rng.pick(&[1, 1, 3]);
    p.backoff_first = rng.pick(&[secs(1), secs(60)]);
    p.robots_age_max = rng.pick(&[secs(5), secs(600), secs(86_400)]);
    if rng.percent(20) {
        p.mode = PolitenessMode::Relative;
    }
    s.fixed.fetch.visits_max = 1 + rng.below(6) as u32;
    s.fixed.state.hosts_max = 1 + rng.below(12);
    s.fixed.state.window_urls_max = rng.pick(&[4, 30, 1_000]);
    s
}

impl World {
    fn new(seed: u64) -> Self {
        let mut rng = ModelRng(seed);
        let settings = settings(&mut rng);
        let now = Timestamp::from_secs(1_700_000_000);
        Self {
            workbench: Workbench::new(&settings, KeyedHasher::with_public_key(), now, false),
            crawldb: CrawlDb::new(&mut rng),
            witness: Witness::new(&settings),
            fetchers: settings.fixed.fetch.visits_max as usize,
            trouble: rng.pick(&[0, 5, 40]),
            n_ips: rng.pick(&[1, 2, 3, 5, 20]),
            n_made_way: 0,
            now,
            events: BTreeMap::new(),
            n_events: 0,
            last_note: now,
            in_flight: 0,
            settings,
            rng,
        }
    }

    fn later(&mut self, ms_max: u64, event: Event) {
        self.n_events += 1;
        let mut at = self.now + ms(self.rng.below(ms_max));
        if let Event::Note(_) = event {
            at = at.max(self.last_note); // Messages of the crawl database stay in order.
            self.last_note = at;
        }
        self.events.insert((at, self.n_events), event);
    }

    /// Runs until the frontier is exhausted.
    fn run(&mut self) {
        let kill_at = self.rng.below(400);
        for step in 0.. {
            assert!(step < 200_000, "the schedule does not end");
            if step == kill_at && self.rng.percent(50) {
                self.kill();
            }
            self.apply_event();
            let starved = self.acquire_all();
            self.exchange();
            self.check();
            if !self.advance(starved) {
                break;
            }
        }
        self.finish();
    }

    fn apply_event(&mut self) {
        while let Some(entry) = self.events.first_entry().filter(|e| e.key().0 <= self.now) {
            match entry.remove() {
                Event::Note(note) => {
                    self.crawldb.delivered(&note);
                    self.workbench.on_frontier(note, self.now);
                }
                Event::Resolved(resolution) => {
                    self.witness.resolved(&resolution);
                    self.workbench.resolved(&resolution, self.now);
                }
                Event::Verdict(verdict) => {
                    self.in_flight -= 1;
                    self.witness.ended(&verdict, self.now);
                    self.crawldb.ended(&verdict);
                    let host = verdict.host;
                    self.workbench.release(*verdict, self.now);
                    self.crawldb.left_ready.clear();
                    self.exchange();
                    self.n_made_way +=
                        self.crawldb.left_ready.iter().filter(|h| **h != host).count();
                }
            }
            self.exchange();
        }
    }

    /// Starts all possible visits. Returns true if a fetcher is free and found nothing.
    fn acquire_all(&mut self) -> bool {
        while self.in_flight < self.fetchers {
            let Some(visit) = self.workbench.acquire(self.now) else {
                self.workbench.starving(self.now);
                return true;
            };
            self.in_flight += 1;
            self.witness.began(&visit, self.now);
            self.crawldb.handed_out(&visit);
            let verdict = self.fetch(visit);
            let took = self.rng.pick(&[1, 500, 20_000]);
            self.later(took, Event::Verdict(Box::new(verdict)));
            // The visit ends when its verdict arrives.
            let (&(at, _), event) =
                self.events.iter_mut().find(|(k, _)| k.1 == self.n_events).unwrap();
            if let Event::Verdict(verdict) = event {
                verdict.ended = at;
            }
        }
        false
    }

    fn exchange(&mut self) {
        for note in self.workbench.take_messages() {
            if let Some(answer) = self.crawldb.on_message(note, self.now, &mut self.rng) {
                self.later(200, Event::Note(answer));
            }
        }
        while let Some(due) = self.crawldb.due(self.now, &mut self.rng) {
            self.later(200, Event::Note(ToWorkbench::Due(Box::new(due))));
        }
        for NameRequest { host, .. } in self.workbench.take_to_resolve() {
            let answer = self.snapshot(host);
            self.later(3_000, Event::Resolved(Resolution { host, answer }));
        }
    }

    fn snapshot(&mut self, host: HostKey) -> Result<Resolved, ResolveError> {
        if self.rng.percent(self.trouble / 4) {
            let errors = [ResolveError::NoSuchName, ResolveError::Unavailable];
            return Err(self.rng.pick(&errors));
        }
        let moved = if self.rng.percent(self.trouble) { self.rng.below(9) } else { 0 };
        let n = (host.host.0 % 97 + moved) % self.n_ips;
        let address = IpAddr::V4(Ipv4Addr::new(198, 51, 100, n as u8));
        let ttl = self.rng.pick(&[0, 60, 3_600]);
        Ok(Resolved { address, until: self.now + secs(ttl) })
    }

    fn fetch(&mut self, visit: Visit) -> Verdict {
        let mut verdict = Verdict {
            host: visit.host,
            address: visit.address,
            requests: 1,
            ended: self.now,
            served: ms(self.rng.below(3_000)),
            signal: self.signal(),
            returned: Vec::new(),
            pages: 0,
            answered: false,
            robots: None,
            certified: false,
        };
        match visit.task {
            VisitTask::Robots(request) => {
                let found = self.robots(verdict.signal);
                verdict.robots = Some(RobotsAnswer { request, found, verified: false });
            }
            VisitTask::Pages { mut urls, .. } => {
                let tried = if self.rng.percent(self.trouble) {
                    self.rng.below(urls.len() as u64 + 1)
                } else {
                    urls.len() as u64
                };
                verdict.returned = urls.split_off(tried as usize);
                verdict.requests = tried as u32;
                if tried == 0 {
                    verdict.signal = VisitSignal::Healthy;
                }
                let failed = verdict.signal != VisitSignal::Healthy;
                verdict.pages = tried as u32 - u32::from(failed);
            }
        }
        verdict
    }

    fn signal(&mut self) -> VisitSignal {
        if !self.rng.percent(self.trouble) {
            return VisitSignal::Healthy;
        }
        match self.rng.below(4) {
            0 => VisitSignal::SlowDown(None),
            1 => VisitSignal::SlowDown(Some(secs(self.rng.below(400)))),
            _ => VisitSignal::Failed(Failure::ALL[2 + self.rng.below(12) as usize]),
        }
    }

    fn robots(&mut self, signal: VisitSignal) -> RobotsOutcome {
        if signal != VisitSignal::Healthy || self.rng.percent(self.trouble / 2) {
            return RobotsOutcome::Unreachable;
        }
        match self.rng.below(10) {
            0..6 => RobotsOutcome::Rules(Arc::default()),
            6..8 => RobotsOutcome::Missing,
            _ => {
                let (name, path) = (self.crawldb.any_name(&mut self.rng), self.rng.below(3));
                let url = format!("https://{name}:{}/robots.txt", 8_080 + path);
                RobotsOutcome::Redirect(CrawlUrl::parse(&url).unwrap())
            }
        }
    }

    /// Checks the invariants that apply at any time.
    fn check(&self) {
        let stats = self.workbench.stats(self.now);
        assert_eq!(stats.in_flight, self.in_flight);
        assert_eq!(
            stats.window_urls,
            self.crawldb.in_workbench() - self.crawldb.on_the_way(&self.events)
        );
        let most = self.settings.fixed.state.hosts_max as usize + self.crawldb.requested();
        assert!(stats.hosts <= most, "{stats:?}");
    }

    /// Advances to the time of the next event; returns false if there is none.
    fn advance(&mut self, starved: bool) -> bool {
        let event = self.events.first_key_value().map(|(&(at, _), _)| at);
        let workbench = self.workbench.next_time().filter(|_| starved);
        assert!(
            workbench.is_none_or(|at| at > self.now),
            "the workbench has no visit, but reports one as due"
        );
        let Some(next) = [event, workbench, self.crawldb.next_due()].into_iter().flatten().min()
        else {
            return false;
        };
        self.now = self.now.max(next);
        true
    }

    /// Simulates kill −9: visits in flight break off, and the contents of memory are lost.
    fn kill(&mut self) {
        self.witness.killed(self.now);
        self.crawldb.killed();
        self.events.clear();
        self.in_flight = 0;
        self.now = self.now + ms(self.rng.below(3_000));
        self.workbench =
            Workbench::new(&self.settings, KeyedHasher::with_public_key(), self.now, true);
    }

    fn finish(&mut self) {
        self.crawldb.is_exhausted();
        self.now = self.now + self.settings.live.politeness.ip_delay;
        assert!(self.workbench.acquire(self.now).is_none());
        let stats = self.workbench.stats(self.now);
        assert_eq!(
            (stats.hosts, stats.ips, stats.window_urls),
            (0, 0, 0),
            "memory was not released"
        );
    }
}

/// Pending events, by the time of their arrival.
type Events = BTreeMap<(Timestamp, u64), Event>;

#[test]
fn a_pasted_seed() {
    if let Some(seed) = PASTE_A_SEED_HERE {
        World::new(seed).run();
    }
}

/// Otherwise the schedules would not test these cases.
#[test]
fn windows_are_cut_and_ready_hosts_leave_now_and_then() {
    let happened = |seed| {
        let mut world = World::new(seed);
        world.run();
        (world.crawldb.n_returned > 0, world.n_made_way > 0)
    };
    let (cut, left): (Vec<bool>, Vec<bool>) = (0..1_000).map(happened).unzip();
    assert!(cut.contains(&true), "no window was cut");
    assert!(left.contains(&true), "no ready host left");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8 * ProptestConfig::default().cases, max_shrink_iters: 0, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn invariants_are_kept_whatever_happens(seed in any::<u64>()) {
        World::new(seed).run();
    }
}
