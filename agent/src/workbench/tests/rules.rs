//! Tests of the limits on robots.txt rules in memory: of one host, and of all hosts.

use super::desk::{Desk, HTTP, ip, ms, open, secs, url, urls};
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
    let mut desk = Desk::new(|_| {});
    let most = ORIGINS_A_HOST_MAX as u64;
    let origin = |n: u64| Origin { scheme: Scheme::Http, port: 8_000 + n as u16 };
    // Each origin occurs twice, so that known origins follow the refused ones.
    let n = most + 3;
    let window = (0..2 * n).map(|seq| url(origin(seq % n), seq)).collect();
    desk.enter(desk.stranger("a.example", window), ip(1));
    let (mut asked, mut fetched, mut refused) = (0, 0, Vec::new());
    while let Some(visit) = desk.workbench.acquire(desk.now) {
        match &visit.task {
            VisitTask::Robots(_) => {
                asked += 1;
                desk.found(&visit, RobotsOutcome::Missing);
            }
            VisitTask::Pages { urls, .. } => {
                fetched += urls.len() as u64;
                desk.done(&visit);
            }
        }
        for note in desk.notes() {
            if let ToFrontier::DiscardUrls { urls, reason, .. } = note {
                assert_eq!(reason, Discard::TooManyOrigins);
                refused.extend(urls.iter().map(|url| url.queue_key.seq));
            }
        }
        desk.wait(secs(10));
    }
    assert_eq!((asked, fetched), (most, 2 * most));
    assert_eq!(refused, [most, most + 1, most + 2, n + most, n + most + 1, n + most + 2]);
    assert_eq!(desk.workbench.stats(desk.now).window_urls, 0);
}

#[test]
fn no_more_rules_than_memory_allows() {
    let mut desk = Desk::new(|_| {});
    let rules = heavy();
    let record = RobotsRecord { rules: Some(Arc::clone(&rules)), ..open(desk.now) };
    let host = |desk: &Desk, n: usize| DueHost {
        robots: vec![(HTTP, record.clone())],
        ..desk.host(&format!("{n}.example"), urls(2))
    };
    let size = rules.heap_size();
    assert_eq!(host(&desk, 0).counts_as() as usize, 1 + size / RULES_A_HOST);
    assert_eq!(desk.host("light.example", urls(2)).counts_as(), 1);
    let most = RULES_BYTES_MAX.div_ceil(size);
    assert!(desk.order() > Some(0));
    for n in 0..most {
        desk.due(host(&desk, n));
        let room = RULES_BYTES_MAX.saturating_sub((n + 1) * size) / RULES_A_HOST;
        assert!(desk.order().is_none_or(|order| order as usize <= room), "after {n} hosts");
    }
    assert_eq!(desk.workbench.stats(desk.now).rules_bytes, most * size);
    desk.due(host(&desk, most));
    assert_eq!(
        leaves(&desk.notes()),
        1,
        "expected one host to leave: the rules exceed their bound"
    );
    desk.workbench.close(desk.now);
    assert_eq!(leaves(&desk.notes()), most);
    assert_eq!(desk.workbench.stats(desk.now).rules_bytes, 0);
}

/// The wait is shorter than any for which hosts leave otherwise.
#[test]
fn hosts_that_learn_too_many_rules_leave_after_their_visit() {
    let mut desk = Desk::new(|s| s.live.politeness.delay = ms(500));
    let rules = heavy();
    let size = rules.heap_size();
    let most = (RULES_BYTES_MAX + RULES_BYTES_MAX / 4) / size;
    let n = most + 5;
    assert!(n <= 250, "{n} addresses");
    for n in 0..n {
        desk.enter(desk.stranger(&format!("{n}.example"), urls(2)), ip(n as u8));
    }
    let visits: Vec<_> = (0..n).map(|_| desk.visit()).collect();
    for visit in visits {
        desk.found(&visit, RobotsOutcome::Rules(Arc::clone(&rules)));
        assert!(desk.workbench.stats(desk.now).rules_bytes <= most * size);
    }
    assert_eq!(leaves(&desk.notes()), 5);
    desk.wait(secs(2));
    for _ in 0..most {
        let visit = desk.visit();
        desk.done(&visit);
    }
    assert_eq!(
        desk.workbench.stats(desk.now).rules_bytes,
        most * size,
        "hosts left although the rules are within the margin"
    );
}
