//! The link graph. Pages and expectation are both made from it, so the URLs that a correct visitor
//! must find are known without fetching anything.

use crate::character::{Content, Manner, PageKind};
use crate::draw::{skewed, unit};
use crate::names::HostRef;
use crate::robots::Robots;
use crate::route::Route;
use crate::world::{Target, World, draw};

/// Branching factor of the tree of a host's pages, and of the tree of hosts, so that all are
/// reachable.
const FANOUT: u32 = 3;
/// Pages per sitemap.
pub const HIDDEN_PER_SITEMAP: u32 = 50;

/// A link on a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageLink {
    /// Target of the link.
    pub target: Target,
    /// True if the link has `nofollow`.
    pub nofollow: bool,
}

impl World {
    /// Returns the number that represents a page when its body is drawn. Pages that share a body
    /// share it.
    pub fn body_of(&self, id: u32, page: u32) -> u64 {
        match self.kind(id, page) {
            PageKind::Duplicate => (1 << 32) + u64::from(page % 2),
            PageKind::NearDuplicate => (1 << 33) + u64::from(page % 2),
            PageKind::Mirror => (1 << 34) + u64::from(page),
            _ => u64::from(page),
        }
    }

    /// Returns the number that represents an HTML page at any place when its body is drawn.
    pub fn body_at(&self, at: Target) -> u64 {
        let (kind, n) = match at.route {
            Route::Page(page) => return self.body_of(at.host.id, page),
            Route::Hidden(i) => (1, u64::from(i)),
            Route::Nofollowed(i) => (2, u64::from(i)),
            Route::Day(n) => (3, n),
            Route::Segments(n) => (4, u64::from(n)),
            _ => (5, 0),
        };
        (kind << 40) ^ n
    }

    /// Returns whether pages may be reachable only by the links of a page: the first page of a
    /// host, and those that have children in the tree of its pages.
    pub fn is_way_to_others(&self, host: HostRef, page: u32) -> bool {
        page == 0 || !children(page, self.n_pages(host.id)).is_empty()
    }

    /// Returns the links of an HTML page, in order. A place may occur more than once.
    pub fn links(&self, at: Target) -> Vec<PageLink> {
        let mut links = Vec::with_capacity(self.spec().links_per_page as usize + 8);
        if !self.has_links(at.host.id) {
            return links;
        }
        match at.route {
            Route::Page(page) => self.page_links(at.host, page, &mut links),
            Route::Hidden(i) => follow(&mut links, at.host, [Route::Hidden(i), Route::Page(0)]),
            Route::Nofollowed(i) if i < 3 => {
                follow(&mut links, at.host, [Route::Nofollowed(i + 1)]);
            }
            Route::Day(day) => {
                let days = [1_u64, 2, 7, 30].map(|more| Route::Day(day.wrapping_add(more)));
                follow(&mut links, at.host, days);
                follow(&mut links, at.host, [Route::Day(day.saturating_sub(1)), Route::Page(0)]);
            }
            Route::Segments(n) => follow(&mut links, at.host, [Route::Segments(n + 1)]),
            _ => {}
        }
        links
    }

    fn page_links(&self, host: HostRef, page: u32, links: &mut Vec<PageLink>) {
        let n_pages = self.n_pages(host.id);
        let kind = self.kind(host.id, page);
        if matches!(kind, PageKind::MetaRefresh | PageKind::LinkHeader) {
            return follow(links, host, [self.next_page(host, page)]);
        }
        if page == 0 {
            self.first_page_links(host, links);
        }
        if !matches!(kind, PageKind::Duplicate | PageKind::NearDuplicate) {
            follow(links, host, children(page, n_pages).map(Route::Page));
        }
        if kind == PageKind::Mirror {
            return;
        }
        let body = self.body_of(host.id, page);
        let spec = self.spec();
        for k in links.len() as u64..u64::from(spec.links_per_page) {
            let draw = |what| self.draw(draw::LINK, &[u64::from(host.id), body, k, what]);
            let internal = unit(draw(0)) < spec.internal_share || self.names().n_generated() == 0;
            let target = if internal {
                Target { host, route: Route::Page(skewed(draw(1), n_pages, spec.skew)) }
            } else {
                let id = skewed(draw(1), self.names().n_generated(), spec.skew);
                let page = skewed(draw(2), self.n_pages(id), spec.skew * 2.0);
                Target { host: HostRef::new(id), route: Route::Page(page) }
            };
            links.push(PageLink { target, nofollow: false });
        }
    }

