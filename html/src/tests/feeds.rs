//! Tests of RSS and Atom: links of articles, and their dates.

use super::{Case, assert_dated};
use crate::{LinkKind, LinkSource, Media};

fn feed(text: impl AsRef<[u8]>) -> Case {
    Case::new(text).header("content-type", "application/rss+xml; charset=utf-8")
}

/// As WordPress writes it.
const RSS_2: &str = "\u{feff}<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<rss version=\"2.0\" xmlns:content=\"http://purl.org/rss/1.0/modules/content/\"
  xmlns:atom=\"http://www.w3.org/2005/Atom\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">
<channel>
 <title>News &amp; more</title>
 <atom:link href=\"http://h.example/feed/\" rel=\"self\" type=\"application/rss+xml\" />
 <link>http://h.example/</link>
 <lastBuildDate>Wed, 25 Nov 2026 09:00:00 +0000</lastBuildDate>
 <image><url>http://h.example/no.png</url><link>http://h.example/no</link></image>
 <item>
  <title>One</title>
  <link>http://h.example/1?a=1&#038;b=2</link>
  <comments>http://h.example/1#no</comments>
  <pubDate>Tue, 24 Nov 2026 10:00:00 +0200</pubDate>
  <dc:creator><![CDATA[somebody]]></dc:creator>
  <guid isPermaLink=\"false\">http://h.example/?p=1</guid>
  <description><![CDATA[<p><a href=\"http://h.example/no\">no</a>]]></description>
 </item>
 <item>
  <guid isPermaLink=\"true\"> http://h.example/2 </guid>
  <dc:date>2026-11-23T10:00:00Z</dc:date>
  <enclosure url=\"http://h.example/no.mp3\" length=\"1\" type=\"audio/mpeg\"/>
 </item>
 <item><guid isPermaLink='FALSE'>no</guid><pubDate>no date</pubDate></item>
 <item><pubDate>Tue, 24 Nov 2099 10:00:00 GMT</pubDate><link><![CDATA[/3]]></link></item>
</channel></rss>";

#[test]
fn articles_of_rss_2_are_links_with_dates() {
    let read = feed(RSS_2).read();
    assert_eq!(read.media, Media::Feed);
    assert_dated(
        &read,
        &[
            ("http://h.example/", "", ""),
            ("http://h.example/1?a=1&b=2", "", "2026-11-24T08:00:00"),
            ("http://h.example/2", "", "2026-11-23T10:00:00"),
            ("/3", "", ""),
        ],
    );
    assert!(read.kinds.iter().all(|&kind| kind == LinkKind::Page));
    assert!(read.sources.iter().all(|&source| source == LinkSource::Feed));
    let list = read.list.unwrap();
    assert_eq!((list.n_entries, list.n_future_dates, list.n_invalid_dates), (4, 1, 1));
    assert!(!list.is_damaged);
}

#[test]
fn articles_of_rss_1_are_links_with_dates() {
    let read = feed(
        "<?xml version=\"1.0\"?><!DOCTYPE rdf:RDF [<!ENTITY % x SYSTEM \"http://no.example/\">]>
        <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"
          xmlns=\"http://purl.org/rss/1.0/\" xmlns:dc=\"http://purl.org/dc/elements/1.1/\">
        <channel rdf:about=\"http://h.example/rss\"><link>http://h.example/</link>
          <items><rdf:Seq><rdf:li resource=\"http://h.example/no\"/></rdf:Seq></items></channel>
        <item rdf:about=\"http://h.example/1\"><link>http://h.example/1</link>
          <dc:date>2026-11-20</dc:date></item></rdf:RDF>",
    )
    .read();
    assert_dated(
        &read,
        &[("http://h.example/", "", ""), ("http://h.example/1", "", "2026-11-20T00:00:00")],
    );
}

#[test]
fn entries_of_atom_are_links_with_dates() {
    let read = Case::new(
        "<?xml version='1.0' encoding='utf-8'?><a:feed xmlns:a='http://www.w3.org/2005/Atom' xml:base='x'>
        <a:link rel='self' href='no'/><a:link rel='next' href='?2'/><a:updated>2026-11-25T00:00:00Z</a:updated>
        <a:entry><a:link href='a&amp;b'/><a:link rel='alternate' hreflang='de' href='http://h.example/de'/>
          <a:link rel='edit' href='no'/><a:id>no</a:id>
          <a:published>2026-11-01T12:00:00.5+01:00</a:published><a:updated>2026-11-02T12:00:00Z</a:updated>
          <a:source><a:link href='no'/><a:updated>2026-11-09T00:00:00Z</a:updated></a:source>
          <a:content><a:link href='no'/></a:content></a:entry></a:feed>",
    )
    .header("content-type", "application/atom+xml")
    .read();
    let (updated, published) = ("2026-11-02T12:00:00", "2026-11-01T11:00:00");
    assert_dated(
        &read,
        &[("?2", "", ""), ("a&b", updated, published), ("http://h.example/de", updated, published)],
    );
}

#[test]
fn a_feed_may_be_a_sitemap() {
    let read = feed(RSS_2).sitemap().read();
    assert_eq!((read.media, read.hrefs.len()), (Media::Feed, 4));
    assert_eq!(read.dates.len(), 2);
}

/// HTML that is not escaped does not hide the articles that follow.
#[test]
fn a_feed_that_is_not_well_formed_is_read_to_its_end() {
    let article = |n: usize| {
        format!(
            "<item><link>/{n}</link><description>x & y <p><br>&nbsp;<img src='&x;'></description></item>"
        )
    };
    let articles: String = (0..100).map(article).collect();
    let read = feed(format!("<rss><channel>{articles}</channel></rss>")).read();
    assert_eq!((read.hrefs.len(), read.hrefs[99].as_str()), (100, "/99"));
    assert!(!read.list.unwrap().is_damaged);
    let unclosed =
        feed("<rss><channel><item><link>/1</link><item><link>/2</link></item></channel></rss>");
    unclosed.links_to(&["/1", "/2"]);
    let cut = feed("<rss><channel><item><link>/1</link></item><item><link>/2").read();
    assert_eq!((cut.hrefs, cut.list.unwrap().is_damaged), (vec!["/1".to_owned()], true));
}

#[test]
fn a_document_type_may_stand_before_a_feed() {
    let rss = "<rss><channel><link>/1</link></channel></rss>";
    for doctype in [
        "<!DOCTYPE rss PUBLIC \"-//Netscape Communications//DTD RSS 0.91//EN\" \"http://no.example/rss-0.91.dtd\">",
        "<!doctype rss [<!ENTITY nbsp \"&#160;\"> <!ENTITY % x SYSTEM 'http://no.example/'>] >\n<!-- c -->",
    ] {
        feed(format!("<?xml version='1.0'?>{doctype}{rss}")).links_to(&["/1"]);
    }
    for page in ["<!DOCTYPE rss [", "<!DOCTYPE rss [<!ENTITY", "<!DOCTYPE", "<!DOCTYPE rss"] {
        assert_eq!(feed(format!("{page}{rss}")).read().hrefs.len(), 0, "{page}");
    }
}
