//! Tests of sitemaps, RSS and Atom.

use super::Case;
use crate::LinkKind;
use crate::{Media, SITEMAP_URLS_MAX};
use std::io::Write;

const URLSET: &str = "<?xml version='1.0' encoding='UTF-8'?>
<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>
 <url><loc> http://host.example/?a=1&amp;b=2&#38;c </loc><image:image><image:loc>no</image:loc></image:image></url>
 <url><xhtml:link rel='alternate' href='http://host.example/de?x&amp;y'/><loc><![CDATA[http://host.example/c?d&e]]></loc></url>
 <loc>no</loc>
</urlset>";

#[test]
fn a_sitemap_names_pages() {
    for case in [Case::new(URLSET).sitemap(), Case::new(URLSET).header("content-type", "text/xml")]
    {
        let read = case.read();
        assert_eq!(read.media, Media::Sitemap);
        assert_eq!(
            read.hrefs,
            [
                "http://host.example/?a=1&b=2&c",
                "http://host.example/de?x&y",
                "http://host.example/c?d&e"
            ]
        );
        assert!(read.kinds.iter().all(|&kind| kind == LinkKind::Page));
    }
    let read = Case::html(URLSET).sitemap().read();
    assert_eq!(read.media, Media::Sitemap, "the content type overrode the content");
}

#[test]
fn a_sitemap_index_names_sitemaps() {
    let read = Case::new("<s:sitemapindex><s:sitemap><s:loc>http://h.example/1.xml</s:loc></s:sitemap></s:sitemapindex>")
        .header("content-type", "application/xml")
        .read();
    assert_eq!(
        (read.hrefs[0].as_str(), read.kinds[0]),
        ("http://h.example/1.xml", LinkKind::Sitemap)
    );
}

#[test]
fn a_sitemap_may_be_a_gzip_file() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(URLSET.as_bytes()).unwrap();
    let bytes = gzip.finish().unwrap();
    for content_type in ["application/x-gzip", "application/octet-stream", "text/xml"] {
        let read = Case::new(&bytes).header("content-type", content_type).sitemap().read();
        assert_eq!((read.media, read.hrefs.len()), (Media::Sitemap, 3), "{content_type}");
    }
    let read = Case::new(&bytes).header("content-type", "application/x-gzip").read();
    assert_eq!(
        (read.media, read.hrefs.len()),
        (Media::Other, 0),
        "a gzip file was taken for a sitemap"
    );
}

#[test]
fn a_sitemap_may_be_a_list() {
    let list = "\u{feff}http://h.example/1\r\n # no\nHTTPS://h.example/2 \n/no\n";
    let case = Case::new(list).header("content-type", "text/plain");
    case.sitemap().links_to(&["http://h.example/1", "HTTPS://h.example/2"]);
    Case::new(list).header("content-type", "text/plain").links_to(&[]);
}

#[test]
fn a_sitemap_that_is_a_page_is_read_as_one() {
    let read = Case::html("<!doctype html><a href=x>").sitemap().read();
    assert_eq!((read.media, read.hrefs), (Media::Html, vec!["x".to_owned()]));
}

#[test]
fn feeds_name_pages() {
    let rss = "<rss><channel><link>http://h.example/</link><atom:link rel='self' href='no'/>\
        <item><link>http://h.example/1</link><guid>no</guid></item></channel></rss>";
    Case::new(rss)
        .header("content-type", "application/rss+xml")
        .links_to(&["http://h.example/", "http://h.example/1"]);
    let atom = "<feed xml:base='x'><link rel='self' href='no'/><link rel='next' href='?2'/>\
        <entry><link href='a&amp;b'/><id>no</id><content><link href='no'/></content></entry></feed>";
    Case::new(atom).header("content-type", "application/atom+xml").links_to(&["?2", "a&b"]);
}

#[test]
fn what_is_broken_yields_what_comes_before() {
    Case::new("<urlset><url><loc>http://h.example/1</loc></url><url><loc>http://h.exam")
        .sitemap()
        .links_to(&["http://h.example/1"]);
    Case::new("<urlset><url><loc>http://h.example/?a&b</x></url></url></url><url><loc>y</loc>")
        .sitemap()
        .links_to(&["http://h.example/?a&b", "y"]);
}

#[test]
fn a_sitemap_has_a_bound() {
    let mut body = String::from("<urlset>");
    body.push_str(&"<url><loc>x</loc></url>".repeat(SITEMAP_URLS_MAX + 7));
    let read = Case::new(body).sitemap().read();
    assert_eq!((read.hrefs.len(), read.over), (SITEMAP_URLS_MAX, 7));
}
