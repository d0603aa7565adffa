//! Tests of HTML: the links found, and their kinds.

use super::Case;
use crate::{LinkSource, Media};
use crivello_common::fields::link::LINK_KINDS;
use encoding_rs::{GBK, ISO_2022_JP, SHIFT_JIS, WINDOWS_1251};

#[track_caller]
fn links(html: &str, expected: &[&str]) {
    Case::html(html).links_to(expected);
}

#[test]
fn every_kind_of_link_is_found() {
    links("<a href=x>", &["x"]);
    links("<A HREF='x'>", &["x"]);
    links("<area href=\"x\">", &["x"]);
    links("<frame src=x><iframe src=y></iframe>", &["x", "y"]);
    links("<link rel=canonical href=c><link rel='ALTERNATE foo' href=a>", &["c", "a"]);
    links("<link rel=next href=n><link rel=prev href=p>", &["n", "p"]);
    links("<link rel=preload href=x><link href=y><link rel=next>", &[]);
    links("<meta http-equiv=Refresh content='5; URL=\"r\"'>", &["r"]);
    links("<noscript><a href=x></noscript>", &["x"]);
    links("<a/href=x>", &["x"]);
    links("<a href = x >", &["x"]);
    links("<a title='>' href=x>", &["x"]);
    links("<a href=x/>", &["x/"]);
    links("<a =href=x>", &[]);
    links("<p><![CDATA[<a href=x>]]>", &[]);
}

#[test]
fn what_is_no_markup_has_no_links() {
    for element in ["script", "style", "textarea", "title", "iframe", "xmp", "noembed", "noframes"]
    {
        let page = format!("<{element}><a href=no></{element}x></{element} ><a href=x>");
        links(&page, &["x"]);
        links(&format!("<{element}><a href=no>"), &[]);
    }
    links("<plaintext><a href=no></plaintext><a href=no>", &[]);
    links("<!-- <a href=no> --><a href=x>", &["x"]);
    links("<!--><a href=x>", &["x"]);
    links("<!---><a href=x>", &["x"]);
    links("<!-- --!><a href=x>", &["x"]);
    links("<!--!><a href=no>", &[]);
    links("<script><!--<script></script><a href=no>--></script><a href=x>", &["x"]);
    links("<script><!-- </script><a href=x>", &["x"]);
    links("<svg><style/><title/><a href=x>", &["x"]);
    links("<style/><a href=no>", &[]);
    links("<a href=x", &[]);
}

#[test]
fn images_and_scripts_are_found_when_asked() {
    let page = "<img src=i srcset='a 1x, b(1,2) 2x (x,y), c'><video poster=p src=v></video>\
        <picture><source srcset=s></picture><script src=j></script>\
        <link rel=stylesheet href=c><link rel='alternate stylesheet' href=d><link rel=icon href=f>\
        <object data=o></object><embed src=e>";
    links(page, &[]);
    Case::html(page)
        .settings(|s| s.live.links.images = true)
        .links_to(&["i", "a", "b(1,2)", "c", "v", "p", "s", "f", "o", "e"]);
    Case::html(page).settings(|s| s.live.links.scripts = true).links_to(&["j", "c", "d"]);
}

/// As browsers do: the icon of the origin, whatever the base of the page is.
#[test]
fn a_page_without_an_icon_has_that_of_its_host() {
    let images = |page: &str| Case::html(page).settings(|s| s.live.links.images = true);
    let icon = "http://host.example/favicon.ico";
    images("<base href='//cdn.example/'><a href=x>").links_to(&["x", icon]);
    images("<link rel=apple-touch-icon href=no><link rel=icon>").links_to(&[icon]);
    images("<link rel='shortcut ICON' href=i>").links_to(&["i"]);
    links("<a href=x>", &["x"]);
    for other in [images("").header("content-type", "text/css"), images("x").status(404)] {
        other.links_to(&[]);
    }
    let read = images("<meta name=robots content=nofollow>").read();
    assert_eq!((read.nofollow, read.sources), (vec![true], vec![LinkSource::Favicon]));
}

