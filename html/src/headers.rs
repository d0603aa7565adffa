//! Links and signals in the headers of a response: `Location`, `Link`, `Refresh`, `X-Robots-Tag`,
//! `Content-Usage`, `TDM-Reservation`, `TDM-Policy`.

use super::extraction::{Extraction, LinkFilter};
use super::links::LinkSource;
use super::microsyntax::{link_header, refresh_url};
use super::text;
use crate::links::LinkKind;
use crivello_common::signals::{ContentUsage, PageSignals};
use crivello_common::url::CrawlUrl;
use http::HeaderMap;
use http::header::{HeaderName, LINK, LOCATION, REFRESH};

const X_ROBOTS_TAG: HeaderName = HeaderName::from_static("x-robots-tag");
const CONTENT_USAGE: HeaderName = HeaderName::from_static("content-usage");
const TDM_RESERVATION: HeaderName = HeaderName::from_static("tdm-reservation");
const TDM_POLICY: HeaderName = HeaderName::from_static("tdm-policy");

/// Parses the headers of a page.
pub(super) fn parse(headers: &HeaderMap, filter: &LinkFilter, out: &mut Extraction) {
    for header in headers.get_all(LINK) {
        link_header(&text::header(header.as_bytes()), |target, rel, _| {
            if let Some(source) = filter.source_of(rel) {
                out.link(target, LinkKind::Page, source);
            }
        });
    }
    if let Some(header) = headers.get(REFRESH)
        && let Some(url) = refresh_url(&text::header(header.as_bytes()))
    {
        out.link(url, LinkKind::Page, LinkSource::Refresh);
    }
}

/// Parses the signals of a response to `url`.
pub(super) fn signals(
    headers: &HeaderMap,
    url: &CrawlUrl,
    filter: &LinkFilter,
    out: &mut PageSignals,
) {
    for header in headers.get_all(X_ROBOTS_TAG) {
        out.robots.add_header(&text::header(header.as_bytes()), &filter.agent);
    }
    if headers.contains_key(CONTENT_USAGE) {
        let lines = headers.get_all(CONTENT_USAGE).iter();
        let lines: Vec<_> = lines.map(|header| text::header(header.as_bytes())).collect();
        out.usage = ContentUsage::parse(&lines.join(", "));
    }
    let has_tdm = headers.contains_key(TDM_RESERVATION);
    if !has_tdm && !headers.contains_key(LINK) {
        return;
    }
    let base = url::Url::parse(url.as_str()).ok();
    for (name, is_policy) in [(TDM_RESERVATION, false), (TDM_POLICY, true)] {
        for header in headers.get_all(name).iter().filter(|_| has_tdm) {
            let value = text::header(header.as_bytes());
            match is_policy {
                true => out.tdm.set_policy(&value, base.as_ref()),
                false => out.tdm.set_reservation(&value),
            }
        }
    }
    for header in headers.get_all(LINK) {
        link_header(&text::header(header.as_bytes()), |target, _, is_license| {
            if is_license {
                out.licenses.add(target, base.as_ref());
            }
        });
    }
}

/// Extracts the target of a redirect, which is fetched as the same kind as its source.
pub(super) fn redirect(headers: &HeaderMap, kind: LinkKind, out: &mut Extraction) {
    if let Some(header) = headers.get(LOCATION) {
        out.link(&text::header(header.as_bytes()), kind, LinkSource::Location);
    }
}
