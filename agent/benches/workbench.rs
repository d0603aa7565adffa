//! The workbench alone: 100,000 hosts on 20,000 addresses, a thousand visits in flight.

#[path = "hosts/workbench_driver.rs"]
mod workbench_driver;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crivello_agent::messages::{DueHost, Finder, LinkKind, QueueKey, Queued, RobotsRecord};
use crivello_common::config::Settings;
use crivello_common::hash::UrlHash;
use crivello_common::identity::KeyedHasher;
use crivello_common::politeness::HostState;
use crivello_common::time::Timestamp;
use crivello_common::url::{Origin, Scheme};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;
use workbench_driver::WorkbenchDriver;

const HOSTS: u32 = 100_000;
const IPS: u32 = 20_000;
const IN_FLIGHT: usize = 1_000;
const HTTP: Origin = Origin { scheme: Scheme::Http, port: 80 };

fn due(n: u32, now: Timestamp) -> DueHost {
    let name = workbench_driver::name(n);
    let url = |seq| Queued {
        queue_key: QueueKey { priority: 0, seq, ..QueueKey::default() },
        hash: UrlHash(seq),
        origin: HTTP,
        path: format!("/a/path/like/many/{seq}.html").into(),
        depth: 1,
        redirects: 0,
        attempts: 0,
        revisit: None,
        kind: LinkKind::Page,
        finder: Finder::SEED,
    };
    let record = RobotsRecord {
        asked: now,
        fetched: now,
        unreachable_since: None,
        failures: 0,
        rules: Some(Arc::default()),
    };
    DueHost {
        host: KeyedHasher::with_public_key().host_key(&name),
        name: name.into(),
        state: HostState::default(),
        robots: vec![(HTTP, record)],
        urls: (0..4).map(url).collect(),
        more: false,
        pages_left: u64::MAX,
        resolved: false,
        answered: false,
    }
}

fn workbench() -> WorkbenchDriver {
    let mut settings = Settings::default();
    settings.live.politeness.delay = Duration::from_secs(1);
    settings.live.politeness.ip_delay = Duration::from_millis(100);
    settings.fixed.state.hosts_max = 2 * u64::from(HOSTS);
    settings.fixed.state.window_urls_max = 10_000_000;
    settings.fixed.fetch.visits_max = IN_FLIGHT as u32 * 100;
    let mut workbench = WorkbenchDriver::new(&settings, IPS, IN_FLIGHT, Duration::ZERO);
    for n in 0..HOSTS {
        let due = due(n, workbench.now);
        workbench.add_host(Box::new(due));
    }
    workbench
}

fn acquire_release(c: &mut Criterion) {
    let mut workbench = workbench();
    let mut group = c.benchmark_group("workbench");
    group.throughput(Throughput::Elements(1));
    let mut n_turns = 0_u64;
    group.bench_function("acquire and release", |b| {
        b.iter(|| {
            workbench.turn();
            n_turns += 1;
            if n_turns.is_multiple_of(64) {
                black_box(workbench.bench.take_messages());
            }
        });
    });
    assert_eq!(workbench.bench.stats(workbench.now).hosts, HOSTS as usize, "hosts are missing");
    group.finish();
}

criterion_group!(benches, acquire_release);
criterion_main!(benches);