#[test]
fn character_references_are_decoded_as_in_attributes() {
    links("<a href='?a=1&amp;b=2&c=3'>", &["?a=1&b=2&c=3"]);
    links("<a href='?a&copy=1'>", &["?a&copy=1"]);
    links("<a href='?a&copy;=1'>", &["?a\u{a9}=1"]);
    links("<a href='?a&copy'>", &["?a\u{a9}"]);
    links("<a href='&#x2F;x&#47;'>", &["/x/"]);
    links("<a href='&quot;\"&amp;\"'>", &["\"\"&\""]);
    links("<a href='&unknown;&'>", &["&unknown;&"]);
    links("<a href=javascript&colon;x()>", &["javascript:x()"]);
}

#[test]
fn hrefs_are_trimmed_and_stripped() {
    links("<a href=' \n\t x\ny\tz \x0c'>", &["xyz"]);
    links("<a href='x#f'>", &["x"]);
    links("<a href='#f'><a href=''><a href><a href=' #'>", &[]);
    links("<a href='mailto:a@b'><a href='DATA:,x'>", &["mailto:a@b", "DATA:,x"]);
    let long = format!("<a href='data:{}'>", "x".repeat(1_000));
    assert_eq!(Case::html(long).read().hrefs[0].len(), 64);
    links("<a href='a\0b'>", &["a\u{fffd}b"]);
}

#[test]
fn the_first_base_and_the_first_attribute_win() {
    let read =
        Case::html("<base target=x><base href='/b/'><base href='/c/'><a href=x href=y>").read();
    assert_eq!(read.base, "http://host.example/b/");
    assert_eq!(read.hrefs, ["x"]);
    let read = Case::html("<base href='/b/'><a href='#f'>").read();
    assert_eq!(read.hrefs, [""], "a fragment must resolve against the base");
    for bad in ["data:x", "javascript:x", "http://[", ""] {
        let read = Case::html(format!("<base href='{bad}'>")).read();
        assert_eq!(read.base, "http://host.example/dir/page?q=1", "{bad}");
    }
}

#[test]
fn nofollow_is_seen_on_links_and_pages() {
    let page = "<a rel='noopener NoFollow' href=x><a rel=ugc href=y><a href=z>";
    assert_eq!(Case::html(page).read().nofollow, [true, false, false]);
    let cases = [
        ("<meta name=robots content=nofollow>", true, false),
        ("<META NAME=' Robots ' CONTENT='NOINDEX, NOFOLLOW'>", true, true),
        ("<meta content=none name=robots>", true, true),
        ("<meta name=crivello content=noindex>", false, true),
        ("<meta name=otherbot content=none>", false, false),
        ("<meta name=robots content='index,follow'>", false, false),
    ];
    for (meta, nofollow, noindex) in cases {
        let read = Case::html(format!("<a href=x>{meta}")).read();
        assert_eq!((read.page_nofollow, read.noindex), (nofollow, noindex), "{meta}");
        assert_eq!(read.nofollow, [nofollow], "{meta}");
    }
}

#[test]
fn the_title_is_read() {
    let title = |page: &str| Case::html(page).read().title;
    assert_eq!(title("<title> A &amp; B\n<b> </title><title>C</title>").unwrap(), "A & B <b>");
    assert_eq!(title("<svg><title>icon</title></svg><title>page</title>").unwrap(), "page");
    assert_eq!(title("<p>").as_deref(), None);
    let long = title(&format!("<title>{}</title>", "äb ".repeat(500))).unwrap();
    assert!(long.len() <= 256 && long.len() > 250, "{}", long.len());
}

