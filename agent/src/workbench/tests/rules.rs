//! Tests of the limits on robots.txt rules in memory: of one host, and of all hosts.

use super::fixture::{Fixture, HTTP, ip, ms, open, secs, url, urls};
use crate::limits::{ORIGINS_A_HOST_MAX, RULES_A_HOST, RULES_BYTES_MAX};
use crate::messages::{DueHost, RobotsOutcome, RobotsRecord, ToFrontier, VisitTask};
use crivello_common::discard::Discard;
use crivello_common::robots::Rules;
use crivello_common::url::{Origin, Scheme};
use std::sync::Arc;

/// Returns rules of some hundreds of KiB.
fn heavy() -> Arc<Rules> {
    let lines: String = (0..20_000).map(|n| format!("Disallow: /{n}/\n")).collect();
    Arc::new(Rules::parse(format!("User-agent: *\n{lines}").as_bytes(), "x"))
}

fn leaves(notes: &[ToFrontier]) -> usize {
    notes.iter().filter(|note| matches!(note, ToFrontier::Leave { .. })).count()
}

#[test]
fn a_host_is_asked_for_so_many_robots_txt_and_no_more() {
    let mut fixture = Fixture::new(|_| {});
    let most = ORIGINS_A_HOST_MAX as u64;
    let origin = |n: u64| Origin { scheme: Scheme::Http, port: 8_000 + n as u16 };
    // Each origin occurs twice, so that known origins follow the refused ones.
    let n = most + 3;
    let window = (0..2 * n).map(|seq| url(origin(seq % n), seq)).collect();
    fixture.enter(fixture.stranger("a.example", window), ip(1));
    let (mut asked, mut fetched, mut refused) = (0, 0, Vec::new());
    while let Some(visit) = fixture.workbench.acquire(fixture.now) {
        match &visit.task {
            VisitTask::Robots(_) => {
                asked += 1;
                fixture.found(&visit, RobotsOutcome::Missing);
            }
            VisitTask::Pages { urls, .. } => {
                fetched += urls.len() as u64;
                fixture.done(&visit);
            }
        }
        for note in fixture.notes() {
            if let ToFrontier::DiscardUrls { urls, reason, .. } = note {
                assert_eq!(reason, Discard::TooManyOrigins);
                refused.extend(urls.iter().map(|url| url.queue_key.seq));
            }
        }
        fixture.wait(secs(10));
    }
    assert_eq!((asked, fetched), (most, 2 * most));
    assert_eq!(refused, [most, most + 1, most + 2, n + most, n + most + 1, n + most + 2]);
    assert_eq!(fixture.workbench.stats(fixture.now).window_urls, 0);
}

#[test]
fn no_more_rules_than_memory_allows() {
    let mut fixture = Fixture::new(|_| {});
    let rules = heavy();
    let record = RobotsRecord { rules: Some(Arc::clone(&rules)), ..open(fixture.now) };
    let host = |fixture: &Fixture, n: usize| DueHost {
        robots: vec![(HTTP, record.clone())],
        ..fixture.host(&format!("{n}.example"), urls(2))
    };
    let size = rules.heap_size();
    assert_eq!(host(&fixture, 0).counts_as() as usize, 1 + size / RULES_A_HOST);
    assert_eq!(fixture.host("light.example", urls(2)).counts_as(), 1);
    let most = RULES_BYTES_MAX.div_ceil(size);
    assert!(fixture.order() > Some(0));
    for n in 0..most {
        fixture.due(host(&fixture, n));
        let room = RULES_BYTES_MAX.saturating_sub((n + 1) * size) / RULES_A_HOST;
        assert!(fixture.order().is_none_or(|order| order as usize <= room), "after {n} hosts");
    }
    assert_eq!(fixture.workbench.stats(fixture.now).rules_bytes, most * size);
    fixture.due(host(&fixture, most));
    assert_eq!(
        leaves(&fixture.notes()),
        1,
        "expected one host to leave: the rules exceed their bound"
    );
    fixture.workbench.close(fixture.now);
    assert_eq!(leaves(&fixture.notes()), most);
    assert_eq!(fixture.workbench.stats(fixture.now).rules_bytes, 0);
}

/// The wait is shorter than any for which hosts leave otherwise.
#[test]
fn hosts_that_learn_too_many_rules_leave_after_their_visit() {
    let mut fixture = Fixture::new(|s| s.live.politeness.delay = ms(500));
    let rules = heavy();
    let size = rules.heap_size();
    let most = (RULES_BYTES_MAX + RULES_BYTES_MAX / 4) / size;
    let n = most + 5;
    assert!(n <= 250, "{n} addresses");
    for n in 0..n {
        fixture.enter(fixture.stranger(&format!("{n}.example"), urls(2)), ip(n as u8));
    }
    let visits: Vec<_> = (0..n).map(|_| fixture.visit()).collect();
    for visit in visits {
        fixture.found(&visit, RobotsOutcome::Rules(Arc::clone(&rules)));
        assert!(fixture.workbench.stats(fixture.now).rules_bytes <= most * size);
    }
    assert_eq!(leaves(&fixture.notes()), 5);
    fixture.wait(secs(2));
    for _ in 0..most {
        let visit = fixture.visit();
        fixture.done(&visit);
    }
    assert_eq!(
        fixture.workbench.stats(fixture.now).rules_bytes,
        most * size,
        "hosts left although the rules are within the margin"
    );
}
