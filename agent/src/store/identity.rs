//! `WARC-Record-ID`: random UUIDs (RFC 9562 version 4) without a system call for each.
//!
//! The generator is xoshiro256++ (Blackman and Vigna, 2019), seeded by the operating system once
//! for each [`RecordIds`]: unpredictability is not asked for, only that no two are the same.

use uuid::{Builder, Uuid};

/// `<urn:uuid:…>`, ready to be written.
#[derive(Clone, Copy)]
pub(super) struct RecordId([u8; 47]);

impl RecordId {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// A source of record ids.
pub(super) struct RecordIds {
    state: [u64; 4],
}

impl RecordIds {
    pub(super) fn new() -> Self {
        let (a, b) = Uuid::new_v4().as_u64_pair();
        let (c, d) = Uuid::new_v4().as_u64_pair();
        Self { state: [a, b, c, d] }
    }

    pub(super) fn next(&mut self) -> RecordId {
        let mut random = [0; 16];
        random[..8].copy_from_slice(&self.step().to_le_bytes());
        random[8..].copy_from_slice(&self.step().to_le_bytes());
        let uuid = Builder::from_random_bytes(random).into_uuid();
        let mut text = [0; 47];
        text[..10].copy_from_slice(b"<urn:uuid:");
        uuid.hyphenated().encode_lower(&mut text[10..46]);
        text[46] = b'>';
        RecordId(text)
    }

    fn step(&mut self) -> u64 {
        let s = &mut self.state;
        let result = s[0].wrapping_add(s[3]).rotate_left(23).wrapping_add(s[0]);
        let t = s[1] << 17;
        s[2] ^= s[0];
        s[3] ^= s[1];
        s[1] ^= s[2];
        s[0] ^= s[3];
        s[2] ^= t;
        s[3] = s[3].rotate_left(45);
        result
    }
}
