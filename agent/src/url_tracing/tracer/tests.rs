use super::*;
use crate::messages::HandedOut;
use crivello_common::discard::Discard;
use crivello_common::failure::Failure;
use crivello_common::identity::KeyedHasher;
use crivello_common::url::CrawlUrl;

const T: Timestamp = Timestamp::from_secs(1_700_000_000);

fn tracer(rate: f64) -> Tracer {
    let settings = Telemetry { trace_rate: rate, trace_slow: Duration::from_secs(1) };
    Tracer::new("crawl", KeyedHasher::with_public_key(), &settings, T)
}

fn fetched(path: &str, outcome: FetchOutcome, took: Duration) -> Fetched {
    let url = CrawlUrl::parse(&format!("http://a.test/{path}")).unwrap();
    Fetched {
        host: KeyedHasher::with_public_key().host_key(url.host()),
        name: url.host().into(),
        row: None,
        url,
        address: std::net::Ipv4Addr::LOCALHOST.into(),
        at: T,
        took,
        outcome,
        handed_out: HandedOut::default(),
        signals: None,
        traced: None,
        payload: None,
    }
}

#[test]
fn failures_are_told_at_rate_zero_and_no_more_than_so_many_a_second() {
    let tracer = tracer(0.0);
    let mut well = fetched("well", FetchOutcome::Discarded(Discard::Robots), Duration::ZERO);
    tracer.visited(&mut well);
    assert!(well.traced.is_none() && tracer.recent(None, 10).is_empty());
    for n in 0..100 {
        let mut failed =
            fetched(&n.to_string(), FetchOutcome::Failed(Failure::Tls), Duration::from_millis(1));
        tracer.visited(&mut failed);
        assert_eq!(failed.traced.is_some(), n < u32::from(ALWAYS_TRACED_A_SECOND));
    }
    let recorded = tracer.recent(None, 1_000);
    assert_eq!(recorded.len(), 3 * usize::from(ALWAYS_TRACED_A_SECOND));
    assert!(recorded.iter().filter(|span| span.stage == Stage::Fetched).all(|span| span.is_error));
    assert!(recorded.iter().filter(|span| span.stage == Stage::Waited).all(|s| s.parent.is_none()));
}

#[test]
fn what_finds_no_room_is_lost_and_counted_and_the_newest_are_kept() {
    let tracer = tracer(1.0);
    let span = |n: u64| Span::new(TraceId(7), (Stage::Found, n), None, (T, T));
    for n in 0..(SPANS_QUEUE + 5) as u64 {
        tracer.record(span(n));
    }
    assert_eq!(tracer.lost.load(Relaxed), 5);
    assert_eq!(tracer.recent(None, usize::MAX).len(), SPANS_KEPT);
    tracer.record(Span::new(TraceId(8), (Stage::Found, 1), None, (T, T)));
    assert_eq!(tracer.recent(None, 1)[0].trace, TraceId(8));
    assert_eq!(tracer.recent(Some(TraceId(8)), 10).len(), 1);
    assert!(tracer.pending.lock().is_empty(), "spans are pending without an exporter");
}

#[test]
fn url_on_every_page_is_recorded_a_few_times() {
    let tracer = tracer(1.0);
    let url = CrawlUrl::parse("http://a.test/").unwrap();
    let host = KeyedHasher::with_public_key().host_key(url.host());
    let found = Found {
        hash: KeyedHasher::with_public_key().url(&url),
        url,
        host,
        depth: 1,
        redirects: 0,
        kind: crate::messages::LinkKind::Page,
        finder: crate::messages::Finder::SEED,
        priority: crate::messages::PRIORITY_DEFAULT,
        listed_by: None,
    };
    let recorded = (0..1_000).filter(|_| tracer.found(&found).is_some()).count();
    assert_eq!(recorded, usize::from(crate::limits::FOUND_A_URL));
}

#[test]
fn since_when_a_url_waits_is_forgotten_rather_than_kept_without_bound() {
    let mut queued = Bounded::new(4);
    (1..=4).for_each(|n| queued.put(n, 'a'));
    queued.put(4, 'c');
    assert!(!queued.has_forgotten());
    // The oldest entries are forgotten and new ones stored, even if none was ever taken.
    queued.put(5, 'd');
    assert!(queued.has_forgotten());
    assert_eq!([1, 2, 3].map(|n| queued.get(&n)), [None, None, Some('a')]);
    assert_eq!((queued.take(&4), queued.take(&4), queued.take(&5)), (Some('c'), None, Some('d')));
    (0..1_000).for_each(|n| queued.put(n, 'e'));
    assert_eq!(queued.take(&999), Some('e'));
    assert!((0..1_000).filter(|n| queued.get(n).is_some()).count() <= 4);
}
