//! Table of rules for matching. The longest match wins, and `Allow` wins a tie (RFC 9309 section
//! 2.2.2). The length of a match is the length of its rule in normal form, including `*` and `$`.
//!
//! One arena holds the text of all rules. The rules are in three sorted runs:
//! - *prefix* rules (no wildcard except at the end): all rules that are a prefix of a path are
//!   prefixes of its predecessor in the order. So a binary search, and a walk along the chain of
//!   shorter prefixes, find the longest one. The best rule of each chain is precomputed.
//! - *exact* rules (`$` and no wildcard): found by a binary search.
//! - *wild* rules, longest first: tried one after another until one matches or the rest are shorter
//!   than the match so far. A rule with a byte that the path lacks is skipped at once. The cost is
//!   rules times path, which a hostile file can make large, so matching stops after [`STEPS_MAX`]:
//!   from then on a `Disallow` counts as matching and an `Allow` does not.

use super::escape::{WILD, readable};
use super::pattern::{byte_set, matches};
use std::cmp::Ordering;
use std::ops::Range;

/// Number of steps after which wild rules are no longer tried: about a millisecond, or a thousand
/// candidate rules for a path of a thousand bytes. Ordinary files need less than a tenth of it.
pub(super) const STEPS_MAX: u64 = 1 << 20;

/// Rules during parsing, in any order.
#[derive(Debug, Default)]
pub(super) struct Draft {
    pub(super) arena: Vec<u8>,
    rules: Vec<Rule>,
}

/// One rule. Its text is in the arena.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rule {
    start: u32,
    /// Line number, from 1.
    pub(super) line: u32,
    len: u16,
    /// Length without trailing wildcards.
    key: u16,
    pub(super) allow: bool,
    pub(super) anchored: bool,
}

/// The table of rules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Table {
    arena: Box<[u8]>,
    rules: Box<[Rule]>,
    /// One entry for each prefix rule.
    chains: Box<[Chain]>,
    n_exact: u32,
    /// One entry for each wild rule.
    byte_sets: Box<[u64]>,
}

/// The relation of a prefix rule to the rules that are prefixes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Chain {
    /// One plus the index of the longest rule that is a proper prefix of this one; 0 for none.
    shorter: u32,
    /// Rule that wins if this one matches.
    best: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Prefix,
    Exact,
    Wild,
}

impl Rule {
    fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + usize::from(self.len)
    }

    pub(super) fn text(self, arena: &[u8]) -> &[u8] {
        &arena[self.range()]
    }

    fn key(self, arena: &[u8]) -> &[u8] {
        &arena[self.range()][..usize::from(self.key)]
    }

    /// Returns the precedence. The greater rank wins.
    fn rank(self) -> (u16, bool) {
        (self.len + u16::from(self.anchored), self.allow)
    }

    fn kind(self, arena: &[u8]) -> Kind {
        let wild = self.key(arena).contains(&WILD);
        match (wild, self.anchored) {
            (false, false) => Kind::Prefix,
            (false, true) if self.key == self.len => Kind::Exact,
            _ => Kind::Wild,
        }
    }

    /// Returns the order within a table. It is total, so equal sets of rules give equal tables.
    fn order(self, other: Self, arena: &[u8]) -> Ordering {
        let kind = self.kind(arena);
        let best_first = other.rank().cmp(&self.rank());
        kind.cmp(&other.kind(arena))
            .then_with(|| match kind {
                Kind::Wild => best_first.then_with(|| self.text(arena).cmp(other.text(arena))),
                _ => self.key(arena).cmp(other.key(arena)).then(best_first),
            })
            .then(self.line.cmp(&other.line))
    }
}

impl Draft {
    /// Adds the text appended to the arena since `start` as a rule, unless it cannot match any path
    /// (empty, or beginning with neither `/` nor `*`) or is too long. Returns true if it was added.
    pub(super) fn add(&mut self, start: usize, line: u32, allow: bool, anchored: bool) -> bool {
        let text = &self.arena[start..];
        let key = text.iter().rposition(|&b| b != WILD).map_or(0, |last| last + 1);
        match (u32::try_from(start), u16::try_from(key), u16::try_from(text.len())) {
            (Ok(start), Ok(key), Ok(len))
                if len < u16::MAX && matches!(text.first(), Some(&(b'/' | WILD))) =>
            {
                self.rules.push(Rule { start, line, len, key, allow, anchored });
                true
            }
            _ => {
                self.arena.truncate(start);
                false
            }
        }
    }

