//! Tests and properties of the politeness arithmetic.

use super::*;
use crate::config::{DomainDelay, Politeness, PolitenessMode};
use crate::failure::Failure;
use crate::time::Timestamp;
use proptest::prelude::*;
use std::time::Duration;

const T: Timestamp = Timestamp(1_700_000_000_000_000);

fn secs(n: u64) -> Duration {
    Duration::from_secs(n)
}

fn well(ended: Timestamp) -> VisitSummary {
    VisitSummary { requests: 1, ended, served: secs(1), signal: VisitSignal::Healthy }
}

fn with(ended: Timestamp, signal: VisitSignal) -> VisitSummary {
    VisitSummary { signal, ..well(ended) }
}

fn policy(politeness: &Politeness) -> HostPolicy<'_> {
    HostPolicy { politeness, domain_delay: None, crawl_delay: None }
}

#[test]
fn ordinary_waits() {
    let absolute = Politeness::default();
    let relative = Politeness { mode: PolitenessMode::Relative, ..Politeness::default() };
    let none = None::<Duration>;
    // (settings, domain delay, Crawl-delay, served) → (wait, rule)
    let table = [
        (&absolute, none, none, secs(1), secs(10), WaitRule::Delay),
        (&absolute, Some(secs(3)), none, secs(1), secs(3), WaitRule::Delay),
        (&absolute, none, Some(secs(4)), secs(1), secs(10), WaitRule::Delay),
        (&absolute, none, Some(secs(30)), secs(1), secs(30), WaitRule::CrawlDelay),
        (&absolute, none, Some(secs(1_000_000)), secs(1), secs(300), WaitRule::CrawlDelay),
        (&absolute, Some(secs(600)), Some(secs(400)), secs(1), secs(600), WaitRule::Delay),
        (&relative, none, none, secs(2), secs(20), WaitRule::Relative),
        (&relative, none, none, Duration::ZERO, secs(1), WaitRule::Relative),
        (&relative, none, none, secs(500), secs(300), WaitRule::Relative),
        (&relative, none, Some(secs(60)), secs(2), secs(60), WaitRule::CrawlDelay),
        (&relative, Some(secs(40)), none, secs(2), secs(40), WaitRule::Delay),
    ];
    for (politeness, domain_delay, crawl_delay, served, wait, rule) in table {
        let policy = HostPolicy { politeness, domain_delay, crawl_delay };
        let visit = VisitSummary { served, ..well(T) };
        let state = after_visit(&HostState::default(), &visit, &policy, 7);
        assert_eq!((state.next, state.rule), (T + wait, rule), "{policy:?} {served:?}");
        assert_eq!(state.last_ended, T);
    }
}

#[test]
fn a_burst_is_not_for_hosts_that_ask_for_a_crawl_delay() {
    let politeness = Politeness { burst: 5, ..Politeness::default() };
    assert_eq!(policy(&politeness).burst(), 5);
    let slow = HostPolicy { crawl_delay: Some(secs(1)), ..policy(&politeness) };
    assert_eq!(slow.burst(), 1);
    let relative = Politeness { mode: PolitenessMode::Relative, ..politeness };
    assert_eq!(policy(&relative).burst(), 1);
}

#[test]
fn the_longest_domain_suffix_at_a_label_boundary_wins() {
    let domain = |suffix: &str, n| DomainDelay { suffix: suffix.to_owned(), delay: secs(n) };
    let domains = [domain("example.com", 1), domain("www.example.com", 2), domain("com", 3)];
    let delay = |host| domain_delay_index(&domains, host).map(|i| domains[i].delay);
    assert_eq!(delay("example.com"), Some(secs(1)));
    assert_eq!(delay("a.www.example.com"), Some(secs(2)));
    assert_eq!(delay("badexample.com"), Some(secs(3)));
    assert_eq!(delay("example.org"), None);
}

#[test]
fn backoff_doubles_is_bounded_and_forgiven() {
    let p = Politeness { backoff_max: secs(1_000), ..Politeness::default() };
    let mut state = HostState::default();
    let mut at = T;
    let mut waits = Vec::new();
    for _ in 0..8 {
        state = after_visit(&state, &with(at, VisitSignal::SlowDown(None)), &policy(&p), 1);
        assert_eq!(state.rule, WaitRule::Backoff);
        waits.push(state.next.since(at));
        at = state.next;
    }
    for (n, wait) in waits.iter().enumerate() {
        let base = secs(60 << n).min(secs(1_000));
        assert!(*wait >= base && *wait <= (base * 5 / 4).min(secs(1_000)), "{n}: {wait:?}");
    }
    let soon = at + p.backoff_forgive - Duration::from_micros(1);
    assert!(after_visit(&state, &well(soon), &policy(&p), 1).slow_level > 0);
    let later = at + p.backoff_forgive;
    assert_eq!(after_visit(&state, &well(later), &policy(&p), 1).slow_level, 0);
}

