//! Paths of a host. Every path that a page links to is one of these, in normal form. Any other path
//! is not found.

use std::fmt;

/// A place on a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Route {
    /// An ordinary page; the first is `/`.
    Page(u32),
    /// `/robots.txt`.
    Robots,
    /// Target of a redirect on the way to a robots.txt.
    RobotsHop(u8),
    /// Member of a loop of redirects.
    Loop(u32),
    /// Member of a chain of redirects.
    Chain(u32),
    /// Index of the sitemaps.
    SitemapIndex,
    /// A sitemap: the first is plain, all others are gzipped.
    Sitemap(u8),
    /// A sitemap that lists pages of the host with this number.
    SitemapFor(u32),
    /// A page that only sitemaps list.
    Hidden(u32),
    /// A page that only `nofollow` links lead to.
    Nofollowed(u32),
    /// A day of the calendar.
    Day(u64),
    /// A segment, repeated this many times.
    Segments(u32),
}

/// Number of directories that contain the pages.
pub const N_SECTIONS: u32 = 7;

impl fmt::Display for Route {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Page(0) => f.write_str("/"),
            Self::Page(i) => write!(f, "/s{}/p{i}.html", i % N_SECTIONS),
            Self::Robots => f.write_str("/robots.txt"),
            Self::RobotsHop(k) => write!(f, "/robots-hop-{k}.txt"),
            Self::Loop(k) => write!(f, "/loop/{k}"),
            Self::Chain(k) => write!(f, "/chain/{k}"),
            Self::SitemapIndex => f.write_str("/sitemap.xml"),
            Self::Sitemap(0) => f.write_str("/sitemap-0.xml"),
            Self::Sitemap(k) => write!(f, "/sitemap-{k}.xml.gz"),
            Self::SitemapFor(id) => write!(f, "/sitemap-for-{id}.xml"),
            Self::Hidden(i) => write!(f, "/hidden/{i}.html"),
            Self::Nofollowed(i) => write!(f, "/nofollowed/{i}.html"),
            Self::Day(n) => write!(f, "/calendar?day={n}"),
            Self::Segments(n) => {
                f.write_str("/")?;
                (0..n).try_for_each(|_| f.write_str("again/"))
            }
        }
    }
}

impl Route {
    /// Returns whether it is a robots.txt or a redirect on the way to one.
    pub const fn is_robots(self) -> bool {
        matches!(self, Self::Robots | Self::RobotsHop(_))
    }

    /// Returns whether it is a sitemap or an index of sitemaps.
    pub const fn is_sitemap(self) -> bool {
        matches!(self, Self::SitemapIndex | Self::Sitemap(_) | Self::SitemapFor(_))
    }

    /// Returns the place for a path and query, if there is one.
    #[must_use]
    pub fn parse(path: &str) -> Option<Self> {
        let route = match path {
            "/" => Self::Page(0),
            "/robots.txt" => Self::Robots,
            "/sitemap.xml" => Self::SitemapIndex,
            "/sitemap-0.xml" => Self::Sitemap(0),
            _ if path.starts_with("/again/") => {
                Self::Segments(u32::try_from(path.len() / "again/".len()).ok()?)
            }
            _ => Self::parse_page(path).or_else(|| Self::parse_rare(path))?,
        };
        (route.to_string() == path).then_some(route)
    }

    fn parse_page(path: &str) -> Option<Self> {
        let (_, name) = path.strip_prefix("/s")?.split_once("/p")?;
        number(name, "", ".html").map(Self::Page)
    }

    fn parse_rare(path: &str) -> Option<Self> {
        let robots_hop = || number(path, "/robots-hop-", ".txt").map(Self::RobotsHop);
        let looped = || number(path, "/loop/", "").map(Self::Loop);
        let chain = || number(path, "/chain/", "").map(Self::Chain);
        let sitemap = || number(path, "/sitemap-", ".xml.gz").map(Self::Sitemap);
        let sitemap_for = || number(path, "/sitemap-for-", ".xml").map(Self::SitemapFor);
        let hidden = || number(path, "/hidden/", ".html").map(Self::Hidden);
        let nofollowed = || number(path, "/nofollowed/", ".html").map(Self::Nofollowed);
        let day = || number(path, "/calendar?day=", "").map(Self::Day);
        robots_hop()
            .or_else(looped)
            .or_else(chain)
            .or_else(sitemap)
            .or_else(sitemap_for)
            .or_else(hidden)
            .or_else(nofollowed)
            .or_else(day)
    }
}

fn number<N: std::str::FromStr>(text: &str, prefix: &str, suffix: &str) -> Option<N> {
    text.strip_prefix(prefix)?.strip_suffix(suffix)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_route_is_read_back() {
        for route in [
            Route::Page(0),
            Route::Page(1),
            Route::Page(4_000_000_000),
            Route::Robots,
            Route::RobotsHop(3),
            Route::Loop(0),
            Route::Chain(9),
            Route::SitemapIndex,
            Route::Sitemap(0),
            Route::Sitemap(1),
            Route::SitemapFor(7),
            Route::Hidden(2),
            Route::Nofollowed(1),
            Route::Day(u64::MAX),
            Route::Segments(1),
            Route::Segments(5),
        ] {
            assert_eq!(Route::parse(&route.to_string()), Some(route), "{route}");
        }
    }

    #[test]
    fn other_paths_are_none() {
        for path in ["", "/x", "/s1/p2.html", "/s1/p01.html", "/s0/p0.html", "/again/x", "//"] {
            assert_eq!(Route::parse(path), None, "{path}");
        }
    }
}
