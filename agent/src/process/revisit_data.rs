//! Data of a response for the next fetch of its URL: fingerprint, validators, dates.

use crate::messages::{Response, Revisit, RevisitData, Validators, usable_validator};
use crivello_common::config::{Live, RecrawlPolicy};
use crivello_common::fields::page::PageRecord;
use crivello_common::fields::recrawl::{IntervalRule, WeightRule};
use crivello_common::time::Timestamp;
use crivello_html::MainText;
use http::HeaderMap;
use http::header::{CACHE_CONTROL, DATE, ETAG, EXPIRES, HeaderName, LAST_MODIFIED, LOCATION};
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// The rules of the policy that need the page.
#[derive(Debug)]
pub struct RevisitDataReader {
    interval: Option<IntervalRule>,
    weight: Option<WeightRule>,
}

impl RevisitDataReader {
    /// Creates a reader for valid settings; `None` if pages are fetched once.
    #[must_use]
    pub fn new(live: &Live) -> Option<Self> {
        let recrawl = &live.recrawl;
        match recrawl.policy {
            RecrawlPolicy::None => None,
            RecrawlPolicy::Fixed => {
                let interval = IntervalRule::compile(&recrawl.interval).ok();
                Some(Self { interval, weight: None })
            }
            RecrawlPolicy::Adaptive => {
                let weight = WeightRule::compile(&recrawl.weight).unwrap_or_default();
                Some(Self { interval: None, weight })
            }
        }
    }

    /// Returns the data of a response with a body.
    pub fn read(
        &self,
        response: &Response,
        page: &PageRecord<'_>,
        text: Option<&MainText<'_>>,
        is_list: bool,
    ) -> RevisitData {
        let headers = &response.headers;
        RevisitData {
            content: fingerprint(response, text),
            is_not_modified: false,
            is_list,
            validators: validators(headers),
            modified: date(headers, &LAST_MODIFIED),
            lifetime: lifetime(headers),
            weight: self.weight.as_ref().and_then(|rule| rule.weight(page)),
            interval: self.interval.as_ref().and_then(|rule| rule.seconds(page)),
        }
    }

    /// Returns the data of a 304 to a conditional request. An interval by an expression stays as it was,
    /// because the page is not at hand.
    pub fn read_not_modified(&self, response: &Response, revisit: &Revisit) -> RevisitData {
        let new = validators(&response.headers);
        let old = &revisit.validators;
        RevisitData {
            content: revisit.content.unwrap_or_default(),
            is_not_modified: true,
            is_list: revisit.is_list,
            validators: Validators {
                etag: new.etag.or_else(|| old.etag.clone()),
                last_modified: new.last_modified.or_else(|| old.last_modified.clone()),
            },
            modified: None,
            lifetime: None,
            weight: revisit.history.map(|history| history.weight()),
            interval: match &self.interval {
                Some(IntervalRule::Constant(interval)) => Some(interval.as_secs_f64()),
                _ => None,
            },
        }
    }
}

/// Returns a fingerprint that changes with the content: of the main text, if there is any; of the target,
/// for a redirect; else of the body.
fn fingerprint(response: &Response, text: Option<&MainText<'_>>) -> u64 {
    if let (300..=399, Some(target)) = (response.status, response.headers.get(LOCATION)) {
        return xxh3_64(target.as_bytes());
    }
    match text {
        Some(text) if text.chars > 0 => text.fingerprint.0 as u64,
        _ => xxh3_64(&response.body),
    }
}

fn validators(headers: &HeaderMap) -> Validators {
    let usable = |name: HeaderName| headers.get(name).and_then(|v| usable_validator(v.as_bytes()));
    Validators { etag: usable(ETAG), last_modified: usable(LAST_MODIFIED) }
}

/// Returns the time in a header.
fn date(headers: &HeaderMap, name: &HeaderName) -> Option<Timestamp> {
    let text = headers.get(name)?.to_str().ok()?;
    let since = httpdate::parse_http_date(text).ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    Some(Timestamp::from_secs(since.as_secs()))
}

/// Returns the time for which a response is fresh (RFC 9111 section 4.2.1).
fn lifetime(headers: &HeaderMap) -> Option<Duration> {
    let control = headers.get_all(CACHE_CONTROL).iter().filter_map(|value| value.to_str().ok());
    let max_age = control
        .flat_map(|value| value.split(','))
        .filter_map(|part| part.trim().to_ascii_lowercase().strip_prefix("max-age=")?.parse().ok())
        .next();
    match max_age {
        Some(seconds) => Some(Duration::from_secs(seconds)),
        None => {
            let (expires, at) = (date(headers, &EXPIRES)?, date(headers, &DATE)?);
            (expires > at).then(|| expires.since(at))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn headers(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let line =
            |&(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value));
        lines.iter().map(line).collect()
    }

    #[test]
    fn validators_are_kept_verbatim() {
        let found = validators(&headers(&[
            ("etag", "W/\"abc\""),
            ("last-modified", "tuesday, 14-Nov-23 22:13:20 GMT"),
        ]));
        assert_eq!(found.etag.as_deref(), Some("W/\"abc\""));
        assert_eq!(found.last_modified.as_deref(), Some("tuesday, 14-Nov-23 22:13:20 GMT"));
        assert!(validators(&headers(&[])).is_empty());
    }

    #[test]
    fn lifetimes_are_those_of_caches() {
        let day = "Tue, 14 Nov 2023 22:13:20 GMT";
        let next = "Wed, 15 Nov 2023 22:13:20 GMT";
        for (lines, seconds) in [
            (&[][..], None),
            (&[("cache-control", "public, Max-Age=60")], Some(60)),
            (&[("cache-control", "no-store")], None),
            (&[("cache-control", "max-age=x"), ("expires", next), ("date", day)], Some(86_400)),
            (&[("expires", day), ("date", next)], None),
            (&[("expires", "0"), ("date", next)], None),
        ] {
            let found = lifetime(&headers(lines)).map(|lifetime| lifetime.as_secs());
            assert_eq!(found, seconds, "{lines:?}");
        }
    }

    #[test]
    fn dates_of_all_three_forms_are_read() {
        for text in [
            "Tue, 14 Nov 2023 22:13:20 GMT",
            "Tuesday, 14-Nov-23 22:13:20 GMT",
            "Tue Nov 14 22:13:20 2023",
        ] {
            let found = date(&headers(&[("last-modified", text)]), &LAST_MODIFIED);
            assert_eq!(found, Some(Timestamp::from_secs(1_700_000_000)), "{text}");
        }
        for text in ["yesterday", "", "Thu, 01 Jan 1960 00:00:00 GMT"] {
            assert_eq!(date(&headers(&[("last-modified", text)]), &LAST_MODIFIED), None, "{text}");
        }
    }
}
