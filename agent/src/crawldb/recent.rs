//! An approximate LRU set of URL keys: eight ways per set, one cache line per set, no pointers.

use crivello_common::hash::UrlKey;
use crivello_common::units::ByteSize;

const WAYS: usize = 8;

#[derive(Clone, Copy)]
#[repr(align(64))]
struct Line([u64; WAYS]);

/// A set of roughly the most recently touched keys, in a fixed number of bytes.
///
/// A key is stored as one 64-bit mix of its two hashes, so a wrong answer is as rare as a collision
/// of the 64-bit URL hash itself.
pub struct RecentKeys {
    lines: Vec<Line>,
    mask: u64,
}

impl std::fmt::Debug for RecentKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RecentKeys of {} lines", self.lines.len())
    }
}

impl RecentKeys {
    /// Creates a table of at most `size` bytes (at least one line).
    #[must_use]
    pub fn new(size: ByteSize) -> Self {
        let wanted = (size.as_usize() / size_of::<Line>()).max(1);
        let n = if wanted.is_power_of_two() { wanted } else { wanted.next_power_of_two() / 2 };
        Self { lines: vec![Line([0; WAYS]); n], mask: n as u64 - 1 }
    }

    /// Removes all keys.
    pub fn clear(&mut self) {
        self.lines.fill(Line([0; WAYS]));
    }

    /// Removes a key.
    pub fn forget(&mut self, key: UrlKey) {
        let (tag, line) = self.place(key);
        self.lines[line].0.iter_mut().filter(|t| **t == tag).for_each(|t| *t = 0);
    }

    /// Returns the tag of a key, and the index of its line.
    const fn place(&self, key: UrlKey) -> (u64, usize) {
        let mixed = (key.url.0 ^ key.group.0.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        // The tag is never that of an empty slot.
        (mixed | 1, ((mixed >> 20) & self.mask) as usize)
    }

    /// Returns true if `key` is in the set. Adds it as the most recent key of its line.
    pub fn touch(&mut self, key: UrlKey) -> bool {
        let (tag, line) = self.place(key);
        let line = &mut self.lines[line].0;
        let way = line.iter().position(|&t| t == tag);
        line.copy_within(..way.unwrap_or(WAYS - 1), 1);
        line[0] = tag;
        way.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crivello_common::hash::{GroupHash, UrlHash};

    fn key(n: u64) -> UrlKey {
        UrlKey { group: GroupHash(7), url: UrlHash(n) }
    }

    #[test]
    fn it_remembers_the_recent_and_forgets_the_old() {
        let mut recent = RecentKeys::new(ByteSize::kib(64)); // 8,192 keys
        assert!(!recent.touch(key(1)));
        assert!(recent.touch(key(1)));
        for n in 2..1_000_000 {
            recent.touch(key(n));
        }
        assert!(!recent.touch(key(1)), "an old key is still in the cache");
        let kept = (999_000..1_000_000).filter(|&n| recent.touch(key(n))).count();
        assert!(kept > 950, "only {kept} of the last 1,000 keys are in the cache");
    }

    #[test]
    fn what_is_touched_often_stays() {
        let mut recent = RecentKeys::new(ByteSize::kib(4)); // 512 keys
        recent.touch(key(0));
        for n in 1..10_000 {
            recent.touch(key(n));
            assert!(recent.touch(key(0)), "after {n} others");
        }
    }
}
