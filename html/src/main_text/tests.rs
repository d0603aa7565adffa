//! Tests of the selection of main text, of its fingerprint and language.

use super::{Language, MainText, TextFingerprint};
use crate::{LinkKind, ParseInput, Parser};
use crivello_common::config::Settings;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use http::{HeaderMap, HeaderValue, header};
use proptest::prelude::*;

/// A [`MainText`] that owns its text.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Collected {
    text: String,
    chars: usize,
    is_main: bool,
    language: Language,
    fingerprint: TextFingerprint,
    steps: usize,
    links: usize,
}

fn parser() -> Parser {
    let settings = Settings::default();
    let mut parser = Parser::new(&settings.fixed, &settings.live);
    parser.collect_main_text(true);
    parser
}

fn collect_with(parser: &mut Parser, content_type: &str, body: &[u8]) -> Option<Collected> {
    let url = CrawlUrl::parse("http://host.example/").unwrap();
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_str(content_type).unwrap());
    let kind = LinkKind::Page;
    let page = parser.parse(ParseInput {
        url: &url,
        status: 200,
        headers: &headers,
        body,
        kind,
        at: Timestamp::ZERO,
    });
    let links = page.links.len();
    let MainText { text, chars, is_main, language, fingerprint } = page.main_text?;
    let text = text.to_owned();
    let steps = parser.main_text.as_ref().map_or(0, |collector| collector.steps);
    Some(Collected { text, chars, is_main, language, fingerprint, steps, links })
}

fn collect(page: impl AsRef<[u8]>) -> Collected {
    collect_with(&mut parser(), "text/html;charset=utf-8", page.as_ref()).unwrap()
}

/// A paragraph that is a content block.
const LONG: &str =
    "The scheduler keeps one queue for each host, so that a slow host delays no other.";
/// Another one.
const LONGER: &str = "Each queue has a time before which nothing may be fetched from its host. The host \
                      with the earliest time is next, and it returns to the schedule after the fetch.";

#[test]
fn text_is_collected_only_if_asked_for() {
    let settings = Settings::default();
    let mut parser = Parser::new(&settings.fixed, &settings.live);
    assert_eq!(collect_with(&mut parser, "text/html", b"<p>text"), None);
    parser.collect_main_text(true);
    assert!(collect_with(&mut parser, "text/html", b"<p>text").is_some());
    assert_eq!(collect_with(&mut parser, "text/css", b"a { b: c }"), None);
    parser.collect_main_text(false);
    assert_eq!(collect_with(&mut parser, "text/html", b"<p>text"), None);
}

