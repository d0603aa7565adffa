//! Copies: pages whose text is that of another page, but for a few words.

use crate::draw::unit;
use crate::names::HostRef;
use crate::route::Route;
use crate::text::numeral;
use crate::world::{Target, World, draw};

/// Numbers of words in which a copy may differ from its source.
const CHANGED: [u64; 4] = [1, 2, 6, 40];

/// Source of the text of a page, in a web with copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TextSource {
    /// The page whose text it is.
    pub of: Target,
    /// Number of words that differ; 0 for a page with a text of its own.
    pub n_changed: u64,
}

impl World {
    /// Returns the source of the text of an ordinary page, if the web has copies. A source is no copy.
    pub fn text_source(&self, at: Target) -> Option<TextSource> {
        let Route::Page(page) = at.route else { return None };
        if self.spec().copies == 0.0 {
            return None;
        }
        let own = TextSource { of: at, n_changed: 0 };
        if !self.is_copy(at.host.id, page) {
            return Some(own);
        }
        let draw = |what| self.draw(draw::COPY, &[u64::from(at.host.id), u64::from(page), what]);
        let (n_hosts, n_siblings) = (self.names().n_generated(), self.spec().hosts_per_domain);
        // Half of the copies are those of pages of the same domain.
        let host = match draw(1) % 2 {
            0 => at.host.id / n_siblings * n_siblings + (draw(2) % u64::from(n_siblings)) as u32,
            _ => (draw(2) % u64::from(n_hosts)) as u32,
        };
        let n_pages = self.n_pages(host);
        let first = (draw(3) % u64::from(n_pages)) as u32;
        let mut sources = (0..n_pages).map(|k| (first + k) % n_pages);
        let source = sources.find(|&source| !self.is_copy(host, source) && source != page);
        let of = |page| Target { host: HostRef::new(host), route: Route::Page(page) };
        let n_changed = CHANGED[(draw(4) % CHANGED.len() as u64) as usize];
        Some(source.map_or(own, |source| TextSource { of: of(source), n_changed }))
    }

    /// Returns true if a page is a copy. The first page of a host is none.
    fn is_copy(&self, id: u32, page: u32) -> bool {
        let at = unit(self.draw(draw::COPY, &[u64::from(id), u64::from(page), 0]));
        page > 0 && at < self.spec().copies
    }
}

/// Replaces `n` words of a text by words that no other text has.
pub(crate) fn change_words(text: &str, n: u64, draw: impl Fn(u64) -> u64) -> String {
    let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
    let n_words = words.len() as u64;
    for k in 0..n {
        let new = numeral(draw(k)).replace(' ', "");
        if let Some(word) = words.get_mut((draw(k) % n_words.max(1)) as usize) {
            *word = new;
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::html;
    use crate::spec::Spec;
    use std::collections::BTreeMap;

    fn text(html: &str) -> Vec<String> {
        let (_, rest) = html.split_once("<p class=\"text\">").unwrap();
        rest.split_once("</p>").unwrap().0.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn copies_differ_from_their_sources_in_a_few_words_and_have_their_own_links() {
        let mut spec = Spec::new(7).size(6, 3, 30);
        spec.copies = 0.3;
        let world = World::new(spec);
        let mut n_copies = BTreeMap::new();
        for id in 0..world.names().n_generated() {
            for page in 0..world.n_pages(id) {
                let at = Target { host: HostRef::new(id), route: Route::Page(page) };
                let TextSource { of, n_changed } = world.text_source(at).unwrap();
                if n_changed == 0 {
                    assert_eq!(of, at);
                    continue;
                }
                assert_eq!(world.text_source(of).unwrap().n_changed, 0);
                let (copy, source) = (html(&world, at), html(&world, of));
                let (own, other) = (text(&copy), text(&source));
                let n_different = own.iter().zip(&other).filter(|(a, b)| a != b).count() as u64;
                assert_eq!(own.len(), other.len());
                assert!((1..=n_changed).contains(&n_different), "{n_different}");
                assert_eq!(copy.matches("<a ").count(), world.links(at).len());
                *n_copies.entry(of.host.id / 3 == id / 3).or_insert(0) += 1;
            }
        }
        assert!(n_copies.len() == 2 && n_copies.values().all(|n| *n > 20), "{n_copies:?}");
    }
}
