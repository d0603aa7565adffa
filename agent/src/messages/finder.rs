//! Classes of finders: who found a URL, as far as the shares of limits distinguish it.

use crivello_common::hash::GroupHash;

/// Number of classes.
const CLASSES: u8 = 16;
/// First class of other domains; those before have a meaning of their own.
const OTHERS: u8 = 3;

/// The class of who found a URL or a host. A smaller class is the better one: it wins where several
/// found the same.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Finder(u8);

impl Finder {
    /// A person: the URL is a seed.
    pub const SEED: Self = Self(0);
    /// A page or a robots.txt of the same group.
    pub const OWN: Self = Self(1);
    /// A robots.txt that redirects to a host of another group.
    pub const ROBOTS: Self = Self(2);
    /// The last class: that of a host about which nothing is known yet.
    pub const LAST: Self = Self(CLASSES - 1);

    /// Returns the class of a link from a page of the group `from` to a URL of the group `to`. The
    /// other groups are divided evenly among the remaining classes, by their hashes.
    #[must_use]
    pub const fn of_link(from: GroupHash, to: GroupHash) -> Self {
        if from.0 == to.0 {
            return Self::OWN;
        }
        // The upper bits of a product depend on all bits of the hash.
        let mixed = from.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        Self(OTHERS + (mixed % (CLASSES - OTHERS) as u64) as u8)
    }

    /// Returns true if it is a seed, or was found on its own group.
    pub const fn is_own(self) -> bool {
        self.0 <= Self::OWN.0
    }

    /// Returns the number stored on disk, below 16.
    pub const fn code(self) -> u8 {
        self.0
    }

    /// Returns the class with this [`Self::code`].
    #[must_use]
    pub const fn from_code(code: u8) -> Option<Self> {
        if code < CLASSES { Some(Self(code)) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::identity::KeyedHasher;

    #[test]
    fn other_domains_are_spread_over_all_remaining_classes() {
        let hasher = KeyedHasher::with_public_key();
        let to = hasher.group("victim.test");
        assert_eq!(Finder::of_link(to, to), Finder::OWN);
        let mut counts = [0; CLASSES as usize];
        for n in 0..13_000 {
            let from = hasher.group(&format!("site{n}.test"));
            counts[usize::from(Finder::of_link(from, to).code())] += 1;
        }
        assert_eq!(counts[..usize::from(OTHERS)], [0; OTHERS as usize]);
        let others = &counts[usize::from(OTHERS)..];
        assert!(others.iter().all(|n| (800..1_200).contains(n)), "{counts:?}");
    }
}
