//! Near-duplicates: the earlier page whose text has nearly the same fingerprint.
//!
//! - *Input:* the fingerprint of a page's text.
//! - *Output:* the earlier page, if there is one, and whether the links of the page are followed.
//! - *State:* on disk, the index of all fingerprints of archived pages; in memory, those on their way to
//!   the commit.
//! - *Does not know:* how fingerprints are computed, exact duplicates.
//! - *Errors:* [`DiskError`] when it is opened.
//!
//! Entries of the index have the place of a page's record in the archive, from which its URL and date are read.

mod archived;
mod earlier_page;
mod finder;
mod pending;
#[cfg(test)]
mod tests;

use crate::messages::PageFingerprint;
use crate::storage::near::{NearEntry, NearPlace, NearStore, NearTables};
use crate::storage::{Database, DiskError};
use archived::ArchivedPages;
use crivello_common::time::Timestamp;
use crivello_common::url::CrawlUrl;
use earlier_page::{EarlierPage, domain_of};
pub(super) use finder::{NearFinder, NearFinding};
use pending::{PendingPage, PendingPages};
use std::path::PathBuf;
use std::sync::Arc;
use xxhash_rust::xxh3::xxh3_64;

/// Maximum number of earlier pages with near fingerprints that are looked at.
const CANDIDATES_MAX: usize = 16;
/// Bit of the order of archiving of pages that are not archived yet.
const PENDING: u64 = 1 << 63;
/// Number of candidates at which the worst are dropped.
const COLLECTED_MAX: usize = 256;

/// Index of fingerprints, shared by the parser threads.
#[derive(Debug)]
pub struct NearIndex {
    /// The entries of archived pages.
    pub store: NearStore,
    tables: NearTables,
    pending: PendingPages,
    archived: ArchivedPages,
}

/// A page whose text is nearly that of an earlier one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NearDuplicate {
    /// The earlier page.
    pub of: Arc<EarlierPage>,
    /// Number of bits in which the fingerprints differ.
    pub distance: u32,
    /// True if both have the same registrable domain, and the links of the earlier page were followed.
    pub may_skip_links: bool,
}

/// A page with a fingerprint.
#[derive(Clone, Copy, Debug)]
pub struct NewPage<'a> {
    /// The fingerprint.
    pub fingerprint: u64,
    /// The URL.
    pub url: &'a CrawlUrl,
    /// Start of the request.
    pub at: Timestamp,
    /// Place of the last capture of the URL in this agent's archive.
    pub last_capture: Option<(u32, u64)>,
}

/// Claim of a page, held until it is on its way to the commit. If it is dropped before, later pages do not
/// find it.
#[derive(Debug)]
pub struct NearClaim {
    /// The earlier page, if there is one.
    pub duplicate: Option<NearDuplicate>,
    /// True if the links of the page are not followed.
    pub skips_links: bool,
    /// Data for the commit.
    pub fingerprint: PageFingerprint,
    index: Arc<NearIndex>,
    pending: Arc<PendingPage>,
    is_handed_over: bool,
}

impl NearClaim {
    /// Notes that the links of the page are followed, so that those of later pages may be skipped. By default
    /// they are not.
    pub const fn follow_links(&mut self) {
        self.fingerprint.is_followed = true;
    }

    /// Marks the page as handed over: [`NearIndex::settle`] follows its commit. Links are skipped only because of
    /// pages that are committed earlier.
    pub fn handed_over(&mut self) {
        let _ = self.pending.is_followed.set(self.fingerprint.is_followed);
        self.is_handed_over = true;
    }
}

impl Drop for NearClaim {
    fn drop(&mut self) {
        if !self.is_handed_over {
            self.index.settle(&self.fingerprint, None);
        }
    }
}

/// Rank of an earlier page: the best has the least. Another registrable domain, links that were not followed,
/// the distance. Links matter only within a domain.
type Rank = (bool, bool, u32);

const fn rank(is_same_domain: bool, is_followed: bool, distance: u32) -> Rank {
    (!is_same_domain, is_same_domain && !is_followed, distance)
}

/// An earlier page of which only the entry is known.
#[derive(Clone, Debug)]
struct Candidate {
    /// Its rank, and the order of archiving.
    rank: (Rank, u64),
    distance: u32,
    is_followed: bool,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    Pending(Arc<PendingPage>),
    Archived(NearPlace),
}

