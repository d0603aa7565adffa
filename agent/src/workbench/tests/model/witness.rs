//! Witness: an outside observer that checks the promises of the workbench against its own records.

use crate::messages::{Resolution, RobotsOutcome, RobotsRequest, Verdict, Visit, VisitTask};
use crivello_common::config::{PolitenessMode, Settings};
use crivello_common::hash::HostKey;
use crivello_common::politeness::VisitSignal;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

/// The observations on all visits.
pub struct Witness {
    settings: Settings,
    hosts_busy: HashSet<HostKey>,
    ips_busy: HashSet<IpAddr>,
    /// Earliest next visits, by delays and Retry-After.
    hosts_next: HashMap<HostKey, Timestamp>,
    ips_next: HashMap<IpAddr, Timestamp>,
    answers: HashMap<HostKey, IpAddr>,
    /// Addresses to which connections of a host may be open, and until when.
    connections: HashMap<HostKey, (IpAddr, Timestamp)>,
    /// Redirects of robots.txt files, for any host.
    redirects: HashMap<CrawlUrl, HashSet<CrawlUrl>>,
    /// Files that were read, or are missing.
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
        assert!(self.hosts_busy.insert(host), "two visits to a host at the same time");
        assert!(self.ips_busy.insert(ip), "two visits to an IP address at the same time");
        assert!(
            self.hosts_next.get(&host).is_none_or(|&at| at <= now),
            "a host was visited before its delay"
        );
        assert!(
            self.ips_next.get(&ip).is_none_or(|&at| at <= now),
            "an IP address was visited before its delay"
        );
        assert_eq!(
            self.answers.get(&host),
            Some(&ip),
            "a visit to an address that the resolver did not return"
        );
        if let Some(&(old, until)) = self.connections.get(&host) {
            assert!(old == ip || until < now, "a connection to {old} may be open");
        }
        if let VisitTask::Pages { origin, requests_max, .. } = &visit.task {
            let url = CrawlUrl::from_parts(*origin, &visit.name, "/robots.txt");
            assert!(self.is_known(url), "a page was requested before robots.txt");
            assert!(*requests_max <= self.burst(), "more requests than `burst`");
        }
    }

    pub fn ended(&mut self, verdict: &Verdict, now: Timestamp) {
        assert_eq!(verdict.ended, now);
        let (host, ip) = (verdict.host, verdict.address);
        self.hosts_busy.remove(&host);
        self.ips_busy.remove(&ip);
        if verdict.requests > 0 {
            self.extend_deadline(host, now + self.delay(verdict.served));
            self.ips_next.insert(ip, now + self.settings.live.politeness.ip_delay);
            self.connections.insert(host, (ip, now + self.settings.fixed.fetch.keep_alive));
        }
        if let VisitSignal::SlowDown(Some(wait)) = verdict.signal {
            self.extend_deadline(host, now + wait);
        }
        if let Some(answer) = &verdict.robots {
            self.on_answer(&answer.request, &answer.found);
        }
    }

    fn on_answer(&mut self, request: &RobotsRequest, found: &RobotsOutcome) {
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

    /// Returns true if this URL leads to a file that was read, or to more than five redirects.
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

    /// Records a kill: connections break off, and the next run does not know the visits in flight.
    pub fn killed(&mut self, now: Timestamp) {
        let delay = self.delay(Duration::ZERO);
        for host in std::mem::take(&mut self.hosts_busy) {
            self.extend_deadline(host, now + delay);
        }
        for ip in std::mem::take(&mut self.ips_busy) {
            self.ips_next.insert(ip, now + self.settings.live.politeness.ip_delay);
        }
        self.connections.clear();
        self.answers.clear();
    }

    fn extend_deadline(&mut self, host: HostKey, until: Timestamp) {
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
