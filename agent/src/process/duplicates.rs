//! Exact duplicates: the page that was archived first with a payload.
//!
//! - *Input:* the digest of a page's payload.
//! - *Output:* the earlier page with the same payload, if there is one.
//! - *State:* on disk, the first page of each digest; in memory, first pages on their way to the
//!   commit.
//! - *Does not know:* the use of a duplicate.
//! - *Errors:* [`DiskError`].
//!
//! A revisit must not be committed before the page that it refers to: after a kill in between it
//! would refer to nothing. Commits keep the order in which pages are handed over, so a duplicate
//! waits until its first page has been ([`First`]).

use super::known::KnownPayloads;
use super::payloads::PeerPayloads;
use crate::messages::OldestOriginal;
use crate::storage::values::ContentRow;
use crate::storage::{Database, DiskError};
use crivello_common::hash::ContentDigest;
use crivello_common::time::Timestamp;
use dashmap::DashMap;
use dashmap::mapref::entry::Entry;
use std::sync::{Arc, OnceLock};

/// True if the first page was handed over, false if it was given up; unset until then.
type HandedOver = Arc<OnceLock<bool>>;

/// Registry of payloads, shared by the parser threads.
#[derive(Debug)]
pub struct Duplicates {
    disk: Arc<Database>,
    on_their_way: DashMap<ContentDigest, (ContentRow, HandedOver), foldhash::fast::RandomState>,
    oldest_original: OldestOriginal,
    known: KnownPayloads,
    peers: Option<Arc<PeerPayloads>>,
}

/// Result of a look-up of a payload.
#[derive(Debug)]
pub enum Claim {
    /// The page is the first: from now on others with the same payload wait for it.
    First(First),
    /// This earlier page has the payload.
    Duplicate(ContentRow),
    /// An earlier page that is not committed yet has the payload, but no revisit may refer to it.
    Unreferable,
}

/// Claim of a first page, held until the page is on its way to the commit. If it is dropped before,
/// the page is given up, and the next one with the same payload is the first.
#[derive(Debug, Default)]
pub struct First(HandedOver);

impl First {
    /// Marks the page as handed over: pages that are handed over later are committed with it or
    /// later.
    pub fn handed_over(self) {
        let _ = self.0.set(true);
    }
}

impl Drop for First {
    fn drop(&mut self) {
        // This has no effect on a page that was handed over.
        let _ = self.0.set(false);
    }
}

impl Duplicates {
    /// Creates a registry of the payloads on `disk`.
    #[must_use]
    pub fn new(disk: Arc<Database>) -> Self {
        let (on_their_way, oldest_original, known) = <_>::default();
        Self { disk, on_their_way, oldest_original, known, peers: None }
    }

    /// Adds payloads of earlier crawls.
    #[must_use]
    pub fn with_known(self, known: KnownPayloads) -> Self {
        Self { known, ..self }
    }

    /// Adds payloads of other agents.
    #[must_use]
    pub fn with_peers(self, peers: Option<Arc<PeerPayloads>>) -> Self {
        Self { peers, ..self }
    }

    /// Returns payloads of other agents; `None` if pages do not refer to them.
    pub const fn peers(&self) -> Option<&Arc<PeerPayloads>> {
        self.peers.as_ref()
    }