    fn first_page_links(&self, host: HostRef, links: &mut Vec<PageLink>) {
        let n_generated = self.names().n_generated();
        let n_own = self.names().len() - n_generated;
        let own =
            (n_own > 0 && host.id.is_multiple_of(4)).then(|| n_generated + host.id / 4 % n_own);
        for id in children(host.id, n_generated).chain(own) {
            follow(links, HostRef::new(id), [Route::Page(0)]);
        }
        let forbidden = Target { host, route: Route::Nofollowed(0) };
        links.push(PageLink { target: forbidden, nofollow: true });
        match self.character(host.id).content {
            Content::Plain | Content::Foreign(_) => {}
            Content::Loop(_) => follow(links, host, [Route::Loop(0)]),
            Content::Chain(_) => follow(links, host, [Route::Chain(0)]),
            Content::Calendar => follow(links, host, [Route::Day(20_000)]),
            Content::Segments => follow(links, host, [Route::Segments(1)]),
            Content::Subdomains => {
                let n = host.sub.map_or(0, |n| n.wrapping_add(1));
                for sub in (0..3_u64).map(|k| n.wrapping_mul(3).wrapping_add(k)) {
                    let below = HostRef { id: host.id, sub: Some(sub) };
                    follow(links, below, [Route::Page(0)]);
                }
            }
        }
    }

    /// Returns the first child of a page in the host's tree, or any page if it has none.
    fn next_page(&self, host: HostRef, page: u32) -> Route {
        let n_pages = self.n_pages(host.id);
        let h = self.draw(draw::LINK, &[u64::from(host.id), u64::from(page)]);
        let child = children(page, n_pages).next();
        Route::Page(child.unwrap_or_else(|| skewed(h, n_pages, 1.0)))
    }

    /// Returns the status and target URL of a place that redirects.
    pub fn redirect(&self, at: Target) -> Option<(u16, String)> {
        let character = self.character(at.host.id);
        let here = |route| self.url(Target { host: at.host, route });
        match (at.route, &character.content) {
            (Route::RobotsHop(0), _) => return None,
            (Route::RobotsHop(k), _) => {
                let hops = self.robots_hops(at.host);
                let next = hops.len().checked_sub(usize::from(k))?;
                return Some((302, self.url(*hops.get(next)?)));
            }
            (Route::Robots, _) => {
                return Some((301, self.url(*self.robots_hops(at.host).first()?)));
            }
            (Route::Loop(k), Content::Loop(n)) if k < *n => {
                return Some((302, here(Route::Loop((k + 1) % n))));
            }
            (Route::Chain(k), Content::Chain(n)) if k < *n => {
                let end = Route::Page(self.n_pages(at.host.id) - 1);
                let next = if k + 1 == *n { end } else { Route::Chain(k + 1) };
                return Some((301, here(next)));
            }
            _ => {}
        }
        if let Manner::RedirectTo { location } = &character.manner {
            return Some((302, self.with_port(location)));
        }
        match (at.route, self.kind_at(at)) {
            (Route::Page(page), PageKind::Redirect(status)) if self.exists(at) => {
                Some((status, here(self.next_page(at.host, page))))
            }
            _ => None,
        }
    }

