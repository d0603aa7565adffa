//! The near-duplicates among pages: for each page the nearest earlier one, by sorting the fingerprints of each table.

use super::page_store::PageStore;
use super::tables::{TABLES, leading_bits, permuted};
use crate::lines::{LineSorter, LineSource as _, SortedLines};
use crivello_html::SimHash;
use std::fmt::Write as _;
use std::io;
use std::path::Path;

/// Maximum number of different fingerprints that are compared with each other at a time. More have the same leading
/// bits only if somebody makes such pages.
const GROUP_MAX: usize = 1 << 16;

/// A page among others: earlier ones are less.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Page {
    time: u64,
    url: u64,
    number: u64,
}

/// A fingerprint, and its first pages.
struct Fingerprint {
    hash: SimHash,
    first: Page,
    /// The first page with another URL than `first`.
    other: Option<Page>,
}

impl Fingerprint {
    /// Returns the first page that is earlier than `page` and has another URL.
    fn before(&self, page: &Page) -> Option<&Page> {
        let mut pages = [Some(&self.first), self.other.as_ref()].into_iter().flatten();
        pages.find(|other| *other < page && other.url != page.url)
    }
}

/// A page and the nearest earlier one: the numbers of both, and the distance.
pub(super) struct Match {
    pub(super) page: u64,
    pub(super) original: u64,
    pub(super) distance: u32,
}

/// The matches in the order of the pages' times.
pub(super) struct Matches {
    lines: SortedLines,
    line: Vec<u8>,
    last: Option<u64>,
    /// Number of groups of which only parts were compared.
    pub(super) groups_cut: u64,
}

impl Matches {
    /// Finds all matches. Temporary files are in `dir`. Returns `None` if it was stopped.
    pub(super) fn find(
        store: &PageStore,
        distance_max: u32,
        dir: &Path,
        stopped: &dyn Fn() -> bool,
    ) -> io::Result<Option<Self>> {
        let mut search = Search { distance_max, matches: LineSorter::new(dir), groups_cut: 0 };
        for table in 0..TABLES {
            let mut sorter = LineSorter::new(dir);
            let mut line = String::new();
            for (number, row) in (0_u64..).zip(store.rows()?) {
                let row = row?;
                line.clear();
                let hash = permuted(table, row.hash);
                let _ = write!(line, "{hash:016x}{:016x}{:016x}{number:016x}", row.time, row.url);
                sorter.push(line.as_bytes())?;
            }
            search.table(table, sorter.finish()?, stopped)?;
            if stopped() {
                return Ok(None);
            }
        }
        let Search { matches, groups_cut, .. } = search;
        Ok(Some(Self { lines: matches.finish()?, line: Vec::new(), last: None, groups_cut }))
    }

    /// Returns the next page with its nearest earlier page; of several, the earliest.
    pub(super) fn next_match(&mut self) -> io::Result<Option<Match>> {
        while self.lines.read_line(&mut self.line)? {
            let [_, _, page, distance, _, _, original] = numbers(&self.line)?;
            if self.last.replace(page) != Some(page) {
                return Ok(Some(Match { page, original, distance: distance as u32 }));
            }
        }
        Ok(None)
    }
}

struct Search {
    distance_max: u32,
    /// Lines of seven numbers: the page, the distance, the earlier page.
    matches: LineSorter,
    groups_cut: u64,
}

impl Search {
    fn table(
        &mut self,
        table: usize,
        mut lines: SortedLines,
        stopped: &dyn Fn() -> bool,
    ) -> io::Result<()> {
        let (mut group, mut line): (Vec<Fingerprint>, _) = (Vec::new(), Vec::new());
        while lines.read_line(&mut line)? {
            let [hash, time, url, number] = numbers(&line)?;
            let (hash, page) = (SimHash(hash), Page { time, url, number });
            if let Some(last) = group.last_mut() {
                if last.hash == hash {
                    if page.url != last.first.url {
                        last.other.get_or_insert(page);
                        let first = last.first;
                        // Each table has the same pairs.
                        if table == 0 {
                            self.push(&page, 0, &first)?;
                        }
                    }
                    continue;
                }
                if leading_bits(table, last.hash.0) != leading_bits(table, hash.0) {
                    if stopped() {
                        return Ok(());
                    }
                    self.compare(&group)?;
                    group.clear();
                } else if group.len() == GROUP_MAX {
                    self.groups_cut += 1;
                    self.compare(&group)?;
                    group.clear();
                }
            }
            group.push(Fingerprint { hash, first: page, other: None });
        }
        self.compare(&group)
    }

    /// Compares the fingerprints of a group. Pages after the first of a fingerprint have that as their original.
    fn compare(&mut self, group: &[Fingerprint]) -> io::Result<()> {
        // One line for each page, however many pages are near it.
        let mut nearest: Vec<Option<(u32, Page)>> = vec![None; group.len()];
        for (n, a) in group.iter().enumerate() {
            for (m, b) in group.iter().enumerate().skip(n + 1) {
                let distance = a.hash.distance(b.hash);
                if distance > self.distance_max {
                    continue;
                }
                for (of, later, earlier) in [(n, a, b), (m, b, a)] {
                    if let Some(original) = earlier.before(&later.first) {
                        let found = (distance, *original);
                        let is_nearer = nearest[of].is_none_or(|before| found < before);
                        nearest[of] = if is_nearer { Some(found) } else { nearest[of] };
                    }
                }
            }
        }
        for (fingerprint, found) in group.iter().zip(nearest) {
            if let Some((distance, original)) = found {
                self.push(&fingerprint.first, distance, &original)?;
            }
        }
        Ok(())
    }

