//! Keys on disk and on the wire: the hashes of groups, hosts, URLs and payloads.
//!
//! [`KeyedHasher`](crate::identity::KeyedHasher) computes them under the secret key of the crawl. A
//! URL is identified by its hash *within its group*: two URLs are confused only if both the group
//! hash and the URL hash collide.

use std::fmt;
use xxhash_rust::xxh3::xxh3_64;

/// Returns the place of a URL among results of equal scores: the same in all indexes, and by no word of the URL.
#[must_use]
pub fn url_order(url: &str) -> u32 {
    (xxh3_64(url.as_bytes()) >> 32) as u32
}

macro_rules! hash_name {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
        pub struct $name(pub u64);

        impl $name {
            /// Returns eight big-endian bytes, as in keys on disk.
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
    GroupHash
);
hash_name!(
    /// The hash of a host name, the unit of queuing, scheduling and politeness.
    HostHash
);
hash_name!(
    /// The hash of a whole URL in normal form. It identifies a URL only together with its group.
    UrlHash
);

/// The hash of a payload, by which exact duplicates are found.
pub type ContentDigest = [u8; 16];

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

    #[test]
    fn bytes_on_disk_are_big_endian_and_sort_like_the_number() {
        let hash = UrlHash(0x0102_0304_0506_0708);
        assert_eq!(hash.to_bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(UrlHash::from_bytes(hash.to_bytes()), hash);
        assert_eq!(hash.to_string(), "0102030405060708");
    }
}
