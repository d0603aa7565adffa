//! Links and directives in the headers of a response: `Location`, `Link`, `Refresh`, `X-Robots-Tag`.

use super::extraction::{Extraction, LinkFilter};
use super::links::LinkSource;
use super::microsyntax::{link_header, refresh_url};
use super::text;
use crate::links::LinkKind;
use http::HeaderMap;
use http::header::{LINK, LOCATION, REFRESH};

/// Parses the headers of a page.
pub(super) fn parse(headers: &HeaderMap, filter: &LinkFilter, out: &mut Extraction) {
    for header in headers.get_all("x-robots-tag") {
        out.directives.add_header(&text::header(header.as_bytes()), &filter.agent);
    }
    for header in headers.get_all(LINK) {
        link_header(&text::header(header.as_bytes()), |target, rel| {
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

/// Extracts the target of a redirect, which is fetched as the same kind as its source.
pub(super) fn redirect(headers: &HeaderMap, kind: LinkKind, out: &mut Extraction) {
    if let Some(header) = headers.get(LOCATION) {
        out.link(&text::header(header.as_bytes()), kind, LinkSource::Location);
    }
}
