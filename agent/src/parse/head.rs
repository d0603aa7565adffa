//! What the headers of a response say: `Location`, `Link`, `Refresh`, `X-Robots-Tag`.

use super::gleanings::{Gleanings, Wanted};
use super::links::Via;
use super::microsyntax::{link_header, refresh_url};
use super::value;
use crate::messages::LinkKind;
use encoding_rs::UTF_8;
use http::HeaderMap;
use http::header::{LINK, LOCATION, REFRESH};

/// Reads the headers of a page.
pub(super) fn read(headers: &HeaderMap, wanted: &Wanted, found: &mut Gleanings) {
    for header in headers.get_all("x-robots-tag") {
        found.directives.add_header(&value::header(header.as_bytes()), &wanted.agent);
    }
    for header in headers.get_all(LINK) {
        link_header(&value::header(header.as_bytes()), |target, rel| {
            if let Some(via) = wanted.via(rel) {
                push(target, LinkKind::Page, via, found);
            }
        });
    }
    if let Some(header) = headers.get(REFRESH)
        && let Some(url) = refresh_url(&value::header(header.as_bytes()))
    {
        push(url, LinkKind::Page, Via::Refresh, found);
    }
}

/// Reads the target of a redirect: it is to be fetched as what redirected to it.
pub(super) fn redirect(headers: &HeaderMap, kind: LinkKind, found: &mut Gleanings) {
    if let Some(header) = headers.get(LOCATION) {
        push(&value::header(header.as_bytes()), kind, Via::Location, found);
    }
}

fn push(target: &str, kind: LinkKind, via: Via, found: &mut Gleanings) {
    let href = value::href(target, UTF_8);
    if !href.is_empty() {
        found.links.push(&href, kind, via, false);
    }
}
