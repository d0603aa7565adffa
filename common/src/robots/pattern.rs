//! Matching of one rule with wildcards against one path, in time linear in their lengths.
//!
//! Between two wildcards the leftmost occurrence of a literal suffices, so each literal is searched
//! after the previous one, without backtracking.

use super::escape::WILD;
use memchr::memmem;

/// Returns true if `pattern` (in normal form, with at least one [`WILD`]) matches `path` from its
/// start, and up to its end if `anchored`. Adds the number of bytes examined to `steps`.
pub(super) fn matches(pattern: &[u8], anchored: bool, path: &[u8], steps: &mut u64) -> bool {
    let mut literals = pattern.split(|&b| b == WILD);
    let head = literals.next().unwrap_or_default();
    *steps += head.len() as u64;
    let Some(mut rest) = path.strip_prefix(head) else {
        return false;
    };
    let mut literals = literals.peekable();
    while let Some(literal) = literals.next() {
        *steps += 1 + literal.len() as u64;
        if anchored && literals.peek().is_none() {
            return rest.ends_with(literal);
        }
        let Some(at) = memmem::find(rest, literal) else {
            *steps += rest.len() as u64;
            return false;
        };
        *steps += at as u64;
        rest = &rest[at + literal.len()..];
    }
    !anchored || rest.is_empty()
}

/// Returns the set of bytes of a text, folded into 64 bits. A rule can match a path only if its set
/// is a subset of the path's.
pub(super) fn byte_set(text: &[u8]) -> u64 {
    text.iter().filter(|&&b| b != WILD).fold(0, |set, &b| set | 1 << (b & 63))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the result of the definition of a match, by dynamic programming over all prefixes.
    fn by_definition(pattern: &[u8], anchored: bool, path: &[u8]) -> bool {
        let mut ends = vec![false; path.len() + 1];
        ends[0] = true;
        for &p in pattern {
            let mut next = vec![false; path.len() + 1];
            for i in 0..=path.len() {
                next[i] = match p {
                    WILD => ends[i] || (i > 0 && next[i - 1]),
                    p => i > 0 && ends[i - 1] && path[i - 1] == p,
                };
            }
            ends = next;
        }
        if anchored { ends[path.len()] } else { ends.contains(&true) }
    }

    proptest! {
        #[test]
        fn equals_the_definition_in_linear_time(
            pattern in "[*ab/]{0,12}\\*[*ab/]{0,12}",
            anchored: bool,
            path in "/[ab/]{0,40}",
        ) {
            let pattern = pattern.replace('*', "\0").into_bytes();
            let mut steps = 0;
            let found = matches(&pattern, anchored, path.as_bytes(), &mut steps);
            prop_assert_eq!(found, by_definition(&pattern, anchored, path.as_bytes()));
            prop_assert!(steps <= (pattern.len() + path.len() + 1) as u64);
            if found {
                prop_assert_eq!(byte_set(&pattern) & !byte_set(path.as_bytes()), 0);
            }
        }

        #[test]
        fn a_wildcard_bomb_costs_linear_time(n in 1_usize..500, length in 0_usize..4_000) {
            let pattern = [b"/".to_vec(), b"\0a".repeat(n), b"\0b".to_vec()].concat();
            let path = [b"/".to_vec(), b"a".repeat(length)].concat();
            let mut steps = 0;
            prop_assert!(!matches(&pattern, false, &path, &mut steps));
            prop_assert!(steps <= (pattern.len() + path.len() + 1) as u64);
        }
    }
}