    /// Builds the table. Of several rules with the same text it keeps only the winning one.
    pub(super) fn build(mut self) -> Table {
        let from = &self.arena;
        self.rules.sort_unstable_by(|a, b| a.order(*b, from));
        self.rules.dedup_by(|b, a| {
            a.kind(from) == b.kind(from)
                && match a.kind(from) {
                    Kind::Wild => a.rank() == b.rank() && a.text(from) == b.text(from),
                    _ => a.key(from) == b.key(from),
                }
        });
        let mut arena = Vec::with_capacity(self.rules.iter().map(|r| usize::from(r.len)).sum());
        let mut kept = self.rules;
        for rule in &mut kept {
            let start = arena.len();
            arena.extend_from_slice(rule.text(from));
            rule.start = u32::try_from(start).unwrap_or(u32::MAX);
        }
        let n_of = |kind| kept.iter().filter(|r| r.kind(&arena) == kind).count();
        let (n_prefix, n_exact) = (n_of(Kind::Prefix), n_of(Kind::Exact));
        let byte_sets =
            kept[n_prefix + n_exact..].iter().map(|r| byte_set(r.text(&arena))).collect();
        Table {
            chains: chains(&kept[..n_prefix], &arena),
            n_exact: u32::try_from(n_exact).unwrap_or(u32::MAX),
            byte_sets,
            rules: kept.into_boxed_slice(),
            arena: arena.into_boxed_slice(),
        }
    }
}

/// Returns the chains of sorted, distinct prefixes.
fn chains(prefixes: &[Rule], arena: &[u8]) -> Box<[Chain]> {
    let mut chains: Vec<Chain> = Vec::with_capacity(prefixes.len());
    let mut open: Vec<usize> = Vec::new();
    for (i, rule) in prefixes.iter().enumerate() {
        while open.pop_if(|&mut o| !rule.key(arena).starts_with(prefixes[o].key(arena))).is_some() {
        }
        let above = open.last().map(|&o| (o, chains[o].best as usize));
        let best = match above {
            Some((_, best)) if prefixes[best].rank() > rule.rank() => best,
            _ => i,
        };
        chains.push(Chain { shorter: above.map_or(0, |(o, _)| index(o + 1)), best: index(best) });
        open.push(i);
    }
    chains.into_boxed_slice()
}

fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

impl Table {
    /// Returns the deciding rule for `path` (in normal form), or `None` if none matches. Adds the
    /// number of bytes and rules examined to `steps`.
    pub(super) fn find(&self, path: &[u8], steps: &mut u64) -> Option<&Rule> {
        let literal = match (self.find_prefix(path, steps), self.find_exact(path, steps)) {
            (Some(a), Some(b)) => Some(if a.rank() >= b.rank() { a } else { b }),
            (a, b) => a.or(b),
        };
        self.find_wild(path, literal, steps).or(literal)
    }

    fn find_prefix(&self, path: &[u8], steps: &mut u64) -> Option<&Rule> {
        let prefixes = &self.rules[..self.chains.len()];
        let behind = prefixes.partition_point(|rule| {
            *steps += u64::from(rule.key).min(path.len() as u64);
            rule.key(&self.arena) <= path
        });
        let mut at = behind.checked_sub(1)?;
        let key = prefixes[at].key(&self.arena);
        let common = key.iter().zip(path).take_while(|(a, b)| a == b).count();
        while usize::from(prefixes[at].key) > common {
            *steps += 1;
            at = (self.chains[at].shorter as usize).checked_sub(1)?;
        }
        prefixes.get(self.chains[at].best as usize)
    }

    fn find_exact(&self, path: &[u8], steps: &mut u64) -> Option<&Rule> {
        let exact = &self.rules[self.chains.len()..][..self.n_exact as usize];
        let at = exact.binary_search_by(|rule| {
            *steps += u64::from(rule.key).min(path.len() as u64);
            rule.key(&self.arena).cmp(path)
        });
        exact.get(at.ok()?)
    }

    /// Returns a wild rule that outranks `than` and matches, or a `Disallow` that was not tried.
    fn find_wild(&self, path: &[u8], than: Option<&Rule>, steps: &mut u64) -> Option<&Rule> {
        let wild = &self.rules[self.chains.len() + self.n_exact as usize..];
        if wild.is_empty() {
            return None;
        }
        let present = byte_set(path);
        for (rule, set) in wild.iter().zip(&self.byte_sets) {
            *steps += 1;
            if than.is_some_and(|than| than.rank() >= rule.rank()) {
                return None;
            }
            let possible = set & !present == 0;
            let counts = |steps: &mut u64| match *steps < STEPS_MAX {
                true => matches(rule.text(&self.arena), rule.anchored, path, steps),
                false => !rule.allow,
            };
            if possible && counts(steps) {
                return Some(rule);
            }
        }
        None
    }

    /// Returns each rule with its text in normal form.
    pub(super) fn iter(&self) -> impl ExactSizeIterator<Item = (&Rule, &[u8])> {
        self.rules.iter().map(|rule| (rule, rule.text(&self.arena)))
    }

    /// Returns the rule in the syntax of robots.txt.
    pub(super) fn readable(&self, rule: &Rule) -> String {
        let key = if rule.allow { "Allow" } else { "Disallow" };
        format!("{key}: {}", readable(rule.text(&self.arena), rule.anchored))
    }

    pub(super) fn heap_size(&self) -> usize {
        self.arena.len()
            + size_of_val(&*self.rules)
            + size_of_val(&*self.chains)
            + size_of_val(&*self.byte_sets)
    }
}
