//! Bodies of pages: text around links. Every byte is a function of the spec and the URL.

use crate::character::{CharsetWay, Content, PageKind};
use crate::graph::PageLink;
use crate::route::{N_SECTIONS, Route};
use crate::world::{Target, World, draw};
use std::fmt::Write;

/// Returns an HTML page as text, before any encoding.
#[must_use]
pub fn html(world: &World, at: Target) -> String {
    let (kind, body, wanted) = match at.route {
        Route::Page(page) => {
            let body = world.body_of(at.host.id, page);
            (world.kind(at.host.id, page), body, world.n_bytes(at.host.id, body))
        }
        other => (PageKind::Plain, pseudo_page(other), 1_500),
    };
    let links = world.links(at);
    let writer = Writer {
        world,
        at,
        kind,
        body,
        out: String::with_capacity(wanted.max(links.len() * 128) + 1_024),
    };
    writer.write(&links, wanted)
}

/// Returns the number from which text is drawn for places that are not ordinary pages.
fn pseudo_page(route: Route) -> u64 {
    let (kind, n) = match route {
        Route::Hidden(i) => (1, u64::from(i)),
        Route::Nofollowed(i) => (2, u64::from(i)),
        Route::Day(n) => (3, n),
        Route::Segments(n) => (4, u64::from(n)),
        _ => (5, 0),
    };
    (kind << 40) ^ n
}

struct Writer<'a> {
    world: &'a World,
    at: Target,
    kind: PageKind,
    body: u64,
    out: String,
}

impl Writer<'_> {
    fn draw(&self, parts: [u64; 2]) -> u64 {
        let id = u64::from(self.at.host.id) ^ self.at.host.sub.map_or(0, |n| (n + 1) << 32);
        self.world.draw(draw::TEXT, &[id, self.body, parts[0], parts[1]])
    }

    fn write(mut self, links: &[PageLink], wanted: usize) -> String {
        self.head(links);
        // MetaRefresh and LinkHeader pages have their only link in the head.
        let in_body = match self.kind {
            PageKind::MetaRefresh | PageKind::LinkHeader => &[],
            _ => links,
        };
        let tail = "</main>\n</body>\n</html>\n".len();
        let n_parts = in_body.len() + 1;
        for (k, link) in in_body.iter().enumerate() {
            let left = wanted.saturating_sub(self.out.len() + tail) / (n_parts - k);
            self.paragraph(k as u64, left.saturating_sub(110), Some(link));
        }
        self.foreign_links();
        let left = wanted.saturating_sub(self.out.len() + tail);
        if left > 40 {
            self.paragraph(u64::MAX, left - 40, None);
        }
        self.out.push_str("</main>\n</body>\n</html>\n");
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
        if self.kind != PageKind::Duplicate {
            // Words that no other page has.
            let _ = write!(self.out, " {} {}", world.names().name(self.at.host), self.at.route);
        }
        let _ = write!(self.out, "</title>\n</head>\n<body>\n<h1>{words}</h1>\n<main>\n");
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

/// Returns a sitemap or a sitemap index.
#[must_use]
pub fn sitemap(world: &World, at: Target) -> String {
    let (list, entry) = match at.route {
        Route::SitemapIndex => ("sitemapindex", "sitemap"),
        _ => ("urlset", "url"),
    };
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(out, "<{list} xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">");
    for target in world.sitemap_entries(at) {
        let _ = writeln!(out, "<{entry}><loc>{}</loc></{entry}>", world.url(target));
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
    use crate::names::HostRef;
    use crate::spec::Spec;

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
        let near = World::new(Spec::new(5).portion(1.0, PageKind::NearDuplicate));
        let (a, b) = (html(&near, page(0, 1)), html(&near, page(0, 3)));
        assert_ne!(a, b);
        assert_eq!(a.replace("/s1/p1.html</title>", "/s3/p3.html</title>"), b);
    }
}
