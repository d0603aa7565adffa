//! Bodies of pages: text around links. Every byte is a function of the spec, the URL and, in a web
//! whose pages change, the version.

use crate::character::{CharsetWay, Content, PageKind};
use crate::copies::{TextSource, change_words};
use crate::graph::PageLink;
use crate::history::PageVersion;
use crate::route::{N_SECTIONS, Route};
use crate::text::numeral;
use crate::world::{Target, World, draw};
use crivello_common::time::Timestamp;
use std::fmt::Write;

/// Least and greatest length of the text that changes with each version, in bytes. Between them, it
/// is a quarter of the page.
const CHANGING_BYTES_MIN: usize = 120;
const CHANGING_BYTES_MAX: usize = 4_000;

/// Returns an HTML page of a web whose pages do not change, as text, before any encoding.
#[must_use]
pub fn html(world: &World, at: Target) -> String {
    html_of(world, at, None)
}

/// Returns a version of an HTML page as text, before any encoding. All versions have the same
/// links. Main text, within `<main>`, and boilerplate, outside of it, change independently.
#[must_use]
pub fn html_of(world: &World, at: Target, version: Option<&PageVersion>) -> String {
    let (kind, body) = (world.kind_at(at), world.body_at(at));
    let wanted = match at.route {
        Route::Page(_) if kind == PageKind::Mirror => world.n_bytes(0, body),
        Route::Page(_) => world.n_bytes(at.host.id, body),
        _ => 1_500,
    };
    let links = world.links(at);
    let writer = Writer {
        world,
        at,
        kind,
        body,
        version,
        n_boilerplate: 0,
        out: String::with_capacity(wanted.max(links.len() * 128) + 1_024),
    };
    writer.write(&links, wanted)
}

struct Writer<'a> {
    world: &'a World,
    at: Target,
    kind: PageKind,
    body: u64,
    version: Option<&'a PageVersion>,
    /// Length of navigation and advertisement, in bytes.
    n_boilerplate: usize,
    out: String,
}