#[test]
fn retry_after_is_kept_to_within_its_bounds() {
    let p = Politeness::default();
    for (header, wait) in [(0, 10), (5, 10), (120, 120), (1_000_000, 86_400)] {
        let visit = with(T, VisitSignal::SlowDown(Some(secs(header))));
        let state = after_visit(&HostState::default(), &visit, &policy(&p), 1);
        assert_eq!(state.next, T + secs(wait), "Retry-After: {header}");
    }
}

#[test]
fn a_host_that_was_taken_over_waits_as_after_an_unclean_start() {
    let p = Politeness::default();
    let of_domain = HostPolicy { domain_delay: Some(secs(40)), ..policy(&p) };
    let slow = HostPolicy { crawl_delay: Some(secs(70)), ..of_domain };
    let mut state =
        after_visit(&HostState::default(), &with(T, VisitSignal::Healthy), &policy(&p), 1);
    assert_eq!(state.next, T + secs(10));
    let taken = T + secs(100);
    state.take_over(taken, &of_domain);
    assert_eq!((state.next, state.rule), (taken + secs(40), WaitRule::TakeOver));
    state.take_over(taken, &slow);
    assert_eq!((state.next, state.rule), (taken + secs(70), WaitRule::TakeOver));
    // A shorter delay does not shorten it, and a visit ends it.
    state.reapply_policy(&policy(&p));
    assert_eq!(state.next, taken + secs(70));
    let visited = after_visit(&state, &with(taken + secs(70), VisitSignal::Healthy), &slow, 1);
    assert_eq!((visited.next, visited.rule), (taken + secs(140), WaitRule::CrawlDelay));
    // The response time of the last visit is unknown; of a host that was never visited, there is none.
    let relative = Politeness { mode: PolitenessMode::Relative, ..Politeness::default() };
    let mut known = HostState { last_ended: T, ..HostState::default() };
    known.take_over(taken, &policy(&relative));
    assert_eq!(known.next, taken + relative.relative_delay_max);
    let mut new = HostState::default();
    new.take_over(taken, &policy(&relative));
    assert_eq!(new.next, taken + relative.relative_delay_min);
}

#[test]
fn the_retry_table() {
    let p = Politeness::default();
    let tries = |kind| (0..=255).take_while(|&n| retry(kind, n) == Retry::Again).count();
    assert_eq!(tries(Failure::ConnectTimeout), 5);
    assert_eq!(tries(Failure::HeadTooLarge), 1);
    assert_eq!(rest_after(Failure::ConnectRefused, 1, &p), secs(60));
    assert_eq!(rest_after(Failure::ConnectRefused, 3, &p), secs(240));
    assert_eq!(rest_after(Failure::ConnectRefused, 255, &p), secs(3_600));
    assert_eq!(rest_after(Failure::HeadTooLarge, 9, &p), Duration::ZERO);
    assert_eq!(robots_rest(1, &p), secs(60));
    assert_eq!(robots_rest(4_000_000_000, &p), secs(3_600));
    let gives_up_after = |kind: Failure| {
        let mut state = HostState::default();
        (1..).find(|_| {
            state.failures.count(kind);
            state.is_given_up()
        })
    };
    assert_eq!(gives_up_after(Failure::DnsNoSuchName), Some(1));
    assert_eq!(gives_up_after(Failure::ConnectTimeout), Some(5));
    assert_eq!(gives_up_after(Failure::FirstByteTimeout), Some(6));
    assert_eq!(gives_up_after(Failure::SlowDown), Some(8));
    assert_eq!(gives_up_after(Failure::BadResponse), Some(25));
}

#[test]
fn an_answer_ends_the_run_of_failures() {
    let p = Politeness::default();
    let failed = with(T, VisitSignal::Failed(Failure::Disconnected));
    let state = after_visit(&HostState::default(), &failed, &policy(&p), 1);
    assert_eq!(state.failures.of(Failure::Disconnected), 1);
    let untried = VisitSummary { requests: 0, ..well(T) };
    assert_eq!(after_visit(&state, &untried, &policy(&p), 1), state);
    let state = after_visit(&state, &well(T), &policy(&p), 1);
    assert_eq!(state.failures.iter().count(), 0);
}

#[test]
fn codes_go_there_and_back() {
    for code in 0..=255 {
        if let Some(rule) = WaitRule::from_code(code) {
            assert_eq!(rule.code(), code, "{rule:?}");
        }
    }
    let known = (0..=255).filter_map(WaitRule::from_code).count();
    assert_eq!(known, 10 + Failure::ALL.len());
}

fn failure() -> impl Strategy<Value = Failure> {
    (0..Failure::ALL.len()).prop_map(|i| Failure::ALL[i])
}

fn signal() -> impl Strategy<Value = VisitSignal> {
    prop_oneof![
        Just(VisitSignal::Healthy),
        proptest::option::of(0..200_000_u64).prop_map(|s| VisitSignal::SlowDown(s.map(secs))),
        failure().prop_map(VisitSignal::Failed),
    ]
}