    fn push(&mut self, page: &Page, distance: u32, original: &Page) -> io::Result<()> {
        let mut line = String::with_capacity(7 * 16);
        let distance = u64::from(distance);
        let numbers = [page.time, page.url, page.number, distance];
        for number in numbers.into_iter().chain([original.time, original.url, original.number]) {
            let _ = write!(line, "{number:016x}");
        }
        self.matches.push(line.as_bytes())
    }
}

/// Reads the numbers of a line, each of 16 hexadecimal digits.
fn numbers<const N: usize>(line: &[u8]) -> io::Result<[u64; N]> {
    let mut numbers = [0; N];
    for (number, digits) in numbers.iter_mut().zip(line.chunks(16)) {
        let digits = str::from_utf8(digits).map_err(io::Error::other)?;
        *number = u64::from_str_radix(digits, 16).map_err(io::Error::other)?;
    }
    Ok(numbers)
}

#[cfg(test)]
mod tests {
    use super::super::page_store::{PageText, PageWriter};
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    type Found = BTreeMap<u64, (u32, u64)>;

    fn found(pages: &[(u64, u64, u64)], distance_max: u32) -> Found {
        let dir = tempfile::tempdir().expect("a directory");
        let mut store = PageWriter::create(dir.path()).expect("created");
        for &(hash, time, url) in pages {
            let text = PageText {
                url: url.to_string(),
                date: String::new(),
                warc_file: String::new(),
                warc_offset: 0,
            };
            store.push(SimHash(hash), (time, url), &text).expect("written");
        }
        let store = store.finish().expect("written");
        let matches = Matches::find(&store, distance_max, dir.path(), &|| false).expect("found");
        let (mut matches, mut found) = (matches.expect("not stopped"), Found::new());
        while let Some(one) = matches.next_match().expect("read") {
            assert!(found.insert(one.page, (one.distance, one.original)).is_none());
        }
        found
    }

    /// Compares each page with all others.
    fn expected(pages: &[(u64, u64, u64)], distance_max: u32) -> Found {
        let mut found = Found::new();
        for (n, &(hash, time, url)) in pages.iter().enumerate() {
            let others = pages.iter().enumerate().filter_map(|(m, other)| {
                let distance = (hash ^ other.0).count_ones();
                let is_earlier = (other.1, other.2, m) < (time, url, n);
                (is_earlier && other.2 != url && distance <= distance_max)
                    .then_some((distance, other.1, other.2, m as u64))
            });
            if let Some((distance, _, _, m)) = others.min() {
                found.insert(n as u64, (distance, m));
            }
        }
        found
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

        /// URLs are captured once here: of several captures only the first counts.
        #[test]
        fn each_page_has_its_nearest_earlier_page(
            origins in proptest::collection::vec(any::<u64>(), 1..8),
            copies in proptest::collection::vec(
                (any::<prop::sample::Index>(), 0_u64..9, proptest::collection::vec(0_u32..64, 0..5)),
                1..80,
            ),
            distance_max in 0_u32..=3,
        ) {
            let pages: Vec<(u64, u64, u64)> = copies
                .iter()
                .zip(0..)
                .map(|((origin, time, flips), url)| {
                    let hash = flips.iter().fold(*origin.get(&origins), |hash, bit| hash ^ (1 << bit));
                    (hash, *time, url)
                })
                .collect();
            prop_assert_eq!(found(&pages, distance_max), expected(&pages, distance_max));
        }
    }

    #[test]
    fn all_planted_pairs_are_found_among_random_ones() {
        let mut state = 7_u64;
        let mut random = || {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        };
        let mut pages: Vec<(u64, u64, u64)> = (0..100_000).map(|n| (random(), n, n)).collect();
        for n in 0..10_000 {
            let flips = (0..n % 4).fold(0_u64, |flips, _| flips | 1 << (random() % 64));
            pages.push((pages[(n * 10) as usize].0 ^ flips, 100_000 + n, 100_000 + n));
        }
        let found = found(&pages, 3);
        for n in 0..10_000 {
            let (distance, original) = found[&(100_000 + n)];
            assert_eq!(
                distance,
                (pages[(100_000 + n) as usize].0 ^ pages[original as usize].0).count_ones()
            );
            assert!(distance <= 3);
        }
    }

    #[test]
    fn captures_of_one_url_are_no_near_duplicates() {
        let pages = [(5, 1, 1), (5, 2, 1), (4, 3, 1), (5, 4, 2), (4, 5, 2)];
        assert_eq!(found(&pages, 3), Found::from([(3, (0, 0)), (4, (0, 2))]));
    }
}
