//! The workbench alone: 100,000 hosts on 20,000 addresses, a thousand visits in flight.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crivello_agent::flow::{
    Due, Errand, LedgerNote, LinkKind, Place, Queued, Resolution, Resolved, RobotsRecord, Signal,
    Verdict, Visit,
};
use crivello_agent::workbench::Workbench;
use crivello_common::config::{AssignBy, Settings};
use crivello_common::hash::UrlHash;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme, host_key};
use std::collections::VecDeque;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::Duration;

const HOSTS: u32 = 100_000;
const IPS: u32 = 20_000;
const IN_FLIGHT: usize = 1_000;
const HTTP: Origin = Origin { scheme: Scheme::Http, port: 80 };

struct Desk {
    bench: Workbench,
    now: Timestamp,
    flying: VecDeque<Visit>,
    n: u64,
}

fn due(n: u32, now: Timestamp) -> Due {
    let name = format!("www{n}.site{}.example", n / 3);
    let url = |seq| Queued {
        place: Place { priority: 0, seq },
        hash: UrlHash(seq),
        origin: HTTP,
        path: format!("/a/path/like/many/{seq}.html").into(),
        depth: 1,
        attempts: 0,
        kind: LinkKind::Page,
    };
    let record = RobotsRecord {
        asked: now,
        fetched: now,
        unreachable_since: None,
        failures: 0,
        rules: Some(Arc::default()),
    };
    Due {
        host: host_key(&name, AssignBy::Domain),
        name: name.into(),
        state: HostState::default(),
        robots: vec![(HTTP, record)],
        urls: (0..4).map(url).collect(),
        more: false,
        pages_left: u64::MAX,
    }
}

fn desk() -> Desk {
    let mut settings = Settings::default();
    settings.politeness.delay = Duration::from_secs(1);
    settings.politeness.ip_delay = Duration::from_millis(100);
    settings.state.hosts_max = 2 * u64::from(HOSTS);
    settings.state.window_urls_max = 10_000_000;
    settings.fetch.visits_max = IN_FLIGHT as u32 * 100;
    let now = Timestamp::from_secs(1_700_000_000);
    let mut bench = Workbench::new(&settings, now, false);
    for n in 0..HOSTS {
        let due = due(n, now);
        let host = due.host;
        bench.note(LedgerNote::Due(Box::new(due)), now);
        let address = IpAddr::V4(Ipv4Addr::from_bits(0xc633_0000 + n % IPS));
        let until = now + Duration::from_secs(1_000_000);
        bench.resolved(&Resolution { host, answer: Ok(Resolved { address, until }) }, now);
    }
    drop(bench.take_to_resolve());
    Desk { bench, now, flying: VecDeque::new(), n: 0 }
}

impl Desk {
    /// One visit is handed out, and one comes back with its URLs untried.
    fn turn(&mut self) {
        self.now = self.now + Duration::from_micros(10);
        loop {
            if let Some(visit) = self.bench.acquire(self.now) {
                self.flying.push_back(visit);
                break;
            }
            self.now = self.bench.next_time().unwrap_or(self.now);
        }
        if self.flying.len() > IN_FLIGHT
            && let Some(visit) = self.flying.pop_front()
        {
            let returned = match visit.errand {
                Errand::Pages { urls, .. } => urls,
                Errand::Robots(_) => Vec::new(),
            };
            let verdict = Verdict {
                host: visit.host,
                address: visit.address,
                requests: 1,
                ended: self.now,
                served: Duration::from_millis(10),
                signal: Signal::Well,
                returned,
                pages: 1,
                robots: None,
            };
            self.bench.release(verdict, self.now);
        }
        self.n += 1;
        if self.n.is_multiple_of(64) {
            black_box(self.bench.take_notes());
        }
    }
}

fn acquire_release(c: &mut Criterion) {
    let mut desk = desk();
    let mut group = c.benchmark_group("workbench");
    group.throughput(Throughput::Elements(1));
    group.bench_function("acquire and release", |b| b.iter(|| desk.turn()));
    assert_eq!(desk.bench.census(desk.now).hosts, HOSTS as usize, "hosts got lost");
    group.finish();
}

criterion_group!(benches, acquire_release);
criterion_main!(benches);
