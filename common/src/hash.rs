//! Keys on disk and on the wire: 64-bit XXH3 hashes with fixed seeds.
//!
//! XXH3 is a published, frozen function, so agents of different builds (and tools in other
//! languages) compute the same keys. A URL is identified by its hash *within its group*: two URLs
//! are confused only if both the group hash and the URL hash collide.

use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

const GROUP_SEED: u64 = 0x6372_6976_656c_6c6f; // "crivello"
const HOST_SEED: u64 = GROUP_SEED ^ 1;
const URL_SEED: u64 = GROUP_SEED ^ 2;

macro_rules! hash_name {
    ($(#[$doc:meta])* $name:ident, $seed:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// Hashes `text`, which must be in normal form.
            #[must_use]
            pub fn of(text: &str) -> Self {
                Self(xxh3_64_with_seed(text.as_bytes(), $seed))
            }

            /// Returns eight big-endian bytes, as in keys on disk.
            #[must_use]
            pub const fn to_bytes(self) -> [u8; 8] {
                self.0.to_be_bytes()
            }

            /// Creates the hash from the output of [`Self::to_bytes`].
            #[must_use]
            pub const fn from_bytes(bytes: [u8; 8]) -> Self {
                Self(u64::from_be_bytes(bytes))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:016x}", self.0)
            }
        }
    };
}

hash_name!(
    /// The hash of a group, the unit of assignment to agents: by default all hosts of one
    /// registrable domain.
    GroupHash,
    GROUP_SEED
);
hash_name!(
    /// The hash of a host name, the unit of queuing, scheduling and politeness.
    HostHash,
    HOST_SEED
);
hash_name!(
    /// The hash of a whole URL in normal form. It identifies a URL only together with its group.
    UrlHash,
    URL_SEED
);

/// A host and its group: the key of per-host data.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct HostKey {
    /// Group of the host.
    pub group: GroupHash,
    /// Host.
    pub host: HostHash,
}

/// A URL's identity: its group and its hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct UrlKey {
    /// Group of the URL's host.
    pub group: GroupHash,
    /// URL.
    pub url: UrlHash,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The constants were computed with the `xxhash` package of Python, an independent binding of
    /// the reference implementation. The texts exercise its three code paths (short, middle, long).
    #[test]
    fn golden_vectors_hold_across_builds() {
        let long = format!("http://example.com/{}", "x".repeat(300));
        let middle = "https://www.example.com:8443/a/b?c=d&e=%C3%A9";
        for (hash, wanted) in [
            (GroupHash::of("").0, 0xc4c0_d4e0_4977_425b),
            (GroupHash::of("a").0, 0x7a24_9f72_962f_fb66),
            (GroupHash::of("example.com").0, 0xcec3_9db6_1a9e_de6f),
            (HostHash::of("a").0, 0x7acf_29a3_94ce_3dd6),
            (HostHash::of("www.example.com").0, 0x9b45_6d15_52cd_efbc),
            (UrlHash::of("http://example.com/").0, 0xd97a_c4f1_003e_8999),
            (UrlHash::of(middle).0, 0xb0b9_e4c4_995a_ee88),
            (UrlHash::of(&long).0, 0x52dd_ffc1_45fe_88f6),
        ] {
            assert_eq!(hash, wanted, "{hash:x}");
        }
    }

    #[test]
    fn bytes_on_disk_are_big_endian_and_sort_like_the_number() {
        let hash = UrlHash(0x0102_0304_0506_0708);
        assert_eq!(hash.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(UrlHash::from_bytes(hash.to_bytes()), hash);
        assert_eq!(hash.to_string(), "0102030405060708");
    }
}
