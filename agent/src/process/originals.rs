//! Exact duplicates among responses: the earlier capture to which a revisit refers.

use super::duplicates::{Claim, Duplicates, First};
use crate::messages::{Fetched, Response};
use crate::storage::values::ContentRow;
use crivello_common::config::Store;
use crivello_common::hash::ContentDigest;
use crivello_common::identity::KeyedHasher;
use std::sync::Arc;

/// Finder of the earlier captures of payloads.
#[derive(Debug)]
pub(super) struct OriginalFinder {
    hasher: KeyedHasher,
    duplicates: Arc<Duplicates>,
    /// True if exact duplicates become revisits.
    is_on: bool,
}

/// Identity of a payload: its digest, and its earlier capture or the claim to be the first.
#[derive(Debug, Default)]
pub(super) struct Identity {
    /// Its digest, if duplicates of it are recognized.
    pub(super) digest: Option<ContentDigest>,
    /// The page that was archived with it before.
    pub(super) original: Option<ContentRow>,
    /// True if that is in the archive of an earlier crawl.
    pub(super) is_known: bool,
    /// Set if the page is the first with it.
    pub(super) first: Option<First>,
}

impl OriginalFinder {
    pub(super) const fn new(
        hasher: KeyedHasher,
        duplicates: Arc<Duplicates>,
        store: &Store,
    ) -> Self {
        Self { hasher, duplicates, is_on: store.revisits }
    }

    /// Identifies the payload of a response.
    pub(super) fn identify(&self, fetched: &Fetched, response: &Response) -> Identity {
        let whole = response.status == 200
            && response.truncated.is_none()
            && !response.body.is_empty()
            && fetched.row.is_some();
        if !whole || !self.is_on {
            return Identity::default();
        }
        let digest = self.hasher.content(&response.body);
        match self.duplicates.known(&response.body) {
            Ok(None) => {}
            Ok(original) => {
                return Identity { digest: Some(digest), original, is_known: true, first: None };
            }
            Err(error) => tracing::warn!(%error, "cannot check a page for known payloads"),
        }
        match self.duplicates.claim(digest, fetched.at, fetched.url.as_str()) {
            Ok(Claim::First(first)) => {
                Identity { digest: Some(digest), first: Some(first), ..Identity::default() }
            }
            // Another revisit of a record that is not there, or not for long, would be worth nothing.
            Ok(Claim::Duplicate(of)) if self.is_lost_capture(fetched, &of) => Identity::default(),
            Ok(Claim::Duplicate(of)) => {
                Identity { digest: Some(digest), original: Some(of), ..Identity::default() }
            }
            Ok(Claim::Unreferable) => Identity::default(),
            Err(error) => {
                tracing::warn!(%error, "cannot check a page for duplicates; archiving it in full");
                Identity::default()
            }
        }
    }

    /// Gives up the claim of a page that is not archived.
    pub(super) fn give_up(&self, identity: Identity) {
        if let (Some(digest), Some(first)) = (identity.digest, identity.first) {
            self.duplicates.give_up(&digest, first);
        }
    }

    /// Returns true if the original of a duplicate is the last capture of the page itself, to which no new
    /// revisit may refer.
    fn is_lost_capture(&self, fetched: &Fetched, original: &ContentRow) -> bool {
        let revisit = fetched.row.as_ref().and_then(|row| row.revisit.as_ref());
        let capture = revisit.and_then(|revisit| revisit.capture);
        let oldest = self.duplicates.oldest_original();
        capture.is_some_and(|last| last.at == original.at && !oldest.permits_capture(&last))
    }
}