impl Writer<'_> {
    fn draw(&self, parts: [u64; 2]) -> u64 {
        let id = match self.kind {
            PageKind::Mirror => u64::MAX,
            _ => u64::from(self.at.host.id) ^ self.at.host.sub.map_or(0, |n| (n + 1) << 32),
        };
        self.world.draw(draw::TEXT, &[id, self.body, parts[0], parts[1]])
    }

    fn write(mut self, links: &[PageLink], wanted: usize) -> String {
        self.head(links);
        self.changing_text(wanted);
        // The length of the boilerplate does not affect the main text.
        let wanted = wanted + self.n_boilerplate;
        // MetaRefresh and LinkHeader pages have their only link in the head.
        let in_body = match self.kind {
            PageKind::MetaRefresh | PageKind::LinkHeader => &[],
            _ => links,
        };
        let footer = self.version.map(|version| self.footer(version)).unwrap_or_default();
        let tail = format!("</main>\n{footer}</body>\n</html>\n");
        if self.kind == PageKind::Plain
            && let Some(source) = self.world.text_source(self.at)
        {
            self.text_and_links(source, in_body);
            self.out.push_str(&tail);
            return self.out;
        }
        let n_parts = in_body.len() + 1;
        for (k, link) in in_body.iter().enumerate() {
            let left = wanted.saturating_sub(self.out.len() + tail.len()) / (n_parts - k);
            self.paragraph(k as u64, left.saturating_sub(110), Some(link));
        }
        self.foreign_links();
        let left = wanted.saturating_sub(self.out.len() + tail.len());
        if left > 40 {
            self.paragraph(u64::MAX, left - 40, None);
        }
        self.out.push_str(&tail);
        self.out
    }

    fn head(&mut self, links: &[PageLink]) {
        let world = self.world;
        let charset = match self.kind {
            PageKind::Charset(CharsetWay::Meta) => "<meta charset=\"windows-1252\">\n",
            PageKind::Charset(_) => "",
            _ => "<meta charset=\"utf-8\">\n",
        };
        let special = match (self.kind, links.first()) {
            (PageKind::MetaNofollow, _) => {
                "<meta name=\"robots\" content=\"noindex, nofollow\">\n".to_owned()
            }
            (PageKind::BaseHref, _) => {
                format!("<base href=\"{}/s0/\">\n", world.origin(self.at.host))
            }
            (PageKind::MetaRefresh, Some(link)) => {
                let url = world.url(link.target);
                format!("<meta http-equiv=\"Refresh\" content=\"0; URL='{url}'\">\n")
            }
            _ => String::new(),
        };
        let words = world.text().words(self.draw([0, 0]));
        let _ = write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"it\">\n<head>\n{charset}{special}<title>{words}"
        );
        if !matches!(self.kind, PageKind::Duplicate | PageKind::Mirror) {
            // Words that no other page has.
            let _ = write!(self.out, " {} {}", world.names().name(self.at.host), self.at.route);
        }
        self.out.push_str("</title>\n</head>\n<body>\n");
        if let Some(version) = self.version {
            let start = self.out.len();
            self.navigation(version);
            self.n_boilerplate = self.out.len() - start;
        }
        let _ = write!(self.out, "<h1>{words}</h1>\n<main>\n");
    }

    /// Writes navigation, without links, and an advertisement.
    fn navigation(&mut self, version: &PageVersion) {
        let text = self.world.text();
        self.out.push_str("<nav>\n<ul>\n");
        for k in 0..4 {
            let words = text.words(self.draw([3, k ^ (version.boilerplate << 3)]));
            let _ = writeln!(self.out, "<li>{words}</li>");
        }
        let advertisement = text.piece(self.draw([4, version.boilerplate]), 100);
        let number = numeral(version.boilerplate);
        let _ = write!(self.out, "</ul>\n</nav>\n<aside class=\"advertisement\">");
        let _ = writeln!(self.out, "{advertisement}{number}</aside>");
    }

    /// Returns the footer, with the date of the last change of the boilerplate.
    fn footer(&self, version: &PageVersion) -> String {
        let words = self.world.text().words(self.draw([5, 0]));
        let since = version.boilerplate_since;
        format!("<footer><p>{words} <time datetime=\"{since}\">{since}</time></p></footer>\n")
    }

    /// Writes the main text that no other version has.
    fn changing_text(&mut self, wanted: usize) {
        let Some(version) = self.version else { return };
        let n_bytes = (wanted / 4).clamp(CHANGING_BYTES_MIN, CHANGING_BYTES_MAX);
        let piece = self.world.text().piece(self.draw([6, version.text]), n_bytes);
        let number = numeral(version.text);
        let _ = writeln!(self.out, "<p class=\"text\">{piece}{number}</p>");
    }

    /// Writes about `bytes` bytes of text, and a link.
    fn paragraph(&mut self, k: u64, bytes: usize, link: Option<&PageLink>) {
        self.out.push_str("<p class=\"text\">");
        if bytes > 0 {
            // On average, a piece exceeds its length by half a sentence.
            let piece = self.world.text().piece(self.draw([1, k]), bytes.saturating_sub(40));
            self.out.push_str(piece);
        }
        if let Some(link) = link {
            self.link(k, link);
        }
        self.out.push_str("</p>\n");
    }

    /// Writes a text, which may be a copy, and apart from it the links.
    fn text_and_links(&mut self, source: TextSource, links: &[PageLink]) {
        let world = self.world;
        let TextSource { of, n_changed } = source;
        let draw = |k| world.draw(draw::COPY, &[u64::from(of.host.id), world.body_at(of), k]);
        let n_bytes = world.n_bytes(of.host.id, world.body_at(of));
        let n_pieces = n_bytes as u64 / 400 + 1;
        let pieces = (0..n_pieces).map(|k| world.text().piece(draw(k), 360));
        let text = pieces.collect::<Vec<_>>().concat();
        let text = change_words(text.trim_end(), n_changed, |k| self.draw([7, k]));
        let _ = writeln!(self.out, "<p class=\"text\">{text}</p>\n<nav>");
        for (k, link) in links.iter().enumerate() {
            self.link(k as u64, link);
        }
        self.out.push_str("</nav>\n");
        self.foreign_links();
    }

    /// Writes the links out of this web.
    fn foreign_links(&mut self) {
        let world = self.world;
        let Content::Foreign(links) = &world.character(self.at.host.id).content else { return };
        if self.at.route == Route::Page(0) {
            for link in links {
                let href = world.with_port(link);
                let _ = writeln!(self.out, "<p><a href=\"{href}\">away</a></p>");
            }
        }
    }

    /// Writes a link in one of several forms, all with the same normal form.
    fn link(&mut self, k: u64, link: &PageLink) {
        let world = self.world;
        let h = self.draw([2, k]);
        self.out.push_str(if link.nofollow { "<a rel=\"nofollow\" href=\"" } else { "<a href=\"" });
        let same_host = link.target.host == self.at.host;
        let in_section =
            matches!(self.at.route, Route::Page(1..)) || self.kind == PageKind::BaseHref;
        match (h % 8, link.target.route) {
            (0..=2, Route::Page(i @ 1..)) if same_host && in_section => {
                let _ = write!(self.out, "../s{}/p{i}.html", i % N_SECTIONS);
            }
            (_, route) if self.kind == PageKind::Mirror => {
                let _ = write!(self.out, "{route}");
            }
            (3..=5, route) if same_host => {
                let _ = write!(self.out, "{route}");
            }
            _ => {
                let origin = world.origin(link.target.host);
                let _ = write!(self.out, "{origin}{}", link.target.route);
            }
        }
        if h >> 60 == 0 {
            self.out.push_str("#part");
        }
        let _ = write!(self.out, "\">{}</a>", world.text().words(h));
    }
}

