//! Adversaries: hosts that try to take from others what a crawler shares between them.

use crate::character::{Character, Content, Manner};
use std::net::Ipv4Addr;
use std::ops::Range;

/// Returns a host whose first page links to names of `domain` that do not exist, one for each
/// number.
#[must_use]
pub fn dead_names(domain: &str, numbers: Range<u32>) -> Character {
    let links = numbers.map(|n| format!("http://n{n}.{domain}:{{port}}/"));
    linking("dead names", links)
}

/// Returns a host whose first page links to pages of `host` that do not exist, one for each number;
/// their paths have `len` bytes.
#[must_use]
pub fn link_flood(host: &str, numbers: Range<u32>, len: usize) -> Character {
    let links = numbers.map(|n| {
        let path = format!("/{n}-");
        let rest = "x".repeat(len.saturating_sub(path.len()));
        format!("http://{host}:{{port}}{path}{rest}")
    });
    linking("link flood", links)
}

/// Returns a host whose first page has these links, written exactly so.
#[must_use]
pub fn linking(name: &str, links: impl Iterator<Item = String>) -> Character {
    Character::named(name).content(Content::Foreign(links.collect())).pages(1)
}

/// Returns a host at the address of another site, which does not know its name: each of its pages is
/// answered 404.
#[must_use]
pub fn squatter(address: Ipv4Addr) -> Character {
    let squatter = Character::named("squatter").manner(Manner::Status { code: 404 });
    Character { ip: Some(address), ..squatter }
}

/// Returns a link to a name with letters beyond ASCII: as many labels, each of as many letters.
#[must_use]
pub fn costly_link(labels: usize, letters: usize) -> String {
    // Different letters cost the conversion most.
    let letter = |n: usize| char::from_u32(0x4e00 + n as u32).unwrap_or('\u{4e2d}');
    let label = |k: usize| (0..letters).map(|n| letter(k * letters + n)).collect::<String>();
    let name: Vec<String> = (0..labels).map(label).collect();
    format!("//{}.test/", name.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::spec::Spec;
    use crate::world::World;

    #[test]
    fn names_are_dead_and_links_are_as_long_and_as_costly_as_asked() {
        let world = World::new(
            Spec::new(1)
                .host("victim.test", Character::named("victim"))
                .host("dead.test", dead_names("victim.test", 0..3))
                .host("flood.test", link_flood("victim.test", 5..7, 100)),
        );
        let links = |name: &str| match &world.character(world.host(name).unwrap().id).content {
            Content::Foreign(links) => links.clone(),
            other => panic!("{other:?}"),
        };
        for (n, link) in links("dead.test").iter().enumerate() {
            let name = format!("n{n}.victim.test");
            assert!(link.contains(&name));
            assert_eq!(world.host(&name), None, "{name} exists");
        }
        let flood = links("flood.test");
        assert_eq!(flood.len(), 2);
        assert!(flood.iter().all(|link| link.len() == "http://victim.test:{port}".len() + 100));
        assert_eq!(costly_link(2, 3).chars().count(), "//".len() + 3 + 1 + 3 + ".test/".len());
    }
}