    /// Returns whether an HTML page, redirect or other resource exists there, ignoring manners.
    pub fn exists(&self, at: Target) -> bool {
        let content = &self.character(at.host.id).content;
        match (at.route, content) {
            (Route::Page(page), _) => page < self.n_pages(at.host.id),
            (Route::Robots | Route::RobotsHop(_), _) => true,
            (Route::Nofollowed(i), _) => i <= 3,
            (Route::Loop(k), Content::Loop(n)) | (Route::Chain(k), Content::Chain(n)) => k < *n,
            (Route::Day(_), Content::Calendar) | (Route::Segments(_), Content::Segments) => true,
            (Route::SitemapIndex, _) => self.sitemap_of(at.host) == Some(at),
            (Route::SitemapFor(id), _) => {
                id < self.names().len() && self.sitemap_of(HostRef::new(id)) == Some(at)
            }
            (Route::Sitemap(k), _) => u32::from(k) * HIDDEN_PER_SITEMAP < self.n_hidden(at.host.id),
            (Route::Hidden(i), _) => i < self.n_hidden(at.host.id),
            _ => false,
        }
    }

    /// Returns the number of pages that only sitemaps list.
    pub fn n_hidden(&self, id: u32) -> u32 {
        self.robots(id).n_in_sitemaps().min(HIDDEN_PER_SITEMAP * 250)
    }

    /// Returns the sitemap that the robots.txt of a host names.
    pub fn sitemap_of(&self, host: HostRef) -> Option<Target> {
        if self.n_hidden(host.id) == 0 {
            return None;
        }
        match self.robots(host.id) {
            Robots::SitemapOn { host: name, .. } => {
                let route = Route::SitemapFor(host.id);
                Some(Target { host: self.host(name)?, route })
            }
            _ => Some(Target { host, route: Route::SitemapIndex }),
        }
    }

    /// Returns a host other than those that a sitemap may list, which permits nothing.
    pub fn stranger_to(&self, sitemap: Target) -> Option<HostRef> {
        let Route::SitemapFor(id) = sitemap.route else { return None };
        (0..self.names().len())
            .map(HostRef::new)
            .find(|host| host.id != id && *host != sitemap.host)
    }

    /// Returns the entries of a sitemap.
    pub fn sitemap_entries(&self, at: Target) -> Vec<Target> {
        let n_hidden = self.n_hidden(at.host.id);
        let place = |route| Target { host: at.host, route };
        match at.route {
            Route::SitemapIndex => {
                let sitemaps = 0..n_hidden.div_ceil(HIDDEN_PER_SITEMAP);
                sitemaps.map(|k| place(Route::Sitemap(k as u8))).collect()
            }
            Route::Sitemap(k) => {
                let first = u32::from(k) * HIDDEN_PER_SITEMAP;
                let end = (first + HIDDEN_PER_SITEMAP).min(n_hidden);
                (first..end).map(|i| place(Route::Hidden(i))).collect()
            }
            Route::SitemapFor(id) => {
                let host = HostRef::new(id);
                (0..self.n_hidden(id)).map(|i| Target { host, route: Route::Hidden(i) }).collect()
            }
            _ => Vec::new(),
        }
    }
}

/// Returns the children of a node in a tree of `n` nodes.
fn children(node: u32, n: u32) -> std::ops::Range<u32> {
    let first = node.saturating_mul(FANOUT).saturating_add(1);
    first..first.saturating_add(FANOUT).min(n)
}

fn follow(links: &mut Vec<PageLink>, host: HostRef, routes: impl IntoIterator<Item = Route>) {
    let link = |route| PageLink { target: Target { host, route }, nofollow: false };
    links.extend(routes.into_iter().map(link));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;

    #[test]
    fn links_are_many_repeat_and_lead_somewhere() {
        let world = World::new(Spec::new(11).size(20, 2, 30).links(30));
        let mut all = Vec::new();
        for id in 0..40 {
            for page in 0..30 {
                let at = Target { host: HostRef::new(id), route: Route::Page(page) };
                let links = world.links(at);
                assert!((30..40).contains(&links.len()), "{}", links.len());
                assert!(links.iter().all(|l| world.exists(l.target)));
                assert_eq!(links, world.links(at));
                all.extend(links.iter().map(|l| l.target));
            }
        }
        let n_links = all.len();
        all.sort_unstable();
        all.dedup();
        assert!(all.len() > 1_190 && all.len() * 20 < n_links, "{} of {n_links}", all.len());
    }
}
