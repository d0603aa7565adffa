//! Fixture of the tests: a workbench whose crawl database, resolver and fetchers are driven by the test.

use crate::limits::IP_LEASE_TERM;
use crate::messages::{
    DueHost, LeaseNotice, LeaseRequest, LinkKind, QueueKey, Queued, Resolution, ResolveError,
    Resolved, RobotsAnswer, RobotsOutcome, RobotsRecord, RobotsRequest, ToFrontier, ToWorkbench,
    Verdict, Visit, VisitTask,
};
use crate::workbench::Workbench;
use crivello_common::config::Settings;
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::{HostState, VisitSignal};
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

pub const HTTP: Origin = Origin { scheme: Scheme::Http, port: 80 };
pub const HTTPS: Origin = Origin { scheme: Scheme::Https, port: 443 };

pub fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

pub fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

pub fn key(name: &str) -> HostKey {
    KeyedHasher::with_public_key().host_key(name)
}

pub fn ip(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, n))
}

/// Returns the `seq`-th URL of a host.
pub fn url(origin: Origin, seq: u64) -> Queued {
    Queued {
        queue_key: QueueKey { seq, ..QueueKey::default() },
        hash: UrlHash(seq),
        origin,
        path: format!("/{seq}").into(),
        depth: 0,
        redirects: 0,
        attempts: 0,
        revisit: None,
        kind: LinkKind::Page,
        finder: crate::messages::Finder::SEED,
    }
}

pub fn urls(n: u64) -> Vec<Queued> {
    (0..n).map(|seq| url(HTTP, seq)).collect()
}

/// Returns a record whose rules allow everything, fetched at `at`.
pub fn open(at: Timestamp) -> RobotsRecord {
    RobotsRecord {
        asked: at,
        fetched: at,
        unreachable_since: None,
        failures: 0,
        rules: Some(Arc::default()),
    }
}

/// A workbench with a clock and settings.
pub struct Fixture {
    pub workbench: Workbench,
    pub now: Timestamp,
    pub settings: Settings,
}

impl Fixture {
    pub fn new(configure: impl FnOnce(&mut Settings)) -> Self {
        Self::started(configure, false)
    }

    pub fn started(configure: impl FnOnce(&mut Settings), unclean: bool) -> Self {
        let mut settings = Settings::default();
        configure(&mut settings);
        let now = Timestamp::from_secs(1_700_000_000);
        Self {
            workbench: Workbench::new(&settings, KeyedHasher::with_public_key(), now, unclean),
            now,
            settings,
        }
    }

    /// Makes this agent a member of a cluster, where every requested lease is granted.
    pub fn with_ip_leases(mut self) -> Self {
        self.workbench = self.workbench.with_ip_leases();
        self
    }

    /// Reports that a requested host belongs to another agent.
    pub fn elsewhere(&mut self, name: &str) {
        let requested = |n: &ToFrontier| matches!(n, ToFrontier::RequestHost { host, .. } if *host == key(name));
        assert!(self.notes().iter().any(requested), "{name} was not requested");
        self.workbench.on_frontier(ToWorkbench::NotOwned { host: key(name) }, self.now);
    }

    pub fn wait(&mut self, d: Duration) {
        self.now = self.now + d;
    }

    /// Returns a host whose robots.txt is known and allows everything.
    pub fn host(&self, name: &str, urls: Vec<Queued>) -> DueHost {
        DueHost {
            host: key(name),
            name: Arc::from(name),
            state: HostState::default(),
            robots: vec![(HTTP, open(self.now)), (HTTPS, open(self.now))],
            urls,
            more: false,
            pages_left: u64::MAX,
            resolved: false,
            answered: false,
        }
    }

    /// Returns a host whose robots.txt is unknown.
    pub fn stranger(&self, name: &str, urls: Vec<Queued>) -> DueHost {
        DueHost { robots: Vec::new(), ..self.host(name, urls) }
    }

    pub fn due(&mut self, due: DueHost) {
        self.workbench.on_frontier(ToWorkbench::Due(Box::new(due)), self.now);
    }

    /// Delivers a host and resolves its name.
    pub fn enter(&mut self, due: DueHost, address: IpAddr) {
        let name = due.name.clone();
        self.due(due);
        self.answer(&name, address);
    }

    /// Resolves a name; the answer is valid for an hour.
    pub fn answer(&mut self, name: &str, address: IpAddr) {
        let until = self.now + secs(3_600);
        self.resolve(name, Ok(Resolved { address, until }));
    }

