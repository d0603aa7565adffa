//! Properties of identities: other crawls and other kinds have other hashes, and nothing shows the
//! key.

use super::*;
use crate::config::AssignBy::{Domain, Host};
use proptest::prelude::*;
use std::collections::HashSet;

const ID: &str = "0123456789abcdef";
const KEY: IdentityKey = IdentityKey([0xa7; LEN]);

/// Test vector of the reference implementation: no bytes under the key 00 01 02 … 1f.
#[test]
fn the_hash_of_payloads_is_highway_hash() {
    let key: [u64; 4] = std::array::from_fn(|i| {
        u64::from_le_bytes(std::array::from_fn(|byte| (8 * i + byte) as u8))
    });
    let hash = HighwayHasher::new(highway::Key(key)).hash128(&[]);
    assert_eq!(hash, [0x0FED_268F_9D8F_FEC7, 0x3356_5E76_7F09_3E6F]);
}

/// SipHash-1-3 of the bytes 0, 1, 2 … under the key 00 01 02 … 0f, from the test vectors of the
/// reference implementation as the Rust standard library has them.
#[test]
fn the_hash_is_siphash_1_3() {
    let key = std::array::from_fn(|i| i as u8);
    let keys = SipHasher13::new_with_key(&key).keys();
    let input: Vec<u8> = (0..64).collect();
    for (len, expected) in [
        (0, [0xdc_u8, 0xc4, 0x0f, 0x05, 0x58, 0x01, 0xac, 0xab]),
        (1, [0x93, 0xca, 0x57, 0x7d, 0xf3, 0x9b, 0xf4, 0xc9]),
    ] {
        assert_eq!(hash(keys, &input[..len]).to_le_bytes(), expected, "{len} bytes");
    }
}

/// Agents of different builds must agree, so these values never change. All but the last were computed
/// with a SipHash in Python, written from its specification.
#[test]
fn golden_vectors_hold_across_builds() {
    let hasher = KeyedHasher::with_public_key();
    let url = CrawlUrl::parse("https://www.example.com:8443/a/b?c=d&e=%C3%A9").unwrap();
    let content = hasher.content(b"a payload");
    let values = [
        hasher.group("www.example.com").0,
        hasher.host("www.example.com").0,
        hasher.url(&url).0,
        hasher.address([192, 0, 2, 1].into()).0,
        u64::from_be_bytes(content[..8].try_into().unwrap()),
    ];
    let expected = [
        0x3754_0a48_bb99_51ee,
        0x3f53_d084_386c_271b,
        0x3fe9_4e88_196d_2d02,
        0x04b4_1cd1_bf2a_ee04,
        0x930d_cb85_61e0_ffc6,
    ];
    assert_eq!(values, expected, "{values:#x?}");
    assert_eq!(hasher.group("www.example.com"), hasher.group("example.com"));
}

#[test]
fn groups_are_domains_or_hosts() {
    let (domain, host) = (KeyedHasher::new(KEY, Domain), KeyedHasher::new(KEY, Host));
    for (name, group) in [
        ("www.example.com", "example.com"),
        ("a.b.example.co.uk", "example.co.uk"),
        ("someone.github.io", "someone.github.io"),
        ("127.0.0.1", "127.0.0.1"),
        ("com", "com"),
    ] {
        assert_eq!(domain.group(name), host.group(group), "{name}");
        assert_eq!(domain.host(name), host.host(name));
        let key = domain.host_key(name);
        assert_eq!((key.group, key.host), (domain.group(name), domain.host(name)));
    }
    assert_ne!(host.group("www.example.com"), host.group("example.com"));
}

#[test]
fn the_key_is_never_shown() {
    let hasher = KeyedHasher::new(KEY, Domain);
    assert_eq!(format!("{KEY:?} {hasher:?}"), "IdentityKey KeyedHasher");
}

#[test]
fn a_drawn_key_is_a_new_one() {
    let keys: HashSet<_> = (0..64).map(|_| IdentityKey::draw().unwrap().to_bytes()).collect();
    assert_eq!(keys.len(), 64);
}

/// Returns all hashes of a text, of every kind.
fn all_hashes(hasher: &KeyedHasher, text: &str) -> Vec<u64> {
    let url = CrawlUrl::parse(&format!("http://{text}.test/")).unwrap();
    let content = hasher.content(text.as_bytes());
    let (content, rest) = content.split_first_chunk().unwrap();
    vec![
        hash(hasher.group, text.as_bytes()),
        hash(hasher.host, text.as_bytes()),
        hash(hasher.url, text.as_bytes()),
        hash(hasher.address, text.as_bytes()),
        u64::from_be_bytes(*content),
        u64::from_be_bytes(rest.try_into().unwrap()),
        hasher.group(url.host()).0,
        hasher.host(url.host()).0,
        hasher.url(&url).0,
        hasher.address([1, 2, 3, text.len() as u8].into()).0,
    ]
}

proptest! {
    /// A hash under one key, or of one kind, says nothing about another.
    #[test]
    fn keys_and_kinds_are_apart(key: [u8; LEN], bit in 0..128_usize, text in "[a-z]{1,40}") {
        let mut other = key;
        other[bit / 8] ^= 1 << (bit % 8);
        let hasher = |key| KeyedHasher::new(IdentityKey(key), Domain);
        let ours = all_hashes(&hasher(key), &text);
        let theirs = all_hashes(&hasher(other), &text);
        let all: HashSet<u64> = ours.iter().chain(&theirs).copied().collect();
        prop_assert_eq!(all.len(), ours.len() + theirs.len());
        prop_assert_eq!(&ours, &all_hashes(&hasher(key), &text));
        let check = |key| IdentityKey(key).check(ID);
        prop_assert_ne!(check(key), check(other));
        prop_assert_ne!(check(key), IdentityKey(key).check("another crawl"));
    }
}