impl NearIndex {
    /// Opens the index in a database, of pages in the archive in `archive`.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn open(disk: Arc<Database>, n_tables: u32, archive: PathBuf) -> Result<Self, DiskError> {
        let tables = NearTables::of(n_tables);
        let (pending, archived) = (PendingPages::default(), ArchivedPages::new(archive));
        Ok(Self { store: NearStore::open(disk, tables)?, tables, pending, archived })
    }

    /// Finds the earlier page, and registers the page for later ones. With `skips_links`, links of pages that
    /// may skip them are not followed.
    pub fn claim(self: &Arc<Self>, page: NewPage<'_>, skips_links: bool) -> NearClaim {
        let domain = domain_of(page.url);
        let tag = tag(domain);
        let own = EarlierPage { url: page.url.as_str().to_owned(), date: page.at.to_string() };
        // Before the store is read: a page is removed after it was added there.
        let (added, near) = self.pending.add(self.tables, page.fingerprint, (own, tag));
        let mut claim = NearClaim {
            duplicate: None,
            skips_links: false,
            fingerprint: PageFingerprint {
                bits: page.fingerprint,
                is_near_duplicate: false,
                is_indexed: true,
                number: added.number,
                domain: tag,
                is_followed: false,
            },
            index: self.clone(),
            pending: added,
            is_handed_over: false,
        };
        let mut candidates = Vec::new();
        for (distance, other) in near {
            let is_followed = other.is_followed.get().copied().unwrap_or(false);
            let age = PENDING | other.number;
            let rank = (rank(other.domain == tag, is_followed, distance), age);
            let source = Source::Pending(other);
            candidates.push(Candidate { rank, distance, is_followed, source });
        }
        self.store.find(page.fingerprint, |distance, entry| {
            let NearEntry { place, is_followed, .. } = entry;
            let age = u64::from(place.file) << 32 | u64::from(place.offset);
            let rank = (rank(entry.domain == tag, is_followed, distance), age);
            let source = Source::Archived(place);
            candidates.push(Candidate { rank, distance, is_followed, source });
            if candidates.len() >= COLLECTED_MAX {
                keep_best(&mut candidates);
            }
        });
        keep_best(&mut candidates);
        let (duplicate, is_known) = self.choose(&candidates, &page, domain);
        claim.skips_links =
            skips_links && duplicate.as_ref().is_some_and(|earlier| earlier.may_skip_links);
        claim.fingerprint.is_near_duplicate = duplicate.is_some();
        claim.duplicate = duplicate;
        if is_known {
            self.settle(&claim.fingerprint, None);
            claim.fingerprint.is_indexed = false;
        }
        claim
    }

    /// Returns the earlier page among candidates in the order of their ranks; and true if a page that
    /// would take the place of the new one in all results is in the index: with the same fingerprint and
    /// registrable domain, and links that were followed; or an earlier capture of the page itself.
    fn choose(
        &self,
        candidates: &[Candidate],
        page: &NewPage<'_>,
        domain: &str,
    ) -> (Option<NearDuplicate>, bool) {
        let last_capture = page.last_capture.and_then(NearPlace::of);
        let mut best: Option<(Rank, NearDuplicate)> = None;
        let mut is_known = false;
        for candidate in candidates {
            let Candidate { distance, is_followed, .. } = *candidate;
            let of = match &candidate.source {
                Source::Pending(other) => Some(other.page.clone()),
                Source::Archived(place) if Some(*place) == last_capture => {
                    is_known |= distance == 0;
                    continue;
                }
                Source::Archived(place) => self.archived.read(*place),
            };
            let Some(of) = of else { continue };
            if of.url == page.url.as_str() {
                is_known |= distance == 0;
                continue;
            }
            let is_same = of.has_domain(domain);
            is_known |= distance == 0 && is_same && is_followed;
            let rank = rank(is_same, is_followed, distance);
            if best.as_ref().is_none_or(|(best, _)| rank < *best) {
                let may_skip_links = is_same && is_followed;
                best = Some((rank, NearDuplicate { of, distance, may_skip_links }));
            }
            // The next ones have no better rank.
            let ((is_other_tag, ..), _) = candidate.rank;
            if is_other_tag != is_same {
                break;
            }
        }
        (best.map(|(_, duplicate)| duplicate), is_known)
    }

    /// Removes a page from those that are not committed: it has been committed, with the record at this place, or
    /// given up.
    pub fn settle(&self, fingerprint: &PageFingerprint, record: Option<(u32, u64)>) {
        if let Some(entry) = fingerprint.entry(record) {
            self.store.add(fingerprint.bits, entry);
        }
        if fingerprint.is_indexed {
            self.pending.remove(self.tables, fingerprint.bits, fingerprint.number);
        }
    }
}

/// Sorts candidates by rank, and keeps the best, each once.
fn keep_best(candidates: &mut Vec<Candidate>) {
    candidates.sort_by_key(|candidate| candidate.rank);
    candidates.dedup_by_key(|candidate| match &candidate.source {
        Source::Pending(page) => Err(page.number),
        Source::Archived(place) => Ok(*place),
    });
    candidates.truncate(CANDIDATES_MAX);
}

/// Returns a hash of a registrable domain, 7 bits.
fn tag(domain: &str) -> u8 {
    (xxh3_64(domain.as_bytes()) & 127) as u8
}
