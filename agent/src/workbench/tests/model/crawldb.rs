//! Naive crawl database: all hosts with their queues, and the URLs given to the workbench.

use super::{Event, Events, ModelRng};
use crate::messages::{
    DueHost, Queued, RobotsRecord, ToFrontier, ToWorkbench, Verdict, Visit, VisitTask,
};
use crate::workbench::tests::fixture::{HTTP, HTTPS, key, url};
use crivello_common::discard::Discard;
use crivello_common::hash::HostKey;
use crivello_common::politeness::{HostState, Retry, VisitSignal, retry};
use crivello_common::time::Timestamp;
use crivello_common::url::Origin;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A host on disk.
#[derive(Default)]
struct Row {
    name: String,
    state: HostState,
    robots: Vec<(Origin, RobotsRecord)>,
    queue: VecDeque<Queued>,
    /// URLs given to the workbench and not handed out by it.
    in_workbench: Vec<Queued>,
    /// URLs on a visit.
    flying: Vec<Queued>,
    out: bool,
    requested: bool,
    refilling: bool,
    pages: u64,
    pages_max: u64,
    ended: bool,
}

/// The rows of all hosts, and counters.
pub struct CrawlDb {
    rows: BTreeMap<HostKey, Row>,
    wanted: u32,
    n_urls: usize,
    n_ended: usize,
    /// URLs that were returned by hosts that stayed.
    pub n_returned: usize,
    /// Hosts that left recently although they could have been visited.
    pub left_ready: Vec<HostKey>,
}

impl CrawlDb {
    pub fn new(rng: &mut ModelRng) -> Self {
        let mut rows = BTreeMap::new();
        let mut n_urls = 0;
        for n in 0..=rng.below(14) {
            let name = format!("h{n}.d{}.example", n % 4);
            let mut row = Row { name: name.clone(), ..Row::default() };
            let len = rng.below(25);
            row.queue =
                (0..len).map(|seq| url(if rng.percent(80) { HTTP } else { HTTPS }, seq)).collect();
            row.pages_max = if rng.percent(20) { 1 + rng.below(9) } else { u64::MAX };
            n_urls += row.queue.len();
            rows.insert(key(&name), row);
        }
        Self { rows, wanted: 0, n_urls, n_ended: 0, n_returned: 0, left_ready: Vec::new() }
    }

    /// Returns the name of a random host, or that of an unknown one.
    pub fn any_name(&self, rng: &mut ModelRng) -> String {
        let n = rng.below(self.rows.len() as u64 + 1) as usize;
        self.rows.values().nth(n).map_or("elsewhere.example".into(), |row| row.name.clone())
    }