/// Pages of little text: the text of all blocks is taken.
#[test]
fn all_text_of_small_pages_is_taken() {
    for (page, expected) in [
        ("<p>", ""),
        ("plain", "plain"),
        ("a < b <3 c", "a < b <3 c"),
        ("<p>one<p>two", "one\ntwo"),
        ("<p>one <b>bold</b>, <i>two</i>", "one bold, two"),
        ("<p>  a \n\t b  </p>\n<p>\n</p><p>c</p>", "a b\nc"),
        ("a<br>b<br><br>c", "a b\nc"),
        ("a<br>x<br>b", "a x b"),
        ("a<hr>b", "a\nb"),
        ("fo<!-- -->o", "foo"),
        ("fo<b></b>o<img src=x>!", "foo!"),
        ("<ul><li>a<li>b</ul>c", "a\nb\nc"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a\nb\nc"),
        ("<h1>head</h1>text", "head\ntext"),
        ("a &amp; b &lt;c&gt; &eacute;&#8212;&nbsp;&copy 1", "a & b <c> é— © 1"),
        ("so\u{ad}ft&shy;&#8203;ly &bigstar;", "softly ★"),
        ("<title>title</title>text<textarea>no</textarea>", "text"),
        ("<script>no</script>a<style>no</style>b", "ab"),
        ("<nav>no<nav>no</nav>no</nav>a<footer>no</footer>", "a"),
        ("<aside>no</aside>a<template>no</template>b<noscript>no</noscript>", "a b"),
        ("<header>a</header><header role=banner>no</header>b", "a\nb"),
        ("<div role=navigation>no<div>no</div>no</div>a", "a"),
        ("<div hidden>no</div>a<div style='display:none'>no</div>", "a"),
        ("a<span hidden>no</span>b<i aria-hidden=true>no</i>c", "a b c"),
        ("<select><option>no</select>a<button>no</button>b", "a b"),
        ("<svg><title>no</title><text>no</text></svg>a<svg/>b", "ab"),
        ("<p hidden>a<p>b", "a\nb"),
        ("<body style='visibility:hidden'>a", "a"),
        ("<nav>no<main>a</main>", "a"),
        ("<nav hidden>no<main>no</main>", ""),
        ("a<i hidden/>b", "ab"),
        ("a<i hidden>no<p>b", "a\nb"),
        ("<a href=x>link</a> text", "link text"),
        ("text<plaintext>no", "text"),
        ("text<b", "text"),
        ("text</", "text"),
    ] {
        let collected = collect(page);
        assert_eq!(collected.text, expected, "{page}");
        assert!(!collected.is_main, "{page}");
        assert_eq!(collected.fingerprint, TextFingerprint::of(expected), "{page}");
        let chars = expected.chars().filter(|c| !c.is_whitespace()).count();
        assert_eq!(collected.chars, chars, "{page}");
    }
}

/// Pages with main text: boilerplate around and within it is left out.
#[test]
fn boilerplate_is_left_out() {
    let links = "<li><a href=a>Home</a><li><a href=b>Archive of the years before</a>";
    let both = format!("{LONG}\n{LONGER}");
    for (page, expected) in [
        // Short blocks and links before and after the main text.
        (format!("<div>Welcome</div><ul>{links}</ul><p>{LONG}<p>{LONGER}<p>Bye."), both.clone()),
        // Headings shortly before it.
        (
            format!("<h1>The queues</h1><p>By me<p>{LONG}<h2>Times</h2><p>{LONGER}"),
            format!("The queues\n{LONG}\nTimes\n{LONGER}"),
        ),
        // A short block between.
        (format!("<p>{LONG}<p>And:<p>{LONGER}"), format!("{LONG}\nAnd:\n{LONGER}")),
        // A link block between, and a short block beside it.
        (format!("<p>{LONG}<ul>{links}</ul><p>And:<p>{LONGER}"), format!("{LONG}\nAnd:\n{LONGER}")),
        // Long links between.
        (format!("<p>{LONG}<ul>{}</ul><p>And:<p>{LONGER}", links.repeat(8)), both.clone()),
        // Many short blocks between.
        (format!("<p>{LONG}{}<p>{LONGER}", "<li>a short block of a list".repeat(60)), both.clone()),
        // A heading that is far from it.
        (
            format!("<h1>Head</h1>{}<p>{LONG}<p>{LONGER}", "<p>a short block".repeat(40)),
            both.clone(),
        ),
        // A block that is mostly links.
        (format!("<p>See also: <a href=x>{LONG}</a><p>{LONG}<p>{LONGER}"), both.clone()),
        // A few links within a block.
        (format!("<p>{LONG}<p>{LONGER} <a href=x>More</a>"), format!("{both} More")),
    ] {
        let collected = collect(&page);
        assert_eq!(collected.text, expected, "{page}");
        assert!(collected.is_main, "{page}");
        assert_eq!(collected.fingerprint, TextFingerprint::of(&expected), "{page}");
    }
}

#[test]
fn a_page_of_links_is_taken_as_a_whole() {
    let links = "<li><a href=a>A headline of another page, with some words</a>".repeat(100);
    let page = format!("<p>{LONG}<p>{LONGER}<ul>{links}</ul>");
    let collected = collect(&page);
    assert!(!collected.is_main && collected.text.contains("headline"));
    let changed = collect(page.replacen("headline", "heading", 1));
    assert_ne!(collected.fingerprint, changed.fingerprint);
}

#[test]
fn other_markup_white_space_and_advertising_do_not_change_the_fingerprint() {
    let page = format!("<h1>Queues</h1><p>{LONG}</p><p>{LONGER}</p><p>Last &amp; least</p>");
    let fingerprint = collect(&page).fingerprint;
    for other in [
        page.replace("<p>", "\n\n<div class=x>\n<p>").replace("</p>", "</p>\n</div>"),
        page.replace("<p>", "<section><span>").replace("</p>", "</span></section>"),
        page.replace(' ', "\n    "),
        page.replace(" host", " <em><b>host</b></em>").replace("&amp;", "&#38;"),
        page.replace("</p><p>", "</p><div><a href=http://ads.example/?9>Buy it now</a></div><p>"),
        page.replace("</h1>", "</h1><iframe src=x></iframe><div><a href=y>An ad here</a></div>"),
        format!("<div hidden>token 123</div><nav>Menu</nav>{page}<footer>3 ms</footer>"),
    ] {
        assert_eq!(collect(&other).fingerprint, fingerprint, "{other}");
    }
    for changed in [page.replace("slow", "fast"), page.replace("Queues", "queues")] {
        assert_ne!(collect(changed).fingerprint, fingerprint);
    }
}

#[test]
fn encodings_of_a_page_do_not_change_the_fingerprint() {
    let page =
        "<p>Съешь же ещё этих мягких французских булок, да выпей чаю &mdash; и ещё".repeat(4);
    let fingerprint = collect(&page).fingerprint;
    for label in ["windows-1251", "koi8-r", "utf-16le", "iso-8859-5"] {
        let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
        let body = if label == "utf-16le" {
            page.encode_utf16().flat_map(u16::to_le_bytes).collect()
        } else {
            encoding.encode(&page).0.into_owned()
        };
        let content_type = format!("text/html;charset={label}");
        let collected = collect_with(&mut parser(), &content_type, &body).unwrap();
        assert_eq!(collected.fingerprint, fingerprint, "{label}");
        assert_eq!(collected.language.as_str(), "rus", "{label}");
    }
}

#[test]
fn text_has_a_bound_but_the_fingerprint_does_not() {
    let page = format!("<p>{LONGER}").repeat(2_000);
    let collected = collect(&page);
    assert!(collected.text.len() <= 64 << 10 && collected.text.len() > 63 << 10);
    let whole = LONGER.repeat(2_000);
    assert_eq!(collected.fingerprint, TextFingerprint::of(&whole));
    assert_eq!(collected.chars, whole.replace(' ', "").len());
    // One block without an end.
    let collected = collect(&whole);
    assert_eq!(collected.fingerprint, TextFingerprint::of(&whole));
    assert!(collected.text.len() <= 64 << 10);
}

#[test]
fn a_page_leaves_nothing_for_the_next() {
    let mut parser = parser();
    let content_type = "text/html;charset=utf-8";
    let first =
        collect_with(&mut parser, content_type, b"<h1>a<p>b &bigstar; <a href=x>c").unwrap();
    for other in ["<nav>open", "<a href=x>open", "<h1>open", "a<br>", "<svg>", "<p>x"] {
        let body = format!("<p>{LONG}<p>{LONGER}<p>short{other}");
        collect_with(&mut parser, content_type, body.as_bytes()).unwrap();
        let again = collect_with(&mut parser, content_type, b"<h1>a<p>b &bigstar; <a href=x>c");
        assert_eq!(again.unwrap(), first, "{other}");
    }
}

/// The table of `docs/main-text.md`.
const VECTORS: [(&str, &str); 8] = [
    ("<p>", "99aa06d3014798d86001c324468d497f"),
    ("Hello, world!", "d2c3e068759ef4f38d1e407296687632"),
    ("<p>Hello,<br>\n\t<b>world</b>!</p>", "d2c3e068759ef4f38d1e407296687632"),
    ("<nav>Menu</nav><h1>Price</h1><p>12&nbsp;&euro;</p>", "ccd346956619a75c31bc65369c5496f9"),
    ("<p>中文\n测试<p>日本語　テスト", "5cc793803130f3750591a2fd0b47c52b"),
    ("<p>na&iuml;ve so&shy;ft &#x1F980;", "1f3b5365fcfff63f16f102f013f58510"),
    (
        "<h1>Queues</h1><div>Share</div><p>The scheduler keeps one queue for each host, so that a \
         slow host delays no other.</p><div><a href=/buy>Buy our queues now!</a></div><p>Why?</p>\
         <p>Each queue has a time before which nothing may be fetched from its host. The host with \
         the earliest time is next.</p><p>Copyright</p>",
        "317832644be9462c974aa11e78fa85bc",
    ),
    ("<p>ÉCOLE e\u{301}cole", "deaf8f8dd0d65534a6efe978b6ca5b3c"),
];

#[test]
fn fingerprints_are_those_of_the_published_vectors() {
    for (page, expected) in VECTORS {
        let fingerprint = collect(page).fingerprint.to_string();
        assert_eq!(fingerprint, expected, "{page}");
    }
    assert_eq!(TextFingerprint::EMPTY, TextFingerprint::of(""));
}

#[test]
fn links_do_not_depend_on_the_collection_of_text() {
    let page =
        "<a href=a>x</a><nav><a href=b></nav><div hidden><a href=c></div><svg><a href=d></svg>";
    assert_eq!(collect(page).links, 4);
}

/// Pieces of which hostile pages are made.
const PIECES: [&str; 34] = [
    "<nav>",
    "</nav>",
    "<div>",
    "</div>",
    "<p>",
    "<a href=x>",
    "</a>",
    "<br>",
    "<h1>",
    "</h1>",
    "<b hidden>",
    "</b>",
    "<div hidden>",
    "<main>",
    "<svg>",
    "</svg>",
    "<noscript>",
    "&amp;",
    "&a",
    "&#1",
    "&nosuch;",
    " ",
    "x",
    "word ",
    "\u{a0}",
    "中",
    "<!-- -->",
    "<",
    "<li>y",
    "<td>",
    "<title>",
    "<p style=display:none>",
    "A sentence of some length that is not quite long enough. ",
    "A longer sentence, which has enough characters outside of links to be a content block alone. ",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn work_is_proportional_to_length(
        pieces in proptest::collection::vec(prop::sample::select(&PIECES[..]), 1..6),
        size in prop::sample::select(vec![1_000_usize, 10_000, 100_000]),
    ) {
        let piece = pieces.concat();
        let page = piece.repeat(size / piece.len() + 1);
        let collected = collect(&page);
        prop_assert!(collected.steps <= 8 * page.len() + 100, "{} {}", collected.steps, piece);
        prop_assert!(collected.text.len() <= 64 << 10);
    }

    #[test]
    fn nothing_panics(
        body in proptest::collection::vec(any::<u8>(), 0..500),
        pieces in proptest::collection::vec(prop::sample::select(&PIECES[..]), 0..40),
        charset in prop::sample::select(vec!["utf-8", "gbk", "utf-16le", "iso-2022-jp", "big5"]),
    ) {
        let mut page = pieces.concat().into_bytes();
        page.extend(body);
        let content_type = format!("text/html;charset={charset}");
        let collected = collect_with(&mut parser(), &content_type, &page).unwrap_or_else(|| collect("<p>"));
        prop_assert_eq!(collected.language.as_str().len(), 3);
        if collected.text.len() < 60 << 10 {
            prop_assert_eq!(collected.fingerprint, TextFingerprint::of(&collected.text));
        }
        prop_assert!(!collected.text.contains("  ") && !collected.text.contains("\n\n"));
        let is_trimmed = collected.text.lines().all(|line| line.trim() == line);
        prop_assert!(is_trimmed, "{:?}", collected.text);
    }

    /// Text arrives in runs between tags. Where they are cut makes no difference.
    #[test]
    fn runs_of_text_may_be_cut_anywhere(
        text in "[a-c é中\u{a0}\n,.]{0,200}",
        cuts in proptest::collection::vec(0_usize..400, 0..6),
    ) {
        let whole = collect(format!("<p>{LONG}<p>{text}"));
        let mut cut_text = text;
        for cut in cuts {
            let at = cut_text.floor_char_boundary(cut);
            let inside = cut_text[..at].matches('<').count() != cut_text[..at].matches('>').count();
            if !inside {
                cut_text.insert_str(at, "<!-->");
            }
        }
        let cut = collect(format!("<p>{LONG}<p>{cut_text}"));
        prop_assert_eq!(cut.text, whole.text);
        prop_assert_eq!(cut.fingerprint, whole.fingerprint);
    }
}
