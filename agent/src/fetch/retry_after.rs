//! `Retry-After` (RFC 9110 section 10.2.3): seconds, or a date.

use crivello_common::time::Timestamp;
use http::HeaderMap;
use http::header::{DATE, HeaderName, RETRY_AFTER};
use std::time::{Duration, UNIX_EPOCH};

/// Returns the time for which the server asks for no requests. A date is relative to the response's
/// own `Date`, so that a wrong clock of the server does not matter, or to `now` if there is none.
/// `None` if the header is missing or unreadable, or if its date has passed.
pub(super) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(Duration::from_secs(u64::from(text.parse().unwrap_or(u32::MAX))));
    }
    let until = date(headers, RETRY_AFTER)?;
    let from = date(headers, DATE).unwrap_or(now);
    (until > from).then(|| until.since(from))
}

fn date(headers: &HeaderMap, name: HeaderName) -> Option<Timestamp> {
    let time = httpdate::parse_http_date(headers.get(name)?.to_str().ok()?.trim()).ok()?;
    Some(Timestamp::ZERO + time.duration_since(UNIX_EPOCH).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    #[test]
    fn seconds_and_dates_are_read_and_the_rest_is_nothing() {
        let at_date = Some("Fri, 20 Nov 2026 10:00:00 GMT");
        let now = Timestamp::from_secs(1_795_168_800); // the same time by our clock
        let seconds = |n| Some(Duration::from_secs(n));
        for (text, date, expected) in [
            ("120", None, seconds(120)),
            (" 7 ", None, seconds(7)),
            ("0", None, seconds(0)),
            ("99999999999999999999999", None, seconds(u64::from(u32::MAX))),
            ("Fri, 20 Nov 2026 10:01:30 GMT", at_date, seconds(90)),
            ("Friday, 20-Nov-26 10:01:30 GMT", at_date, seconds(90)),
            ("Fri Nov 20 10:01:30 2026", at_date, seconds(90)),
            ("Fri, 20 Nov 2026 09:59:59 GMT", at_date, None),
            ("Fri, 20 Nov 2026 10:00:00 GMT", at_date, None),
            ("-5", None, None),
            ("1.5", None, None),
            ("", None, None),
            ("soon", None, None),
            ("10 seconds", None, None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, HeaderValue::from_static(text));
            if let Some(date) = date {
                headers.insert(DATE, HeaderValue::from_static(date));
            }
            assert_eq!(retry_after(&headers, now), expected, "{text:?}");
        }
    }

    #[test]
    fn without_a_date_header_our_clock_counts() {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static("Thu, 01 Jan 1970 00:02:00 GMT"));
        let now = Timestamp::from_secs(100);
        assert_eq!(retry_after(&headers, now), Some(Duration::from_secs(20)));
        assert_eq!(retry_after(&HeaderMap::new(), now), None);
    }
}
