//! The workbench alone: 100,000 hosts on 20,000 addresses, a thousand visits in flight.

#[path = "hosts/desk.rs"]
mod desk;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crivello_agent::messages::{DueHost, LinkKind, QueueKey, Queued, RobotsRecord};
use crivello_common::config::{AssignBy, Settings};
use crivello_common::hash::UrlHash;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme, host_key};
use desk::Desk;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

const HOSTS: u32 = 100_000;
const IPS: u32 = 20_000;
const IN_FLIGHT: usize = 1_000;
const HTTP: Origin = Origin { scheme: Scheme::Http, port: 80 };

fn due(n: u32, now: Timestamp) -> DueHost {
    let name = desk::name(n);
    let url = |seq| Queued {
        queue_key: QueueKey { priority: 0, seq },
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
    DueHost {
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
    settings.live.politeness.delay = Duration::from_secs(1);
    settings.live.politeness.ip_delay = Duration::from_millis(100);
    settings.fixed.state.hosts_max = 2 * u64::from(HOSTS);
    settings.fixed.state.window_urls_max = 10_000_000;
    settings.fixed.fetch.visits_max = IN_FLIGHT as u32 * 100;
    let mut desk = Desk::new(&settings, IPS, IN_FLIGHT, Duration::ZERO);
    for n in 0..HOSTS {
        let due = due(n, desk.now);
        desk.take_in(Box::new(due));
    }
    desk
}

fn acquire_release(c: &mut Criterion) {
    let mut desk = desk();
    let mut group = c.benchmark_group("workbench");
    group.throughput(Throughput::Elements(1));
    let mut n_turns = 0_u64;
    group.bench_function("acquire and release", |b| {
        b.iter(|| {
            desk.turn();
            n_turns += 1;
            if n_turns.is_multiple_of(64) {
                black_box(desk.bench.take_messages());
            }
        });
    });
    assert_eq!(desk.bench.stats(desk.now).hosts, HOSTS as usize, "hosts are missing");
    group.finish();
}

criterion_group!(benches, acquire_release);
criterion_main!(benches);
