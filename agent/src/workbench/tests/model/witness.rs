//! What an outside observer sees, and the promises it checks against its own notes.

use crate::messages::{
    Resolution, RobotsOutcome, RobotsRequest, Signal, Verdict, Visit, VisitTask,
};
use crivello_common::config::{PolitenessMode, Settings};
use crivello_common::hash::HostKey;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

/// See the module.
pub struct Witness {
    settings: Settings,
    hosts_busy: HashSet<HostKey>,
    ips_busy: HashSet<IpAddr>,
    /// Not before this: what delays and Retry-After say.
    hosts_next: HashMap<HostKey, Timestamp>,
    ips_next: HashMap<IpAddr, Timestamp>,
    answers: HashMap<HostKey, IpAddr>,
    /// Where connections of a host may still be open, and until when.
    connections: HashMap<HostKey, (IpAddr, Timestamp)>,
    /// Where a robots.txt was redirected to, for whomever.
    redirects: HashMap<CrawlUrl, HashSet<CrawlUrl>>,
    /// Those that were read.
    files: HashSet<CrawlUrl>,
}

impl Witness {
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            hosts_busy: HashSet::new(),
            ips_busy: HashSet::new(),
            hosts_next: HashMap::new(),
            ips_next: HashMap::new(),
            answers: HashMap::new(),
            connections: HashMap::new(),
            redirects: HashMap::new(),
            files: HashSet::new(),
        }
    }

    pub fn resolved(&mut self, resolution: &Resolution) {
        if let Ok(resolved) = resolution.answer {
            self.answers.insert(resolution.host, resolved.address);
        }
    }

    pub fn began(&mut self, visit: &Visit, now: Timestamp) {
        let (host, ip) = (visit.host, visit.address);
        assert!(self.hosts_busy.insert(host), "host twice at once");
        assert!(self.ips_busy.insert(ip), "address twice at once");
        assert!(self.hosts_next.get(&host).is_none_or(|&at| at <= now), "host early");
        assert!(self.ips_next.get(&ip).is_none_or(|&at| at <= now), "address early");
        assert_eq!(self.answers.get(&host), Some(&ip), "an address nobody gave");
        if let Some(&(old, until)) = self.connections.get(&host) {
            assert!(old == ip || until < now, "a connection to {old} may be open");
        }
        if let VisitTask::Pages { origin, requests_max, .. } = &visit.task {
            let url = CrawlUrl::from_parts(*origin, &visit.name, "/robots.txt");
            assert!(self.is_known(url), "before its robots.txt");
            assert!(*requests_max <= self.burst(), "too many at once");
        }
    }

    pub fn ended(&mut self, verdict: &Verdict, now: Timestamp) {
        assert_eq!(verdict.ended, now);
        let (host, ip) = (verdict.host, verdict.address);
        self.hosts_busy.remove(&host);
        self.ips_busy.remove(&ip);
        if verdict.requests > 0 {
            self.put_off(host, now + self.delay(verdict.served));
            self.ips_next.insert(ip, now + self.settings.live.politeness.ip_delay);
            self.connections.insert(host, (ip, now + self.settings.fixed.fetch.keep_alive));
        }
        if let Signal::SlowDown(Some(wait)) = verdict.signal {
            self.put_off(host, now + wait);
        }
        if let Some(answer) = &verdict.robots {
            self.heard(&answer.request, &answer.found);
        }
    }

    fn heard(&mut self, request: &RobotsRequest, found: &RobotsOutcome) {
        match found {
            RobotsOutcome::Rules(..) | RobotsOutcome::Missing => {
                self.files.insert(request.url.clone());
            }
            RobotsOutcome::Redirect(url) => {
                self.redirects.entry(request.url.clone()).or_default().insert(url.clone());
            }
            RobotsOutcome::Unreachable => {}
        }
    }

    /// Whether a file was read that this URL leads to, or more than five redirects.
    fn is_known(&self, url: CrawlUrl) -> bool {
        let mut reached = HashSet::from([url]);
        for _ in 0..=5 {
            if reached.iter().any(|url| self.files.contains(url)) {
                return true;
            }
            reached =
                reached.iter().filter_map(|u| self.redirects.get(u)).flatten().cloned().collect();
        }
        !reached.is_empty()
    }

    /// Connections break off, and nothing that was under way is known to the next run.
    pub fn killed(&mut self, now: Timestamp) {
        let delay = self.delay(Duration::ZERO);
        for host in std::mem::take(&mut self.hosts_busy) {
            self.put_off(host, now + delay);
        }
        for ip in std::mem::take(&mut self.ips_busy) {
            self.ips_next.insert(ip, now + self.settings.live.politeness.ip_delay);
        }
        self.connections.clear();
        self.answers.clear();
    }

    fn put_off(&mut self, host: HostKey, until: Timestamp) {
        let next = self.hosts_next.entry(host).or_default();
        *next = until.max(*next);
    }

    fn delay(&self, served: Duration) -> Duration {
        let p = &self.settings.live.politeness;
        match p.mode {
            PolitenessMode::Absolute => p.delay,
            PolitenessMode::Relative => {
                let relative = served.mul_f64(p.relative_factor);
                relative.clamp(p.relative_delay_min, p.relative_delay_max)
            }
        }
    }

    fn burst(&self) -> u32 {
        let p = &self.settings.live.politeness;
        match p.mode {
            PolitenessMode::Absolute if p.delay.is_zero() && p.ip_delay.is_zero() => 32,
            PolitenessMode::Absolute => p.burst,
            PolitenessMode::Relative => 1,
        }
    }
}
