//! Tests of links and directives in headers.

use super::Case;
use crate::LinkKind;

#[test]
fn a_redirect_leaves_as_a_link() {
    for status in [301, 302, 303, 307, 308] {
        let case = Case::html("<a href=no>").status(status).header("location", " /x y#f");
        let read = case.header("x-robots-tag", "nofollow").read();
        assert_eq!((read.hrefs, read.nofollow), (vec!["/x y".to_owned()], vec![false]));
    }
    Case::html("").status(301).header("location", b"/caf\xe9").links_to(&["/caf%E9"]);
    Case::html("").status(301).header("location", "/café").links_to(&["/café"]);
    Case::html("").status(301).links_to(&[]);
    Case::html("").status(200).header("location", "/x").links_to(&[]);
    let read = Case::html("").sitemap().status(302).header("location", "/s.xml").read();
    assert_eq!(read.kinds, [LinkKind::Sitemap]);
}

#[test]
fn only_pages_that_were_found_have_links() {
    for status in [404, 410, 500, 503] {
        Case::html("<a href=x>").status(status).header("link", "<y>; rel=next").links_to(&[]);
    }
    Case::html("<a href=x>").status(203).links_to(&["x"]);
}

#[test]
fn link_headers_are_read() {
    let cases: [(&str, &[&str]); 8] = [
        ("<x>; rel=canonical", &["x"]),
        ("<x>; rel=\"next foo\"; title=\"a, b; rel=no\", <y>; REL = Alternate", &["x", "y"]),
        ("<x>; title=\"\\\", <no>; rel=next\"; rel=prev", &["x"]),
        ("<x>; rel=preload; rel=next", &[]),
        ("<x>;rel=next,<y>;rel=next", &["x", "y"]),
        ("<x, y>; rel=next", &["x, y"]),
        ("<x; rel=next", &[]),
        ("<x>", &[]),
    ];
    for (value, expected) in cases {
        Case::html("").header("link", value).links_to(expected);
    }
    Case::new("%PDF")
        .header("content-type", "application/pdf")
        .header("link", "<x>;rel=canonical")
        .links_to(&["x"]);
}

#[test]
fn refresh_headers_are_read() {
    let cases: [(&str, &[&str]); 11] = [
        ("0;url=x", &["x"]),
        ("0; URL = 'x' y", &["x"]),
        ("1.5,x", &["x"]),
        (" 3 x", &["x"]),
        ("0;url", &["url"]),
        ("0;'x", &["x"]),
        (".5;x", &["x"]),
        ("5", &[]),
        ("5;", &[]),
        ("x", &[]),
        ("5x", &[]),
    ];
    for (value, expected) in cases {
        Case::html("").header("refresh", value).links_to(expected);
    }
}

#[test]
fn robots_tags_are_read_for_us_and_for_all() {
    let cases = [
        ("nofollow", true, false),
        ("NoIndex, NOFOLLOW", true, true),
        ("none", true, true),
        ("crivello: nofollow", true, false),
        ("otherbot: nofollow, noindex", false, false),
        ("otherbot: nofollow, Crivello: noindex", false, true),
        ("max-snippet: 20, nofollow", true, false),
        ("unavailable_after: Sat, 25 Jun 2010 15:00:00 PST, noindex", false, true),
        ("all", false, false),
    ];
    for (value, nofollow, noindex) in cases {
        let read = Case::html("<a href=x>").header("x-robots-tag", value).read();
        assert_eq!((read.page_nofollow, read.noindex), (nofollow, noindex), "{value}");
        assert_eq!(read.nofollow, [nofollow], "{value}");
    }
}