    pub fn on_message(
        &mut self,
        note: ToFrontier,
        now: Timestamp,
        rng: &mut ModelRng,
    ) -> Option<ToWorkbench> {
        match note {
            ToFrontier::BlockedBy { .. } => {}
            ToFrontier::NameFailed { .. }
            | ToFrontier::NameResolved { .. }
            | ToFrontier::RobotsRedirectRefused => {}
            ToFrontier::WantHosts { hosts } => self.wanted = hosts,
            ToFrontier::Refill { host } => {
                let row = self.rows.get_mut(&host).unwrap();
                assert!(row.out && !row.refilling, "URLs of a host were requested twice");
                row.refilling = true;
                let urls = row.take(1 + rng.below(9));
                return Some(ToWorkbench::MoreUrls { host, urls, more: !row.queue.is_empty() });
            }
            ToFrontier::RequestHost { host, name } => {
                let row = self.rows.entry(host).or_insert_with(|| Row {
                    name: name.to_string(),
                    pages_max: u64::MAX,
                    ..Row::default()
                });
                row.requested = true;
                if !row.out && rng.percent(90) {
                    return Some(ToWorkbench::Due(Box::new(row.due(host, rng.below(4)))));
                }
            }
            ToFrontier::DiscardUrls { host, urls, reason } => {
                assert_eq!(reason, Discard::RobotsUnreachable);
                let row = self.rows.get_mut(&host).unwrap();
                for refused in urls {
                    row.in_workbench.retain(|url| url.queue_key != refused.queue_key);
                    self.n_ended += 1;
                }
            }
            ToFrontier::HostState { host, state } => {
                let row = self.rows.get_mut(&host).unwrap();
                assert!(row.out);
                row.state = HostState::from_bytes(&state.to_bytes()).unwrap();
            }
            ToFrontier::Robots { host, origin, record } => {
                let row = self.rows.get_mut(&host).unwrap();
                row.robots.retain(|(o, _)| *o != origin);
                row.robots.push((origin, record));
            }
            ToFrontier::ReturnUrls { host, unused } => {
                self.n_returned += unused.len();
                let row = self.rows.get_mut(&host).unwrap();
                assert!(
                    row.out && !row.refilling,
                    "URLs were returned although more were requested"
                );
                let kept = row.in_workbench.len() - unused.len();
                assert!(
                    row.in_workbench[kept..].iter().map(|url| url.queue_key).eq(unused),
                    "the returned URLs are not the end of the window"
                );
                for url in row.in_workbench.drain(kept..).rev() {
                    row.queue.push_front(url);
                }
            }
            ToFrontier::Leave { host, state, unused } => {
                let row = self.rows.get_mut(&host).unwrap();
                assert!(
                    row.out && !row.refilling && row.flying.is_empty(),
                    "a host left during a visit or a request for URLs"
                );
                let sent = row.in_workbench.iter().map(|url| url.queue_key);
                let n_unused = unused.len();
                assert!(sent.eq(unused), "the returned URLs differ from the window");
                assert!(state.next <= now + std::time::Duration::from_secs(86_400));
                if state.next <= now && n_unused > 0 {
                    self.left_ready.push(host);
                }
                row.come_back();
                row.state = state;
            }
            ToFrontier::Drop { host, state, unused, reason, forever } => {
                let row = self.rows.get_mut(&host).unwrap();
                assert!(row.out && row.flying.is_empty());
                let sent = row.in_workbench.iter().map(|url| url.queue_key);
                assert!(
                    row.refilling || sent.eq(unused),
                    "the returned URLs differ from the window"
                );
                assert_eq!(forever, reason == Discard::HostLimit);
                assert!(
                    reason != Discard::HostLimit || row.pages == row.pages_max,
                    "a host was dropped below its page limit"
                );
                row.come_back();
                row.state = state;
                row.ended = forever;
                self.n_ended += row.queue.len();
                row.queue.clear();
            }
        }
        None
    }

    /// Records that a message has arrived at the workbench.
    pub fn delivered(&mut self, note: &ToWorkbench) {
        if let ToWorkbench::MoreUrls { host, .. } = note {
            self.rows.get_mut(host).unwrap().refilling = false;
        }
    }

    /// Returns the next host that is due, and deducts it from the order.
    pub fn due(&mut self, now: Timestamp, rng: &mut ModelRng) -> Option<DueHost> {
        let fits = |row: &Row| !row.out && !row.queue.is_empty() && row.state.next <= now;
        let (&host, row) = self.rows.iter_mut().find(|(_, row)| fits(row))?;
        self.wanted = self.wanted.checked_sub(1)?;
        Some(row.due(host, 1 + rng.below(9)))
    }

    /// Returns the time at which the next host falls due, if the workbench has ordered any.
    pub fn next_due(&self) -> Option<Timestamp> {
        let rows = self.rows.values().filter(|row| !row.out && !row.queue.is_empty());
        rows.map(|row| row.state.next).min().filter(|_| self.wanted > 0)
    }

    pub fn handed_out(&mut self, visit: &Visit) {
        let row = self.rows.get_mut(&visit.host).unwrap();
        assert!(row.flying.is_empty());
        let VisitTask::Pages { urls, requests_max, origin, .. } = &visit.task else {
            return;
        };
        assert!(!urls.is_empty() && *requests_max as usize <= urls.len());
        assert!(urls.iter().all(|url| url.origin == *origin));
        assert!(row.pages + urls.len() as u64 <= row.pages_max, "more URLs than the page limit");
        for url in urls {
            let at = row
                .in_workbench
                .iter()
                .position(|sent| sent == url)
                .expect("a URL was handed out twice");
            row.flying.push(row.in_workbench.remove(at));
        }
    }

