//! A workbench with a crawl database, a resolver and fetchers that do as the test says.

use crate::messages::{
    DueHost, LeaseNotice, LeaseRequest, LinkKind, QueueKey, Queued, Resolution, ResolveError,
    Resolved, RobotsAnswer, RobotsOutcome, RobotsRecord, RobotsRequest, Signal, ToFrontier,
    ToWorkbench, Verdict, Visit, VisitTask,
};
use crate::workbench::Workbench;
use crivello_common::config::{AssignBy, Settings};
use crivello_common::hash::{HostKey, UrlHash};
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme, host_key};
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
    host_key(name, AssignBy::Domain)
}

pub fn ip(n: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 51, 100, n))
}

/// The `seq`-th URL of a host.
pub fn url(origin: Origin, seq: u64) -> Queued {
    Queued {
        queue_key: QueueKey { priority: 0, seq },
        hash: UrlHash(seq),
        origin,
        path: format!("/{seq}").into(),
        depth: 0,
        attempts: 0,
        kind: LinkKind::Page,
    }
}

pub fn urls(n: u64) -> Vec<Queued> {
    (0..n).map(|seq| url(HTTP, seq)).collect()
}

/// Rules that allow everything, fetched at `at`.
pub fn open(at: Timestamp) -> RobotsRecord {
    RobotsRecord {
        asked: at,
        fetched: at,
        unreachable_since: None,
        failures: 0,
        rules: Some(Arc::default()),
    }
}

/// See the module.
pub struct Desk {
    pub workbench: Workbench,
    pub now: Timestamp,
    pub settings: Settings,
}

impl Desk {
    pub fn new(configure: impl FnOnce(&mut Settings)) -> Self {
        Self::started(configure, false)
    }

    pub fn started(configure: impl FnOnce(&mut Settings), unclean: bool) -> Self {
        let mut settings = Settings::default();
        configure(&mut settings);
        let now = Timestamp::from_secs(1_700_000_000);
        Self { workbench: Workbench::new(&settings, now, unclean), now, settings }
    }

    /// The same among other agents, where whoever asks for a turn gets it.
    pub fn among_others(mut self) -> Self {
        self.workbench = self.workbench.among_others();
        self
    }

    /// A host that was called for belongs to another agent.
    pub fn elsewhere(&mut self, name: &str) {
        let called = |n: &ToFrontier| matches!(n, ToFrontier::RequestHost { host, .. } if *host == key(name));
        assert!(self.notes().iter().any(called), "nobody called for {name}");
        self.workbench.on_frontier(ToWorkbench::NotOwned { host: key(name) }, self.now);
    }

    pub fn wait(&mut self, d: Duration) {
        self.now = self.now + d;
    }

    /// A host whose robots.txt is known and allows everything.
    pub fn host(&self, name: &str, urls: Vec<Queued>) -> DueHost {
        DueHost {
            host: key(name),
            name: Arc::from(name),
            state: HostState::default(),
            robots: vec![(HTTP, open(self.now)), (HTTPS, open(self.now))],
            urls,
            more: false,
            pages_left: u64::MAX,
        }
    }

    /// The same without any robots.txt.
    pub fn stranger(&self, name: &str, urls: Vec<Queued>) -> DueHost {
        DueHost { robots: Vec::new(), ..self.host(name, urls) }
    }

    pub fn due(&mut self, due: DueHost) {
        self.workbench.on_frontier(ToWorkbench::Due(Box::new(due)), self.now);
    }

    /// Lets a host in and resolves it.
    pub fn enter(&mut self, due: DueHost, address: IpAddr) {
        let name = due.name.clone();
        self.due(due);
        self.answer(&name, address);
    }

    /// The resolver's answer, which holds for an hour.
    pub fn answer(&mut self, name: &str, address: IpAddr) {
        let until = self.now + secs(3_600);
        self.resolve(name, Ok(Resolved { address, until }));
    }

    pub fn resolve(&mut self, name: &str, answer: Result<Resolved, ResolveError>) {
        assert!(self.names().contains(&name.to_owned()), "nobody asked for {name}");
        self.workbench.resolved(&Resolution { host: key(name), answer }, self.now);
    }

    /// The names the bench asked for since the last time.
    pub fn names(&mut self) -> Vec<String> {
        self.workbench.take_to_resolve().iter().map(|(_, name)| name.to_string()).collect()
    }

    /// A visit that must be there.
    pub fn visit(&mut self) -> Visit {
        if let Some(visit) = self.workbench.acquire(self.now) {
            return visit;
        }
        for note in self.workbench.take_lease_requests(self.now) {
            if let LeaseRequest::Acquire { address, asked } = note {
                let rest = Duration::ZERO;
                self.workbench
                    .on_lease_notice(&LeaseNotice::Granted { address, asked, rest }, self.now);
            }
        }
        self.workbench.acquire(self.now).expect("nothing to visit")
    }

    /// No visit must be there, and the next one exactly after `wait`.
    pub fn none_for(&mut self, wait: Duration) {
        assert!(self.workbench.acquire(self.now).is_none(), "early");
        assert_eq!(self.workbench.next_time(), Some(self.now + wait));
        self.wait(wait - Duration::from_micros(1));
        assert!(self.workbench.acquire(self.now).is_none(), "a microsecond early");
        self.wait(Duration::from_micros(1));
    }

    /// What a visit that sent one request a URL brings back.
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
            signal: Signal::Well,
            returned: Vec::new(),
            pages: n,
            robots: None,
        }
    }

    pub fn release(&mut self, verdict: Verdict) {
        self.workbench.release(verdict, self.now);
    }

    /// Ends a visit well; it must be for pages.
    pub fn done(&mut self, visit: &Visit) {
        pages(visit);
        self.release(self.verdict(visit));
    }

    /// Ends a visit for robots.txt with this.
    pub fn found(&mut self, visit: &Visit, found: RobotsOutcome) {
        let robots = Some(RobotsAnswer { request: request(visit).clone(), found });
        self.release(Verdict { robots, pages: 0, ..self.verdict(visit) });
    }

    /// The notes since the last time, the standing order and what is only counted aside.
    pub fn notes(&mut self) -> Vec<ToFrontier> {
        let notes = self.workbench.take_messages().into_iter();
        let aside = |note: &ToFrontier| {
            matches!(note, ToFrontier::WantHosts { .. } | ToFrontier::NameFailed { .. })
        };
        notes.filter(|note| !aside(note)).collect()
    }

    /// The last order since the last time.
    pub fn order(&mut self) -> Option<u32> {
        let notes = self.workbench.take_messages().into_iter().rev();
        notes
            .filter_map(
                |n| if let ToFrontier::WantHosts { hosts } = n { Some(hosts) } else { None },
            )
            .next()
    }
}

/// The places of the URLs of a visit for pages.
pub fn pages(visit: &Visit) -> Vec<u64> {
    match &visit.task {
        VisitTask::Pages { urls, .. } => urls.iter().map(|url| url.queue_key.seq).collect(),
        VisitTask::Robots(request) => panic!("asks for {}", request.url),
    }
}

/// The request of a visit for robots.txt.
pub fn request(visit: &Visit) -> &RobotsRequest {
    match &visit.task {
        VisitTask::Robots(request) => request,
        VisitTask::Pages { .. } => panic!("asks for pages"),
    }
}
