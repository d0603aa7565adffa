//! Tables of what replies mean and of when to ask again.

use super::*;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(3_600);

fn response(status: u16, location: bool, broken: bool) -> Reply {
    Reply::Response { status, location, broken }
}

#[test]
fn what_a_status_means() {
    for status in 0..1_000 {
        let expected = match status {
            200..=299 => Meaning::Rules,
            429 => Meaning::Unreachable,
            400..=499 => Meaning::Missing,
            _ => Meaning::Unreachable,
        };
        assert_eq!(meaning(response(status, false, false), 0), expected, "{status}");
    }
    for failure in Failure::ALL {
        assert_eq!(meaning(Reply::Failed(failure), 0), Meaning::Unreachable);
    }
}

#[test]
fn five_redirects_are_followed() {
    for hops in 0..5 {
        assert_eq!(meaning(response(301, true, false), hops), Meaning::Redirect, "{hops}");
    }
    assert_eq!(meaning(response(301, true, false), 5), Meaning::Unreachable);
    assert_eq!(meaning(response(302, false, false), 0), Meaning::Unreachable);
    assert_eq!(meaning(response(200, true, false), 5), Meaning::Rules);
}

#[test]
fn half_a_body_is_no_rules() {
    assert_eq!(meaning(response(200, false, true), 0), Meaning::Unreachable);
    assert_eq!(meaning(response(404, false, true), 0), Meaning::Missing);
}

#[test]
fn an_hour_of_failures_and_then_an_answer() {
    let policy = Policy::default();
    let mut now = Timestamp::from_secs(1_000_000);
    let start = now;
    let mut record = None;
    assert_eq!(standing(None, now, &policy), Standing::Stale);
    for minutes in [1, 2, 4, 8, 16, 32, 60] {
        record = Record::after(record, Meaning::Unreachable, now);
        let next = now + MINUTE * minutes;
        let at = |t| standing(record.as_ref(), t, &policy);
        assert_eq!(at(now), Standing::WaitUntil(next));
        assert_eq!(at(next - Duration::from_micros(1)), Standing::WaitUntil(next));
        assert_eq!(at(next), Standing::Stale);
        now = next;
    }
    record = Record::after(record, Meaning::Unreachable, now);
    assert_eq!(record.and_then(|r| r.unreachable_since), Some(start));
    assert_eq!(standing(record.as_ref(), now, &policy), Standing::GiveUp);
    let patient = Policy { failures_max: 0, ..policy };
    assert_eq!(standing(record.as_ref(), now, &patient), Standing::WaitUntil(now + HOUR));

    record = Record::after(record, Meaning::Missing, now);
    assert_eq!(record.map(|r| (r.failures, r.unreachable_since)), Some((0, None)));
    assert_eq!(standing(record.as_ref(), now, &policy), Standing::Fresh { until: now + AGE_MAX });
}

#[test]
fn rules_are_asked_for_again_after_a_day_and_hold_while_unreachable() {
    let policy = Policy { age_max: HOUR * 100, ..Policy::default() };
    let fetched = Timestamp::from_secs(1_000_000);
    let mut record = Record::after(None, Meaning::Rules, fetched);
    let mut now = fetched + AGE_MAX;
    assert_eq!(
        standing(record.as_ref(), now - Duration::from_micros(1), &policy),
        Standing::Fresh { until: now }
    );
    for n in 0..1_000 {
        assert_eq!(standing(record.as_ref(), now, &policy), Standing::Stale, "attempt {n}");
        record = Record::after(record, Meaning::Unreachable, now);
        let until = now + (MINUTE * 2_u32.pow(n.min(6))).min(HOUR);
        assert_eq!(standing(record.as_ref(), now, &policy), Standing::Fresh { until });
        now = until;
    }
    assert_eq!(record.and_then(|r| r.fetched), Some(fetched));
}

#[test]
fn a_redirect_alone_changes_nothing() {
    let now = Timestamp::from_secs(5);
    assert_eq!(Record::after(None, Meaning::Redirect, now), None);
    let known = Record::after(None, Meaning::Rules, now);
    assert_eq!(Record::after(known, Meaning::Redirect, now + HOUR), known);
}

#[test]
fn a_clock_set_back_makes_a_record_worthless() {
    let record = Record::after(None, Meaning::Rules, Timestamp::from_secs(1_000));
    let policy = Policy::default();
    assert_eq!(standing(record.as_ref(), Timestamp::from_secs(999), &policy), Standing::Stale);
}

#[test]
fn pauses_stay_within_bounds_whatever_the_numbers() {
    let policy = Policy::default();
    assert_eq!(policy.pause(0), Duration::ZERO);
    for failures in [7, 31, 32, 33, 64, u32::MAX] {
        assert_eq!(policy.pause(failures), HOUR);
    }
    let endless = Policy { retry_first: Duration::MAX, retry_max: Duration::MAX, ..policy };
    assert_eq!(endless.pause(40), Duration::MAX);
}
