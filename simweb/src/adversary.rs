//! Adversaries: hosts that try to take from others what a crawler shares between them.

use crate::character::{Character, Coding, Content, Manner};
use crate::draw::hash;
use std::net::Ipv4Addr;
use std::ops::Range;

/// Names of hosts, and names forged for them: both had the same hash when hashes had no key (XXH3 of
/// 64 bits with a public seed). Of 17 to 128 bytes that hash is a sum over blocks of 16 bytes, so
/// whoever knows the seed finds four blocks with the sum of any other text in seconds.
pub const FORGED_HOSTS: [(&str, &str); 2] = [
    ("www.victim.test", "372kxd5nj4rci312qut6rrphaawoeuveiv8rly4buy6hmhhwfkzc.victim.test"),
    ("shop.victim.test", "0i0clasu003ciiju4snmjzgicpcndf8arz0bofpi1ur83sv07mkc.victim.test"),
];

/// The URL of a page, and a URL forged for it in the same way. They begin and end with the same 32
/// bytes, with the port, and so their hashes are equal for each port of five digits.
pub const FORGED_URL: (&str, &str) = (
    "http://www.report.test:{port}/s1/p1.html",
    concat!(
        "http://www.report.test:{port}/s1/",
        "7bkpelgf6lmogxtdupp4txszr4m9guitwqcsimdbpa7nnce23g28qr9jhlqk3z1f",
        "www.report.test:{port}/s1/p1.html"
    ),
);

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

/// Number of links after which those of [`packed_links`] repeat themselves.
const PACKED_PERIOD: u32 = 60;

/// Returns a host whose first page, compressed, links to as many pages of `host` that do not exist;
/// their paths have `len` bytes. Except for a number, each path occurs again a few links later. So the
/// page becomes very small, but not a block of a database, in which no path occurs twice.
#[must_use]
pub fn packed_links(host: &str, n_links: u32, len: usize) -> Character {
    let links = (0..n_links).map(|n| {
        let path = format!("/{n}-");
        let seed = u64::from(n % PACKED_PERIOD);
        let letters = (0..len.saturating_sub(path.len()) as u64)
            .map(|i| char::from(b'a' + ((hash(seed, &[i]) >> 8) % 26) as u8));
        format!("http://{host}:{{port}}{path}{}", letters.collect::<String>())
    });
    linking("packed links", links).coding(Coding::Zstd)
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
    use crate::coding::encode;
    use crate::spec::Spec;
    use crate::world::World;
    use xxhash_rust::xxh3::xxh3_64_with_seed;

    #[test]
    fn forged_texts_had_the_hashes_of_others() {
        let seed = u64::from_be_bytes(*b"crivello");
        let hash = |kind: u64, text: &str| xxh3_64_with_seed(text.as_bytes(), seed ^ kind);
        for (name, forged) in FORGED_HOSTS {
            assert_ne!(name, forged);
            assert_eq!(hash(1, name), hash(1, forged), "{forged}");
        }
        for port in (10_000..=65_535).step_by(101) {
            let world = World::new(Spec::new(1).port(port));
            let [url, forged] =
                [FORGED_URL.0, FORGED_URL.1].map(|location| world.with_port(location));
            assert_ne!(url, forged);
            assert_eq!(hash(2, &url), hash(2, &forged), "{forged}");
        }
    }

    #[test]
    fn packed_links_compress_as_a_page_and_not_as_a_block() {
        let Content::Foreign(links) = packed_links("a.test", 15_000, 800).content else {
            panic!("no links");
        };
        let packed = |links: &[String]| encode(Coding::Zstd, links.concat().as_bytes()).len();
        let len = |links: &[String]| links.concat().len();
        assert!(50 * packed(&links) < len(&links), "{} bytes", packed(&links));
        let block = &links[1_000..1_020];
        assert!(2 * packed(block) > len(block), "{} bytes", packed(block));
        assert!(links.iter().all(|link| link.len() == "http://a.test:{port}".len() + 800));
    }

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