    /// Counts the URLs that were tried, queues failed ones again, and takes back the others.
    pub fn ended(&mut self, verdict: &Verdict) {
        let row = self.rows.get_mut(&verdict.host).unwrap();
        let n_returned = verdict.returned.len();
        row.pages += u64::from(verdict.pages);
        let mut flying = std::mem::take(&mut row.flying);
        let mut returned = flying.split_off(flying.len() - n_returned);
        returned.append(&mut row.in_workbench);
        row.in_workbench = returned;
        let failure = match verdict.signal {
            VisitSignal::Healthy => None,
            VisitSignal::SlowDown(_) => Some(crivello_common::failure::Failure::SlowDown),
            VisitSignal::Failed(kind) => Some(kind),
        };
        let n_tried = flying.len();
        for (i, mut url) in flying.into_iter().enumerate() {
            url.attempts += 1;
            let failed = failure.filter(|_| i + 1 == n_tried);
            match failed.map(|kind| retry(kind, url.attempts)) {
                Some(Retry::Again) => row.queue.push_back(url),
                Some(Retry::GiveUp) | None => self.n_ended += 1,
            }
        }
    }

    pub fn killed(&mut self) {
        for row in self.rows.values_mut() {
            row.refilling = false;
            let flying = std::mem::take(&mut row.flying);
            row.queue.extend(flying);
            row.come_back();
        }
        self.wanted = 0;
    }

    /// Returns the number of URLs given to the workbench and not handed out by it.
    pub fn in_workbench(&self) -> usize {
        self.rows.values().map(|row| row.in_workbench.len()).sum()
    }

    /// Returns how many of these have not arrived yet.
    pub fn on_the_way(&self, events: &Events) -> usize {
        let n = |event: &Event| match event {
            Event::Note(ToWorkbench::Due(due)) => due.urls.len(),
            // URLs that arrive for a dropped host are dropped too.
            Event::Note(ToWorkbench::MoreUrls { host, urls, .. }) if self.rows[host].out => {
                urls.len()
            }
            _ => 0,
        };
        events.values().map(n).sum()
    }

    /// Returns the number of requested hosts that are still on the workbench.
    pub fn requested(&self) -> usize {
        self.rows.values().filter(|row| row.out && row.requested).count()
    }

    /// Checks that every URL was tried or set aside.
    pub fn is_exhausted(&self) {
        for row in self.rows.values() {
            assert!(
                !row.out && row.queue.is_empty() && row.in_workbench.is_empty(),
                "{}",
                row.name
            );
        }
        assert_eq!(self.n_ended, self.n_urls, "a URL was lost or counted twice");
    }
}

impl Row {
    fn take(&mut self, n: u64) -> Vec<Queued> {
        let urls: Vec<Queued> = self.queue.drain(..self.queue.len().min(n as usize)).collect();
        self.in_workbench.extend(urls.iter().cloned());
        urls
    }

    fn due(&mut self, host: HostKey, n: u64) -> DueHost {
        self.out = true;
        let urls = self.take(n);
        DueHost {
            host,
            name: Arc::from(self.name.as_str()),
            state: self.state.clone(),
            robots: self.robots.clone(),
            urls,
            more: !self.queue.is_empty(),
            pages_left: if self.pages_max == u64::MAX {
                u64::MAX
            } else {
                self.pages_max - self.pages
            },
            resolved: false,
            answered: false,
        }
    }

    fn come_back(&mut self) {
        assert!(!self.ended || self.requested || !self.out, "a permanently dropped host returned");
        (self.out, self.requested, self.refilling) = (false, false, false);
        for url in std::mem::take(&mut self.in_workbench).into_iter().rev() {
            self.queue.push_front(url);
        }
    }
}
