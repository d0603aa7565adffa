//! `WARC-Record-ID`: random UUIDs (RFC 9562 version 4), generated without a system call for each.
//!
//! The operating system seeds the generator. Ids must be unique but need not be unpredictable, so a
//! small generator is enough.

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use uuid::Builder;

/// An id in the form `<urn:uuid:…>`, as written into records.
pub(crate) struct RecordId(pub(super) String);

/// Generator of record ids.
pub(crate) struct RecordIds(SmallRng);

impl RecordIds {
    pub(crate) fn new() -> Self {
        Self(SmallRng::from_os_rng())
    }

    pub(crate) fn next(&mut self) -> RecordId {
        let random = self.0.random::<u128>().to_le_bytes();
        RecordId(format!("<urn:uuid:{}>", Builder::from_random_bytes(random).into_uuid()))
    }
}
