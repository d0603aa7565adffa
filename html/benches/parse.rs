//! Benchmark of parsing one page: a page of about 17 KB with 30 links, plain and compressed,
//! compared with the time that `html5gum` takes to tokenize it, and the same with the collection of
//! main text.

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use crivello_common::config::{Fixed, Live};
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use crivello_html::{Language, LinkKind, ParseInput, Parser};
use http::{HeaderMap, HeaderValue, header};
use std::fmt::Write as _;
use std::hint::black_box;
use std::io::Write as _;

const WORDS: [&str; 16] = [
    "the",
    "sieve",
    "lets",
    "each",
    "address",
    "through",
    "exactly",
    "once",
    "in",
    "order",
    "of",
    "first",
    "appearance",
    "and",
    "for",
    "ever",
];

/// Returns a page with 30 links in 17 KB of prose, markup, a style sheet and a script. Each word
/// ends in `letter`.
fn page(letter: &str) -> String {
    let mut page = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>A page &amp; its links</title>\n<link rel=\"canonical\" href=\"/a/page.html\">\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n<style>\n",
    );
    for n in 0..20 {
        let _ = writeln!(page, ".class-{n} > p {{ margin: {n}px auto; color: #10{n:02}30; }}");
    }
    page.push_str("</style>\n<script>\nfor (let i = 0; i < 10; i++) { document.title += i; }\n");
    page.push_str("</script>\n</head>\n<body class=\"main\">\n<!-- navigation -->\n");
    let mut word = 0_usize;
    for n in 0..29 {
        let _ =
            write!(page, "<div class=\"item item-{n}\" id=\"i{n}\">\n<h2>Section {n}</h2>\n<p>");
        while page.len() < 2_300 + (n + 1) * 505 {
            word = word.wrapping_mul(5).wrapping_add(7);
            let _ = write!(page, "{}{letter} ", WORDS[word % WORDS.len()]);
            if word.is_multiple_of(23) {
                page.push_str("<em>indeed</em> ");
            }
        }
        let _ = write!(
            page,
            "</p>\n<a class=\"more\" href=\"/section/{n}/page-{n}.html?x=1&amp;y={n}\" "
        );
        page.push_str("title=\"more\">read more</a>\n</div>\n");
    }
    page.push_str("</body>\n</html>\n");
    page
}

/// Returns a page with 29 links in 17 KB of almost only tags.
fn dense_page() -> String {
    let mut page =
        String::from("<!DOCTYPE html>\n<html><head><title>Table</title></head><body><table>");
    for n in 0..115 {
        let _ = write!(
            page,
            "\n<tr id=\"row-{n}\" class=\"row\" data-n='{n}'>\n  <td class=\"cell\">{n}</td>"
        );
        if n % 4 == 0 {
            let _ = write!(
                page,
                "\n  <td class=\"cell link\"><a href=\"../rows/{n}.html\">{n}</a></td>"
            );
        } else {
            let _ =
                write!(page, "\n  <td class=\"cell\" style=\"width: {n}px\"><b>{n}</b><br/></td>");
        }
        page.push_str("\n</tr>");
    }
    page.push_str("\n</table></body></html>\n");
    page
}

/// Returns a page like `page`, with text of `words`.
fn page_of(words: &str) -> String {
    let paragraph = format!("<p>{words} <b>{words}</b> {words}</p>\n");
    let n = 13_000 / paragraph.len();
    format!(
        "<!DOCTYPE html><html><head><title>t</title></head><body><nav><a href=/>Home</a></nav>\n\
         {}<footer>end</footer></body></html>",
        paragraph.repeat(n)
    )
}

/// Texts by language: three that scripts and frequent words decide, one that `whatlang` does.
const TEXTS: [(&str, &str); 4] = [
    (
        "russian",
        "Все люди рождаются свободными и равными в своём достоинстве и правах. Они наделены \
         разумом и совестью и должны поступать в отношении друг друга в духе братства.",
    ),
    (
        "japanese",
        "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。\
         人間は、理性と良心とを授けられており、互いに同胞の精神をもって行動しなければならない。",
    ),
    (
        "german",
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft \
         und Gewissen begabt und sollen einander im Geist der Brüderlichkeit begegnen.",
    ),
    (
        "polish",
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni \
         obdarzeni rozumem i sumieniem i powinni postępować wobec innych w duchu braterstwa.",
    ),
];

fn gzip(page: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    let _ = encoder.write_all(page);
    encoder.finish().unwrap_or_default()
}

fn read(parser: &mut Parser, url: &CrawlUrl, headers: &HeaderMap, body: &[u8]) -> usize {
    let (kind, at) = (LinkKind::Page, Timestamp::ZERO);
    let extract = parser.parse(ParseInput { url, status: 200, headers, body, kind, at });
    extract.links.map(|link| link.href.len()).sum()
}

fn parse(criterion: &mut Criterion) {
    let Ok(url) = CrawlUrl::parse("http://host.example/a/page.html") else {
        return;
    };
    let mut parser = Parser::new(&Fixed::default(), &Live::default());
    let mut group = criterion.benchmark_group("parse");
    let plain = page("");
    let dense = dense_page();
    let accented = page("é");
    let mut headers = HeaderMap::new();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    let mut encoded = headers.clone();
    encoded.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let mut untold = HeaderMap::new();
    untold.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/html"));
    let packed = gzip(plain.as_bytes());
    for (name, headers, body) in [
        ("plain", &headers, plain.as_bytes()),
        ("utf-8 untold", &untold, accented.as_bytes()),
        ("dense", &headers, dense.as_bytes()),
        ("gzip", &encoded, &packed),
    ] {
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| read(&mut parser, &url, headers, black_box(body)));
        });
    }
    group.throughput(Throughput::Bytes(plain.len() as u64));
    group.bench_function("html5gum tokens", |b| {
        b.iter(|| html5gum::Tokenizer::new(black_box(plain.as_str())).count());
    });
    group.finish();

    let mut group = criterion.benchmark_group("main text");
    for (name, body) in [("plain", plain), ("dense", dense), ("accented", accented)]
        .into_iter()
        .chain(TEXTS.map(|(name, words)| (name, page_of(words))))
    {
        group.throughput(Throughput::Bytes(body.len() as u64));
        for (collects, kind) in [(false, "off"), (true, "on")] {
            parser.collect_main_text(collects);
            group.bench_function(format!("{name} {kind}"), |b| {
                b.iter(|| read(&mut parser, &url, &headers, black_box(body.as_bytes())));
            });
        }
        parser.collect_main_text(true);
        let text = main_text(&mut parser, &url, &headers, body.as_bytes());
        group.bench_function(format!("{name} language"), |b| {
            b.iter(|| Language::of(black_box(&text)));
        });
    }
    group.finish();
}

fn main_text(parser: &mut Parser, url: &CrawlUrl, headers: &HeaderMap, body: &[u8]) -> String {
    let (kind, at) = (LinkKind::Page, Timestamp::ZERO);
    let page = parser.parse(ParseInput { url, status: 200, headers, body, kind, at });
    page.main_text.map_or_else(String::new, |text| text.text.to_owned())
}

criterion_group!(benches, parse);
criterion_main!(benches);
