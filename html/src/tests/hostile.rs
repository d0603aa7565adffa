//! Tests with hostile pages: no panics, no growth beyond the bounds, and all parsing ends.

use super::Case;
use crate::{Parser, SITEMAP_URLS_MAX};
use proptest::prelude::*;

/// Size of a hostile page in bytes. Quadratic time would be minutes.
const LARGE: usize = 2 << 20;

fn repeated(piece: &str) -> String {
    piece.repeat(LARGE / piece.len())
}

#[test]
fn repetition_ends() {
    let pieces = [
        "<",
        ">",
        "</",
        "<!",
        "<!-",
        "<!--",
        "--",
        "-->",
        "<!-->",
        "<?",
        "<a",
        "<a ",
        "<a href='",
        "<a href=x",
        "<a href=\"x'",
        "<div>",
        "<svg>",
        "<title>",
        "<script><!--<script>",
        "<script",
        "</script",
        "<textarea></textarea",
        "&",
        "&amp",
        "&a;",
        "<a href='&a",
        "\0",
        "<\0",
        "=",
        "/",
        "<a / = / =",
        "<meta content=",
        "\"",
        "<base href=x>",
        "<plaintext",
        "\u{feff}",
        "é",
        "<a a=>",
        "<style>@import ",
        "<style>url(",
    ];
    let mut parser = Parser::new(&Case::html("").settings.fixed, &Case::html("").settings.live);
    for piece in pieces {
        let page = repeated(piece);
        Case::html(&page).read_with(&mut parser);
        Case::html(format!("<a href='{page}")).read_with(&mut parser);
        Case::html(format!("<title>{page}")).read_with(&mut parser);
    }
}

#[test]
fn small_languages_end() {
    let mut parser = Parser::new(
        &Case::html("").settings(|s| s.live.links.images = true).settings.fixed,
        &Case::html("").settings(|s| s.live.links.images = true).settings.live,
    );
    for piece in ["&a", "&lt", "&#1", "&amp;", ", ", "(", "a,", "a 1x,", " "] {
        let page = repeated(piece);
        Case::html(format!("<a href='{page}'>")).read_with(&mut parser);
        Case::html(format!("<img srcset='{page}'>")).read_with(&mut parser);
        Case::html(format!("<meta http-equiv=refresh content='1;{page}'>")).read_with(&mut parser);
        Case::html(format!("<meta charset='{page}'>")).read_with(&mut parser);
    }
    for piece in ["<", "<x>;", "<x>;rel=next,", "\"", "\\\"", ";", ",", ":", "a:", "=;"] {
        let value = piece.repeat((64 << 10) / piece.len());
        let case = Case::html("").header("link", &value).header("x-robots-tag", &value);
        case.header("refresh", &value).header("content-type", &value).read_with(&mut parser);
    }
}

#[test]
fn a_tag_may_have_endless_attributes() {
    let many: String = (0..200_000).map(|i| format!(" a{i}=b")).collect();
    Case::html(format!("<a{many} href=x{many} href=y>")).links_to(&["x"]);
}

#[test]
fn xml_of_any_shape_ends() {
    let pieces = [
        "<a>",
        "</a>",
        "<url>",
        "<url><loc>",
        "<loc>x",
        "&x;",
        "&",
        "<!--",
        "<![CDATA[",
        "<?",
        "<!DOCTYPE",
        "<link href='x'",
        "<link/>",
        "<item><link>",
        "<item><guid>x",
        "<url><lastmod>1",
        "<url><image><loc>",
        "<!DOCTYPE a [<!ENTITY b 'c'>",
        "\n",
        "\r",
        "http://x/\n",
    ];
    for piece in pieces {
        for root in ["<urlset>", "<rss>", "http://x/"] {
            let case = Case::new(format!("{root}{}", repeated(piece))).sitemap();
            case.settings(|s| s.live.links.images = true).read();
        }
    }
    let many: String = (0..100_000).map(|i| format!(" a{i}='b'")).collect();
    Case::new(format!("<feed><link{many} href='x'/>")).sitemap().read();
}

