//! Tests of sitemaps: entries, extensions, dates, and what is refused.

use super::{Case, assert_dated, dated};
use crate::{LinkKind, LinkSource, Media, SITEMAP_LINKS_MAX, SITEMAP_URLS_MAX};
use proptest::prelude::*;
use std::fmt::Write as _;

fn sitemap(text: impl AsRef<[u8]>) -> Case {
    Case::new(text).header("content-type", "application/xml").sitemap()
}

fn with_images(text: impl AsRef<[u8]>) -> Case {
    sitemap(text).settings(|s| s.live.links.images = true)
}

const URLSET: &str = "<?xml version='1.0' encoding='UTF-8'?>
<?xml-stylesheet type=\"text/xsl\" href=\"//host.example/no.xsl\"?>
<!-- generated -->
<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>
 <url>
  <loc> http://host.example/?a=1&amp;b=2&#38;c </loc><lastmod>2026-11-24T10:00:00+01:00</lastmod>
  <changefreq>daily</changefreq><priority>0.8</priority>
 </url>
 <url><lastmod>2026-11</lastmod><loc><![CDATA[http://host.example/c?d&e]]></loc></url>
 <loc>no</loc>
</urlset>";

#[test]
fn a_sitemap_names_pages_and_their_changes() {
    for case in [Case::new(URLSET).sitemap(), Case::new(URLSET).header("content-type", "text/xml")]
    {
        let read = case.read();
        assert_eq!(read.media, Media::Sitemap);
        assert_dated(
            &read,
            &[
                ("http://host.example/?a=1&b=2&c", "2026-11-24T09:00:00", ""),
                ("http://host.example/c?d&e", "2026-11-01T00:00:00", ""),
            ],
        );
        assert!(read.kinds.iter().all(|&kind| kind == LinkKind::Page));
        assert!(read.sources.iter().all(|&source| source == LinkSource::Sitemap));
        let list = read.list.unwrap();
        assert_eq!((list.n_entries, list.n_news, list.is_damaged), (2, 0, false));
    }
    let read = Case::html(URLSET).sitemap().read();
    assert_eq!(read.media, Media::Sitemap, "the content type overrode the content");
}

#[test]
fn an_index_names_sitemaps_and_their_changes() {
    let read = Case::new(
        "<s:sitemapindex xmlns:s='http://www.sitemaps.org/schemas/sitemap/0.9'>
        <s:sitemap><s:loc>http://h.example/1.xml.gz</s:loc><s:lastmod>2026-01-02</s:lastmod></s:sitemap>
        <s:sitemap><s:loc>http://h.example/2.xml</s:loc></s:sitemap></s:sitemapindex>",
    )
    .header("content-type", "application/xml")
    .read();
    assert_dated(
        &read,
        &[
            ("http://h.example/1.xml.gz", "2026-01-02T00:00:00", ""),
            ("http://h.example/2.xml", "", ""),
        ],
    );
    assert_eq!(read.kinds, [LinkKind::Sitemap; 2]);
}

/// From Google's documentation of the extension.
const NEWS: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"
  xmlns:news=\"http://www.google.com/schemas/sitemap-news/0.9\">
 <url>
  <loc>http://www.example.org/business/article55.html</loc>
  <news:news>
   <news:publication><news:name>The Example Times</news:name><news:language>en</news:language></news:publication>
   <news:publication_date>2026-11-23</news:publication_date>
   <news:title>Companies A, B in Merger Talks</news:title>
  </news:news>
 </url>
 <url>
  <news:news><news:publication_date>2026-11-24T08:30+02:00</news:publication_date></news:news>
  <lastmod>2026-11-25T08:30:00Z</lastmod>
  <loc>http://www.example.org/2</loc>
 </url>
</urlset>";

#[test]
fn news_have_a_date_of_publication() {
    let read = sitemap(NEWS).read();
    assert_dated(
        &read,
        &[
            ("http://www.example.org/business/article55.html", "", "2026-11-23T00:00:00"),
            ("http://www.example.org/2", "2026-11-25T08:30:00", "2026-11-24T06:30:00"),
        ],
    );
    assert_eq!(read.list.unwrap().n_news, 2);
}

const MEDIA: &str = "<urlset xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\"
  xmlns:image=\"http://www.google.com/schemas/sitemap-image/1.1\"
  xmlns:v=\"http://www.google.com/schemas/sitemap-video/1.1\">
 <url><loc>http://example.com/1</loc>
  <image:image><image:loc>http://cdn.example/a.jpg</image:loc></image:image>
  <image:image><image:loc>http://example.com/b.jpg</image:loc><image:license>http://no.example/</image:license></image:image>
  <v:video>
   <v:thumbnail_loc>http://example.com/t.jpg</v:thumbnail_loc><v:title>no</v:title>
   <v:content_loc>http://example.com/v.mp4</v:content_loc>
   <v:player_loc allow_embed='yes'>http://example.com/p?v=1&amp;w</v:player_loc>
   <v:publication_date>2020-01-01</v:publication_date>
   <v:uploader info='http://no.example/'>no</v:uploader>
  </v:video>
 </url></urlset>";

#[test]
fn images_and_videos_are_links_when_asked() {
    sitemap(MEDIA).links_to(&["http://example.com/1"]);
    let read = with_images(MEDIA).read();
    let expected = [
        ("http://example.com/1", LinkSource::Sitemap),
        ("http://cdn.example/a.jpg", LinkSource::SitemapImage),
        ("http://example.com/b.jpg", LinkSource::SitemapImage),
        ("http://example.com/t.jpg", LinkSource::SitemapImage),
        ("http://example.com/v.mp4", LinkSource::SitemapVideo),
        ("http://example.com/p?v=1&w", LinkSource::SitemapVideo),
    ];
    let found = read.hrefs.iter().map(String::as_str).zip(read.sources.iter().copied());
    assert_eq!(found.collect::<Vec<_>>(), expected);
    assert!(read.dates.is_empty(), "the date of a video is not that of its page");
}

#[test]
fn pages_in_other_languages_are_links() {
    let text = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:x='http://www.w3.org/1999/xhtml'>
        <url><loc>http://h.example/en</loc><lastmod>2026-11-01</lastmod>
        <x:link rel='alternate' hreflang='de' href='http://h.example/de?x&amp;y'/>
        <x:link rel='alternate' hreflang='x-default' href='http://h.example/'></x:link>
        <x:link rel='canonical' href='http://h.example/no'/><X:LINK REL='Alternate' HREF='http://h.example/fr'/></url></urlset>";
    let read = sitemap(text).read();
    assert_dated(
        &read,
        &[
            ("http://h.example/en", "2026-11-01T00:00:00", ""),
            ("http://h.example/de?x&y", "", ""),
            ("http://h.example/", "", ""),
            ("http://h.example/fr", "", ""),
        ],
    );
    assert_eq!(read.sources[1..], [LinkSource::SitemapAlternate; 3]);
}

/// Prefixes may be anything, or not be declared; names may be in another case.
#[test]
fn names_are_recognized_with_any_prefix_and_in_any_case() {
    for text in [
        "<URLSET><Url><LOC>http://h.example/1</LOC><LastMod>2026-01-01</LastMod></Url></URLSET>",
        "<urlset><url><loc>http://h.example/1</loc><lastmod>2026-01-01</lastmod></url></urlset>",
        "<q:urlset><q:url><r:loc>http://h.example/1</r:loc><s:lastmod>2026-01-01</s:lastmod></q:url></q:urlset>",
        "<urlset xmlns='http://www.google.com/schemas/sitemap/0.84'><url><loc>http://h.example/1</loc>\
         <lastmod>2026-01-01</lastmod></url></urlset>",
    ] {
        assert_dated(&sitemap(text).read(), &[("http://h.example/1", "2026-01-01T00:00:00", "")]);
    }
    let text = "<urlset><url><loc>http://h.example/1</loc><i:image><j:loc>http://h.example/i</j:loc></i:image>\
        <n:NEWS><m:Publication_Date>2026-01-01</m:Publication_Date></n:NEWS></url></urlset>";
    assert_dated(
        &with_images(text).read(),
        &[("http://h.example/1", "", "2026-01-01T00:00:00"), ("http://h.example/i", "", "")],
    );
}

#[test]
fn references_and_character_data_are_decoded() {
    for (text, href) in [
        ("http://h.example/?a=1&amp;b=2", "http://h.example/?a=1&b=2"),
        ("http://h.example/&#47;&#x2f;&quot;&apos;&lt;&gt;", "http://h.example///\"'<>"),
        ("<![CDATA[http://h.example/?a&b]]>", "http://h.example/?a&b"),
        ("http://h.example/<![CDATA[a&]]>b<!-- no -->c", "http://h.example/a&bc"),
        // References that XML does not define are text.
        ("http://h.example/?a=1&copy=2&b", "http://h.example/?a=1&copy=2&b"),
        ("http://h.example/?a=1&copy;=2", "http://h.example/?a=1&copy;=2"),
        ("http://h.example/&x;&#0;&#xd800;&#x110000;", "http://h.example/&x;&"),
        ("\n\t http://h.example/a\n b \u{a0}", "http://h.example/a b \u{a0}"),
        ("http://h.example/ü", "http://h.example/ü"),
    ] {
        let document = format!(
            "<!DOCTYPE urlset [<!ENTITY x \"http://no.example/\">]><urlset><url><loc>{text}</loc></url></urlset>"
        );
        let read = sitemap(document).read();
        assert_eq!(read.hrefs, [href.to_owned()], "{text}");
    }
}

#[test]
fn a_sitemap_may_be_in_any_encoding() {
    let text = "<?xml version='1.0' encoding='LABEL'?><urlset><url><loc>http://h.example/é</loc></url></urlset>";
    let utf16 = |text: &str, bytes: fn(u16) -> [u8; 2]| -> Vec<u8> {
        "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(bytes).collect()
    };
    let latin_1 = |text: &str| text.chars().map(|c| u32::from(c) as u8).collect::<Vec<u8>>();
    for body in [
        text.replace("LABEL", "UTF-8").into_bytes(),
        format!("\u{feff}{}", text.replace("LABEL", "utf-8")).into_bytes(),
        utf16(&text.replace("LABEL", "UTF-16"), u16::to_le_bytes),
        utf16(&text.replace("LABEL", "UTF-16"), u16::to_be_bytes),
        latin_1(&text.replace("LABEL", "ISO-8859-1")),
    ] {
        sitemap(&body).links_to(&["http://h.example/é"]);
        Case::new(&body).header("content-type", "text/xml").links_to(&["http://h.example/é"]);
    }
    let invalid = [b"<urlset><url><loc>http://h.example/\xff</loc></url></urlset>".as_slice()];
    sitemap(invalid.concat()).read();
}

#[test]
fn a_sitemap_may_be_a_list() {
    let list =
        "\u{feff}http://h.example/1\r\n # no\n\nHTTPS://h.example/2 \n/no\nno\rftp://h.example/3";
    let case = Case::new(list).header("content-type", "text/plain");
    let read = case.sitemap().read();
    assert_eq!(read.media, Media::TextSitemap);
    assert_dated(
        &read,
        &[
            ("http://h.example/1", "", ""),
            ("HTTPS://h.example/2", "", ""),
            ("ftp://h.example/3", "", ""),
        ],
    );
    let summary = read.list.unwrap();
    assert_eq!((summary.n_entries, summary.n_relative, summary.is_damaged), (5, 2, false));
    Case::new(list).header("content-type", "text/plain").links_to(&[]);
}

#[test]
fn a_sitemap_that_is_a_page_is_read_as_one() {
    let read = Case::html("<!doctype html><a href=x>").sitemap().read();
    assert_eq!((read.media, read.hrefs), (Media::Html, vec!["x".to_owned()]));
    assert_eq!(read.list, None);
}

/// The protocol demands whole URLs. What is not one is often a placeholder, and would be requested in
/// vain.
#[test]
fn relative_urls_are_refused_and_counted() {
    let urls =
        ["/a", "a", "?a", "//h.example/", "http:a", "http:/a", "N/A", "www.h.example/", "", "#a"];
    let mut text = String::from("<urlset>");
    for url in urls {
        let _ = write!(text, "<url><loc>{url}</loc><x:link rel='alternate' href='{url}'/></url>");
    }
    text.push_str(
        "<url><loc>HTTP://h.example</loc></url><url><loc>ftp://h.example/</loc></url></urlset>",
    );
    let read = sitemap(text).read();
    assert_eq!(read.hrefs, ["HTTP://h.example", "ftp://h.example/"]);
    // The last two are empty.
    assert_eq!(read.list.unwrap().n_relative, 2 * (urls.len() - 2) as u64);
}

#[test]
fn dates_in_the_future_and_other_texts_are_ignored_and_counted() {
    let entry =
        |date: &str| format!("<url><loc>http://h.example/</loc><lastmod>{date}</lastmod></url>");
    let dates = [
        // Now is noon of 2026-11-25.
        ("2026-11-26", Some("2026-11-26T00:00:00")),
        ("2026-11-26T12:00:00Z", Some("2026-11-26T12:00:00")),
        ("2026-11-26T12:00:01Z", None),
        ("2026-11-27", None),
        ("2027", None),
        ("9999-12-30", None),
        ("yesterday", None),
        ("1969", None),
        ("", None),
        (" \n", None),
        ("<![CDATA[2026-11-20]]>", Some("2026-11-20T00:00:00")),
        (" 2026-11-\n20 ", None),
    ];
    let body: String = dates.iter().map(|(date, _)| entry(date)).collect();
    let read = sitemap(format!("<urlset>{body}</urlset>")).read();
    assert_eq!(read.hrefs.len(), dates.len(), "a page was lost with its date");
    let found = dated(&read);
    for ((text, expected), (_, modified, _)) in dates.iter().zip(&found) {
        assert_eq!(modified, expected.unwrap_or_default(), "{text}");
    }
    let list = read.list.unwrap();
    assert_eq!((list.n_future_dates, list.n_invalid_dates), (4, 3));
}

#[test]
fn what_is_broken_yields_what_comes_before() {
    for (text, hrefs, is_damaged) in [
        ("<urlset><url><loc>http://h.example/1</loc></url><url><loc>http://h.exam", 1, true),
        (
            "<urlset><url><loc>http://h.example/?a&b</x></url></url></url><url><loc>http://y/",
            1,
            true,
        ),
        (
            "<urlset><url><loc>http://h.example/1</loc></url><url><loc>http://h.example/2</loc>",
            2,
            true,
        ),
        ("<urlset><url><loc>http://h.example/1</loc></url><!-- ", 1, true),
        ("<urlset><url><loc>http://h.example/1</loc></url><![CDATA[", 1, true),
        (
            "<urlset><url><loc>http://h.example/1</loc></url>< ><url><loc>http://h.example/2</loc></url></urlset>",
            2,
            true,
        ),
        (
            "<urlset><url><loc>http://h.example/1</loc><url><loc>http://h.example/2</loc></urlset>",
            2,
            true,
        ),
        ("<urlset><url><loc>http://h.example/1</loc></url></urlset> trailing", 1, false),
        ("<urlset></urlset>", 0, false),
        ("<urlset/>", 0, false),
    ] {
        let read = sitemap(text).read();
        assert_eq!(read.hrefs.len(), hrefs, "{text}: {:?}", read.hrefs);
        assert_eq!(read.list.unwrap().is_damaged, is_damaged, "{text}");
    }
    // The date of an entry that is cut belongs to it.
    let cut = "<urlset><url><loc>http://h.example/1</loc><lastmod>2026-01-01</lastmod>";
    assert_dated(&sitemap(cut).read(), &[("http://h.example/1", "2026-01-01T00:00:00", "")]);
}

#[test]
fn a_sitemap_has_a_bound() {
    let entry = "<url><loc>http://h.example/</loc></url>";
    let body = format!("<urlset>{}</urlset>", entry.repeat(SITEMAP_URLS_MAX + 7));
    let read = sitemap(&body).read();
    assert_eq!((read.hrefs.len(), read.over), (SITEMAP_URLS_MAX, 7));
    assert_eq!(read.list.unwrap().n_entries, SITEMAP_URLS_MAX as u64 + 7);
    let more = sitemap(&body).settings(|s| s.live.links.per_page_max = 200_000).read();
    assert_eq!((more.hrefs.len(), more.over), (SITEMAP_URLS_MAX, 7), "the protocol's bound holds");
    let list = "http://h.example/\n".repeat(SITEMAP_URLS_MAX + 7);
    let read = Case::new(list).header("content-type", "text/plain").sitemap().read();
    assert_eq!((read.hrefs.len(), read.over), (SITEMAP_URLS_MAX, 7));
}

/// Images and alternates do not take the place of pages.
#[test]
fn each_entry_has_room_whatever_belongs_to_others() {
    let alternate = "<link href='http://h.example/'/>".repeat(SITEMAP_URLS_MAX + 3);
    let page = "<url><loc>http://h.example/</loc></url>".repeat(SITEMAP_URLS_MAX - 1);
    let read = sitemap(format!(
        "<urlset><url><loc>http://h.example/</loc>{alternate}</url>{page}</urlset>"
    ))
    .read();
    assert_eq!((read.hrefs.len(), read.over), (SITEMAP_LINKS_MAX, 3));
}

#[test]
fn long_texts_are_refused_and_counted() {
    let loc = |n: usize| format!("<url><loc>http://h.example/{}</loc></url>", "x".repeat(n));
    let text = format!("<urlset>{}{}{}</urlset>", loc(1_000), loc(7_000), loc(100_000));
    let read = sitemap(text).read();
    assert_eq!((read.hrefs.len(), read.list.unwrap().n_too_long), (1, 2));
    let list = format!("http://h.example/{}\nhttp://h.example/\n", "x".repeat(100_000));
    let read = Case::new(list).header("content-type", "text/plain").sitemap().read();
    assert_eq!((read.hrefs.len(), read.list.unwrap().n_too_long), (1, 1));
    // The links of a sitemap take no more memory than a page may have.
    let text = format!("<urlset>{}</urlset>", loc(5_000).repeat(4_000));
    let read = sitemap(text).read();
    let bytes: usize = read.hrefs.iter().map(String::len).sum();
    assert!((15 << 20..=16 << 20).contains(&bytes), "{bytes}");
    assert_eq!(read.hrefs.len() as u64 + read.over, 4_000);
}

#[test]
fn dates_without_a_link_are_lost() {
    let entries = ["<loc>/relative</loc>", "<loc></loc>", ""]
        .map(|loc| format!("<url>{loc}<lastmod>2026-01-01</lastmod></url>"));
    let read = sitemap(format!("<urlset>{}</urlset>", entries.concat())).read();
    assert!(read.hrefs.is_empty() && read.dates.is_empty());
}

proptest! {
    /// Each entry that is written is read, whatever stands between entries.
    #[test]
    fn each_entry_comes_back(
        entries in prop::collection::vec(("[a-z0-9/?=&<>'\" é]{0,30}", prop::option::of(0_u64..1_795_000_000)), 0..40),
        prefix in prop::sample::select(vec!["", "s:", "sitemap:"]),
        filler in prop::sample::select(vec!["", "\n  ", "<!-- <url> -->", "<priority>0.5</priority>"]),
        is_character_data in any::<bool>(),
    ) {
        let mut text = format!("<?xml version='1.0'?><{prefix}urlset>");
        for (path, date) in &entries {
            let url = format!("http://h.example/{path}");
            let url = match is_character_data {
                true => format!("<![CDATA[{url}]]>"),
                false => quick_xml::escape::escape(&url).into_owned(),
            };
            let _ = write!(text, "<{prefix}url>{filler}<{prefix}loc>{url}</{prefix}loc>{filler}");
            if let Some(date) = date {
                let date = jiff::Timestamp::from_second(*date as i64).unwrap();
                let _ = write!(text, "<{prefix}lastmod>{date}</{prefix}lastmod>");
            }
            let _ = write!(text, "</{prefix}url>");
        }
        let _ = write!(text, "</{prefix}urlset>");
        let read = sitemap(&text).read();
        let expected: Vec<String> =
            entries.iter().map(|(path, _)| format!("http://h.example/{path}").trim_end_matches(' ').to_owned()).collect();
        prop_assert_eq!(&read.hrefs, &expected);
        let dates: Vec<_> = entries.iter().enumerate().filter_map(|(at, (_, date))| Some((at as u32, (*date)?))).collect();
        let found: Vec<_> = read.dates.iter().map(|d| (d.link, d.modified.unwrap().as_secs())).collect();
        prop_assert_eq!(found, dates);
        prop_assert!(!read.list.unwrap().is_damaged);
    }

    /// A sitemap that is cut anywhere yields the first of its entries, and says so.
    #[test]
    fn a_sitemap_cut_anywhere_has_its_first_entries(cut in 0..URLSET.len()) {
        let whole = sitemap(URLSET).read().hrefs;
        let part = sitemap(&URLSET[..cut]).read();
        prop_assert_eq!(&part.hrefs[..], &whole[..part.hrefs.len()]);
        prop_assert!(part.list.is_none_or(|list| list.is_damaged || part.hrefs.is_empty()));
    }

    #[test]
    fn pieces_of_markup_never_panic_and_stay_within_bounds(
        text in "(<urlset>|<sitemapindex>|<rss>|<feed>)(</?(url|loc|sitemap|item|link|image|news|video|lastmod|pubDate|guid|a)( href='x')?/?>|<!\\[CDATA\\[|\\]\\]>|<!--|-->|&amp;|&x;|&#0;|http://h/|2024-01-01|[a-z<>&'\"\\]! é]){0,60}",
    ) {
        let read = with_images(&text).read();
        prop_assert!(read.hrefs.len() <= text.len());
        prop_assert!(read.dates.iter().all(|d| (d.link as usize) < read.hrefs.len()));
        prop_assert!(read.dates.windows(2).all(|pair| pair[0].link < pair[1].link));
        let page = Case::new(&text).header("content-type", "text/xml").settings(|s| s.live.links.images = true);
        prop_assert_eq!(page.read().hrefs, read.hrefs, "the stream and the whole differ");
    }
}
