//! `WARC-Record-ID`: random UUIDs (RFC 9562 version 4), generated without a system call for each.
//!
//! The operating system seeds the generator. Ids must be unique but need not be unpredictable, so a
//! small generator is enough.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use uuid::Builder;

/// An id in the form `<urn:uuid:…>`, as written into records.
#[derive(Clone, Copy)]
pub(crate) struct RecordId([u8; 47]);

impl RecordId {
    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Generator of record ids.
pub(crate) struct RecordIds(SmallRng);

impl RecordIds {
    pub(crate) fn new() -> Self {
        Self(SmallRng::from_os_rng())
    }

    pub(crate) fn next(&mut self) -> RecordId {
        let random = self.0.random::<u128>().to_le_bytes();
        let uuid = Builder::from_random_bytes(random).into_uuid();
        let mut text = [0; 47];
        text[..10].copy_from_slice(b"<urn:uuid:");
        uuid.hyphenated().encode_lower(&mut text[10..46]);
        text[46] = b'>';
        RecordId(text)
    }
}