/// Returns a page's text in the encoding of its kind, and its `Content-Type`.
#[must_use]
pub fn in_charset(kind: PageKind, text: String) -> (Vec<u8>, &'static str) {
    let PageKind::Charset(way) = kind else {
        return (text.into_bytes(), "text/html; charset=utf-8");
    };
    match way {
        CharsetWay::Utf16 => {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            (units.flat_map(u16::to_le_bytes).collect(), "text/html")
        }
        _ => {
            let (bytes, _, _) = encoding_rs::WINDOWS_1252.encode(&text);
            let header =
                if way == CharsetWay::Wrong { "text/html; charset=utf-8" } else { "text/html" };
            (bytes.into_owned(), header)
        }
    }
}

/// Returns a sitemap or a sitemap index, as it is at `now`.
#[must_use]
pub fn sitemap(world: &World, at: Target, now: Timestamp) -> String {
    let (list, entry) = match at.route {
        Route::SitemapIndex => ("sitemapindex", "sitemap"),
        _ => ("urlset", "url"),
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<{list} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">");
    for target in world.sitemap_entries(at) {
        let lastmod = world.change_history(target).and_then(|history| history.lastmod(now));
        let lastmod = lastmod.map(|at| format!("<lastmod>{at}</lastmod>")).unwrap_or_default();
        let _ = writeln!(out, "<{entry}><loc>{}</loc>{lastmod}</{entry}>", world.url(target));
    }
    if let Some(stranger) = world.stranger_to(at) {
        let origin = world.origin(stranger);
        let _ = writeln!(out, "<{entry}><loc>{origin}/not-permitted.html</loc></{entry}>");
    }
    let _ = writeln!(out, "</{list}>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changes::Changes;
    use crate::names::HostRef;
    use crate::robots::Robots;
    use crate::spec::Spec;
    use std::time::Duration;

    fn page(id: u32, page: u32) -> Target {
        Target { host: HostRef::new(id), route: Route::Page(page) }
    }

    #[test]
    fn pages_are_the_same_in_every_process_and_differ_from_each_other() {
        let spec = Spec::new(21).size(3, 2, 5).links(12).port(81);
        let (a, b) = (World::new(spec.clone()), World::new(spec));
        let mut bodies: Vec<String> =
            (0..6).flat_map(|id| (0..5).map(move |i| page(id, i))).map(|at| html(&a, at)).collect();
        assert_eq!(bodies[7], html(&b, page(1, 2)));
        bodies.sort();
        bodies.dedup();
        assert_eq!(bodies.len(), 30);
        let other = World::new(Spec::new(22).size(3, 2, 5).links(12).port(81));
        assert_ne!(html(&a, page(0, 1)), html(&other, page(0, 1)));
    }

    #[test]
    fn pages_have_the_size_asked_for_and_compress_like_text() {
        let mut spec = Spec::new(22).size(10, 1, 100).links(30);
        spec.body_bytes = 17_000;
        let world = World::new(spec);
        let (mut plain, mut packed) = (0, 0);
        for i in 1..100 {
            let body = html(&world, page(i % 10, i));
            plain += body.len();
            packed += crate::coding::gzip(body.as_bytes()).len();
        }
        let mean = plain / 99;
        assert!((16_000..18_000).contains(&mean), "{mean} bytes");
        let ratio = plain as f64 / packed as f64;
        assert!((3.8..5.2).contains(&ratio), "{ratio}");
    }

    #[test]
    fn duplicates_share_their_bytes_and_near_duplicates_all_but_a_word() {
        let exact = World::new(Spec::new(5).portion(1.0, PageKind::Duplicate));
        assert_eq!(html(&exact, page(0, 1)), html(&exact, page(0, 3)));
        assert_ne!(html(&exact, page(0, 1)), html(&exact, page(0, 2)));
        let mirrors = World::new(Spec::new(5).portion(1.0, PageKind::Mirror));
        assert_eq!(html(&mirrors, page(0, 1)), html(&mirrors, page(1, 1)));
        assert_ne!(html(&mirrors, page(0, 1)), html(&mirrors, page(0, 3)));
        assert_ne!(html(&mirrors, page(0, 0)), html(&mirrors, page(1, 0)), "first pages are plain");
        let near = World::new(Spec::new(5).portion(1.0, PageKind::NearDuplicate));
        let (a, b) = (html(&near, page(0, 1)), html(&near, page(0, 3)));
        assert_ne!(a, b);
        assert_eq!(a.replace("/s1/p1.html</title>", "/s3/p3.html</title>"), b);
    }
    const ORIGIN: Timestamp = Timestamp::from_secs(1_700_000_000);

    fn changing(boilerplate: f64) -> World {
        let second = Duration::from_secs(1);
        let changes = Changes::between(second, 20 * second);
        let changes = Changes { origin_us: ORIGIN.0, boilerplate, ..changes };
        let mut spec = Spec::demo().changes(changes);
        spec.variety.retain(|v| !matches!(v.kind, PageKind::Redirect(_) | PageKind::Status(_)));
        World::new(spec)
    }

    /// Returns boilerplate and main text.
    fn parts(html: &str) -> (String, &str) {
        let (before, rest) = html.split_once("<main>").unwrap();
        let (main, after) = rest.split_once("</main>").unwrap();
        (format!("{before}{after}"), main)
    }

    fn links(html: &str) -> Vec<&str> {
        html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
    }

    /// Calls `check` with two successive different versions of many pages, as HTML.
    fn compare_versions(world: &World, check: impl Fn(&str, &str)) {
        let mut n_pairs = 0;
        for at in (0..60).flat_map(|id| (0..6).map(move |i| page(id, i))) {
            let Some(history) = world.change_history(at) else { continue };
            let version = |k: u64| history.version(ORIGIN + Duration::from_millis(700 * k));
            let html_at = |k| html_of(world, at, Some(&version(k)));
            for k in 0..8 {
                if version(k).number == version(k + 1).number {
                    assert_eq!(html_at(k), html_at(k + 1));
                } else {
                    check(&html_at(k), &html_at(k + 1));
                    n_pairs += 1;
                }
            }
        }
        assert!(n_pairs > 200, "{n_pairs}");
    }

    #[test]
    fn the_main_text_changes_with_each_version_and_nothing_else_does() {
        compare_versions(&changing(0.0), |one, other| {
            let ((boilerplate, main), (other_boilerplate, other_main)) = (parts(one), parts(other));
            assert_ne!(main, other_main);
            assert_eq!(boilerplate, other_boilerplate);
            assert_eq!(links(one), links(other));
        });
    }

    #[test]
    fn changes_of_boilerplate_leave_the_main_text_as_it_is() {
        compare_versions(&changing(1.0), |one, other| {
            let ((boilerplate, main), (other_boilerplate, other_main)) = (parts(one), parts(other));
            assert!(main == other_main, "{main}\n\n{other_main}");
            let parts = [("<nav>", "</nav>"), ("<aside", "</aside>"), ("<footer>", "</footer>")];
            for (part, end) in parts {
                let text =
                    |of: &str| of.split_once(part).unwrap().1.split(end).next().map(str::to_owned);
                assert_ne!(text(&boilerplate), text(&other_boilerplate), "{part}");
            }
            assert_eq!(links(one), links(other));
        });
    }

    #[test]
    fn all_versions_of_a_page_together_are_different() {
        let world = changing(0.0);
        let history = world.change_history(page(0, 0)).unwrap();
        let version = |number| history.version(history.since(number).unwrap());
        let mut bodies: Vec<String> =
            (1..3_001).map(|n| html_of(&world, page(0, 0), Some(&version(n)))).collect();
        bodies.sort();
        bodies.dedup();
        assert_eq!(bodies.len(), 3_000);
    }

    #[test]
    fn links_and_sizes_are_those_of_a_web_whose_pages_do_not_change() {
        let world = changing(0.5);
        for at in (0..60).flat_map(|id| (0..6).map(move |i| page(id, i))) {
            let Some(history) = world.change_history(at) else { continue };
            let (still, moving) =
                (html(&world, at), html_of(&world, at, Some(&history.version(ORIGIN))));
            assert_eq!(links(&still), links(&moving));
            let longest = still.len().max(moving.len());
            assert!(still.len().abs_diff(moving.len()) < 1_000 + longest / 4);
        }
    }

    #[test]
    fn sitemaps_date_pages_that_change() {
        let sitemap_of = |changes| {
            let spec = Spec { changes, ..Spec::new(3).robots(Robots::Sitemaps(3)) };
            let at = Target { host: HostRef::new(0), route: Route::Sitemap(0) };
            sitemap(&World::new(spec), at, ORIGIN + Duration::from_secs(9))
        };
        let minute = Duration::from_secs(60);
        let changes = Changes { origin_us: ORIGIN.0, ..Changes::between(minute, minute) };
        let none = sitemap_of(Some(Changes { lastmod: 0.0, ..changes }));
        assert_eq!(none, sitemap_of(None));
        assert!(!none.contains("<lastmod>"));
        let lies = sitemap_of(Some(Changes { lastmod: 0.0, lastmod_lies: 1.0, ..changes }));
        assert_eq!(
            lies.matches("</loc><lastmod>2023-11-14T22:13:29.000000Z</lastmod></url>").count(),
            3
        );
        let truth = sitemap_of(Some(changes));
        let at = Target { host: HostRef::new(0), route: Route::Hidden(1) };
        let world = World::new(Spec::new(3).robots(Robots::Sitemaps(3)).changes(changes));
        let since =
            world.change_history(at).unwrap().version(ORIGIN + Duration::from_secs(9)).since;
        assert!(
            truth.contains(&format!("/hidden/1.html</loc><lastmod>{since}</lastmod></url>")),
            "{truth}"
        );
    }
}