#[test]
fn links_have_a_bound_and_the_rest_is_counted() {
    let read = Case::html("<a href=x>".repeat(SITEMAP_URLS_MAX + 3)).read();
    assert_eq!((read.hrefs.len(), read.over), (SITEMAP_URLS_MAX, 3));
    let more = Case::html("<a href=x>".repeat(SITEMAP_URLS_MAX + 3));
    let read = more.settings(|s| s.live.links.per_page_max = SITEMAP_URLS_MAX as u32 + 2).read();
    assert_eq!((read.hrefs.len(), read.over), (SITEMAP_URLS_MAX + 2, 1));
}

/// Each link is resolved against the base: 50,000 times twelve megabytes would take a minute.
#[test]
fn a_base_is_no_longer_than_a_url() {
    let page = "http://host.example/dir/page?q=1";
    let links = "<a href=../x/./y>".repeat(SITEMAP_URLS_MAX);
    for (base, length_max, used) in [
        (format!("http://host.example/{}", "b/".repeat(6 << 20)), 2_048, false),
        (format!("mailto:{}", "b".repeat(12 << 20)), 2_048, false),
        (format!("http://host.example/{}", "b".repeat(2_028)), 2_048, true),
        (format!("http://host.example/{}", "b".repeat(2_029)), 2_048, false),
        // The URL is three times as long once it is escaped.
        (format!("http://host.example/{}", "é".repeat(500)), 2_048, false),
        (format!("http://host.example/{}", "é".repeat(500)), 4_096, true),
    ] {
        let shown = format!("{:.40} of {} bytes, {length_max} at most", base, base.len());
        let case = Case::html(format!("<base href='{base}'><base href=/second/>{links}"));
        let read = case.settings(|s| s.live.links.url_length_max = length_max).read();
        assert_eq!(read.base != page, used, "{shown}");
        assert!(!read.base.contains("second") && read.base.len() <= length_max as usize, "{shown}");
        assert_eq!(read.hrefs.len(), SITEMAP_URLS_MAX, "{shown}");
    }
}

#[test]
fn a_page_leaves_nothing_for_the_next() {
    let mut parser = Parser::new(&Case::html("").settings.fixed, &Case::html("").settings.live);
    let full = "<title>t</title><base href=/b/><meta name=robots content=none><a href=x><a href=#>";
    Case::html(full).header("link", "<y>; rel=next").read_with(&mut parser);
    let read = Case::html("<a href=z>").read_with(&mut parser);
    assert_eq!((read.hrefs, read.title, read.over), (vec!["z".to_owned()], None, 0));
    assert_eq!((read.page_nofollow, read.noindex), (false, false));
    assert_eq!(read.base, "http://host.example/dir/page?q=1");
}

proptest! {
    #[test]
    fn nothing_panics(
        body in proptest::collection::vec(any::<u8>(), 0..2_000),
        content_type in "(text/html|text/xml|text/plain|)(; ?charset=(utf-16|gbk|iso-2022-jp|x))?",
        coding in "(gzip|br|deflate|zstd|identity)?",
        sitemap in any::<bool>(),
        magic in prop::sample::select(vec![
            &b""[..], b"\x1f\x8b\x08\0", b"\x28\xb5\x2f\xfd", b"<urlset>", b"\xff\xfe", b"<?xml ",
            b"<urlset><url><loc>http://x/</loc><lastmod>2024", b"<rss><item><pubDate>", b"http://x/",
        ]),
    ) {
        let mut case = Case::new([magic, &body].concat())
            .header("content-type", content_type)
            .header("content-encoding", coding)
            .settings(|s| (s.live.links.images, s.live.links.scripts) = (true, true));
        if sitemap {
            case = case.sitemap();
        }
        case.read();
    }

    #[test]
    fn a_page_cut_anywhere_has_a_beginning_of_its_links(cut in 0_usize..=PAGE.len()) {
        let whole = Case::html(PAGE).read().hrefs;
        let part = Case::html(&PAGE[..cut]).read().hrefs;
        prop_assert_eq!(&part[..], &whole[..part.len()]);
    }
}

const PAGE: &str = "<!doctype html><title>t</title><!-- c --><a href='a'>x</a><script>if (a < b) \
    </script><a href=\"b&amp;c\"><p class='x'><a title=y href=d>z</a><a href=efg><style>s</style>\
    <a\thref = 'h' >i</a><textarea><a href=no></textarea><a href=j>";