prop_compose! {
    fn visit()(requests in 0..4_u32, ended in any::<u32>(), served in 0..400_000_u64,
               signal in signal()) -> VisitSummary {
        let served = Duration::from_millis(served);
        VisitSummary { requests, ended: T + Duration::from_millis(ended.into()), served, signal }
    }
}

prop_compose! {
    fn state()(next in any::<u32>(), rule in 0..10_u8, last in any::<u64>(), level in any::<u8>(),
               until in any::<u32>(), totals in any::<(u64, u64, u64)>(),
               failures in proptest::collection::vec((failure(), any::<u8>()), 0..5)) -> HostState {
        let mut state = HostState {
            next: T + Duration::from_millis(next.into()),
            rule: WaitRule::from_code(rule).unwrap(),
            last_ended: Timestamp(last),
            slow_level: level,
            slowed_until: T + Duration::from_millis(until.into()),
            requests: totals.0 / 2,
            served_us: totals.1,
            rested_us: totals.2,
            rests: level.into(),
            rest_rule: WaitRule::from_code(rule).unwrap(),
            certified: level > 99,
            ..HostState::default()
        };
        for (kind, n) in failures {
            state.failures.set(kind, n);
        }
        state
    }
}

prop_compose! {
    fn settings()(delay in 0..1_000_u64, burst in 0..9_u32, relative in any::<bool>(),
                  factor in 0.0..50.0_f64, first in 0..500_u64) -> Politeness {
        let mode = if relative { PolitenessMode::Relative } else { PolitenessMode::Absolute };
        Politeness { delay: secs(delay), burst, mode, relative_factor: factor,
                     backoff_first: secs(first), ..Politeness::default() }
    }
}

proptest! {
    #[test]
    fn bytes_go_there_and_back(state in state()) {
        prop_assert_eq!(HostState::from_bytes(&state.to_bytes()), Some(state));
    }

    #[test]
    fn garbage_is_refused_without_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80),
                                          version in any::<bool>()) {
        if version && let Some(first) = bytes.first_mut() {
            *first = 1;
        }
        if let Some(state) = HostState::from_bytes(&bytes) {
            prop_assert_eq!(HostState::from_bytes(&state.to_bytes()), Some(state));
        }
    }

    #[test]
    fn a_cut_off_state_is_refused(state in state(), cut in any::<prop::sample::Index>()) {
        let bytes = state.to_bytes();
        prop_assert!(HostState::from_bytes(&bytes[..cut.index(bytes.len())]).is_none());
    }

    /// No rule makes a host due before the time set by another rule, or before the delay.
    #[test]
    fn never_early(before in state(), visit in visit(), p in settings(),
                   crawl in proptest::option::of(0..10_000_u64), jitter in any::<u64>()) {
        let policy = HostPolicy { crawl_delay: crawl.map(secs), ..policy(&p) };
        let after = after_visit(&before, &visit, &policy, jitter);
        prop_assert!(after.next >= before.next);
        if visit.requests > 0 {
            prop_assert!(after.next >= visit.ended + policy.wait(visit.served).0);
        }
        if let VisitSignal::SlowDown(Some(wait)) = visit.signal {
            prop_assert!(after.next >= visit.ended + wait.min(p.backoff_max));
        }
    }

    /// No wait exceeds the maximum that any rule may set.
    #[test]
    fn bounded(visit in visit(), p in settings(), crawl in proptest::option::of(0..10_000_u64),
               before in state(), jitter in any::<u64>()) {
        let policy = HostPolicy { crawl_delay: crawl.map(secs), ..policy(&p) };
        let after = after_visit(&before, &visit, &policy, jitter);
        let longest = p.delay.max(p.backoff_max).max(p.crawl_delay_max).max(p.relative_delay_max);
        prop_assert!(after.next <= before.next.max(visit.ended + longest));
    }

    /// A longer Crawl-delay, delay, level or sequence of failures never makes a host due earlier.
    #[test]
    fn monotone(visit in visit(), p in settings(), before in state(), jitter in any::<u64>(),
                (less, more) in (0..2_000_u64, 0..2_000_u64), kind in failure(), n in 0..255_u8) {
        let wait = |crawl: u64| {
            let policy = HostPolicy { crawl_delay: Some(secs(crawl)), ..policy(&p) };
            after_visit(&before, &visit, &policy, jitter).next
        };
        prop_assert!(wait(less) <= wait(less + more));
        let slower = Politeness { delay: p.delay + secs(more), ..p.clone() };
        prop_assert!(policy(&p).wait(visit.served).0 <= policy(&slower).wait(visit.served).0);
        prop_assert!(rest_after(kind, n, &p) <= rest_after(kind, n + 1, &p));
        let backoff = |level| slow_down_wait(level, None, &p, jitter);
        prop_assert!(backoff(n) <= backoff(n + 1));
    }
}