#[test]
fn encodings_are_found() {
    let cyrillic = "Съешь же ещё этих мягких французских булок, да выпей чаю. ".repeat(20);
    let (guessable, ..) = WINDOWS_1251.encode(&cyrillic);
    let cases: [(&[u8], &str, &str); 12] = [
        (b"<p>ascii", "text/html", "UTF-8"),
        ("<p>é".as_bytes(), "text/html", "UTF-8"),
        (b"<p>cut \xc3", "text/html", "UTF-8"),
        (b"\xef\xbb\xbf<p>", "text/html; charset=koi8-r", "UTF-8"),
        (b"<p>", "text/html; charset=\"KOI8-R\"", "KOI8-R"),
        (b"<meta charset=gbk>", "text/html; charset=nonsense", "GBK"),
        (b"<meta charset=gbk>", "text/html; charset=koi8-r", "KOI8-R"),
        (b"<!-- <meta charset=gbk> --><meta charset=koi8-r>", "text/html", "KOI8-R"),
        (b"<meta http-equiv=content-type content='text/html; charset=gbk'>", "text/html", "GBK"),
        (b"<meta charset=utf-16le>", "text/html", "UTF-8"),
        (b"<?xml version='1.0' encoding='koi8-r'?><html>", "application/xhtml+xml", "KOI8-R"),
        (&guessable, "text/html", "windows-1251"),
    ];
    for (body, content_type, expected) in cases {
        let read = Case::new(body).header("content-type", content_type).read();
        assert_eq!(read.charset, Some(expected), "{}", body.escape_ascii());
    }
}

#[test]
fn values_are_decoded_and_queries_encoded() {
    let page = "<a href='/é?é=&eacute;&amp;d=я'>";
    let latin = page.replace('я', "&#1103;");
    let (bytes, ..) = encoding_rs::WINDOWS_1252.encode(&latin);
    let case = Case::new(bytes).header("content-type", "text/html; charset=iso-8859-1");
    case.links_to(&["/é?%E9=%E9&d=%26%231103%3B"]);
    let page = "<a href='/表?表'>";
    let (bytes, ..) = SHIFT_JIS.encode(page);
    let case = Case::new(bytes).header("content-type", "text/html; charset=shift_jis");
    case.links_to(&["/表?%95\\"]);
    let (bytes, ..) = GBK.encode("<a href='/中?中'>");
    Case::new(bytes).header("content-type", "text/html; charset=gbk").links_to(&["/中?%D6%D0"]);
    let (bytes, ..) = ISO_2022_JP.encode("<a href='/日本'>日<a href=x>");
    let case = Case::new(bytes).header("content-type", "text/html; charset=iso-2022-jp");
    case.links_to(&["/日本", "x"]);
    for (bom, encode) in [
        ([0xff, 0xfe], u16::to_le_bytes as fn(u16) -> [u8; 2]),
        ([0xfe, 0xff], u16::to_be_bytes as fn(u16) -> [u8; 2]),
    ] {
        let units = "<a href='/é?я'>".encode_utf16().flat_map(encode);
        let body: Vec<u8> = bom.into_iter().chain(units).collect();
        Case::html(body).links_to(&["/é?я"]);
    }
}

#[test]
fn the_media_type_is_found() {
    let cases: [(&[u8], Option<&str>, Media); 17] = [
        (b"<p>", Some("text/html"), Media::Html),
        (b"<p>", Some("Application/XHTML+XML;x"), Media::Html),
        (b"text", Some("text/html"), Media::Html),
        (b"%PDF-1.4", Some("text/html"), Media::Other),
        (b" \n<!DocType  HTML>", None, Media::Html),
        (b"<!-- c --><html>", None, Media::Html),
        (b"<P >", None, Media::Html),
        (b"<pp>", None, Media::Other),
        (b"text <p>", None, Media::Other),
        (b"\x89PNG\r\n\x1a\n<html>", None, Media::Other),
        (b"<html>\0", None, Media::Other),
        (b"<html>", Some("application/octet-stream"), Media::Html),
        (b"<html>", Some("text/plain"), Media::Other),
        (b"<?xml version='1.0'?><html xmlns='x'>", Some("text/xml"), Media::Html),
        (b"<?xml version='1.0'?><!-- c --><rss>", Some("application/xml"), Media::Feed),
        (b"<svg><a href=x>", Some("image/svg+xml"), Media::Other),
        (b"<html>", Some("text/css"), Media::StyleSheet),
    ];
    for (body, content_type, expected) in cases {
        let mut case = Case::new(body);
        if let Some(value) = content_type {
            case = case.header("content-type", value);
        }
        assert_eq!(case.read().media, expected, "{} {content_type:?}", body.escape_ascii());
    }
}

#[test]
fn each_source_has_a_kind_that_expressions_know() {
    for source in LinkSource::ALL {
        assert!(LINK_KINDS.contains(&source.kind()), "{}", source.kind());
    }
}
