//! Near-duplicates among responses, by the setting in force.

use super::{NearClaim, NearIndex, NewPage};
use crate::messages::{Fetched, Response};
use crate::process::originals::{Identity, OriginalFinder};
use crivello_archive::CaptureNotes;
use crivello_common::config::NearDuplicates;
use crivello_html::{MainText, SimHash, SimHasher};
use std::sync::Arc;

/// Finder of near-duplicates of one thread.
pub(in crate::process) struct NearFinder {
    index: Arc<NearIndex>,
    hasher: SimHasher,
    /// Treatment of near-duplicates.
    pub(in crate::process) setting: NearDuplicates,
}

/// Fingerprint and claim of the text of a page.
#[derive(Debug, Default)]
pub(in crate::process) struct NearFinding {
    simhash: Option<SimHash>,
    /// Set if the page has a fingerprint, and is no exact duplicate.
    pub(in crate::process) claim: Option<NearClaim>,
    /// Identity of its payload, if that was needed.
    pub(in crate::process) identity: Option<Identity>,
}

impl NearFinder {
    pub(in crate::process) fn new(index: Arc<NearIndex>) -> Self {
        Self { index, hasher: SimHasher::default(), setting: NearDuplicates::Off }
    }

    /// Returns what is known of the text of a page: nothing if near-duplicates are not recognized.
    pub(in crate::process) fn find(
        &mut self,
        fetched: &Fetched,
        response: &Response,
        text: Option<&MainText<'_>>,
        originals: &OriginalFinder,
    ) -> NearFinding {
        let text = text.filter(|_| self.setting != NearDuplicates::Off);
        let Some(simhash) = text.and_then(|text| self.hasher.hash(text.text)) else {
            return NearFinding::default();
        };
        let identity = originals.identify(fetched, response);
        let mut claim = None;
        if identity.original.is_none() {
            let revisit = fetched.row.as_ref().and_then(|row| row.revisit.as_ref());
            let page = NewPage {
                fingerprint: simhash.0,
                url: &fetched.url,
                at: fetched.at,
                last_capture: revisit.and_then(|revisit| revisit.capture?.record?.in_own_archive()),
            };
            claim = Some(self.index.claim(page, self.setting == NearDuplicates::SkipLinks));
        }
        NearFinding { simhash: Some(simhash), claim, identity: Some(identity) }
    }
}

impl NearFinding {
    /// Returns true if the text is nearly that of an earlier page.
    pub(in crate::process) fn is_near_duplicate(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.duplicate.is_some())
    }

    /// Returns true if the links of the page are not followed.
    pub(in crate::process) fn skips_links(&self) -> bool {
        self.claim.as_ref().is_some_and(|claim| claim.skips_links)
    }

    /// Notes that the links of the page are followed.
    pub(in crate::process) const fn follow_links(&mut self) {
        if let Some(claim) = &mut self.claim {
            claim.follow_links();
        }
    }

    /// Adds the notes for the archive.
    pub(in crate::process) fn add_to(&self, notes: &mut CaptureNotes) {
        if let Some(simhash) = self.simhash {
            notes.fields.push(("simHash", simhash.to_string()));
            notes.members.push(("simhash", simhash.to_string()));
        }
        if let Some(duplicate) = self.claim.as_ref().and_then(|claim| claim.duplicate.as_ref()) {
            let (of, distance) = (&duplicate.of, duplicate.distance.to_string());
            notes.fields.push(("nearDuplicateOf", of.url.clone()));
            notes.fields.push(("nearDuplicateDate", of.date.clone()));
            notes.fields.push(("nearDuplicateDistance", distance));
            notes.members.push(("near-duplicate", of.url.clone()));
        }
    }
}