    /// Resolves a name if the workbench has requested it.
    pub fn answer_if_asked(&mut self, name: &str, address: IpAddr) {
        let _ = self.workbench.acquire(self.now);
        if self.names().contains(&name.to_owned()) {
            let answer = Ok(Resolved { address, until: self.now + secs(3_600) });
            self.workbench.resolved(&Resolution { host: key(name), answer }, self.now);
        }
    }

    pub fn resolve(&mut self, name: &str, answer: Result<Resolved, ResolveError>) {
        assert!(self.names().contains(&name.to_owned()), "{name} was not requested to be resolved");
        self.workbench.resolved(&Resolution { host: key(name), answer }, self.now);
    }

    /// Returns the names that the workbench has requested since the last call.
    pub fn names(&mut self) -> Vec<String> {
        self.workbench.take_to_resolve().iter().map(|asked| asked.name.to_string()).collect()
    }

    /// Returns the next visit, which must exist.
    pub fn visit(&mut self) -> Visit {
        if let Some(visit) = self.workbench.acquire(self.now) {
            return visit;
        }
        for note in self.workbench.take_lease_requests(self.now) {
            if let LeaseRequest::Acquire { address, requested_at } = note {
                let rest = Duration::ZERO;
                self.workbench.on_lease_notice(
                    &LeaseNotice::Granted { address, requested_at, rest, term: IP_LEASE_TERM },
                    self.now,
                );
            }
        }
        self.workbench.acquire(self.now).expect("a visit is due")
    }

    /// Checks that there is no visit now, and advances to the next one, exactly after `wait`.
    pub fn none_for(&mut self, wait: Duration) {
        assert!(self.workbench.acquire(self.now).is_none(), "early");
        assert_eq!(self.workbench.next_time(), Some(self.now + wait));
        self.wait(wait - Duration::from_micros(1));
        assert!(self.workbench.acquire(self.now).is_none(), "a microsecond early");
        self.wait(Duration::from_micros(1));
    }

    /// Returns the verdict of a visit that sent one request for each URL.
    pub fn verdict(&self, visit: &Visit) -> Verdict {
        let n = match &visit.task {
            VisitTask::Robots(_) => 1,
            VisitTask::Pages { urls, .. } => urls.len() as u32,
        };
        Verdict {
            host: visit.host,
            address: visit.address,
            requests: n,
            ended: self.now,
            served: ms(100),
            signal: VisitSignal::Healthy,
            returned: Vec::new(),
            pages: n,
            answered: true,
            robots: None,
            certified: false,
        }
    }

    pub fn release(&mut self, verdict: Verdict) {
        self.workbench.release(verdict, self.now);
    }

    /// Ends a visit successfully; it must be for pages.
    pub fn done(&mut self, visit: &Visit) {
        pages(visit);
        self.release(self.verdict(visit));
    }

    /// Ends a visit for robots.txt with the answer `found`.
    pub fn found(&mut self, visit: &Visit, found: RobotsOutcome) {
        let robots = Some(RobotsAnswer { request: request(visit).clone(), found, verified: false });
        self.release(Verdict { robots, pages: 0, ..self.verdict(visit) });
    }

    /// Returns the messages since the last call, without host requests and counts.
    pub fn notes(&mut self) -> Vec<ToFrontier> {
        let notes = self.workbench.take_messages().into_iter();
        let aside = |note: &ToFrontier| {
            matches!(
                note,
                ToFrontier::WantHosts { .. }
                    | ToFrontier::NameFailed { .. }
                    | ToFrontier::NameResolved { .. }
            )
        };
        notes.filter(|note| !aside(note)).collect()
    }

    /// Returns the last host request since the last call.
    pub fn order(&mut self) -> Option<u32> {
        let notes = self.workbench.take_messages().into_iter().rev();
        notes
            .filter_map(
                |n| if let ToFrontier::WantHosts { hosts } = n { Some(hosts) } else { None },
            )
            .next()
    }
}

/// Returns the sequence numbers of the URLs of a visit for pages.
pub fn pages(visit: &Visit) -> Vec<u64> {
    match &visit.task {
        VisitTask::Pages { urls, .. } => urls.iter().map(|url| url.queue_key.seq).collect(),
        VisitTask::Robots(request) => panic!("unexpected request for {}", request.url),
    }
}

/// Returns the request of a visit for robots.txt.
pub fn request(visit: &Visit) -> &RobotsRequest {
    match &visit.task {
        VisitTask::Robots(request) => request,
        VisitTask::Pages { .. } => panic!("expected a request for robots.txt"),
    }
}