    /// Returns true if a page of this agent has the payload, or is about to have it.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn has(&self, digest: &ContentDigest) -> Result<bool, DiskError> {
        if self.on_their_way.contains_key(digest) {
            return Ok(true);
        }
        let row: Option<ContentRow> = self.disk.row(digest)?;
        Ok(row.is_some_and(|row| self.oldest_original.permits(row.at)))
    }

    /// Returns the capture of an earlier crawl with this payload.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn known(&self, payload: &[u8]) -> Result<Option<ContentRow>, DiskError> {
        self.known.find(payload)
    }

    /// Returns the first page with this payload, or claims the payload for this page. Waits while
    /// another page is between its claim and its hand-over. A thread holds one claim at a time, so
    /// threads never wait in a circle.
    ///
    /// # Errors
    /// [`DiskError`] if the disk fails.
    pub fn claim(
        &self,
        digest: ContentDigest,
        at: Timestamp,
        url: &str,
    ) -> Result<Claim, DiskError> {
        loop {
            let (row, handed_over) = match self.on_their_way.entry(digest) {
                Entry::Occupied(first) => first.get().clone(),
                Entry::Vacant(place) => {
                    // Read under the entry's lock: a claim is settled only after its commit is
                    // visible.
                    let row: Option<ContentRow> = self.disk.row(&digest)?;
                    if let Some(row) = row.filter(|row| self.oldest_original.permits(row.at)) {
                        return Ok(Claim::Duplicate(row));
                    }
                    let first = First::default();
                    place.insert((ContentRow { at, url: url.into() }, first.0.clone()));
                    return Ok(Claim::First(first));
                }
            };
            if !self.oldest_original.permits(row.at) {
                return Ok(Claim::Unreferable);
            }
            if *handed_over.wait() {
                return Ok(Claim::Duplicate(row));
            }
            self.on_their_way.remove_if(&digest, |_, (_, of)| Arc::ptr_eq(of, &handed_over));
        }
    }

    /// Returns the time from which on captures are originals of new revisits.
    pub const fn oldest_original(&self) -> &OldestOriginal {
        &self.oldest_original
    }

    /// Removes the claim of a page that is not archived. The next one with the payload is the first.
    pub fn give_up(&self, digest: &ContentDigest, first: First) {
        let handed_over = first.0.clone();
        drop(first);
        self.on_their_way.remove_if(digest, |_, (_, of)| Arc::ptr_eq(of, &handed_over));
    }

    /// Removes the claim of `digest`, whose page has been committed.
    pub fn settle(&self, digest: &ContentDigest) {
        self.on_their_way.remove(digest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::{Batch, Family};
    use crivello_common::config::State;
    use std::sync::mpsc::{SyncSender, sync_channel};
    use std::time::Duration;

    const AT: Timestamp = Timestamp::from_secs(5);

    fn duplicates(dir: &tempfile::TempDir) -> Duplicates {
        Duplicates::new(Arc::new(Database::open(dir.path(), true, &State::default()).unwrap()))
    }

    fn row(url: &str) -> ContentRow {
        ContentRow { at: AT, url: url.into() }
    }

    /// Claims, sends to `commits`, and only then marks the page as handed over, as a parser does.
    fn pass(duplicates: &Duplicates, url: String, commits: &SyncSender<(String, Option<String>)>) {
        match duplicates.claim([7; 16], AT, &url).unwrap() {
            Claim::First(first) => {
                std::thread::sleep(Duration::from_millis(20));
                commits.send((url, None)).unwrap();
                first.handed_over();
            }
            Claim::Duplicate(of) => commits.send((url, Some(of.url.to_string()))).unwrap(),
            Claim::Unreferable => panic!("references are not withheld"),
        }
    }

    #[test]
    fn the_first_of_many_threads_is_handed_over_before_the_others() {
        let dir = tempfile::tempdir().unwrap();
        let duplicates = duplicates(&dir);
        let (sender, commits) = sync_channel(16);
        std::thread::scope(|scope| {
            for n in 0..16 {
                let (duplicates, sender) = (&duplicates, sender.clone());
                scope.spawn(move || pass(duplicates, format!("http://a/{n}"), &sender));
            }
        });
        let order: Vec<_> = commits.try_iter().collect();
        let (first, others) = order.split_first().unwrap();
        assert_eq!((&first.1, others.len()), (&None, 15), "{order:?}");
        assert!(others.iter().all(|(_, of)| of.as_ref() == Some(&first.0)), "{order:?}");
    }

    #[test]
    fn what_was_committed_is_known_from_the_disk() {
        let dir = tempfile::tempdir().unwrap();
        let duplicates = duplicates(&dir);
        let digest = [7; 16];
        let Claim::First(first) = duplicates.claim(digest, AT, "http://a/").unwrap() else {
            panic!("expected the first claim")
        };
        first.handed_over();
        let mut batch = Batch::default();
        batch.put(Family::Content, &digest, &row("http://a/").encode());
        duplicates.disk.commit(&batch).unwrap();
        duplicates.settle(&digest);
        assert!(duplicates.on_their_way.is_empty());
        let known = duplicates.claim(digest, AT, "http://b/").unwrap();
        assert!(matches!(known, Claim::Duplicate(of) if of == row("http://a/")));
        let other = duplicates.claim([8; 16], AT, "http://c/").unwrap();
        assert!(matches!(other, Claim::First(_)));
    }

    #[test]
    fn a_capture_that_is_too_old_is_no_original() {
        let dir = tempfile::tempdir().unwrap();
        let duplicates = duplicates(&dir);
        let digest = [7; 16];
        let Claim::First(first) = duplicates.claim(digest, AT, "http://a/").unwrap() else {
            panic!("expected the first claim")
        };
        duplicates.oldest_original().set(Timestamp(AT.0 + 1), 0);
        // It is on its way, and nobody waits for it.
        let claim = duplicates.claim(digest, AT, "http://b/").unwrap();
        assert!(matches!(claim, Claim::Unreferable), "{claim:?}");
        first.handed_over();
        let mut batch = Batch::default();
        batch.put(Family::Content, &digest, &row("http://a/").encode());
        duplicates.disk.commit(&batch).unwrap();
        duplicates.settle(&digest);
        let next = duplicates.claim(digest, Timestamp(AT.0 + 1), "http://c/").unwrap();
        assert!(matches!(next, Claim::First(_)), "{next:?}");
    }

    #[test]
    fn a_page_that_is_given_up_leaves_the_next_one_to_be_the_first() {
        let dir = tempfile::tempdir().unwrap();
        let duplicates = duplicates(&dir);
        let given_up = duplicates.claim([7; 16], AT, "http://a/").unwrap();
        std::thread::scope(|scope| {
            let next = scope.spawn(|| duplicates.claim([7; 16], AT, "http://b/").unwrap());
            drop(given_up);
            assert!(matches!(next.join().unwrap(), Claim::First(_)));
        });
        let Claim::First(first) = duplicates.claim([8; 16], AT, "http://c/").unwrap() else {
            panic!("expected the first claim")
        };
        duplicates.give_up(&[8; 16], first);
        assert!(!duplicates.on_their_way.contains_key(&[8; 16]), "it stays for ever");
    }
}
